package cpuexec_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/invariants"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// TestAllocations checks that a query in steady state allocates only its answer, and nothing per
// block, tile or list.
func TestAllocations(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the race detector has pools forget what they hold")
	}
	rng := rand.New(rand.NewPCG(6, 6))
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	seg := blockmax.Segment{Docs: 40_000}
	p := &blockmax.Plan{K: 10}
	for _, every := range []int{2, 5, 40, 900} {
		var b postings.Builder
		for d := range seg.Docs {
			if rng.IntN(every) == 0 {
				b.Add(d, 1+rng.Uint32N(5), 1)
			}
		}
		l := b.View(postings.MaxDoc)
		seg.Terms = append(seg.Terms, blockmax.Term{List: l, Table: table, Bounds: segment.Bounds(l, table)})
		p.Weights = append(p.Weights, uint32(every)<<16)
	}
	p.Segments = append(p.Segments, seg, seg)
	p.Segments[1].Base = seg.Docs
	for _, e := range algorithms() {
		if e.Algorithm == cpuexec.Exhaustive {
			continue // answers AND as a tree, which is made for each query
		}
		for _, p.Mode = range []blockmax.Mode{blockmax.Or, blockmax.And} {
			query := func() {
				if _, err := e.TopK(context.Background(), p); err != nil {
					t.Fatal(err)
				}
			}
			for range 4 { // until lists have ranges and the pool a run
				query()
			}
			if n := testing.AllocsPerRun(20, query); n > 1 {
				t.Errorf("%s, mode %d: %v allocations", e.Name(), p.Mode, n)
			}
		}
	}
	if n := testing.AllocsPerRun(20, func() { _, _ = cpuexec.Parallel{}.Count(context.Background(), p) }); n > 0 {
		t.Errorf("Count: %v allocations", n)
	}
}
