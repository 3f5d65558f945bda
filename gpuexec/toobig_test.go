package gpuexec_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestTooBig runs more queries of a thousand hits than have results that fit into one batch. The
// pieces that the first attempt placed were not copied, so the next ones must not assume that they
// are resident.
func TestTooBig(t *testing.T) {
	c := newCollection(20_000, []float64{0.1, 0.05, 0.02, 0.01})
	x := openShaped(t, 0, 32<<20, gpuexec.Options{}, gpuexec.Shape{Multiprocessors: 1})
	rng := rand.New(rand.NewPCG(3, 3))
	var plans []*exectest.Plan
	for range 100 {
		plans = append(plans, c.plan(rng, blockmax.Or, 1000, 2))
	}
	for _, n := range []int{1, len(plans)} {
		answers, err := x.Run(context.Background(), plans[:n])
		if err != nil {
			t.Fatal(err)
		}
		for i := range answers {
			want, err := cpuexec.Executor{}.TopK(context.Background(), plans[i])
			if err != nil {
				t.Fatal(err)
			}
			if a := answers[i]; a.Refused != nil || len(a.Open) > 0 || !slices.Equal(a.Top.Hits, want.Hits) {
				t.Fatalf("plan %d of %d: refused (%v), or open, or other hits than the CPU's", i, n, a.Refused)
			}
		}
	}
}
