package cpuexec

import "math/bits"

// fewCandidates is the most candidates for which looking them up at once is faster than first
// testing bitmaps, which may not be in a near cache. Values from 8 to 128 differ by less than 3 %;
// without any limit, half of the queries of gutenberg-dev take 8 % longer. A test lowers it.
var fewCandidates = 32

// A hope is what a list or a branch may still add to candidates of the current tile. Assembly uses
// it as 4 words of 8 bytes, in this order.
type hope struct {
	bounds *coarse // of the words
	held   *bitset // no other documents get anything; nil when they are not known without a lookup
	asked  uint64  // words in which candidates are to be looked up
	unit   uint64  // contribution per unit of a bound
}

// makeHopes makes hopes of the operands in which candidates of the tile at base are to be looked up,
// in the words where they have postings and are not essential. It reports whether any has a bitmap:
// otherwise hopes tell no more than the bounds in prefix.
func (g *prefilter) makeHopes(t *tileCursors, live uint64, base uint32) (useful bool) {
	g.hopes = g.hopes[:0]
	branches := 0
	for i, c := range t.active {
		h := hope{bounds: c.words, unit: uint64(c.unit), asked: live & t.masks[i].present &^ t.masks[i].essential}
		if h.asked == 0 {
			continue
		}
		switch {
		case c.bitmap != nil:
			h.held = (*bitset)(c.bitmap[base/64:])
			useful = true
		case c.branch != nil && (len(c.branch.any) > 0 || c.branch.word != nil):
			if branches == len(g.held) {
				g.held = append(g.held, new(bitset))
			}
			if c.branch.mayMatch(g.held[branches], h.asked, base) {
				h.held = g.held[branches]
				branches++
				useful = true
			}
		}
		g.hopes = append(g.hopes, h)
	}
	return useful
}

// mayMatch sets to to the documents of the words that the branch may match, as far as bitmaps tell, and
// lists with few postings. In the words of other lists these are all. It returns false if they are
// all everywhere.
func (b *branch) mayMatch(to *bitset, words uint64, base uint32) (useful bool) {
	unknown := uint64(0)
	for _, l := range b.leaves {
		if l.bitmap == nil && !l.exact {
			unknown |= l.inWords
		}
	}
	for w := words; w != 0; w &= w - 1 {
		i := bits.TrailingZeros64(w) & 63
		to[i] = -(unknown >> i & 1)
	}
	if words &^= unknown; words == 0 {
		return false
	}
	for _, l := range b.leaves {
		in := words & l.inWords
		switch {
		case in == 0:
		case l.bitmap != nil:
			held := (*bitset)(l.bitmap[base/64:])
			for ; in != 0; in &= in - 1 {
				i := bits.TrailingZeros64(in) & 63
				to[i] |= held[i]
			}
		default:
			for _, doc := range l.few.docs[l.from:l.to] {
				to[doc/wordDocs%64] |= 1 << (doc % wordDocs)
			}
		}
	}
	return true
}

// dropHopelessPortable is dropHopeless in Go.
func dropHopelessPortable(cs *candidates, hopes []hope, need uint32) {
	kept := 0
	for i := range cs.n {
		doc, score := cs.docs[i], cs.score[i]
		cs.docs[kept], cs.score[kept] = doc, score
		w := doc / wordDocs % 64
		for j := range hopes {
			h := &hopes[j]
			bit := uint32(h.asked >> w & 1)
			if h.held != nil {
				bit &= uint32(h.held[w] >> (doc % 64))
			}
			score += uint32(h.unit) * uint32(h.bounds[w]) * bit
		}
		if score >= need {
			kept++
		}
	}
	cs.n = kept
}
