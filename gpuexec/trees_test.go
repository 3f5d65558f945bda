package gpuexec_test

import (
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestTrees runs batches of boolean trees over flat lists and others, with caches for all and for
// few lists, and with some extents lost.
func TestTrees(t *testing.T) {
	for _, set := range []struct {
		name   string
		cache  int64
		o      gpuexec.Options
		lost   int // extents of ten
		rounds int
	}{
		{"flat", 32 << 20, gpuexec.Options{}, 0, 16},
		{"exhaustive", 32 << 20, gpuexec.Options{Algorithm: gpuexec.Exhaustive}, 0, 8},
		{"blocks", 64 << 10, gpuexec.Options{FlatBytes: 1}, 0, 12},
		{"lost", 32 << 20, gpuexec.Options{FlatBytes: 1}, 1, 12},
	} {
		t.Run(set.name, func(t *testing.T) {
			b := newBatching(open(t, 0, set.cache, set.o))
			rng := rand.New(rand.NewPCG(1, 1))
			if set.lost > 0 {
				b.Lose(func(int) bool { return rng.IntN(10) < set.lost })
			}
			if err := exectest.CheckTrees(b, 7, exectest.Fewer(set.rounds)); err != nil {
				t.Error(err)
			}
			if *b.whole < 2**b.refused || (*b.partial > 0) != (set.lost > 0) {
				t.Errorf("%d whole answers, %d partial, %d refused", *b.whole, *b.partial, *b.refused)
			}
			if flat := b.FlatLists(); (flat > 0) != (set.o.FlatBytes == 0) {
				t.Errorf("%d lists are flat", flat)
			}
		})
	}
}
