package gpuexec_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/segment"
)

// under returns the collection with another mean length: the same lists, with other bounds.
func (c *collection) under(average float64) *collection {
	other := *c
	other.lists = slices.Clone(c.lists)
	table := blockmax.NewTable(blockmax.DefaultBM25, average)
	for i := range other.lists {
		t := &other.lists[i]
		t.Table, t.Bounds = table, segment.Bounds(t.List, table)
	}
	return &other
}

// TestMeanChanges changes the mean length again and again, as an index does that grows, while some
// queries still have the one before. Flat lists are made anew in the same places.
func TestMeanChanges(t *testing.T) {
	c := newCollection(40_000, []float64{0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001})
	x := openShaped(t, 0, 32<<20, gpuexec.Options{}, gpuexec.Shape{Multiprocessors: 2, StripTiles: -1})
	ask := func(c *collection, seed uint64) error {
		rng := rand.New(rand.NewPCG(21, seed))
		var plans []*exectest.Plan
		for i, k := range []int{1, 10, 100} {
			plans = append(plans, c.plan(rng, blockmax.Mode(i%2), k, 2+rng.IntN(3)))
		}
		return checkLarge(x, plans)
	}
	last, flat, used := c, 0, int64(0)
	for round := range 6 {
		now := c.under(320 + float64(10*round))
		for range 3 { // lists become flat meanwhile
			var group sync.WaitGroup
			for i, of := range []*collection{now, now, last} {
				group.Go(func() {
					if err := ask(of, uint64(i)); err != nil {
						t.Error(fmt.Errorf("round %d: %w", round, err))
					}
				})
			}
			group.Wait()
		}
		for range 3 {
			if err := ask(now, 0); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		}
		last = now
		if round == 2 {
			flat, used = x.FlatLists(), x.FlatBytes()
		}
	}
	if x.StripTiles() == 0 || flat == 0 {
		t.Errorf("no query went by strips; %d lists were flat", flat)
	}
	// Where both versions are asked for at the same time, each may have a place.
	if now := x.FlatBytes(); now > 3*used {
		t.Errorf("flat lists take %d bytes after three more changes, %d before", now, used)
	}
}

// after is the collection as its index has it when the mean length has changed a little: bounds follow
// from those before.
func (c *collection) after(t *testing.T, average float64) *collection {
	t.Helper()
	other := *c
	other.lists = slices.Clone(c.lists)
	table := blockmax.NewTable(blockmax.DefaultBM25, average)
	for i := range other.lists {
		l := &other.lists[i]
		if l.Table, l.Bounds = table, l.Bounds.Under(l.List, table); l.Bounds == nil {
			t.Fatalf("no bounds follow for a mean length of %v", average)
		}
	}
	return &other
}

// TestRenew: the first batch after a change of the mean length makes its lists flat, and goes by strips,
// but not lists whose last version one of its queries still has. Where bounds stay as they are, nothing
// of lists is copied.
func TestRenew(t *testing.T) {
	c := newCollection(40_000, []float64{0.3, 0.2, 0.1, 0.05})
	x := openShaped(t, 0, 32<<20, gpuexec.Options{}, gpuexec.Shape{Multiprocessors: 2, StripTiles: -1})
	rng := rand.New(rand.NewPCG(22, 1))
	ask := func(of *collection, lists int) *exectest.Plan {
		return (&collection{docs: of.docs, lists: of.lists[:lists]}).plan(rng, blockmax.Or, 10, lists)
	}
	becomeFlat(t, x, c, rng)
	if n := x.Renewed(); n > 0 {
		t.Errorf("%d lists are made flat anew that never were", n)
	}
	last := c
	for round, test := range []struct {
		mean    float64
		old     int // lists that a query has in the version before
		renewed int
		copies  bool
	}{{320.1, 0, 4, true}, {320.2, 0, 4, false}, {320.3, 2, 2, false}, {320.4, 0, 4, false}} {
		now := last.after(t, test.mean)
		plans := []*exectest.Plan{ask(now, 4)}
		if test.old > 0 {
			plans = append(plans, ask(last, test.old))
		}
		if _, copied := asked(t, x, plans); copied > 0 != test.copies {
			t.Errorf("round %d: %d bytes of lists were copied", round, copied)
		}
		if n := x.Renewed(); n != test.renewed {
			t.Errorf("round %d: %d lists were made flat before they were scored, want %d", round, n, test.renewed)
		}
		last = now
	}
}
