package riffle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRankFormula: a score is alpha × rank + (1 - alpha) × BM25, which is divided
// by the sum of the query's weights.
func TestRankFormula(t *testing.T) {
	ix := newIndex(t, &Options{Rank: Rank{Field: "pr", Alpha: 0.3}, Merge: MergeOptions{Disabled: true}})
	ranks := map[string]float64{"a": 0, "b": 0.25, "c": 1, "d": 0.999}
	for i, id := range []string{"a", "b", "c", "d"} {
		ix.put(id, map[string]any{"t": strings.Repeat("x ", i+1) + "y", "pr": ranks[id]})
	}
	ix.put("e", map[string]any{"t": "y z"}) // no rank: 0
	plain := 0.0
	for _, state := range []string{"in memory", "sealed", "merged", "reopened"} {
		switch state {
		case "sealed":
			ix.flush()
		case "merged":
			ix.put("f", map[string]any{"t": "y"})
			ix.must(ix.Delete(t.Context(), "f"))
			ix.must(ix.Compact(t.Context()))
		case "reopened":
			ix.reopen(&Options{Rank: Rank{Field: "pr", Alpha: 0.3}})
		}
		for _, alpha := range []float64{0, 0.3, 0.7, 1} {
			for _, word := range []string{"x", "y", "z", "x y"} {
				st := docTexts{"a": "x y", "b": "x x y", "c": "x x x y", "d": "x x x x y", "e": "y z"}
				sum := 0.0
				for _, w := range strings.Fields(word) {
					sum += st.idf(w)
				}
				bm25 := map[string]float64{}
				for _, h := range ix.search(match("t", word), &SearchOptions{Alpha: &plain}).Hits {
					bm25[h.ID] = h.Score
				}
				hits := ix.search(match("t", word), &SearchOptions{Alpha: &alpha}).Hits
				if len(hits) != len(bm25) || len(hits) == 0 {
					t.Errorf("%s, %s, alpha %v: %d hits, without rank %d", state, word, alpha, len(hits), len(bm25))
				}
				for _, h := range hits {
					want := alpha*ranks[h.ID] + (1-alpha)*bm25[h.ID]/sum
					if alpha == 0 {
						want = bm25[h.ID] // not normalised
					}
					if !near(h.Score, want) {
						t.Errorf("%s, %s, alpha %v: %s scores %v, want %v", state, word, alpha, h.ID, h.Score, want)
					}
				}
			}
		}
	}
	if got := ix.ids(All{}); got[0] != "c" || got[1] != "d" || got[2] != "b" {
		t.Errorf("all documents by rank: %v", got)
	}
}

