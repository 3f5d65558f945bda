package gpuexec_test

import (
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/internal/invariants"
)

// TestDividedLate: with the tag invariants memory that batches use cannot be divided anew.
func TestDividedLate(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("this test is for builds with the tag invariants")
	}
	c := newCollection(20_000, []float64{0.3, 0.02})
	x := openSized(t, 0, columnBytes+16<<20, gpuexec.Options{Stream: true, Shape: gpuexec.Shape{TileShift: 10, Multiprocessors: 2}})
	x.DivideStream(4_000_000, 20_000)
	if err := checkLarge(x, []*exectest.Plan{c.plan(rand.New(rand.NewPCG(1, 1)), blockmax.Or, 10, 2)}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("the memory was divided while batches use it")
		}
	}()
	x.DivideStream(400_000, 20_000)
}
