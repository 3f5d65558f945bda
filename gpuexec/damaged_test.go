package gpuexec_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestDamaged: plans with damaged lists are refused every time, and the other plans of their batch
// are answered. One list has a payload that does not match its directory, in one of many copied
// extents. Another names documents that the segment lacks.
func TestDamaged(t *testing.T) {
	const docs = 200_000
	c := newCollection(docs, []float64{0.3, 0.3, 0.3, 0.05})
	rng := rand.New(rand.NewPCG(4, 4))
	sound := c.plan(rng, blockmax.Or, 10, len(c.lists))
	want, err := cpuexec.Executor{}.TopK(context.Background(), sound)
	if err != nil {
		t.Fatal(err)
	}
	broken := c.plan(rng, blockmax.And, 10, 1)
	broken.Segments[0].Terms[0] = brokenTerm(t, newCollection(docs, []float64{0.2}).lists[0])
	beyond := c.plan(rng, blockmax.Or, 10, 2)
	beyond.Segments[0].Docs /= 2
	x := openShaped(t, 0, 32<<20, gpuexec.Options{Algorithm: gpuexec.Exhaustive}, gpuexec.Shape{Multiprocessors: 1})
	for range 3 {
		answers, err := x.Run(context.Background(), []*exectest.Plan{broken, sound, beyond})
		if err != nil {
			t.Fatal(err)
		}
		for i, refused := range []bool{true, false, true} {
			if a := &answers[i]; refused != (a.Refused != nil) || refused != (len(a.Open) > 0) {
				t.Errorf("plan %d: refused (%v), open %v", i, a.Refused, a.Open)
			}
		}
		if !slices.Equal(answers[1].Top.Hits, want.Hits) {
			t.Error("the sound plan has other hits than the CPU's")
		}
	}
	if only, err := x.Run(context.Background(), []*exectest.Plan{beyond}); err != nil || only[0].Refused == nil {
		t.Errorf("alone: refused (%v), %v", only[0].Refused, err)
	}
}

// brokenTerm overwrites a block in the middle of a list.
func brokenTerm(t *testing.T, term blockmax.Term) blockmax.Term {
	t.Helper()
	rows, err := term.List.Payload(term.List.Blocks() / 2)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		rows[i] = 0xff
	}
	term.Key = 1 << 40
	return term
}
