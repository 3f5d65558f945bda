package cpuexec

// fewCandidates is the most candidates for which looking them up at once is faster than first
// testing bitmaps, which may not be in a near cache. Values from 8 to 128 differ by less than 3 %;
// without any limit, half of the queries of gutenberg-dev take 8 % longer. A test lowers it.
var fewCandidates = 32

// A hope is what a list may still add to candidates of the current tile. Assembly uses it as 4
// words of 8 bytes, in this order.
type hope struct {
	bounds *coarse // of the words
	held   *bitset // the documents of the list; nil when they are not known without a lookup
	asked  uint64  // words in which candidates are to be looked up
	unit   uint64  // contribution per unit of a bound
}

// makeHopes makes hopes of the lists in which candidates of the tile at base are to be looked up,
// in the words where they have postings and are not essential. It reports whether any has a bitmap:
// otherwise hopes tell no more than the bounds in prefix.
func (g *prefilter) makeHopes(t *tileCursors, live uint64, base uint32) (useful bool) {
	g.hopes = g.hopes[:0]
	for i, c := range t.active {
		h := hope{bounds: c.words, unit: uint64(c.unit), asked: live & t.masks[i].present &^ t.masks[i].essential}
		if h.asked == 0 {
			continue
		}
		if c.bitmap != nil {
			h.held = (*bitset)(c.bitmap[base/64:])
			useful = true
		}
		g.hopes = append(g.hopes, h)
	}
	return useful
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
