package blockmax

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/postings"
)

// TestShift: the largest ratio of two tables bounds what becomes of any impact, also of frequencies that
// no table of small ones has.
func TestShift(t *testing.T) {
	tfs := []uint32{1, 2, 3, 14, 15, 16, 17, 255, 1 << 16, 1<<24 + 1, 1<<32 - 1}
	for _, s := range similarities {
		for _, factor := range []float64{0.993, 0.9995, 1, 1.0004, 1.007} {
			old, next := NewTable(s.m, s.avg), NewTable(s.m, s.avg*factor)
			shift := old.shiftTo(next)
			if !shift.small() {
				t.Errorf("%+v avg %v times %v: impacts rise by %v and fall by %v", s.m, s.avg, factor, shift.rise, shift.fall)
				continue
			}
			for c := range 256 {
				for _, tf := range tfs {
					had, has := old.Impact(tf, uint8(c)), next.Impact(tf, uint8(c))
					if has > above(had) || has < shift.below(had) {
						t.Fatalf("%+v avg %v times %v: the impact of frequency %d and code %d becomes %d, not %d to %d",
							s.m, s.avg, factor, tf, c, has, shift.below(had), above(had))
					}
				}
			}
		}
	}
}

// TestBoundsUnder: bounds that follow from others hold, are nearly those of NewBounds, share the bounds of
// blocks, and are refused in time.
func TestBoundsUnder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var b postings.Builder
	type posting struct {
		tf   uint32
		code uint8
	}
	var all []posting
	for doc := range uint32(20_000) {
		p := posting{uint32(1 + rng.ExpFloat64()*2), uint8(5 + rng.UintN(40))}
		all = append(all, p)
		b.Add(doc, p.tf, p.code)
	}
	l := b.View(20_000)
	avg := 40.0
	exact := func() *Bounds {
		bounds, err := NewBounds(l, NewTable(DefaultBM25, avg))
		if err != nil {
			t.Fatal(err)
		}
		return bounds
	}
	first := exact()
	var last *Bounds
	bounds, steps := first, 0
	for {
		avg += 0.004
		next := bounds.Under(l, NewTable(DefaultBM25, avg))
		if next == nil {
			break
		}
		steps++
		last, bounds = bounds, next
		if base, slack := bounds.Base(); base != first.base || !slack || steps > 1 && &bounds.Block[0] != &last.Block[0] {
			t.Fatalf("step %d: bounds of blocks are not shared", steps)
		}
		for i, bound := range exact().Block {
			if got := bounds.Block[i]; got < bound || float64(got) > 1.02*float64(bound) {
				t.Fatalf("step %d: block %d is bounded by %d, exactly by %d", steps, i, got, bound)
			}
		}
		for i, bound := range exact().Extent {
			if got := bounds.Extent[i]; got < bound || float64(got) > 1.02*float64(bound) {
				t.Fatalf("step %d: extent %d is bounded by %d, exactly by %d", steps, i, got, bound)
			}
		}
		if bounds.List != exact().List {
			t.Fatalf("step %d: the list is bounded by %d, exactly by %d", steps, bounds.List, exact().List)
		}
		if steps%20 > 0 {
			continue
		}
		impacts, table := make([]uint16, len(all)), NewTable(DefaultBM25, avg)
		for i, p := range all {
			impacts[i] = table.Impact(p.tf, p.code)
		}
		slices.Sort(impacts)
		for _, k := range []int{1, 10, 100} {
			if reached := impacts[len(impacts)-k]; bounds.Reached(k) > reached || bounds.Reached(k) == 0 {
				t.Fatalf("step %d: %d postings are said to reach %d, they reach %d", steps, k, bounds.Reached(k), reached)
			}
		}
	}
	if steps < 20 {
		t.Errorf("bounds are refused after %d steps", steps)
	}
	if avg = 80; bounds.Under(l, NewTable(DefaultBM25, avg)) != nil {
		t.Error("bounds follow from those for half of the length")
	}
	if bounds.Under(l, NewTable(DefaultBM25, 40).Weighted(3)) != nil {
		t.Error("bounds follow for a table with weights")
	}
}
