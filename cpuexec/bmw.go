package cpuexec

import "github.com/riffle-search/riffle/blockmax"

// bmw answers OR by block-max WAND (Ding and Suel, Faster Top-k Document Retrieval
// Using Block-Max Indexes, 2011).
//
// It is WAND with a second look: before the pivot document is scored, the bounds of the blocks that
// may hold it must reach need too. They come from the directory alone. When they do not reach need,
// no document up to the first end of these blocks can enter, and one cursor leaps past it.
func (r *run) bmw() error {
	cs, err := r.docs.start(r)
	if err != nil {
		return err
	}
	for step := 0; ; step++ {
		need := r.out.need(cs.lowest())
		pivot := cs.pivot(r.at.underAny(need))
		if pivot < 0 {
			return nil
		}
		doc := cs[pivot].doc
		if err := r.query.interrupted(step); err != nil {
			return err
		}
		if doc >= r.at.to || r.tailDone(doc) {
			return nil
		}
		switch bound, until := r.boundBlocks(cs[:pivot+1], doc); {
		case bound < r.at.under(need, doc, doc):
			err = cs.leapOver(pivot, until)
		case cs[0].doc == doc:
			err = r.scoreDocument(cs, doc)
		default:
			err = cs.leapBelow(pivot, doc)
		}
		if err != nil {
			return err
		}
	}
}

// boundBlocks bounds the score that the given lists can contribute to documents [doc, until).
func (r *run) boundBlocks(cs []*docCursor, doc uint32) (bound, until uint32) {
	until = end
	if r.at.changes() { // which is bounded by tile
		until = doc - doc%blockmax.TileDocs + blockmax.TileDocs
	}
	for _, c := range cs {
		if !c.seekBlock(doc) {
			continue
		}
		if first := c.first(c.block); first > doc {
			until = min(until, first) // the list has no earlier posting
			continue
		}
		bound += c.blockMax(c.block)
		until = min(until, c.last()+1)
	}
	if r.out.profile != nil {
		ordered(cs).compare(doc)
	}
	return bound, until
}

// compare notes in the profile of the plan what boundBlocks has bounded.
func (o ordered) compare(doc uint32) {
	for _, c := range o {
		if c.block < len(c.list.Last) && c.first(c.block) <= doc {
			c.profile.Compare(c.run.at.index, c.term, c.block, c.block+1)
		}
	}
}

// leapOver moves one of the cursors up to the pivot to until, or to the document of the next cursor
// if that is lower, because from there on another list contributes. It takes the cursor with the
// highest list bound, which saves the most work.
func (o ordered) leapOver(pivot int, until uint32) error {
	if pivot+1 < len(o) {
		until = min(until, o[pivot+1].doc)
	}
	best := 0
	for i := range pivot + 1 {
		if o[i].max > o[best].max {
			best = i
		}
	}
	return o.leap(best, until)
}
