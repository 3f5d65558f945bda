package cpuexec_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
)

// BenchmarkTrees compares boolean trees over the words of a query with the flat OR of the same
// words, on the index of BenchmarkTopK:
//
//	nested   should(and(half of the words), or(the others)^2)
//	optional must(the first word) should(and(half of the others), the rest)
//	least    at least half of the words
//	best     should(best of two words, best of the next two, ...)
//	without  nested, without the documents of the last word
func BenchmarkTrees(b *testing.B) {
	queries := gutenberg(b).queries(b, "gutenberg-dev", 300)
	for _, shape := range []struct {
		name string
		tree func(words []blockmax.Node) *blockmax.Node
	}{
		{"flat", func([]blockmax.Node) *blockmax.Node { return nil }},
		{"nested", nestedTree},
		{"optional", func(words []blockmax.Node) *blockmax.Node {
			half := (len(words) + 1) / 2
			both := blockmax.Node{Must: words[1:half]}
			return &blockmax.Node{Must: words[:1], Should: append([]blockmax.Node{both}, words[half:]...)}
		}},
		{"least", func(words []blockmax.Node) *blockmax.Node {
			return &blockmax.Node{Should: words, MinShould: (len(words) + 1) / 2}
		}},
		{"best", func(words []blockmax.Node) *blockmax.Node {
			root := new(blockmax.Node)
			for i := 0; i < len(words); i += 2 {
				two := words[i:min(i+2, len(words))]
				root.Should = append(root.Should, blockmax.Node{Should: two, Best: true, Tie: blockmax.TieOne / 10})
			}
			return root
		}},
		{"without", func(words []blockmax.Node) *blockmax.Node {
			root := nestedTree(words[:len(words)-1])
			root.Not = words[len(words)-1:]
			return root
		}},
	} {
		trees := make([]blockmax.Plan, len(queries))
		for i, p := range queries {
			var words []blockmax.Node
			for t := range p.Weights {
				words = append(words, blockmax.Node{Leaf: true, Term: t})
			}
			p.Tree = shape.tree(words)
			if strings.HasPrefix(shape.name, "nested") {
				p.Weights = slices.Clone(p.Weights)
				for t := range (len(words) + 1) / 2 {
					p.Weights[t] /= 2
				}
			}
			trees[i] = p
		}
		for _, k := range []struct {
			name string
			k    int
		}{{"k=10", 10}, {"k=1000", 1000}} {
			for i := range trees { // lists get their ranges and bitmaps
				trees[i].K = k.k
				if _, err := (cpuexec.Executor{}).TopK(context.Background(), &trees[i]); err != nil {
					b.Fatal(err)
				}
			}
			b.Run(shape.name+"/"+k.name, func(b *testing.B) {
				runQueries(b, cpuexec.Executor{}, trees, blockmax.Or, k.k)
			})
		}
	}
}

// nestedTree is should(and(half of the words), or(the others)).
func nestedTree(words []blockmax.Node) *blockmax.Node {
	half := (len(words) + 1) / 2
	return &blockmax.Node{Should: []blockmax.Node{{Must: words[:half]}, {Should: words[half:]}}}
}
