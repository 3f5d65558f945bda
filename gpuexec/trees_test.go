package gpuexec_test

import (
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestTrees runs batches of boolean trees over flat lists and others, with caches for all and for
// few lists, and with some extents lost.
func TestTrees(t *testing.T) {
	for _, set := range []struct {
		name   string
		cache  int64
		o      gpuexec.Options
		lost   int // extents of ten
		rounds int
	}{
		{"flat", 32 << 20, gpuexec.Options{}, 0, 16},
		{"exhaustive", 32 << 20, gpuexec.Options{Algorithm: gpuexec.Exhaustive}, 0, 8},
		{"blocks", 64 << 10, gpuexec.Options{FlatBytes: 1}, 0, 12},
		{"lost", 32 << 20, gpuexec.Options{FlatBytes: 1}, 1, 12},
	} {
		t.Run(set.name, func(t *testing.T) {
			b := newBatching(open(t, 0, set.cache, set.o))
			loseSome(b.Executor, set.lost, 1)
			if err := exectest.CheckTrees(b, 7, exectest.Fewer(set.rounds)); err != nil {
				t.Error(err)
			}
			if *b.whole < 2**b.refused || (*b.partial > 0) != (set.lost > 0) {
				t.Errorf("%d whole answers, %d partial, %d refused", *b.whole, *b.partial, *b.refused)
			}
			if flat := b.FlatLists(); (flat > 0) != (set.o.FlatBytes == 0) {
				t.Errorf("%d lists are flat", flat)
			}
		})
	}
}

// TestTreesOfAbsentWords has more than 32 leaves, most of which name words that the segment lacks: it
// has few lists, whose leaves have high numbers. Some are below a node without a match, so they must
// not count.
func TestTreesOfAbsentWords(t *testing.T) {
	c := newCollection(10_000, []float64{0.3, 0.2, 0.1})
	const absent = 40
	p := &exectest.Plan{K: 10}
	s := blockmax.Segment{Docs: c.docs, Terms: append(make([]blockmax.Term, absent), c.lists...)}
	for range s.Terms {
		p.Weights = append(p.Weights, 1<<20)
	}
	p.Segments = []blockmax.Segment{s}
	leaf := func(t int) blockmax.Node { return blockmax.Node{Leaf: true, Term: t} }
	tree := new(blockmax.Node)
	for t := range absent - 1 {
		tree.Should = append(tree.Should, leaf(t))
	}
	tree.Should = append(tree.Should, leaf(absent), blockmax.Node{Must: []blockmax.Node{leaf(absent + 1), leaf(absent + 2), leaf(0)}})
	p.Tree = tree
	want, err := cpuexec.Executor{}.TopK(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	x := open(t, 0, 32<<20, gpuexec.Options{})
	for range 3 { // lists become flat
		answers, err := x.Run(t.Context(), []*exectest.Plan{p, p})
		if err != nil {
			t.Fatal(err)
		}
		for i := range answers {
			if a := &answers[i]; a.Refused != nil || len(a.Open) > 0 || !slices.Equal(a.Top.Hits, want.Hits) {
				t.Fatalf("answer %d is %v (open: %v, refused: %v), want %v", i, a.Top.Hits, a.Open, a.Refused, want.Hits)
			}
		}
	}
}
