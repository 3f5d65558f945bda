package gpuexec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// A countingBatches executor asks the device for totals alone, and compares them with those of the
// CPU, which the oracle checks.
type countingBatches struct {
	*batching
	counted uint32 // units of work, summed up over batches
}

func (c *countingBatches) TopK(ctx context.Context, p *exectest.Plan) (blockmax.TopK, error) {
	whole, only := *p, *p
	whole.CountAll, only.CountAll, only.OnlyTotal = true, true, true
	want, err := cpuexec.Executor{}.TopK(ctx, &whole)
	if err != nil {
		return want, err
	}
	got, err := c.batching.TopK(ctx, &only)
	if err != nil {
		return want, err
	}
	c.counted += c.CountUnits()
	if got.Total != want.Total || !got.Exact {
		return want, fmt.Errorf("the total is %d (exact: %v), want %d", got.Total, got.Exact, want.Total)
	}
	return want, nil
}

// Prunes does not require it, since totals need all postings.
func (c *countingBatches) Prunes() bool { return false }

// TestCounts counts what plans and boolean trees match, over flat lists and others, in tiles of
// several sizes, with caches for all and for few lists, and with some extents lost.
func TestCounts(t *testing.T) {
	larger := small
	larger.TileShift = 11
	for _, set := range []struct {
		name  string
		cache int64
		shape gpuexec.Shape
		o     gpuexec.Options
		lost  int // extents of ten
	}{
		{"flat", 32 << 20, small, gpuexec.Options{}, 0},
		{"larger tiles", 32 << 20, larger, gpuexec.Options{}, 0},
		{"blocks", 64 << 10, small, gpuexec.Options{FlatBytes: 1}, 0},
		{"lost", 32 << 20, small, gpuexec.Options{FlatBytes: 1}, 1},
	} {
		t.Run(set.name, func(t *testing.T) {
			c := &countingBatches{batching: newBatching(openShaped(t, 0, set.cache, set.o, set.shape))}
			loseSome(c.Executor, set.lost, 1)
			if err := exectest.Check(c, 11, exectest.Fewer(60)); err != nil {
				t.Error(err)
			}
			if err := exectest.CheckTrees(c, 12, exectest.Fewer(16)); err != nil {
				t.Error(err)
			}
			if c.counted == 0 {
				t.Error("nothing was counted by bits")
			}
			if (*c.partial > 0) != (set.lost > 0) {
				t.Errorf("%d whole answers, %d partial, %d refused", *c.whole, *c.partial, *c.refused)
			}
			if flat := c.FlatLists(); (flat > 0) != (set.o.FlatBytes == 0) {
				t.Errorf("%d lists are flat", flat)
			}
		})
	}
}

// TestCountsOfLongLists counts over segments of many tiles, whose lists are dense and rare, so that
// an AND reads some strips of the dense ones only.
func TestCountsOfLongLists(t *testing.T) {
	for _, shift := range []uint32{9, 12, 14, 16} {
		t.Run(fmt.Sprintf("shift=%d", shift), func(t *testing.T) {
			shape := small
			shape.TileShift = shift
			x := openShaped(t, 0, 64<<20, gpuexec.Options{FlatBytes: 32 << 20}, shape)
			plans := longCounts(70_001)
			for round := range 4 { // until lists are flat
				answers, err := x.Run(context.Background(), plans)
				if err != nil {
					t.Fatal(err)
				}
				for i, p := range plans {
					want, err := cpuexec.Parallel{}.Count(context.Background(), p)
					if err != nil {
						t.Fatal(err)
					}
					if a := &answers[i]; a.Refused != nil || len(a.Open) > 0 || a.Top.Total != want || !a.Top.Exact {
						t.Fatalf("round %d, plan %d: %+v, want %d", round, i, a, want)
					}
					if round < 3 || len(p.Weights) != denseTerms {
						continue
					}
					// Nothing but bits is read: all blocks of each of the terms.
					work, blocks := answers[i].Top.Work, int64(0)
					for t := range p.Segments[0].Terms {
						blocks += int64(p.Segments[0].Terms[t].List.Blocks())
					}
					if work.BlocksDecoded != blocks || work.BlocksSkipped != 0 {
						t.Errorf("plan %d has %d blocks read and %d skipped, want %d and none", i, work.BlocksDecoded, work.BlocksSkipped, blocks)
					}
				}
			}
			if x.CountUnits() == 0 || x.FlatLists() == 0 {
				t.Errorf("%d units, %d flat lists", x.CountUnits(), x.FlatLists())
			}
		})
	}
}

// denseTerms is how many terms those plans of longCounts have of which all lists are dense.
const denseTerms = 4

// longCounts are plans over dense and rare lists, some with a filter.
func longCounts(docs uint32) (plans []*gpuexec.Plan) {
	rng := rand.New(rand.NewPCG(5, 5))
	terms := newCollection(docs, []float64{0.5, 0.3, 0.02, 0.007, 0.0015, 0.0002, 0.1}).lists
	accept := make([]uint64, (docs+63)/64)
	for i := range accept {
		accept[i] = rng.Uint64()
	}
	accept[len(accept)-1] &= 1<<(docs%64) - 1
	leaf := func(t int) blockmax.Node { return blockmax.Node{Leaf: true, Term: t} }
	trees := []*blockmax.Node{
		nil,
		{Must: []blockmax.Node{leaf(0)}, Not: []blockmax.Node{leaf(1)}},
		{Should: []blockmax.Node{leaf(0), leaf(1), leaf(2), leaf(6)}, MinShould: 2, Not: []blockmax.Node{{Must: []blockmax.Node{leaf(0), leaf(3)}}}},
		{Must: []blockmax.Node{leaf(5), {Should: []blockmax.Node{leaf(3), leaf(0)}}}, Should: []blockmax.Node{leaf(4)}},
		{Must: []blockmax.Node{leaf(6)}, Should: []blockmax.Node{leaf(1), leaf(2), {Must: []blockmax.Node{leaf(0), leaf(3)}}}, MinShould: 1},
	}
	for _, of := range [][]int{{0, 1, 2, 3, 4, 5, 6}, {2, 3}, {0, 5}, {4, 6, 1}, {5, 4}, {0, 1, 0, 1}} {
		for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
			for _, filtered := range []bool{false, true} {
				p := &gpuexec.Plan{Mode: mode, K: 1, CountAll: true, OnlyTotal: true}
				s := blockmax.Segment{Docs: docs}
				if filtered {
					s.Accept = accept
				}
				for _, i := range of {
					s.Terms = append(s.Terms, terms[i])
					p.Weights = append(p.Weights, 1000)
				}
				p.Segments = []blockmax.Segment{s}
				if len(of) == len(terms) && mode == blockmax.Or {
					for _, tree := range trees[1:] {
						q := *p
						q.Tree = tree
						plans = append(plans, &q)
					}
				}
				plans = append(plans, p)
			}
		}
	}
	return plans
}
