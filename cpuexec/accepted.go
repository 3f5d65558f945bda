package cpuexec

import (
	"math/bits"
	"slices"
)

// Under a filter, scoring the postings of essential lists is mostly in vain. Where few enough
// documents of a tile are accepted, OR only finds which of these are in an essential list. It looks
// them up one by one.

// acceptedShare: accepted documents are looked up one by one if they are at most 1/acceptedShare of
// the documents of the words in question. A test sets it to 1.
var acceptedShare = 4

// fewPass reports whether few documents of some words of the tile are accepted.
func (r *run) fewPass(words uint64) bool {
	accept := r.at.seg.Accept
	if accept == nil {
		return false
	}
	n, tile := 0, accept[min(int(r.win.base/64), len(accept)):]
	for w := words; w != 0; w &= w - 1 {
		if i := bits.TrailingZeros64(w); i < len(tile) {
			n += bits.OnesCount64(tile[i])
		}
	}
	return n*acceptedShare <= wordDocs*bits.OnesCount64(words)
}

// scoreAccepted offers the accepted documents of the words that are in an essential list there and
// reach need.
func (r *run) scoreAccepted(words uint64, need uint32) error {
	t, cs, set := &r.tiled, &r.cands, &r.win.matches
	for i, c := range t.active {
		m := &t.masks[i]
		if m.essential == 0 {
			continue
		}
		if err := c.markSome(set, m.essential); err != nil {
			return err
		}
		m.essential = 0
	}
	r.win.marks.flush(set)
	for i := range set {
		set[i] &= r.at.accepted(r.win.base, i) & -(words >> i & 1)
	}
	cs.list(set, r.win.base, words)
	*set = bitset{}
	cs.cut(&r.win, r.at.seg.Docs)
	if r.query.plan.Tree == nil {
		r.out.total += cs.n
	}
	r.out.work.DocsScored += int64(cs.n)
	if cs.n >= fewCandidates && r.glance.makeHopes(t, words, r.win.base) {
		dropHopeless(cs, r.glance.hopes, need-r.tiled.slack)
	}
	for i, c := range slices.Backward(t.active) {
		if ask := words & t.masks[i].present; ask != 0 && cs.n > 0 {
			if err := c.lookUp(ask, need, &t.prefix[i]); err != nil {
				return err
			}
		}
	}
	if r.query.plan.Tree != nil {
		if g := t.guard; g != nil && cs.n > 0 {
			if err := g.require(0, &noSums); err != nil {
				return err
			}
		}
		r.out.total += cs.n
	}
	r.offerCandidates()
	return nil
}

// markSome is mark for a list. For a branch, it adds documents of the words that include all which
// match it.
func (c *tileCursor) markSome(set *bitset, words uint64) error {
	b := c.branch
	switch {
	case b == nil:
		return c.mark(set, words)
	case len(b.all) > 0:
		l := b.all[len(b.all)-1]
		return l.mark(set, words&l.inWords)
	case len(b.any) > 0 || b.word != nil:
		for _, l := range b.leaves {
			if err := l.mark(set, words&l.inWords); err != nil {
				return err
			}
		}
		return nil
	}
	for ; words != 0; words &= words - 1 {
		set[bits.TrailingZeros64(words)&63] = ^uint64(0)
	}
	return nil
}
