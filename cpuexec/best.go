package cpuexec

import "math/bits"

// Of the groups of a branch only the best counts, if the tie is zero. So a group can be left out of a
// word where its bound, with those of the other operands, is below need: a document whose best is that
// group cannot enter, and others score the same without it. In a search of several fields for the best
// one, the lists of the text, which are the longest, are left out almost everywhere when a title
// scores more.

// leaveOut removes the words from the groups that can be left out there. The sums of the bounds of
// the active operands, in prefix, must be those of the current tile.
func (t *tileCursors) leaveOut(words uint64, need uint32) {
	total := &t.prefix[len(t.active)]
	for _, c := range t.active {
		b := c.branch
		if b == nil || c.unscored || len(b.any) < 2 || b.clause.Tie > 0 {
			continue
		}
		for i := range b.any {
			g := &b.any[i]
			in := words & g.inWords
			for w := in; w != 0; w &= w - 1 {
				at := bits.TrailingZeros64(w) & 63
				t.reach[at] = total[at] - c.unit*uint32(c.words[at])
			}
			for _, l := range g.lists {
				addBounds(&t.reach, &t.reach, l.words, l.unit, 0)
			}
			for w := in; w != 0; w &= w - 1 {
				if at := bits.TrailingZeros64(w) & 63; t.reach[at] < need {
					g.inWords &^= 1 << at
				}
			}
		}
	}
}
