package cpuexec_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// treeShapes are trees over seven terms. The last term is in a seventh of all documents.
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
	{"best of ors", &blockmax.Node{Best: true, Tie: blockmax.TieOne / 5, Should: []blockmax.Node{
		{Should: leaves(0, 1, 2)},
		{Should: leaves(3, 4)},
		{Leaf: true, Term: 5},
	}}},
	{"and of best", &blockmax.Node{Must: []blockmax.Node{
		{Should: leaves(0, 1), Best: true},
		{Should: leaves(2, 3), Best: true, Tie: blockmax.TieOne / 3},
	}}},
	{"without", &blockmax.Node{Should: append(leaves(0, 1), blockmax.Node{Must: leaves(2, 3)}), Not: leaves(6)}},
	{"filtered", &blockmax.Node{Should: append(leaves(0, 1), blockmax.Node{Must: leaves(2, 3)}), Filter: leaves(6)}},
	{"constant", &blockmax.Node{Should: append(leaves(0, 1), blockmax.Node{Must: leaves(2), Constant: true, Score: 1 << 20})}},
}

// TestConformanceOfTrees compares these trees, over the lists of random indexes, with the oracle:
// random trees rarely have these shapes.
func TestConformanceOfTrees(t *testing.T) {
	defer cpuexec.SetFewCandidates(cpuexec.SetFewCandidates(1))
	for _, exact := range []int{0, 16} {
		defer cpuexec.SetExactPostings(cpuexec.SetExactPostings(exact))
		for round := range exectest.Fewer(400) {
			exectest.Plans(11, round, func(ix *exectest.Index, p *exectest.Plan) bool {
				terms := len(p.Weights)
				if terms < 3 || p.K > 1000 {
					return true
				}
				for i := range p.Weights {
					p.Weights[i] /= 8 // a tree may name a term twice
				}
				p.Else = nil
				for i := range p.Segments {
					p.Segments[i].Tail = nil // it bounds another tree
				}
				for _, shape := range treeShapes {
					tree := overTerms(shape.tree, terms)
					p.Tree = &tree
					if err := cpuexec.MakeBitmaps(p, someLists); err != nil {
						t.Fatal(err)
					}
					got, want := answer(t, cpuexec.Executor{}, p), exectest.Oracle(ix, p)
					if !slices.Equal(got.Hits, want.Hits) || got.Total > want.Total || got.Exact && got.Total != want.Total {
						t.Fatalf("%s, round %d, k %d:\n got %v, %d\nwant %v, %d", shape.name, round, p.K, got.Hits, got.Total, want.Hits, want.Total)
					}
				}
				return true
			})
		}
	}
}

// overTerms is a tree whose terms are taken modulo their number.
func overTerms(n *blockmax.Node, terms int) blockmax.Node {
	c := *n
	c.Term %= terms
	c.Score = min(c.Score, 1)
	for _, part := range []*[]blockmax.Node{&c.Must, &c.Should, &c.Filter, &c.Not} {
		*part = slices.Clone(*part)
		for i := range *part {
			(*part)[i] = overTerms(&(*part)[i], terms)
		}
	}
	return c
}

func leaves(terms ...int) (nodes []blockmax.Node) {
	for _, t := range terms {
		nodes = append(nodes, blockmax.Node{Leaf: true, Term: t})
	}
	return nodes
}

// TestTreesSkip compares trees over lists of many blocks with exhaustive scoring. They must skip
// more blocks.
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
				if d/4000%19 == 3 { // the best documents
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
		for round := range 4 { // first without ranges and bitmaps, then with them
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
