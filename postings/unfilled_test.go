package postings

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestUnfilled: a Scan reads the postings of a Builder that has no full block yet, and a Builder
// with one gives none.
func TestUnfilled(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var s Scan
	for n := range BlockSize + 2 {
		var b Builder
		var docs, tfs []uint32
		doc := uint32(rng.IntN(3))
		for range n {
			docs, tfs = append(docs, doc), append(tfs, 1+uint32(rng.IntN(2)*rng.IntN(1000)))
			b.Add(doc, tfs[len(tfs)-1], uint8(rng.IntN(256)))
			doc += 1 + rng.Uint32N(1<<rng.IntN(20))
		}
		tail := b.AppendUnfilled([]byte("before"))[len("before"):]
		if n == 0 || n >= BlockSize {
			if len(tail) > 0 {
				t.Errorf("%d postings: %d bytes", n, len(tail))
			}
			continue
		}
		s.ResetUnfilled(tail)
		clear(tail) // the Scan must not need it any more
		if !s.Next() || !slices.Equal(s.Docs[:s.N], docs) || !slices.Equal(s.TFs[:s.N], tfs) {
			t.Errorf("%d postings: %d read, %v", n, s.N, s.Err())
		}
		if s.Next() || s.Err() != nil {
			t.Errorf("%d postings: a second block, or %v", n, s.Err())
		}
	}
}
