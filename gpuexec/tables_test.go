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

// TestTablesStay: nothing is copied any more of fully resident lists, not even where their extents
// are. Queries are still answered, even after the lists lost their places.
func TestTablesStay(t *testing.T) {
	const docs = 200_000
	c := newCollection(docs, []float64{0.3, 0.2, 0.1, 0.05})
	rng := rand.New(rand.NewPCG(9, 9))
	var plans []*exectest.Plan
	var want []blockmax.TopK
	extents := 0
	for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And, blockmax.AndOr} {
		p := c.plan(rng, mode, 10, len(c.lists))
		top, err := cpuexec.Executor{}.TopK(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		plans, want = append(plans, p), append(want, top)
	}
	for _, l := range c.lists {
		extents += len(l.List.ExtLast)
	}
	x := openShaped(t, 0, 32<<20, gpuexec.Options{}, gpuexec.Shape{Multiprocessors: 1})
	run := func() (copied int64) {
		answers, err := x.Run(context.Background(), plans)
		if err != nil {
			t.Fatal(err)
		}
		for i := range answers {
			if a := &answers[i]; len(a.Open) > 0 || !slices.Equal(a.Top.Hits, want[i].Hits) {
				t.Fatalf("plan %d: open, or other hits than the CPU's", i)
			}
			copied += answers[i].Top.Work.BytesMoved
		}
		return copied
	}
	for round := range 2 { // the second time, start again
		// The first run copies everything, the second what comes a second time. Later runs copy
		// nothing of lists except what makes them flat, once.
		copied := []int64{run(), run(), run(), run(), run()}
		less := int64(16 * extents)
		if round == 0 {
			less += docs // length codes
		}
		if copied[1] < copied[3]+less || copied[0] < copied[1]+100_000 || copied[2] < copied[3] || copied[4] != copied[3] {
			t.Errorf("%d bytes are copied, of lists with %d extents", copied, extents)
		}
		x.Cache().Reset()
		x.ForgetFlats() // otherwise no query would need the lists' blocks
	}
}
