package cpuexec

import (
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/invariants"
	"github.com/riffle-search/riffle/postings"
)

// end is the document of a cursor that has passed the end of its list.
const end = ^uint32(0)

// docCursors are the cursors on the lists of the current segment.
type docCursors struct {
	all    []*docCursor
	used   int          // all[:used] belong to the current segment
	opened bool         // order has the cursors of all its terms
	order  []*docCursor // all cursors of a flat plan
	sums   []uint32     // see maxScore
}

// start opens all lists and moves each cursor to its first document of the range.
func (d *docCursors) start(r *run) (ordered, error) {
	cs, err := d.openAll(r)
	if err != nil {
		return nil, err
	}
	for _, c := range cs {
		if err := c.seekGE(r.at.from); err != nil {
			return nil, err
		}
	}
	o := ordered(cs)
	for i := range o {
		o.lower(i)
	}
	return o, nil
}

// openAll returns a cursor for every term of the segment. The first call opens them, in order of
// the terms; later calls find them at their positions.
func (d *docCursors) openAll(r *run) ([]*docCursor, error) {
	if d.opened {
		return d.order, nil
	}
	d.order = d.order[:0]
	for t := range r.at.seg.Terms {
		term := &r.at.seg.Terms[t]
		if term.Bounds == nil || term.List.Blocks() == 0 {
			continue // the segment lacks it
		}
		if err := r.at.checkList(t); err != nil {
			return nil, err
		}
		if d.used == len(d.all) {
			d.all = append(d.all, new(docCursor))
		}
		c := d.all[d.used]
		d.used++
		c.reset(r, t, term)
		d.order = append(d.order, c)
	}
	d.opened = true
	return d.order, nil
}

// close leaves the current segment.
func (d *docCursors) close() { d.used, d.opened = 0, false }

// forget drops references to the caller's data.
func (d *docCursors) forget() {
	for _, c := range d.all {
		c.list, c.bounds, c.table, c.norms, c.lazy, c.profile = nil, nil, nil, nil, nil, nil
	}
}

// A docCursor walks one list of one segment, forward only, for document-at-a-time algorithms. It
// has two positions: the current block, which moves by the directory alone, and a posting within
// it, which is valid only after load.
type docCursor struct {
	run    *run
	term   int
	list   *postings.List
	bounds *blockmax.Bounds
	table  *blockmax.Table
	norms  []uint8
	lazy   *blockmax.LazyNorms
	weight uint32
	max    uint32 // no posting of the list contributes more

	profile *blockmax.Profile // of the plan, or nil

	block  int // current block; list.Blocks() at the end
	loaded int // block whose documents are in docs, or -1
	scored int // block whose frequencies are in freqs, or -1
	n      int // postings in docs
	i      int // current posting: all earlier documents are below the caller's target
	docs   [postings.BlockSize]uint32
	freqs  [postings.BlockSize]uint32

	doc uint32 // for document-at-a-time algorithms: docs[i], or end
}

func (c *docCursor) reset(r *run, t int, term *blockmax.Term) {
	c.run, c.term, c.profile = r, t, r.query.plan.Profile
	c.list, c.bounds, c.table = term.List, term.Bounds, term.Table
	c.norms, c.lazy = term.Norms, term.Lazy
	c.weight = r.query.plan.Weights[t]
	c.max = blockmax.Contribution(c.weight, term.Bounds.List)
	c.block, c.loaded, c.scored, c.n, c.i = 0, -1, -1, 0, 0
	c.doc = 0
	c.list.Need(0, 1)
}

// seekBlock moves the current block to the first whose last document is doc or later. It reports
// whether there is one.
func (c *docCursor) seekBlock(doc uint32) bool {
	if c.block < len(c.list.Last) && c.list.Last[c.block] < doc {
		c.block = c.list.Seek(c.block+1, doc)
	}
	return c.block < len(c.list.Last)
}

// first is the lowest document that block b can hold, according to the directory.
func (c *docCursor) first(b int) uint32 {
	return c.list.First(b)
}

