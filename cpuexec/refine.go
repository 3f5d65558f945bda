package cpuexec

import (
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// Lists with less than one posting per sparsest documents get no ranges, which would take four
// bytes per posting and more. For a list of one block they would save nothing.
const sparsest = 256

// refine makes the ranges and bitmaps of lists that have been used enough.
func (r *run) refine() error {
	for _, c := range r.tiled.lists[:r.tiled.count] {
		spent := c.spent
		c.spent = 0
		if err := c.learn(spent); err != nil {
			return err
		}
		if c.plain || c.ranges != nil || c.list.Blocks() <= 1 || uint32(c.list.Count) < r.at.seg.Docs/sparsest {
			continue
		}
		if c.bounds.Spend(spent, int64(c.list.Blocks())) {
			ranges, err := c.makeRanges()
			if err != nil {
				return err
			}
			c.bounds.Refine(ranges)
		}
	}
	return nil
}

// makeRanges decodes the whole list.
func (c *tileCursor) makeRanges() (*blockmax.Ranges, error) {
	blocks := c.list.Blocks()
	tiles := int(c.list.Last[blocks-1]/tileDocs) + 1
	best := make([]uint16, 64*tiles)
	var top blockmax.Collector
	top.Reset(blockmax.MaxPeaks, nil)
	for b := range blocks {
		if err := c.load(b); err != nil {
			return nil, err
		}
		if err := c.score(); err != nil {
			return nil, err
		}
		impacts := c.impacts[:c.n]
		for i, doc := range c.docs[:len(impacts)] {
			word := &best[doc/wordDocs]
			*word = max(*word, impacts[i], 1) // 0 means no posting
		}
		c.bounds.Need(b, b+1)
		if !top.Takes(uint32(c.bounds.Block[b])) {
			continue // as nearly always
		}
		for i, impact := range impacts {
			top.Offer(c.docs[i], uint32(impact))
		}
	}
	r := &blockmax.Ranges{
		Word:  make([]uint8, len(best)),
		Tile:  make([]uint8, (tiles+63)&^63),
		First: firstBlocks(c.list, tiles),
	}
	var tally blockmax.Tally
	for i, impact := range best {
		if impact > 0 {
			tally.Add(impact)
			r.Word[i] = blockmax.Coarse(impact)
			r.Tile[i/64] = max(r.Tile[i/64], r.Word[i])
		}
	}
	r.Best = tally.Best()
	for _, h := range top.Hits() {
		r.Peaks = append(r.Peaks, blockmax.Peak{Doc: h.Doc, Impact: uint16(h.Score)})
	}
	return r, nil
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
