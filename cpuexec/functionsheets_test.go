package cpuexec_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// overSheets is a plan over three lists in two segments, the first of four sheets.
func overSheets() *blockmax.Plan {
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	p := &blockmax.Plan{K: 10, Weights: []uint32{1 << 20, 3 << 20, 5 << 20}}
	for _, docs := range []uint32{800_000, 50_000} {
		seg := blockmax.Segment{Docs: docs}
		if len(p.Segments) > 0 {
			seg.Base = p.Segments[0].Docs
		}
		for t := range p.Weights {
			var b postings.Builder
			for d := uint32(0); d < docs; d += 3 * uint32(t+1) {
				b.Add(d, 1+d*2654435761>>28, 1)
			}
			l := b.View(docs)
			seg.Terms = append(seg.Terms, blockmax.Term{List: l, Table: table, Bounds: segment.Bounds(l, table)})
		}
		p.Segments = append(p.Segments, seg)
	}
	return p
}

// TestFunctionOverSheets compares answers under functions over several sheets, whose best come first, with
// those of all documents scored.
func TestFunctionOverSheets(t *testing.T) {
	p, pool := overSheets(), newPool(t, 3)
	if err := cpuexec.MakeBitmaps(p, func(l *postings.List) bool { return true }); err != nil {
		t.Fatal(err)
	}
	trees := []*blockmax.Node{nil, nil, {Must: leaves(2), Should: leaves(0, 1)}}
	executors := []exectest.Executor{cpuexec.Executor{}, cpuexec.Parallel{Pool: pool, Grain: 1}}
	rng := rand.New(rand.NewPCG(20, 26))
	for round := range exectest.Fewer(24) {
		p.Outer = &blockmax.Function{Mode: blockmax.FunctionMode(round % 4), Weight: 8 << 20}
		p.Mode, p.K = []blockmax.Mode{blockmax.Or, blockmax.And, blockmax.Or}[round/4%3], []int{1, 10, 300}[rng.IntN(3)]
		p.Tree = trees[round/4%3]
		for i := range p.Segments {
			p.Segments[i].Functions = []blockmax.Numbers{exectest.RandomNumbers(rng, p.Segments[i].Docs)}
		}
		want := answer(t, cpuexec.Executor{Algorithm: cpuexec.Exhaustive}, p).Hits
		for i, e := range executors {
			top, err := e.TopK(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(top.Hits, want) {
				t.Fatalf("round %d, executor %d, mode %d, function %+v, k %d:\n got %v\nwant %v", round, i, p.Mode, *p.Outer, p.K, top.Hits, want)
			}
		}
	}
}

// TestFunctionLeavesOutSheets checks that the best of rising numbers are found by few documents, in all modes
// of a function that decides.
func TestFunctionLeavesOutSheets(t *testing.T) {
	p := overSheets()
	p.Segments = p.Segments[:1]
	p.Segments[0].Functions = []blockmax.Numbers{exectest.RisingNumbers(p.Segments[0].Docs)}
	for _, mode := range []blockmax.FunctionMode{blockmax.FunctionReplace, blockmax.FunctionMax, blockmax.FunctionAdd} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			p.Outer = &blockmax.Function{Mode: mode, Weight: 1 << 29}
			if scored := answer(t, cpuexec.Executor{}, p).Work.DocsScored; scored > 2000 {
				t.Errorf("%d documents were scored, want at most 2000 of %d", scored, p.Segments[0].Docs/3)
			}
		})
	}
}
