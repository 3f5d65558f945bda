package riffle

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestSharedStatistics: an index split in three scores like the whole, bit for bit, with common
// statistics that have passed through JSON. So do a cursor and an explanation.
func TestSharedStatistics(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	o := &Options{Rank: Rank{Field: "pr"}, Schema: &Schema{Fields: map[string]Field{"k": {Type: FieldKeyword}, "year": {Type: FieldNumber}}}}
	whole := newIndex(t, o)
	shards := []*testIndex{newIndex(t, o), newIndex(t, o), newIndex(t, o)}
	home := map[string]int{}
	for i := range 300 {
		var text strings.Builder
		for range 1 + rng.IntN(20) {
			fmt.Fprintf(&text, "w%d ", rng.IntN(1+rng.IntN(30)))
		}
		doc := map[string]any{"t": text.String(), "k": fmt.Sprint("k", rng.IntN(3)), "year": 1800 + rng.IntN(20), "pr": rng.Float64()}
		id, at := fmt.Sprintf("%03d", i), rng.IntN(len(shards))
		if at == 2 {
			delete(doc, "year") // a shard knows nothing of a field that it lacks
			doc["only"] = "here"
		}
		home[id] = at
		whole.put(id, doc)
		shards[at].put(id, doc)
	}
	half := 0.5
	for _, q := range []Query{
		match("t", "w1 w2 w17"),
		all("t", "w1 w3"),
		match("only", "here nowhere"),
		Term{"year", 1805},
		Match{Fields: []string{"t", "k", "only"}, Text: "k1 w2 here", Boosts: map[string]float64{"k": 2}, Combine: CombineBest, Tie: 0.3},
		Match{Fields: []string{"t", "k", "only"}, Text: "k1 w2 here w7", Boosts: map[string]float64{"t": 2}, Combine: CombineBM25F},
		Bool{Must: []Query{match("t", "w0 w1")}, Should: []Query{Term{"year", 1807}, ConstantScore{match("t", "w2"), 0.7}}, Filter: []Query{Term{"k", "k0"}}},
	} {
		for _, alpha := range []*float64{nil, &half} {
			var sum Statistics
			for _, ix := range shards {
				s, err := ix.Statistics(t.Context(), q, nil)
				ix.must(err)
				sum.Add(s)
			}
			data, err := json.Marshal(&sum)
			whole.must(err)
			stats := new(Statistics)
			whole.must(json.Unmarshal(data, stats))
			if own, err := whole.Statistics(t.Context(), q, nil); err != nil || !reflect.DeepEqual(own, stats) {
				t.Fatalf("%v: %s %v, want %v", q, data, err, own)
			}
			want := map[string]float64{}
			for _, h := range whole.search(q, &SearchOptions{K: MaxK, Alpha: alpha}).Hits {
				want[h.ID] = h.Score
			}
			found := 0
			for at, ix := range shards {
				o := &SearchOptions{K: 50, Alpha: alpha, Statistics: stats}
				for {
					res := ix.search(q, o)
					for _, h := range res.Hits {
						if found++; home[h.ID] != at || h.Score != want[h.ID] {
							t.Errorf("%v: %s scores %v, in the whole index %v", q, h.ID, h.Score, want[h.ID])
						}
						if x, err := ix.Explain(t.Context(), q, h.ID, o); err != nil || x.Score != h.Score {
							t.Errorf("%v: %s scores %v, explained:\n%v", q, h.ID, h.Score, x)
						}
					}
					if len(res.Hits) < o.K {
						break
					}
					o.After = res.Hits[o.K-1].Cursor
				}
			}
			if found == 0 || found != len(want) {
				t.Errorf("%v: %d hits, in the whole index %d", q, found, len(want))
			}
		}
	}
	stats, err := whole.Statistics(t.Context(), match("t", "w1"), nil)
	whole.must(err)
	var qe *QueryError
	if _, err := whole.Search(t.Context(), match("t", "w1 w2"), &SearchOptions{Statistics: stats}); !errors.As(err, &qe) || qe.Part != "SearchOptions.Statistics" {
		t.Errorf("statistics of another query: %v", err)
	}
}

