package riffle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestCountTerms compares with counting each document's words, in an index of several segments with
// deletions, and stops by an error.
func TestCountTerms(t *testing.T) {
	ix := newIndex(t, &Options{Durability: SyncNone})
	rng := rand.New(rand.NewPCG(16, 6))
	docs := map[string][]string{}
	for part := range 3 {
		var b Batch
		for range 700 {
			id := fmt.Sprint("d", rng.IntN(1500))
			var words []string
			for range 1 + rng.IntN(8) {
				words = append(words, fmt.Sprintf("w%d", min(rng.IntN(300), rng.IntN(300))))
			}
			b.Put(id, map[string]any{"text": strings.Join(words, " "), "n": rng.IntN(9)})
			docs[id] = words
		}
		for range 60 {
			id := fmt.Sprint("d", rng.IntN(1500))
			b.Delete(id)
			delete(docs, id)
		}
		ix.must(ix.Apply(context.Background(), &b))
		if part < 2 {
			ix.flush()
		}
	}
	s, err := ix.Snapshot()
	ix.must(err)
	defer s.Close()
	for _, c := range []struct {
		q       Query
		matches func([]string) bool
	}{
		{All{}, func([]string) bool { return true }},
		{Match{Field: "text", Text: "w1 w7"}, func(w []string) bool { return slices.Contains(w, "w1") || slices.Contains(w, "w7") }},
		{Bool{Must: []Query{All{}}, MustNot: []Query{Term{"text", "w2"}}}, func(w []string) bool { return !slices.Contains(w, "w2") }},
		{Term{"text", "none"}, func([]string) bool { return false }},
	} {
		for _, prefix := range []string{"", "W1", "w29", "x"} {
			want, got := map[string]int{}, map[string]int{}
			for _, words := range docs {
				if !c.matches(words) {
					continue
				}
				for _, w := range slices.Compact(slices.Sorted(slices.Values(words))) {
					if strings.HasPrefix(w, strings.ToLower(prefix)) {
						want[w]++
					}
				}
			}
			err := s.CountTerms(t.Context(), c.q, "text", prefix, func(term []byte, matching, all int) error {
				if matching > all {
					t.Errorf("%q: %d of %d documents", term, matching, all)
				}
				if matching > 0 {
					got[string(term)] += matching
				}
				return nil
			})
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v, prefix %q: %v, want %v, %v", c.q, prefix, got, want, err)
			}
		}
	}
	stop := errors.New("stop")
	visits := 0
	if err := s.CountTerms(t.Context(), All{}, "text", "", func([]byte, int, int) error { visits++; return stop }); !errors.Is(err, stop) || visits != 1 {
		t.Errorf("%d visits, %v", visits, err)
	}
	if err := s.CountTerms(t.Context(), nil, "text", "", nil); err == nil {
		t.Error("no query is no error")
	}
	if err := s.CountTerms(t.Context(), All{}, "txt", "", nil); err == nil || !strings.Contains(err.Error(), "txt") {
		t.Errorf("an unknown field: %v", err)
	}
}
