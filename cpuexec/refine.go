package cpuexec

import (
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// Lists with less than one posting per sparsest documents get no ranges, which would take four
// bytes per posting and more. For a list of one block they would save nothing.
const sparsest = 256

// refine makes a part of the ranges of lists that have been used enough.
//
// A query that made the ranges of a long list whole would take ten times as long as others. So each
// query makes as much of them as its own share of the work on the list allows, and the last one
// hands them to all. Dense lists get their bitmaps on the way.
func (r *run) refine() error {
	if err := r.makeExcerpts(); err != nil {
		return err
	}
	for _, c := range r.tiled.lists[:r.tiled.count] {
		spent := c.spent
		c.spent = 0
		if c.plain {
			if err := c.learn(spent); err != nil {
				return err
			}
			continue
		}
		if c.ranges != nil || c.list.Blocks() <= 1 || uint32(c.list.Count) < r.at.seg.Docs/sparsest {
			continue
		}
		if c.bounds.Spend(spent, int64(c.list.Blocks())) {
			extend := func(m *blockmax.RangeMaker) (bool, error) {
				return c.extend(m, min(makingPace*spent, makingMost))
			}
			if err := c.bounds.Make(c.newRanges, extend); err != nil {
				return err
			}
		}
	}
	return nil
}

// makingPace is how many blocks of due ranges a query makes for each that it has decoded.
const makingPace = 4

// makingMost is the most blocks of the ranges of a list that a query makes. They take some 1 ms. A
// test lowers it.
var makingMost int64 = 2048

// newRanges begins ranges of the list.
func (c *tileCursor) newRanges() *blockmax.RangeMaker {
	tiles := int(c.list.Last[c.list.Blocks()-1]/tileDocs) + 1
	m := blockmax.NewRangeMaker(tiles, firstBlocks(c.list, tiles))
	if c.dense() && c.list.WantsBitmap() {
		m.Bitmap = make([]uint64, c.run.at.bitmapWords())
	}
	return m
}

// extend adds up to n more blocks to ranges. It reports whether that was all.
func (c *tileCursor) extend(m *blockmax.RangeMaker, n int64) (done bool, err error) {
	blocks := c.list.Blocks()
	for ; n > 0 && m.Next < blocks; n-- {
		b := m.Next
		if err := c.read(b, false); err != nil {
			return false, err
		}
		if err := c.score(); err != nil {
			return false, err
		}
		c.bounds.Need(b, b+1)
		m.Add(c.docs[:c.n], c.impacts[:c.n], c.bounds.Block[b])
		if m.Bitmap != nil {
			setAll(m.Bitmap, c.docs[:c.n])
		}
	}
	c.spent = 0 // that was for all queries
	if m.Next < blocks {
		return false, nil
	}
	if m.Bitmap != nil {
		if err := c.checkBitmap(m.Bitmap); err != nil {
			return false, err
		}
		c.list.OfferBitmap(m.Bitmap)
	}
	return true, nil
}

// firstBlocks returns, for each tile and for the one after the last, the first block that does not
// end before it.
func firstBlocks(l *postings.List, tiles int) []uint32 {
	first := make([]uint32, tiles+1)
	b := 0
	for t := range first {
		b = l.Seek(b, uint32(t)*tileDocs)
		first[t] = uint32(b)
	}
	return first
}
