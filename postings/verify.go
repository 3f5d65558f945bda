package postings

import (
	"slices"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// Verify decodes the whole list and checks what opening it could not: that the best
// pairs of every block are those of its postings. lens holds the length code of every
// document of the segment, or is nil when the field keeps none and all were added with code 1.
// The best pairs of a View that cut a block may be too good; such a list fails.
func (l *List) Verify(lens []uint8) error {
	var docs, tfs [BlockSize]uint32
	var p pareto
	var pairs []Impact
	for b := range l.Last {
		n, err := l.Docs(b, &docs)
		if err != nil {
			return err
		}
		if _, err := l.Freqs(b, &tfs); err != nil {
			return err
		}
		if lens != nil && int(l.Last[b]) >= len(lens) {
			return inBlock(corrupt.New(-1, "document %d of a segment of %d", l.Last[b], len(lens)), b)
		}
		for i, doc := range docs[:n] {
			code := uint8(1)
			if lens != nil {
				code = lens[doc]
			}
			p.add(tfs[i], code)
		}
		pairs = p.flush(pairs[:0])
		if got := l.BlockImpacts.Of(b); !slices.Equal(got, pairs) {
			return inBlock(corrupt.New(-1, "best pairs are %v; the postings make %v", got, pairs), b)
		}
	}
	return nil
}
