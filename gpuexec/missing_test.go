package gpuexec_test

import (
	"context"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// TestMissingBesideResident has a tile, documents 20,480 to 24,575, in which a resident extent of a
// list ends and a missing one begins. By the bounds of the missing extent's blocks, it does not
// matter. By the bound of the list in the tile, which comes from a block of the resident extent,
// its first document might matter. Kernels must not read it.
func TestMissingBesideResident(t *testing.T) {
	const docs, lost = 40_960, 3
	table := blockmax.NewTable(blockmax.DefaultBM25, 1)
	list := func(freq func(doc uint32) uint32) blockmax.Term {
		var b postings.Builder
		for d := range uint32(docs) {
			if n := freq(d); n > 0 {
				b.Add(d, n, 1)
			}
		}
		l := b.View(postings.MaxDoc)
		return blockmax.Term{List: l, Table: table, Bounds: segment.Bounds(l, table)}
	}
	common := list(func(doc uint32) uint32 {
		switch {
		case doc%2 == 1 && doc >= 2000:
			return 0
		case doc >= 21_000 && doc < 21_250:
			return 30
		case doc >= 40_000:
			return 60 // makes another tile the seed
		}
		return 1
	})
	inside := common.List.ExtLast[lost-1] + 2 // the first document of the extent
	if inside < 21_250 || inside >= 24_576 {
		t.Fatalf("extent %d begins with document %d", lost, inside)
	}
	rare := list(func(doc uint32) uint32 {
		switch {
		case doc >= 100 && doc < 112:
			return 50
		case doc == inside:
			return 49
		case doc == 40_000:
			return 60
		}
		return 0
	})
	p := &exectest.Plan{Mode: blockmax.Or, K: 10}
	p.Weights, _ = blockmax.Scale([]float64{5, 1})
	p.Segments = []blockmax.Segment{{Docs: docs, Terms: []blockmax.Term{rare, common}}}
	want, err := cpuexec.Executor{}.TopK(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		t.Run(a.String(), func(t *testing.T) {
			e := compose(openShaped(t, 0, 32<<20, gpuexec.Options{Algorithm: a}, gpuexec.Shape{TileShift: 12, Multiprocessors: 1}))
			e.Lose(func(extent int) bool { return extent == lost })
			got, err := e.TopK(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Hits, want.Hits) {
				t.Errorf("the hits are\n%v, want\n%v", got.Hits, want.Hits)
			}
			if a == gpuexec.MaxScore && *e.whole == 0 {
				t.Error("an extent that cannot matter is left to the CPU")
			}
		})
	}
}