// TestRankShare: the weight of the static rank does not depend on missing words and fields.
func TestRankShare(t *testing.T) {
	ix := newIndex(t, &Options{Rank: Rank{Field: "pr", Alpha: 0.3}, Schema: &Schema{Fields: map[string]Field{"title": {}, "k": {Type: FieldKeyword}}}})
	for i := range 5 {
		ix.put(fmt.Sprint(i), map[string]any{"t": strings.Repeat("x ", i+1) + "y", "pr": float64(5-i) / 5})
	}
	want := ix.search(match("t", "x y"), nil).Hits
	for _, q := range []Query{
		match("t", "x y nowhere"),
		match("t", "nothing x never y nowhere"),
		Match{Fields: []string{"t", "title", "k"}, Text: "x y"},
		Match{Fields: []string{"t", "title"}, Text: "x y", Combine: CombineCross},
		Match{Fields: []string{"t", "title"}, Text: "x y nowhere", Combine: CombineBM25F},
		Bool{Should: []Query{match("t", "x y"), Term{"k", "nothing"}}},
	} {
		got := ix.search(q, nil).Hits
		if !slices.EqualFunc(got, want, func(a, b Hit) bool { return a.ID == b.ID && near(a.Score, b.Score) }) {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
}

// docTexts are the texts of a small corpus, for statistics.
type docTexts map[string]string

func (d docTexts) idf(word string) float64 {
	n := 0.0
	for _, text := range d {
		if slices.Contains(strings.Fields(text), word) {
			n++
		}
	}
	return math.Log(1 + (float64(len(d))-n+0.5)/(n+0.5))
}

func TestRankRefuses(t *testing.T) {
	ix := newIndex(t, &Options{Rank: Rank{Field: "pr"}})
	for value, want := range map[any]string{
		1.01: "a static rank is a number in [0, 1], not 1.01",
		-0.1: "not -0.1",
		2:    "not 2",
		"1":  "not 1",
		true: "not true",
	} {
		err := ix.Put(t.Context(), "1", map[string]any{"pr": value})
		if err == nil || !strings.Contains(err.Error(), `document "1": field "pr": `) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", value, err, want)
		}
	}
	ix.put("1", map[string]any{"pr": 1})
	two, half := 2.0, 0.5
	if _, err := ix.Search(t.Context(), All{}, &SearchOptions{Alpha: &two}); err == nil || !strings.Contains(err.Error(), "SearchOptions.Alpha: must lie in [0, 1], not 2") {
		t.Errorf("alpha 2: %v", err)
	}
	without := newIndex(t, nil)
	if _, err := without.Search(t.Context(), All{}, &SearchOptions{Alpha: &half}); err == nil || !strings.Contains(err.Error(), "without Options.Rank.Field") {
		t.Errorf("alpha without a rank: %v", err)
	}
}

// rankedDocs is a corpus of five tiles, whose ranks fall as PageRanks do.
func rankedDocs(r *rand.Rand) []map[string]any {
	docs := make([]map[string]any, 5*4096)
	for i := range docs {
		var text strings.Builder
		for range 1 + r.IntN(12) {
			fmt.Fprintf(&text, "w%d ", int(math.Pow(200, r.Float64())))
		}
		docs[i] = map[string]any{"t": text.String(), "n": i % 7, "pr": math.Pow(r.Float64(), 6)}
	}
	return docs
}

// TestGlobalScoreOrder builds one corpus twice, in order of arrival and in order of global score.
// Both give the same answers, and in the second order searches end early.
func TestGlobalScoreOrder(t *testing.T) {
	docs := rankedDocs(rand.New(rand.NewPCG(1, 2)))
	for _, alpha := range []float64{0, 0.3, 1} {
		t.Run(fmt.Sprintf("alpha=%v", alpha), func(t *testing.T) {
			t.Parallel()
			var ixs [2]*testIndex
			for order := range ixs {
				ixs[order] = newIndex(t, &Options{
					Schema: &Schema{NoStore: true}, Durability: SyncNone,
					Rank:  Rank{Field: "pr", Alpha: alpha},
					Merge: MergeOptions{Order: DocOrder(order), Disabled: true},
				})
				var b Batch
				for i, d := range docs {
					b.Put(fmt.Sprint(i), d)
				}
				ixs[order].must(ixs[order].Apply(t.Context(), &b))
				b.Reset()
				for i := range len(docs) / 10 {
					b.Delete(fmt.Sprint(i * 7))
				}
				ixs[order].must(ixs[order].Apply(t.Context(), &b))
				ixs[order].must(ixs[order].Compact(t.Context()))
			}
			var scored [2]int64
			for _, q := range rankQueries() {
				for _, a := range []Algorithm{AlgorithmExhaustive, AlgorithmWAND, AlgorithmBMW, AlgorithmMaxScore, AlgorithmBMM} {
					for _, o := range []SearchOptions{{K: 1}, {K: 10}, {K: 10, Similarity: &BM25{K1: 0.3, B: 1}}} {
						o.Exec = &Exec{Algorithm: a}
						one, two := ixs[0].search(q, &o), ixs[1].search(q, &o)
						if err := sameUpToTies(one.Hits, two.Hits); err != nil {
							t.Errorf("%v, %v, k %d: %v\nby arrival %v\nby score   %v", q, a, o.K, err, one.Hits, two.Hits)
						}
						scored[0] += one.Work.DocsScored
						scored[1] += two.Work.DocsScored
					}
				}
			}
			t.Logf("documents scored by arrival %d, by global score %d", scored[0], scored[1])
			if scored[1] >= scored[0]*3/4 {
				t.Errorf("%d documents scored in order of arrival, %d in order of global score: no early end", scored[0], scored[1])
			}
		})
	}
}

// rankQueries has queries of every shape.
func rankQueries() []Query {
	return []Query{
		match("t", "w1"),
		match("t", "w1 w2"),
		match("t", "w1 w3 w120"),
		all("t", "w1 w2"),
		Bool{Must: []Query{match("t", "w1 w2")}, MustNot: []Query{Term{"n", 3}}},
		Bool{Must: []Query{match("t", "w2")}, Should: []Query{match("t", "w5"), ConstantScore{Term{"n", 1}, 0.01}}},
		ConstantScore{match("t", "w1"), 1},
	}
}

// sameUpToTies compares two rankings of one set of documents that are numbered in different orders.
// Scores must be equal at every place. Documents must be equal for every score but the last, of
// which either may have kept others.
func sameUpToTies(a, b []Hit) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d and %d hits", len(a), len(b))
	}
	byScore := [2]map[float64][]string{{}, {}}
	for i := range a {
		if a[i].Score != b[i].Score {
			return fmt.Errorf("place %d scores %v and %v", i, a[i].Score, b[i].Score)
		}
		byScore[0][a[i].Score] = append(byScore[0][a[i].Score], a[i].ID)
		byScore[1][a[i].Score] = append(byScore[1][a[i].Score], b[i].ID)
	}
	for score, ids := range byScore[0] {
		others := byScore[1][score]
		slices.Sort(ids)
		slices.Sort(others)
		if score != a[len(a)-1].Score && !slices.Equal(ids, others) {
			return fmt.Errorf("score %v: %v and %v", score, ids, others)
		}
	}
	return nil
}
