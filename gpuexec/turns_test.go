package gpuexec_test

import (
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// turnsOf returns a plan that is answered in two turns, a tree with Else or an AND+OR, and the plans
// of its turns. The first one finds too few documents.
func turnsOf(t *testing.T, c *collection, tree bool) (p, first, second *exectest.Plan) {
	t.Helper()
	rng := rand.New(rand.NewPCG(2, 2))
	p = c.plan(rng, blockmax.AndOr, 200, 3)
	one, other := *p, *p
	if tree {
		leaves := []blockmax.Node{{Leaf: true, Term: 0}, {Leaf: true, Term: 1}, {Leaf: true, Term: 2}}
		p.Tree, p.Else = &blockmax.Node{Must: leaves}, &blockmax.Node{Should: leaves}
		one.Tree, other.Tree = p.Tree, p.Else
	} else {
		one.Mode, other.Mode = blockmax.And, blockmax.Or
	}
	if n, err := (cpuexec.Parallel{}).Count(t.Context(), &one); err != nil || n == 0 || n >= p.K {
		t.Fatalf("the first turn finds %d documents of %d: %v", n, p.K, err)
	}
	return p, &one, &other
}

// TestTurnsWork: the work of a plan is that of both of its turns, on one device and on several.
func TestTurnsWork(t *testing.T) {
	c := newCollection(30_000, []float64{0.05, 0.02, 0.1})
	for _, test := range []struct {
		name         string
		tree, stream bool
		devices      int
	}{{"tree", true, false, 1}, {"AND+OR by windows", false, true, 1}, {"tree on two devices", true, false, 2}, {"AND+OR on two devices", false, false, 2}} {
		t.Run(test.name, func(t *testing.T) {
			p, first, second := turnsOf(t, c, test.tree)
			o := gpuexec.Options{Algorithm: gpuexec.Exhaustive, NoCache: true, NoFlat: true, FlatBytes: 1}
			if test.stream {
				o.Stream, o.WindowBytes = true, windowBytes
			}
			o.Shape = gpuexec.Shape{TileShift: 10, WindowTiles: 8, Multiprocessors: 2}
			r := openRanged(t, test.devices, windowBytes, o)
			run := func(p *exectest.Plan) blockmax.Work {
				var partials []blockmax.Partial
				var err error
				if plans := []*exectest.Plan{p}; test.devices == 1 {
					partials, err = r.devices[0].Partials(t.Context(), plans)
				} else {
					partials, err = r.set.Partials(t.Context(), plans)
				}
				if err != nil || len(partials[0].Open) > 0 {
					t.Fatalf("%v are open: %v", partials[0].Open, err)
				}
				return partials[0].Top.Work
			}
			run(p) // what a device keeps, it has from now on
			want := run(first)
			want.Add(run(second))
			if got := run(p); got != want || want.DocsScored == 0 || want.BlocksDecoded == 0 {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}
