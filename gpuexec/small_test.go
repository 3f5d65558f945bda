package gpuexec_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestSmallSegments leaves small segments to the CPU, in batches of plans and of boolean trees, also
// with extents that are lost, and by windows.
func TestSmallSegments(t *testing.T) {
	for _, set := range []struct {
		lost   int // extents of ten
		stream bool
	}{{0, false}, {2, false}, {0, true}} {
		o := gpuexec.Options{SmallDocs: 1000}
		x := (*gpuexec.Executor)(nil)
		if set.stream {
			x = openStream(t, 64<<10, o, small)
		} else {
			x = open(t, 0, 32<<20, o)
		}
		b := newBatching(x)
		loseSome(x, set.lost, 1)
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

// smallPlan is a query for some lists of a large and of a small collection, which take turns as
// segments.
func smallPlan(of [2]*collection, segments int, terms ...int) *gpuexec.Plan {
	p := &gpuexec.Plan{K: 10}
	base := uint32(0)
	for i := range segments {
		c := of[i%2]
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

// elsePlan makes a plan a tree that all of its terms match and, if too few documents do, one of them.
func elsePlan(p *gpuexec.Plan) *gpuexec.Plan {
	var leaves []blockmax.Node
	for t := range p.Weights {
		leaves = append(leaves, blockmax.Node{Leaf: true, Term: t})
	}
	p.Tree, p.Else = &blockmax.Node{Must: leaves}, &blockmax.Node{Should: leaves}
	return p
}

func withMode(mode blockmax.Mode, p *gpuexec.Plan) *gpuexec.Plan {
	p.Mode = mode
	return p
}

func withK(k int, p *gpuexec.Plan) *gpuexec.Plan {
	p.K = k
	return p
}

// TestSmallSegmentsAreOpen: just those segments are open that are small beside the others and have a
// word of the plan, of plans that the CPU can complete with what the device has found. A plan of two
// turns leaves them open only in its second one.
func TestSmallSegmentsAreOpen(t *testing.T) {
	of := [2]*collection{newCollection(40_000, []float64{0.2, 0.01}), newCollection(500, []float64{0.2, 0})}
	counted := smallPlan(of, 2, 0)
	counted.CountAll, counted.OnlyTotal = true, true
	const many = 1000 // more than all words match
	andOr := func() *gpuexec.Plan { return withMode(blockmax.AndOr, smallPlan(of, 2, 0, 1)) }
	tests := []struct {
		plan   *gpuexec.Plan
		open   []int // segments
		stream []int // the same by windows
	}{
		{smallPlan(of, 1, 0), nil, nil},
		{smallPlan(of, 2, 0), []int{1}, []int{1}},
		{smallPlan(of, 4, 0, 1), []int{1, 3}, []int{1, 3}},
		{smallPlan(of, 2, 1), nil, nil},
		{andOr(), nil, nil},
		{withK(many, andOr()), nil, []int{1}}, // only by windows these are two turns
		{elsePlan(smallPlan(of, 2, 0, 1)), nil, nil},
		{withK(many, elsePlan(smallPlan(of, 2, 0, 1))), []int{1}, []int{1}},
		{counted, nil, nil},
	}
	o := gpuexec.Options{SmallDocs: 1000}
	devices := []*gpuexec.Executor{open(t, 0, 32<<20, o), openStream(t, 64<<10, o, small)}
	for i, c := range tests {
		for j, want := range [][]int{c.open, c.stream} {
			checkOpen(t, fmt.Sprintf("plan %d, by windows: %v", i, j == 1), devices[j], c.plan, want)
		}
	}
}

// checkOpen compares the segments that a device leaves open with those wanted, and the answer that the
// CPU completes with its own.
func checkOpen(t *testing.T, name string, x *gpuexec.Executor, p *gpuexec.Plan, segments []int) {
	t.Helper()
	answers, err := x.Run(t.Context(), []*gpuexec.Plan{p})
	if err != nil {
		t.Fatal(err)
	}
	a := &answers[0]
	var got []int
	for _, s := range a.Open {
		if got = append(got, s.Segment); s.From != 0 || s.To != p.Segments[s.Segment].Docs {
			t.Errorf("%s: documents %d to %d of segment %d are open", name, s.From, s.To, s.Segment)
		}
	}
	if !slices.Equal(got, segments) || a.Refused != nil {
		t.Errorf("%s: segments %v are open, want %v (refused: %v)", name, got, segments, a.Refused)
	}
	if p.OnlyTotal {
		return
	}
	want, err := cpuexec.Executor{}.TopK(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	top := a.Top
	if len(a.Open) > 0 {
		if top, err = (cpuexec.Executor{}).Finish(t.Context(), p, &a.Partial); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(top.Hits, want.Hits) {
		t.Errorf("%s: %v, want %v", name, top.Hits, want.Hits)
	}
}