// last is the last document of the current block.
func (c *docCursor) last() uint32 { return c.list.Last[c.block] }

// blockMax bounds the contribution of a posting of block b.
func (c *docCursor) blockMax(b int) uint32 {
	c.bounds.Need(b, b+1)
	return blockmax.Contribution(c.weight, c.bounds.Block[b])
}

// load decodes the documents of the current block and moves to the first posting whose document is
// doc or later. The block must have one.
func (c *docCursor) load(doc uint32) error {
	if c.loaded != c.block {
		if err := c.read(); err != nil {
			return err
		}
	}
	c.advance(doc)
	return nil
}

// read decodes the documents of the current block. It is apart from load, which mostly finds them decoded.
func (c *docCursor) read() error {
	n, err := c.list.Docs(c.block, &c.docs)
	if err != nil {
		return c.fail(err)
	}
	c.loaded, c.n, c.i = c.block, n, 0
	c.run.out.work.BlocksDecoded++
	if c.profile != nil {
		c.profile.Decode(c.run.at.index, c.term, c.block)
	}
	return nil
}

// advance moves to the first posting whose document is doc or later. The loaded block must have
// one.
func (c *docCursor) advance(doc uint32) {
	const near = 8 // beyond it a binary search is cheaper
	i := c.i
	for step := 0; c.docs[i&127] < doc; step++ {
		if step == near {
			c.i = c.search(i+1, doc)
			return
		}
		i++
	}
	c.i = i
}

func (c *docCursor) search(lo int, doc uint32) int {
	hi := c.n - 1
	for lo < hi {
		if mid := (lo + hi) / 2; c.docs[mid&127] < doc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// loadFreqs decodes the frequencies of the loaded block, and makes sure of the norms of its documents.
func (c *docCursor) loadFreqs() error {
	if c.scored == c.loaded {
		return nil
	}
	if _, err := c.list.Freqs(c.loaded, &c.freqs); err != nil {
		return c.fail(err)
	}
	if err := c.lazy.Need(c.docs[:c.n]); err != nil {
		return c.fail(err)
	}
	c.scored = c.loaded
	if invariants.Enabled {
		for i := range c.n {
			got, bound := c.score(i), c.blockMax(c.loaded)
			invariants.Check(got <= bound, "document %d contributes %d to term %d, above the bound %d of block %d", c.docs[i], got, c.term, bound, c.loaded)
		}
		invariants.Check(c.blockMax(c.loaded) <= blockmax.Contribution(c.weight, c.bounds.Extent[c.loaded/postings.ExtentBlocks]),
			"the bound of block %d of term %d is above its extent's", c.loaded, c.term)
	}
	return nil
}

// score is the contribution of posting i of the loaded block. Its frequencies must be loaded.
func (c *docCursor) score(i int) uint32 {
	code := uint8(1)
	if c.norms != nil {
		code = c.norms[c.docs[i&127]]
	}
	return blockmax.Contribution(c.weight, c.table.Impact(c.freqs[i&127], code))
}

func (c *docCursor) fail(err error) error { return &ListError{c.run.at.index, c.term, err} }

// The rest is for document-at-a-time algorithms.

// seekGE moves to the first posting whose document is target or later.
func (c *docCursor) seekGE(target uint32) error {
	if c.doc >= target && c.loaded >= 0 {
		return nil
	}
	if !c.seekBlock(target) {
		c.doc = end
		return nil
	}
	if err := c.load(target); err != nil {
		return err
	}
	c.doc = c.docs[c.i&127]
	return nil
}

// next moves to the next posting.
func (c *docCursor) next() error {
	if c.loaded == c.block && c.i+1 < c.n {
		c.i++
		c.doc = c.docs[c.i&127]
		return nil
	}
	return c.seekGE(c.doc + 1)
}

// scoreHere is the contribution of the current posting.
func (c *docCursor) scoreHere() (uint32, error) {
	if c.scored != c.loaded {
		if err := c.loadFreqs(); err != nil {
			return 0, err
		}
	}
	return c.score(c.i), nil
}
