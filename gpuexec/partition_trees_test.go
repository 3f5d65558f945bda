package gpuexec_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/partition"
	"github.com/riffle-search/riffle/internal/exectest"
)

// rangedTrees deals plans with trees to several devices: each plan as it is, then for its total alone,
// which must be the CPU's.
type rangedTrees struct {
	*ranged
	taken, counted int // plans that devices take, and totals without gaps
}

func (r *rangedTrees) TopK(ctx context.Context, p *exectest.Plan) (blockmax.TopK, error) {
	top, err := r.ranged.TopK(ctx, p)
	if err != nil || r.set.Refuses(p) != nil {
		return top, err
	}
	r.taken++
	only := *p
	only.CountAll, only.OnlyTotal = true, true
	r.key(&only)
	want, err := cpuexec.Parallel{}.Count(ctx, &only)
	if err != nil {
		return top, err
	}
	partials, err := r.set.Partials(ctx, []*exectest.Plan{&only, &only})
	if err != nil {
		return top, err
	}
	for i := range partials {
		a := &partials[i]
		if len(a.Open) > 0 {
			continue // the CPU counts anew
		}
		if r.counted++; a.Top.Total != want || !a.Top.Exact {
			return top, fmt.Errorf("the total is %d (exact: %v), want %d", a.Top.Total, a.Top.Exact, want)
		}
	}
	return top, nil
}

// TestPartitionTrees deals the documents of random indexes to several devices and searches them by
// boolean trees, and counts what these match, with caches of no size to everything.
func TestPartitionTrees(t *testing.T) {
	for _, test := range []rangedSetting{
		{"2 devices", 2, 8 << 20, gpuexec.Options{}, 0, 31},
		{"3 devices", 3, 8 << 20, gpuexec.Options{}, 0, 32},
		{"no cache", 3, 0, gpuexec.Options{FlatBytes: 1}, 0, 33},
		{"small cache", 2, 16 << 10, gpuexec.Options{FlatBytes: 64 << 10}, 0, 34},
		{"some extents missing", 3, 8 << 20, gpuexec.Options{}, 1, 35},
		{"small segments", 2, 8 << 20, gpuexec.Options{SmallDocs: 1000}, 0, 36},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &rangedTrees{ranged: test.open(t)}
			if err := exectest.CheckTrees(r, test.seed, exectest.Fewer(12)); err != nil {
				t.Error(err)
			}
			if r.taken == 0 || r.counted == 0 || r.cut == 0 || test.lose == 0 && r.counted < 2*r.taken {
				t.Errorf("devices took %d plans and counted %d, %d segments are cut", r.taken, r.counted, r.cut)
			}
			if r.whole == 0 {
				t.Error("no answer is whole")
			}
		})
	}
}

// TestPartitionElse asks two devices for trees with Else, and for AND+OR, with small segments that go
// to one device each. Only those are open, if any: of plans that have enough documents none, since no
// second turn has left them.
func TestPartitionElse(t *testing.T) {
	of := [2]*collection{newCollection(40_000, []float64{0.2, 0.01}), newCollection(500, []float64{0.2, 0})}
	r := openRanged(t, 2, 32<<20, gpuexec.Options{SmallDocs: 1000})
	r.set = partition.New([]partition.Device{r.devices[0], r.devices[1]}, partition.Options{TileDocs: r.devices[0].TileDocs(), LeastDocs: 1000})
	for i, c := range []struct {
		plan *exectest.Plan
		open []int // segments
	}{
		{elsePlan(smallPlan(of, 2, 0, 1)), nil},
		{withK(1000, elsePlan(smallPlan(of, 2, 0, 1))), []int{1}},
		{withMode(blockmax.AndOr, smallPlan(of, 2, 0, 1)), nil},
		{withK(1000, withMode(blockmax.AndOr, smallPlan(of, 2, 0, 1))), []int{1}},
	} {
		partials, err := r.set.Partials(t.Context(), []*exectest.Plan{c.plan})
		if err != nil {
			t.Fatal(err)
		}
		a := &partials[0]
		var got []int
		for _, s := range a.Open {
			got = append(got, s.Segment)
		}
		if !slices.Equal(got, c.open) {
			t.Errorf("plan %d: segments %v are open, want %v", i, got, c.open)
		}
		want, err := cpuexec.Executor{}.TopK(t.Context(), c.plan)
		if err != nil {
			t.Fatal(err)
		}
		top, err := r.finish(t.Context(), c.plan, a)
		if err != nil || !slices.Equal(top.Hits, want.Hits) {
			t.Errorf("plan %d: %v, want %v: %v", i, top.Hits, want.Hits, err)
		}
	}
}