// sharedStatistics returns the statistics of a query in several indexes, which have passed through JSON.
func sharedStatistics(t testing.TB, q Query, of ...Searcher) (sum *Statistics) {
	t.Helper()
	for again, rounds := true, 0; again; rounds++ {
		if rounds == 8 {
			t.Fatalf("%v: its statistics are asked for again and again", q)
		}
		var parts []*Statistics
		for _, s := range of {
			own, err := s.Statistics(t.Context(), q, &SearchOptions{Statistics: sum})
			if err != nil {
				t.Fatalf("%v: %v", q, err)
			}
			data, err := json.Marshal(own)
			if err != nil {
				t.Fatal(err)
			}
			own = new(Statistics)
			if err := json.Unmarshal(data, own); err != nil {
				t.Fatal(err)
			}
			parts = append(parts, own)
		}
		sum, again = SumStatistics(sum, parts...)
	}
	return sum
}

// TestRevision: two indexes with the same batches have one revision, unless documents are deleted and not
// merged away; every batch changes it.
func TestRevision(t *testing.T) {
	a, b := newIndex(t, nil), newIndex(t, nil)
	revision := func(ix *testIndex) string {
		t.Helper()
		s, err := ix.Snapshot()
		ix.must(err)
		defer s.Close()
		r, err := s.Revision()
		ix.must(err)
		return r
	}
	seen := map[string]bool{}
	step := func(same bool, position string, change func(*Batch)) {
		t.Helper()
		for _, ix := range []*testIndex{a, b} {
			batch := &Batch{Position: []byte(position)}
			change(batch)
			ix.must(ix.Apply(t.Context(), batch))
		}
		ra, rb := revision(a), revision(b)
		if (ra == rb) != same || seen[ra] || ra != revision(a) {
			t.Errorf("at %s: revisions %s, %s", position, ra, rb)
		}
		seen[ra] = true
	}
	step(true, "1", func(batch *Batch) { batch.Put("1", map[string]any{"t": "x"}) })
	a.flush()
	step(true, "2", func(batch *Batch) { batch.Put("2", map[string]any{"t": "y"}) })
	step(false, "3", func(batch *Batch) { batch.Put("1", map[string]any{"t": "z"}) })
	for _, ix := range []*testIndex{a, b} {
		ix.must(ix.Compact(t.Context()))
	}
	if ra, rb := revision(a), revision(b); ra != rb || seen[ra] {
		t.Errorf("compacted: revisions %s, %s", ra, rb)
	}
}

// FuzzStatistics: outside statistics never make a search panic.
func FuzzStatistics(f *testing.F) {
	e, err := Open(f.TempDir(), nil)
	if err != nil {
		f.Fatal(err)
	}
	defer e.Close()
	if err := e.Put(f.Context(), "1", map[string]any{"t": "x y", "n": 5}); err != nil {
		f.Fatal(err)
	}
	q := Bool{Should: []Query{match("t", "x y z"), Term{"n", 5}}}
	s, err := e.Statistics(f.Context(), q, nil)
	if err != nil {
		f.Fatal(err)
	}
	data, err := json.Marshal(s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(strings.ReplaceAll(string(data), ":1", ":18446744073709551615")))
	f.Add([]byte(strings.ReplaceAll(string(data), `"documents":1`, `"documents":0`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s Statistics
		if json.Unmarshal(data, &s) != nil {
			return
		}
		s.Add(&s)
		again, err := json.Marshal(&s)
		if err != nil {
			t.Fatal(err)
		}
		var back Statistics
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		_, _ = e.Search(t.Context(), q, &SearchOptions{Statistics: &s})
	})
}
