package cpuexec

import (
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// present returns the positions that have postings.
func (b *coarse) present() uint64 {
	var none sums
	_, present := addBounds(&none, &none, b, 0, 0)
	return present
}

// noPostings are the coarse bounds after the end of a list.
var noPostings coarse

// enterSheet makes the sheet at document lo the current one: tiles then bounds its tiles.
func (c *tileCursor) enterSheet(lo uint32) error {
	err := c.boundSheet(lo)
	c.inTiles, c.sheet = c.tiles.present(), lo
	return err
}

// boundSheet sets tiles to the bounds of the tiles of the sheet at lo.
func (c *tileCursor) boundSheet(lo uint32) error {
	if c.branch != nil {
		return c.branchSheet(lo)
	}
	c.exact = false
	if r := c.ranges; r != nil {
		c.tiles = &noPostings
		if at := int(lo / tileDocs); at < len(r.Tile) {
			c.tiles = (*coarse)(r.Tile[at:])
		}
		return nil
	}
	sheet := int(lo / sheetDocs)
	from, to := c.extentsOf(lo)
	c.narrow = to-from > narrowExtents
	if kept := c.bounds.Sheet(sheet); kept != nil && !c.plain {
		c.tiles = (*coarse)(kept)
		return nil
	}
	c.tiles = &c.own[0]
	*c.tiles = coarse{}
	if !c.narrow {
		from, to = c.blocksOf(lo)
		c.blocks = from
		if (to-from)*c.list.BlockSize <= exactPostings {
			return c.decodeSheet(lo, from, to)
		}
	}
	switch {
	case c.plain && c.narrow:
		c.tiles.allow(max(c.list.First(from*postings.ExtentBlocks), lo)-lo, c.list.ExtLast[to-1]-lo)
	case c.plain:
		c.tiles.allow(max(c.first(from), lo)-lo, c.list.Last[to-1]-lo)
	case c.narrow:
		c.boundByExtents(c.tiles, lo, from, to)
		c.bounds.KeepSheet(sheet, (*[64]uint8)(c.tiles))
	default:
		c.boundByBlocks(c.tiles, lo, tileDocs, from, to)
		c.bounds.KeepSheet(sheet, (*[64]uint8)(c.tiles))
	}
	return nil
}

// narrowExtents is the most extents with postings in a sheet for which its tiles and words are
// bounded by blocks. Of a list with more, an extent is four tiles wide or less: it tells nearly as
// much as its blocks, which need not be read (bench/results/2026-11-23-directories.md). A test lowers
// it.
var narrowExtents = 16

// extentsOf returns the range of extents that can have documents of the sheet at lo.
func (c *tileCursor) extentsOf(lo uint32) (from, to int) {
	from = c.list.SeekExtent(min(c.blocks/postings.ExtentBlocks, len(c.list.ExtLast)), lo)
	return from, min(c.list.SeekExtent(from, lo+sheetDocs-1)+1, len(c.list.ExtLast))
}

// blocksOf returns the range of blocks that can have documents of the sheet at lo.
func (c *tileCursor) blocksOf(lo uint32) (from, to int) {
	from = c.list.Seek(c.blocks, lo)
	if from == len(c.list.Last) {
		return from, from
	}
	return from, min(c.list.Seek(from, lo+sheetDocs-1)+1, len(c.list.Last))
}

// decodeSheet decodes blocks [from, to), which have all postings of the sheet, and bounds the tiles
// by these.
func (c *tileCursor) decodeSheet(lo uint32, from, to int) error {
	c.exact = true
	few := &c.few
	few.docs, few.impacts, few.freqs = few.docs[:0], few.impacts[:0], few.freqs[:0]
	for b := from; b < to; b++ {
		n := len(few.docs)
		few.docs = slices.Grow(few.docs, postings.BlockSize)[:n+postings.BlockSize]
		few.impacts = slices.Grow(few.impacts, postings.BlockSize)[:n+postings.BlockSize]
		docs := (*[postings.BlockSize]uint32)(few.docs[n:])
		m, rest, err := c.docsOf(b, !c.list.Once(b), docs)
		if err != nil {
			return err
		}
		impacts := (*[postings.BlockSize]uint16)(few.impacts[n:])
		if c.plain {
			clear(impacts[:m])
		} else if err := c.impactsOf(b, rest, docs, m, impacts); err != nil {
			return err
		}
		if c.raw {
			few.freqs = append(few.freqs, c.run.tiled.freqs[:m]...)
		}
		few.docs, few.impacts = few.docs[:n+m], few.impacts[:n+m]
	}
	if c.bare {
		few.divide(c.tiles, lo)
	} else {
		few.index(c.tiles, lo)
	}
	return nil
}

// divide is index without bounds but those of tiles, which it sets to 1 where there are postings.
func (p *decoded) divide(bounds *coarse, lo uint32) {
	from, until := p.within(lo, lo+sheetDocs)
	tile := uint32(0)
	p.starts[0] = from
	for i, doc := range p.docs[from:until] {
		in := (doc - lo) / tileDocs % 64
		bounds[in] = 1
		for ; tile < in; tile++ {
			p.starts[tile+1] = from + i
		}
	}
	for ; tile < 64; tile++ {
		p.starts[tile+1] = until
	}
}

// index finds the beginning of each tile of the sheet at lo among the postings, bounds the words of
// all tiles, and raises bounds to those of the tiles.
func (p *decoded) index(bounds *coarse, lo uint32) {
	from, until := p.within(lo, lo+sheetDocs)
	p.words = [64]coarse{}
	tile, highest := uint32(0), uint8(0)
	p.starts[0] = from
	impacts := p.impacts[from:until]
	for i, doc := range p.docs[from:until] {
		word := (doc - lo) / wordDocs % 4096
		if word/64 != tile {
			bounds[tile%64], highest = max(bounds[tile%64], highest), 0
			for ; tile < word/64; tile++ {
				p.starts[tile+1] = from + i
			}
		}
		bound := blockmax.Coarse(impacts[i])
		highest = max(highest, bound)
		at := &p.words[word/64][word%64]
		*at = max(*at, bound)
	}
	bounds[tile%64] = max(bounds[tile%64], highest)
	for ; tile < 64; tile++ {
		p.starts[tile+1] = until
	}
}

// allow marks the tiles of documents first to last of the sheet as perhaps having postings.
func (b *coarse) allow(first, last uint32) {
	for t := first / tileDocs; t <= min(last/tileDocs, 63); t++ {
		b[t] = 1
	}
}

// boundByExtents raises the bounds of the tiles of the sheet at lo to those of extents [from,
// until).
func (c *tileCursor) boundByExtents(to *coarse, lo uint32, from, until int) {
	for e := from; e < until; e++ {
		first, last := (max(c.list.First(e*postings.ExtentBlocks), lo)-lo)/tileDocs, (c.list.ExtLast[e]-lo)/tileDocs
		bound := blockmax.Coarse(c.bounds.Extent[e])
		for at := first; at <= min(last, 63); at++ {
			to[at] = max(to[at], bound)
		}
	}
}

// boundByBlocks raises the bounds of ranges of size documents, beginning at lo, to those of blocks
// [from, until).
func (c *tileCursor) boundByBlocks(to *coarse, lo, size uint32, from, until int) {
	shift := bits.TrailingZeros32(size)
	c.bounds.Need(from, until)
	for b := from; b < until; b++ {
		first, last := (max(c.first(b), lo)-lo)>>shift, (c.list.Last[b]-lo)>>shift
		bound := blockmax.Coarse(c.bounds.Block[b])
		for at := first; at <= min(last, 63); at++ {
			to[at] = max(to[at], bound)
		}
	}
}

// enterTile makes the tile at document lo the current one: words then bounds its words. The list
// must be at the tile's sheet.
func (c *tileCursor) enterTile(lo uint32) {
	if c.branch != nil {
		c.branchTile(lo)
		return
	}
	if c.unlocated = c.narrow && !c.exact && c.ranges == nil; c.unlocated {
		c.tile, c.words = lo, &c.own[1]
		bound := c.tiles[lo/tileDocs%64]
		for i := range c.words {
			c.words[i] = bound
		}
		return
	}
	c.locate(lo)
	switch {
	case c.exact:
		c.words = &c.few.words[lo/tileDocs%64]
	case c.ranges != nil:
		c.words = (*coarse)(c.ranges.Word[64*(lo/tileDocs):])
	default:
		c.words = &c.own[1]
		*c.words = coarse{}
		c.boundByBlocks(c.words, lo, wordDocs, c.from, c.to)
	}
}

// blocksInTile returns the range of blocks that can have documents of the current tile. Those of a
// list with narrow extents are looked for when they are first needed there: mostly, nothing is
// looked up in such a list.
func (c *tileCursor) blocksInTile() (from, to int) {
	if c.unlocated {
		c.unlocated = false
		c.locate(c.tile)
	}
	return c.from, c.to
}

// locate is enterTile without bounds.
func (c *tileCursor) locate(lo uint32) {
	switch {
	case c.exact:
		tile := lo / tileDocs % 64
		c.from, c.to = c.few.starts[tile], c.few.starts[tile+1]
	case c.ranges != nil:
		first := c.ranges.First[lo/tileDocs:]
		c.from, c.to = int(first[0]), min(int(first[1])+1, len(c.list.Last))
	default:
		c.from = c.list.Seek(c.blocks, lo)
		c.to = c.from
		if c.from < len(c.list.Last) {
			c.to = min(c.list.Seek(c.from, lo+tileDocs-1)+1, len(c.list.Last))
		}
	}
	c.at = c.from
	if !c.exact {
		c.list.Need(c.from, c.to)
		c.compare(c.from, c.to)
	}
}

// within returns the range of postings whose documents are in [lo, hi).
func (p *decoded) within(lo, hi uint32) (from, to int) {
	from = search(p.docs, lo)
	return from, from + search(p.docs[from:], hi)
}

// search returns how many of the ascending documents are below doc.
func search(docs []uint32, doc uint32) int {
	lo, hi := 0, len(docs)
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); docs[mid] < doc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
