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

// TestSmallSegments leaves small segments to the CPU, in batches of plans and of boolean trees, also
// with extents that are lost.
func TestSmallSegments(t *testing.T) {
	for _, lost := range []int{0, 2} {
		b := newBatching(open(t, 0, 32<<20, gpuexec.Options{SmallDocs: 1000}))
		rng := rand.New(rand.NewPCG(1, 1))
		b.Lose(func(int) bool { return rng.IntN(10) < lost })
		if err := exectest.Check(b, 21, exectest.Fewer(checkRounds)); err != nil {
			t.Error(err)
		}
		if err := exectest.CheckTrees(b, 22, exectest.Fewer(16)); err != nil {
			t.Error(err)
		}
		if *b.flatRefused > 0 || *b.partial == 0 || *b.whole == 0 {
			t.Errorf("%d whole answers, %d partial, %d flat plans refused", *b.whole, *b.partial, *b.flatRefused)
		}
	}
}

// TestSmallSegmentsAreOpen: just those segments are open that are small beside the others and have a
// word of the plan, of plans that the CPU can complete without what the device has found.
func TestSmallSegmentsAreOpen(t *testing.T) {
	large, small := newCollection(40_000, []float64{0.2, 0.01}), newCollection(500, []float64{0.2, 0})
	x := open(t, 0, 32<<20, gpuexec.Options{SmallDocs: 1000})
	plan := func(segments int, terms ...int) *gpuexec.Plan {
		p := &gpuexec.Plan{K: 10}
		base := uint32(0)
		for i := range segments {
			c := large
			if i%2 == 1 {
				c = small
			}
			s := blockmax.Segment{Base: base, Docs: c.docs}
			for _, t := range terms {
				term := c.lists[t]
				term.Key = 0
				if term.List.Blocks() == 0 {
					term = blockmax.Term{}
				}
				s.Terms = append(s.Terms, term)
			}
			p.Segments = append(p.Segments, s)
			base += c.docs
		}
		for range terms {
			p.Weights = append(p.Weights, 1<<20)
		}
		return p
	}
	andOr, counted := plan(2, 0, 1), plan(2, 0)
	andOr.Mode, counted.CountAll, counted.OnlyTotal = blockmax.AndOr, true, true
	for i, c := range []struct {
		plan *gpuexec.Plan
		open []int
	}{
		{plan(1, 0), nil}, {plan(2, 0), []int{1}}, {plan(4, 0, 1), []int{1, 3}}, {plan(2, 1), nil}, {andOr, nil}, {counted, nil},
	} {
		answers, err := x.Run(context.Background(), []*gpuexec.Plan{c.plan})
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, s := range answers[0].Open {
			if got = append(got, s.Segment); s.From != 0 || s.To != small.docs {
				t.Errorf("plan %d: documents %d to %d of segment %d are open", i, s.From, s.To, s.Segment)
			}
		}
		if !slices.Equal(got, c.open) {
			t.Errorf("plan %d: segments %v are open, want %v", i, got, c.open)
		}
		if c.plan.OnlyTotal {
			continue
		}
		want, err := cpuexec.Executor{}.TopK(context.Background(), c.plan)
		if err != nil {
			t.Fatal(err)
		}
		top := answers[0].Top
		if len(c.open) > 0 {
			if top, err = (cpuexec.Executor{}).Finish(context.Background(), c.plan, &answers[0].Partial); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(top.Hits, want.Hits) {
			t.Errorf("plan %d: %v, want %v", i, top.Hits, want.Hits)
		}
	}
}
