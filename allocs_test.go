package riffle

import (
	"context"
	"fmt"
	"testing"

	"github.com/riffle-search/riffle/internal/invariants"
)

// TestSearchAllocations: what a search allocates depends on its words and hits,
// not on how many blocks its lists have.
func TestSearchAllocations(t *testing.T) {
	if invariants.Enabled {
		t.Skip("checks allocate")
	}
	ctx := context.Background()
	allocs := func(docs int, q Query) float64 {
		e, err := Open(t.TempDir(), &Options{Durability: SyncNone, Schema: &Schema{NoStore: true}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		var b Batch
		for i := range docs {
			b.Put(fmt.Sprintf("%06d", i), map[string]any{"t": fmt.Sprintf("all %d%d half%d third%d", i%7, i%11, i%2, i%3)})
		}
		if err := e.Apply(ctx, &b); err != nil {
			t.Fatal(err)
		}
		if err := e.Compact(ctx); err != nil {
			t.Fatal(err)
		}
		search := func() {
			if _, err := e.Search(ctx, q, nil); err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			search() // fills the pools, the list cache and bounds derived on use
		}
		return testing.AllocsPerRun(100, search)
	}
	for _, mode := range []Mode{ModeOr, ModeAnd} {
		q := Match{Field: "t", Text: "all half1 third2", Mode: mode}
		few, many := allocs(500, q), allocs(30_000, q)
		const most = 5 // however many hits
		if few > most || many > few+5 {
			t.Errorf("mode %v: %v allocations over 500 documents, %v over 30,000; want at most %d, and as many", mode, few, many, most)
		}
		t.Logf("mode %v: %v allocations over 500 documents, %v over 30,000", mode, few, many)
	}
}
