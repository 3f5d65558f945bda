package riffle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/invariants"
	"github.com/riffle-search/riffle/internal/search"
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
		o := &SearchOptions{K: []int{1, 2, 10, 50}[rng.IntN(4)], Exec: &Exec{Algorithm: AlgorithmExhaustive}, ExactTotal: true} // opens all lists
		want, err := s.Search(ctx, q, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Exec.Algorithm, o.ExactTotal = AlgorithmBMM, false
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
			put(1 + rng.IntN(3))
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

// TestTail: after small batches, a search sees a segment in memory in two parts, until the second one
// has grown or the index has been searched often.
func TestTail(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{NoStore: true}})
	docs := 0
	put := func(n int) {
		t.Helper()
		b := new(Batch)
		for range n {
			b.Put(fmt.Sprint("d", docs), map[string]any{"t": fmt.Sprintf("all w%d", docs%7)})
			docs++
		}
		ix.must(ix.Apply(ctx, b))
	}
	expect := func(parts ...uint32) {
		t.Helper()
		v, err := ix.acquire()
		ix.must(err)
		defer v.Release()
		set, err := ix.settings(nil)
		ix.must(err)
		x, err := v.plan(ctx, match("t", "all"), &set)
		ix.must(err)
		defer x.End()
		var got []uint32
		for _, s := range search.Compiled(x).Plan.Segments {
			got = append(got, s.Docs)
		}
		if !slices.Equal(got, parts) {
			t.Errorf("parts of %d documents, want %d", got, parts)
		}
	}
	put(4000)
	put(10)
	expect(4010) // few documents have no tail
	put(990)
	expect(5000)
	put(1)
	expect(5000, 1)
	put(624)
	expect(5000, 625)
	for _, id := range []string{"d4999", "d5000", "d5624"} {
		x, err := ix.Explain(ctx, match("t", "all"), id, nil)
		if ix.must(err); !x.Matches {
			t.Errorf("%s: %v", id, x)
		}
		hits := ix.search(match("t", "all"), &SearchOptions{K: 6000}).Hits
		if i := slices.IndexFunc(hits, func(h Hit) bool { return h.ID == id }); i < 0 || hits[i].Score != x.Score {
			t.Errorf("%s is not among %d hits, or has another score", id, len(hits))
		}
	}
	put(1)
	expect(5626)
	put(1)
	expect(5626, 1)
	ix.must(ix.Delete(ctx, "d5626"))
	for range 1001 {
		ix.search(match("t", "w3"), nil)
	}
	expect(5627)
	if n, err := ix.Count(ctx, match("t", "all")); err != nil || n != 5626 {
		t.Errorf("%d documents, %v", n, err)
	}
}
