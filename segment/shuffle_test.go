package segment

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestShuffle sorts lists of every density, one after the other with one shuffle.
func TestShuffle(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 29))
	const docs = 5000
	var s shuffle
	for i, n := range []int{0, 1, docs / scatterShare, docs/scatterShare + 1, 100, docs, 3, docs - 1, 0} {
		var want, got []posting
		for _, doc := range rng.Perm(docs)[:n] {
			want = append(want, posting{uint32(doc), 1 + rng.Uint32()>>1})
		}
		s.placed = i%2 == 0
		s.reset(docs)
		for _, p := range want {
			s.add(p.doc, p.tf, p.tf/2)
		}
		s.each(func(doc, tf, at uint32) {
			if s.placed && at != tf/2 {
				t.Errorf("%d postings: positions begin at %d, want %d", n, at, tf/2)
			}
			got = append(got, posting{doc, tf})
		})
		slices.SortFunc(want, func(a, b posting) int { return int(a.doc) - int(b.doc) })
		if !slices.Equal(got, want) {
			t.Errorf("%d postings come out otherwise than sorted", n)
		}
	}
}
