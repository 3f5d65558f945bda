package cpuexec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// BenchmarkSort finds the first 10 of 400,000 documents by a column: of all documents, of 395,000, of
// 34,000 and of 400.
func BenchmarkSort(b *testing.B) {
	const docs = 400_000
	rng := rand.New(rand.NewPCG(5, 5))
	random, rising := columns.NewBuilder(columns.Int, nil), columns.NewBuilder(columns.Int, nil)
	for d := range uint32(docs) {
		if err := random.Add(d, columns.IntKey(rng.Int64N(1<<20))); err != nil {
			b.Fatal(err)
		}
		if err := rising.Add(d, columns.IntKey(1_700_000_000+int64(d)*3+rng.Int64N(3))); err != nil {
			b.Fatal(err)
		}
	}
	cols := map[string]*columns.Column{}
	for name, builder := range map[string]*columns.Builder{"random": random, "rising": rising} {
		c, err := builder.View(docs)
		if err != nil {
			b.Fatal(err)
		}
		cols[name] = c
	}
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	seg := blockmax.Segment{Docs: docs}
	for _, n := range []int{395_000, 34_000, 400} {
		var l postings.Builder
		for d := range uint32(docs) {
			if rng.IntN(docs) < n {
				l.Add(d, 1, 1)
			}
		}
		list := l.View(postings.MaxDoc)
		seg.Terms = append(seg.Terms, blockmax.Term{List: list, Table: table, Bounds: segment.Bounds(list, table)})
	}
	nodes := map[string]*blockmax.Node{
		"all": {All: true}, "395k": {Leaf: true}, "34k": {Leaf: true, Term: 1}, "400": {Leaf: true, Term: 2},
		"34k+400": {Should: []blockmax.Node{{Leaf: true, Term: 1}, {Leaf: true, Term: 2}}},
	}
	for _, tree := range []string{"all", "395k", "34k", "400", "34k+400"} {
		for _, name := range []string{"random", "rising"} {
			for _, desc := range []bool{false, true} {
				b.Run(fmt.Sprintf("of=%s/values=%s/desc=%v", tree, name, desc), func(b *testing.B) {
					p := &blockmax.Plan{K: 10, Weights: []uint32{1, 1, 1}, Segments: []blockmax.Segment{seg}, Tree: &blockmax.Node{Must: []blockmax.Node{*nodes[tree]}}}
					o := &cpuexec.Order{Keys: []cpuexec.SortKey{{Columns: []*columns.Column{cols[name]}, Desc: desc}}}
					for b.Loop() {
						if _, err := (cpuexec.Parallel{}).Sort(context.Background(), p, o); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
