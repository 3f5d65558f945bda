package gpuexec_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestWindowsTrees runs batches of boolean trees by windows.
func TestWindowsTrees(t *testing.T) {
	eachStreamSize(t, func(t *testing.T, b *batching, _ int64) {
		if err := exectest.CheckTrees(b, 17, exectest.Fewer(16)); err != nil {
			t.Error(err)
		}
		if *b.whole < 2**b.refused || *b.partial > 0 {
			t.Errorf("%d whole answers, %d partial, %d refused", *b.whole, *b.partial, *b.refused)
		}
	})
}

// TestWindowsTreesLarge runs trees among flat plans through several windows and steps of long lists.
func TestWindowsTreesLarge(t *testing.T) {
	c := newCollection(40_000, []float64{0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0001})
	for _, listBytes := range []int64{1 << 20, 64 << 10, 0} {
		t.Run(fmt.Sprintf("%d KiB", listBytes>>10), func(t *testing.T) {
			x := openStream(t, listBytes, gpuexec.Options{}, gpuexec.Shape{TileShift: 10, WindowTiles: 8, StepWindows: 2, Multiprocessors: 2})
			rng := rand.New(rand.NewPCG(8, 8))
			leaf := func(t int) blockmax.Node { return blockmax.Node{Leaf: true, Term: t} }
			for _, k := range []int{1, 10, 100} {
				var plans []*exectest.Plan
				for _, tree := range []*blockmax.Node{
					nil,
					{Must: []blockmax.Node{leaf(0), {Should: []blockmax.Node{leaf(1), leaf(2)}}}, Not: []blockmax.Node{leaf(3)}},
					{Should: []blockmax.Node{leaf(0), leaf(1), {Must: []blockmax.Node{leaf(2), leaf(3)}}, leaf(4)}, MinShould: 2},
					{Should: []blockmax.Node{{Must: []blockmax.Node{leaf(0), leaf(1)}}, {Must: []blockmax.Node{leaf(2), leaf(3), leaf(4)}}}},
				} {
					p := c.plan(rng, blockmax.Mode(rng.IntN(2)), k, 5)
					p.Tree = tree
					plans = append(plans, p)
				}
				for range 2 {
					if err := checkLarge(x, plans); err != nil {
						t.Error(err)
					}
				}
			}
			if n := x.LongestStep(); n != 2 {
				t.Errorf("the longest step has %d windows", n)
			}
		})
	}
}

// TestWindowsWide asks for more words than a warp has lanes, for which a flat plan goes as a tree, and
// for AND+OR, which takes two turns if AND finds too few documents.
func TestWindowsWide(t *testing.T) {
	var densities []float64
	for i := range 40 {
		densities = append(densities, 0.3/float64(i+1))
	}
	c := newCollection(20_000, densities)
	x := openStream(t, 64<<10, gpuexec.Options{}, gpuexec.Shape{TileShift: 10, WindowTiles: 8, Multiprocessors: 2})
	rng := rand.New(rand.NewPCG(9, 9))
	var plans []*exectest.Plan
	for _, terms := range []int{2, 3, 33, 40} {
		for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And, blockmax.AndOr} {
			plans = append(plans, c.plan(rng, mode, []int{1, 10, 1000}[rng.IntN(3)], terms))
		}
	}
	dense := &collection{docs: c.docs, lists: c.lists[:2]}
	plans = append(plans, dense.plan(rng, blockmax.AndOr, 10, 2)) // AND finds enough
	for range 2 {
		if err := checkLarge(x, plans); err != nil {
			t.Error(err)
		}
	}
}
