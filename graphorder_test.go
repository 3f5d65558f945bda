package riffle

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestGraphOrderAnswers: an index in order by graph gives the same answers as one in order of
// arrival, except for the order of equal scores, also after deletions. Its statistics name the
// order, and compacting it again does nothing.
func TestGraphOrderAnswers(t *testing.T) {
	ctx := context.Background()
	arrival, graph := openTopics(t, OrderByArrival), openTopics(t, OrderByGraph)
	for round := range 2 {
		for _, e := range []*Engine{arrival, graph} {
			if round > 0 {
				deleteEvery(t, e, 5)
			}
			if err := e.Compact(ctx); err != nil {
				t.Fatal(err)
			}
		}
		st, err := graph.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if len(st.Segments) != 1 || st.Segments[0].Order != OrderByGraph {
			t.Fatalf("segments %+v, want one by graph", st.Segments)
		}
		if err := graph.Compact(ctx); err != nil {
			t.Fatal(err)
		}
		again, _ := graph.Stats()
		if again.Segments[0].Number != st.Segments[0].Number {
			t.Error("a compact index was compacted again")
		}
		if err := graph.Check(ctx, func(err error) { t.Error(err) }); err != nil {
			t.Fatal(err)
		}
		requireSameAnswers(t, arrival, graph)
	}
}

// openTopics makes an index of 3,000 documents on four topics, shuffled together.
func openTopics(t *testing.T, order DocOrder) *Engine {
	t.Helper()
	e, err := Open(t.TempDir(), &Options{Durability: SyncNone, Merge: MergeOptions{Order: order, Workers: 2}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	rng := rand.New(rand.NewPCG(30, 30))
	var b Batch
	for i := range 3000 {
		topic, text := rng.IntN(4), ""
		for range 12 {
			text += fmt.Sprintf("c%d t%d-%d ", rng.IntN(100), topic, rng.IntN(30))
		}
		b.Put(fmt.Sprint(i), map[string]any{"body": text})
	}
	if err := e.Apply(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return e
}

func deleteEvery(t *testing.T, e *Engine, n int) {
	t.Helper()
	var b Batch
	for i := 0; i < 3000; i += n {
		b.Delete(fmt.Sprint(i))
	}
	if err := e.Apply(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
}

// requireSameAnswers compares all hits of some queries, by score and then id.
func requireSameAnswers(t *testing.T, a, b *Engine) {
	t.Helper()
	rng := rand.New(rand.NewPCG(31, 31))
	for range 40 {
		text := fmt.Sprintf("c%d t%d-%d c%d", rng.IntN(100), rng.IntN(4), rng.IntN(30), rng.IntN(100))
		for _, mode := range []Mode{ModeOr, ModeAnd} {
			q := Match{Field: "body", Text: text, Mode: mode}
			want, got := allHits(t, a, q), allHits(t, b, q)
			if !slices.Equal(got, want) {
				t.Fatalf("%q, mode %v: %d hits by graph, %d by arrival, or other ones", text, mode, len(got), len(want))
			}
			if top := topScores(t, b, q); !slices.Equal(top, topScores(t, a, q)) {
				t.Fatalf("%q, mode %v: other scores at the top: %v", text, mode, top)
			}
		}
	}
}

type scored struct {
	id    string
	score float64
}

func allHits(t *testing.T, e *Engine, q Query) []scored {
	t.Helper()
	r, err := e.Search(context.Background(), q, &SearchOptions{K: MaxK})
	if err != nil {
		t.Fatal(err)
	}
	var hits []scored
	for _, h := range r.Hits {
		hits = append(hits, scored{h.ID, h.Score})
	}
	slices.SortFunc(hits, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id))
	})
	return hits
}

func topScores(t *testing.T, e *Engine, q Query) []float64 {
	t.Helper()
	r, err := e.Search(context.Background(), q, &SearchOptions{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	var scores []float64
	for _, h := range r.Hits {
		scores = append(scores, h.Score)
	}
	return scores
}
