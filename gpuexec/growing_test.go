package gpuexec_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestGrows runs queries over a segment in memory as two views of the index see it, in one batch: most of
// its lists have not grown in between, so both views have the same.
func TestGrows(t *testing.T) {
	before := newCollection(20_000, []float64{0.3, 0.1, 0.02, 0.001})
	after := newCollection(70_000, []float64{0.2, 0.2, 0.2, 0.2, 0.05})
	copy(after.norms, before.norms)
	for i := range before.lists {
		l := &before.lists[i]
		l.Key = 0
		after.lists[i] = *l
		after.lists[i].Norms = after.norms
	}
	after.lists[len(after.lists)-1].Key = 0
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint("stream ", stream), func(t *testing.T) {
			x := openShaped(t, 0, 32<<20, gpuexec.Options{Stream: stream}, gpuexec.Shape{Multiprocessors: 2, StripTiles: -1, WindowTiles: 2})
			for round := range 12 {
				rng := rand.New(rand.NewPCG(22, uint64(round)))
				var plans []*exectest.Plan
				for i := range 6 {
					of := before
					if (i+round)%2 == 0 {
						of = after
					}
					plans = append(plans, of.plan(rng, blockmax.Mode(round/2%2), 1+rng.IntN(20), 2+rng.IntN(2)))
				}
				slices.SortStableFunc(plans, func(a, b *exectest.Plan) int {
					if round%4 < 2 {
						a, b = b, a
					}
					return int(a.Segments[0].Docs) - int(b.Segments[0].Docs)
				})
				if err := checkLarge(x, plans); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			}
		})
	}
}
