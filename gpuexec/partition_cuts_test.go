package gpuexec_test

import (
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestPartitionCutsOtherwise: a list without a key may be cut otherwise by each plan of a batch. A plan
// that has lists with keys cuts the segment by words, one that has none by documents, and a segment in
// memory has more documents in a later view.
func TestPartitionCutsOtherwise(t *testing.T) {
	r := openRanged(t, 2, 8<<20, gpuexec.Options{})
	c := newCollection(9000, []float64{0.2, 0.02, 0.02})
	for d := range c.norms[:3000] {
		c.norms[d] = blockmax.LengthCode(4000)
	}
	c.lists[1].Key, c.lists[2].Key = 0, 0
	more := slices.Concat(c.norms, make([]uint8, 4000))
	plan := func(docs uint32, lists ...int) *exectest.Plan {
		p := &exectest.Plan{Mode: blockmax.Or, K: 20, Segments: []blockmax.Segment{{Docs: docs}}}
		for _, i := range lists {
			l := c.lists[i]
			l.Norms = more[:docs]
			p.Segments[0].Terms, p.Weights = append(p.Segments[0].Terms, l), append(p.Weights, 1<<16)
		}
		return p
	}
	for _, plans := range [][]*exectest.Plan{
		{plan(9000, 0, 1), plan(9000, 1, 2)}, {plan(9000, 1, 2), plan(9000, 0, 2)},
		{plan(9000, 1, 2), plan(13_000, 1, 2)}, {plan(13_000, 1, 2), plan(9000, 1, 2)},
	} {
		partials, err := r.set.Partials(t.Context(), plans)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range plans {
			want, err := cpuexec.Executor{}.TopK(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if got := partials[i]; len(got.Open) > 0 || !slices.Equal(got.Top.Hits, want.Hits) {
				t.Errorf("plan %d, of %d documents: other hits than the CPU's: %v, want %v; %v are open", i, p.Segments[0].Docs, got.Top.Hits, want.Hits, got.Open)
			}
		}
	}
}
