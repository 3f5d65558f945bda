package riffle

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/invariants"
)

// TestGrowingMemory searches a segment in memory while it grows, often enough that its lists derive
// ranges and bitmaps and extend them. It searches the current index and snapshots of any age. The
// answers are those of exhaustive scoring.
func TestGrowingMemory(t *testing.T) {
	e, err := Open(t.TempDir(), &Options{Durability: SyncNone, Schema: &Schema{NoStore: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	rng := rand.New(rand.NewPCG(13, 9))
	z := rand.NewZipf(rng, 1.1, 4, 300)
	docs := 0
	put := func(n int) {
		var b Batch
		for range n {
			if docs++; docs > 100 && rng.IntN(30) == 0 {
				b.Put(fmt.Sprint(rng.IntN(docs)), map[string]any{"text": zipfText(z, 1+rng.IntN(30))})
				continue
			}
			b.Put(fmt.Sprint(docs), map[string]any{"text": zipfText(z, 1+rng.IntN(30))})
		}
		if err := e.Apply(ctx, &b); err != nil {
			t.Fatal(err)
		}
	}
	compare := func(s Searcher) {
		t.Helper()
		words := make([]string, 1+rng.IntN(5))
		for i := range words {
			words[i] = fmt.Sprintf("w%d", z.Uint64())
		}
		q := Match{Field: "text", Text: strings.Join(words, " "), Mode: []Mode{ModeOr, ModeOr, ModeAnd, ModeAndOr}[rng.IntN(4)]}
		o := &SearchOptions{K: []int{1, 2, 10, 50}[rng.IntN(4)], Exec: &Exec{Algorithm: AlgorithmExhaustive}}
		want, err := s.Search(ctx, q, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Exec.Algorithm = AlgorithmBMM
		got, err := s.Search(ctx, q, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Hits) != len(want.Hits) {
			t.Fatalf("%q, k = %d: %d hits, want %d", q.Text, o.K, len(got.Hits), len(want.Hits))
		}
		for i := range got.Hits {
			if g, w := got.Hits[i], want.Hits[i]; g.ID != w.ID || g.Score != w.Score {
				t.Fatalf("%q, mode %v, k = %d of %d documents: hit %d is %s (%v), want %s (%v)", q.Text, q.Mode, o.K, docs, i, g.ID, g.Score, w.ID, w.Score)
			}
		}
		if n, err := s.Count(ctx, q); err != nil || n < len(got.Hits) && q.Mode != ModeAndOr {
			t.Fatalf("%d documents match %q, %v", n, q.Text, err)
		}
	}
	var snapshots []*Snapshot
	for round := range 60 {
		put(1 + rng.IntN(1<<rng.IntN(13)))
		if round%10 == 0 {
			s, err := e.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			snapshots = append(snapshots, s)
		}
		for range 15 {
			compare(e)
			compare(snapshots[rng.IntN(len(snapshots))])
		}
	}
	if docs < 2*4096 {
		t.Fatalf("%d documents are too few: there should be several tiles", docs)
	}
	before, err := e.Stats()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := e.Search(ctx, Match{Field: "text", Text: "w0 w1 w2"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if before.CacheBytes < int64(docs)/64 {
		t.Errorf("the lists of %d documents in memory take %d bytes of the cache: they are not kept", docs, before.CacheBytes)
	}
	if !invariants.Enabled {
		allocs := testing.AllocsPerRun(50, func() {
			if _, err := e.Search(ctx, Match{Field: "text", Text: "w0 w1 w2"}, nil); err != nil {
				t.Fatal(err)
			}
		})
		if allocs > 6 {
			t.Errorf("a search of a segment in memory allocates %v times, want at most 6", allocs)
		}
	}
	for _, s := range snapshots {
		s.Close()
	}
	if err := e.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	after, err := e.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if after.CacheBytes != 0 {
		t.Errorf("the cache holds %d bytes for a segment that is gone", after.CacheBytes)
	}
}
