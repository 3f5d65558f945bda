package cpuexec_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// treeShapes are trees over seven terms, of which the last is in a seventh of all documents.
var treeShapes = []struct {
	name string
	tree *blockmax.Node
}{
	{"nested", &blockmax.Node{Should: []blockmax.Node{{Must: leaves(0, 1)}, {Should: leaves(2, 3)}}}},
	{"and of ands", &blockmax.Node{Must: []blockmax.Node{{Must: leaves(0, 1)}, {Must: leaves(2)}}}},
	{"optional", &blockmax.Node{Must: leaves(0), Should: append(leaves(1, 2), blockmax.Node{Must: leaves(3, 4)})}},
	{"and of ors", &blockmax.Node{Must: []blockmax.Node{{Should: leaves(0, 1)}, {Should: leaves(2, 3)}}}},
	{"least", &blockmax.Node{Should: leaves(0, 1, 2, 3, 4), MinShould: 2}},
	{"best", &blockmax.Node{Should: []blockmax.Node{
		{Should: leaves(0, 1, 2), Best: true, Tie: blockmax.TieOne / 10},
		{Should: leaves(3, 4, 5), Best: true},
	}}},
	{"and of best", &blockmax.Node{Must: []blockmax.Node{
		{Should: leaves(0, 1), Best: true},
		{Should: leaves(2, 3), Best: true, Tie: blockmax.TieOne / 3},
	}}},
	{"without", &blockmax.Node{Should: append(leaves(0, 1), blockmax.Node{Must: leaves(2, 3)}), Not: leaves(6)}},
	{"filtered", &blockmax.Node{Should: append(leaves(0, 1), blockmax.Node{Must: leaves(2, 3)}), Filter: leaves(6)}},
	{"constant", &blockmax.Node{Should: append(leaves(0, 1), blockmax.Node{Must: leaves(2), Constant: true, Score: 1 << 20})}},
}

func leaves(terms ...int) (nodes []blockmax.Node) {
	for _, t := range terms {
		nodes = append(nodes, blockmax.Node{Leaf: true, Term: t})
	}
	return nodes
}

// TestTreesSkip holds trees over lists of many blocks to exhaustive scoring, and wants more blocks
// skipped.
func TestTreesSkip(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 13))
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	seg := blockmax.Segment{Docs: 300_000}
	p := blockmax.Plan{}
	for i, every := range []int{10, 8, 40, 12, 9, 15, 7} {
		var b postings.Builder
		for d := range seg.Docs {
			if rng.IntN(every) == 0 {
				tf := uint32(1)
				if d/4000%19 == 3 { // where the best documents are
					tf += rng.Uint32N(30)
				}
				b.Add(d, tf, 1)
			}
		}
		l := b.View(postings.MaxDoc)
		seg.Terms = append(seg.Terms, blockmax.Term{List: l, Table: table, Bounds: segment.Bounds(l, table)})
		p.Weights = append(p.Weights, uint32(1+i%3)<<24)
	}
	p.Segments = []blockmax.Segment{seg, seg}
	p.Segments[1].Base = seg.Docs
	for _, shape := range treeShapes {
		p.Tree, p.K = shape.tree, 10
		want := answer(t, cpuexec.Executor{Algorithm: cpuexec.Exhaustive}, &p)
		for round := range 4 { // without ranges and bitmaps at first, then with them
			got := answer(t, cpuexec.Executor{}, &p)
			if !slices.Equal(got.Hits, want.Hits) {
				t.Fatalf("%s, round %d:\n got %v\nwant %v", shape.name, round, got.Hits, want.Hits)
			}
			if got.Work.BlocksDecoded > want.Work.BlocksDecoded*9/10 {
				t.Errorf("%s, round %d: work %+v, exhaustively %+v", shape.name, round, got.Work, want.Work)
			}
		}
	}
}

func answer(t *testing.T, e cpuexec.Executor, p *blockmax.Plan) blockmax.TopK {
	t.Helper()
	top, err := e.TopK(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return top
}
