package gpuexec_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestTimes: the times of two batches are counted, and those of a refused plan are not.
func TestTimes(t *testing.T) {
	x := open(t, 0, 1<<20, gpuexec.Options{Timed: true})
	c := newCollection(3000, []float64{0.3, 0.1})
	for range 2 {
		plan := c.plan(rand.New(rand.NewPCG(1, 1)), blockmax.Or, 10, 2)
		if _, err := x.Run(context.Background(), []*exectest.Plan{plan, {}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := x.Run(context.Background(), []*exectest.Plan{{}}); err != nil {
		t.Fatal(err)
	}
	if got := x.Times(); got.Batches != 2 || got.Host <= 0 || got.Kernels <= 0 {
		t.Errorf("after two batches the times are %+v", got)
	}
}
