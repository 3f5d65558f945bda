package riffle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// combineIndex has documents of random words in the fields a and b, and keywords in k.
func combineIndex(t *testing.T, rng *rand.Rand, docs int) *testIndex {
	ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{"k": {Type: FieldKeyword}}}})
	words := func() string {
		var s []string
		for range rng.IntN(6) {
			s = append(s, []string{"x", "x", "y", "z", "w"}[rng.IntN(5)])
		}
		return strings.Join(s, " ")
	}
	var b Batch
	for i := range docs {
		b.Put(fmt.Sprintf("%03d", i), map[string]any{"a": words(), "b": words(), "k": words()})
	}
	ix.must(ix.Apply(t.Context(), &b))
	return ix
}

// scoresOf returns the scores of all matches of a query.
func (ix *testIndex) scoresOf(q Query) map[string]float64 {
	ix.t.Helper()
	scores := map[string]float64{}
	for _, h := range ix.search(q, &SearchOptions{K: MaxK}).Hits {
		scores[h.ID] = h.Score
	}
	return scores
}

// TestCombine compares scores over several fields with the formulas that Combine documents,
// computed from the scores of each word in each field.
func TestCombine(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ix := combineIndex(t, rng, 300)
	fields, words, boosts := []string{"a", "b"}, []string{"x", "y"}, map[string]float64{"a": 3}
	single := map[string]map[string]float64{} // field and word, then id
	for _, f := range fields {
		for _, w := range words {
			single[f+w] = ix.scoresOf(match(f, w))
		}
	}
	for _, mode := range []Mode{ModeOr, ModeAnd} {
		for combine := CombineSum; combine <= CombineBest; combine++ {
			for _, tie := range []float64{0, 0.25, 1} {
				if combine == CombineSum && tie > 0 {
					continue
				}
				q := Match{Fields: fields, Text: "x y", Mode: mode, Boosts: boosts, Combine: combine, Tie: tie}
				got := ix.scoresOf(q)
				best := func(x, y float64) float64 { return max(x, y) + tie*min(x, y) }
				for i := range 300 {
					id := fmt.Sprintf("%03d", i)
					s := func(f, w string) float64 {
						score := single[f+w][id]
						if f == "a" {
							score *= 3
						}
						return score
					}
					has := func(f, w string) bool { _, ok := single[f+w][id]; return ok }
					ax, ay, bx, by := s("a", "x"), s("a", "y"), s("b", "x"), s("b", "y")
					inA, inB := has("a", "x") || has("a", "y"), has("b", "x") || has("b", "y")
					matches, want := inA || inB, ax+ay+bx+by
					switch combine {
					case CombineCross:
						want = best(ax, bx) + best(ay, by)
					case CombineBest:
						if mode == ModeAnd {
							inA, inB = has("a", "x") && has("a", "y"), has("b", "x") && has("b", "y")
							if !inA {
								ax, ay = 0, 0
							}
							if !inB {
								bx, by = 0, 0
							}
							matches = inA || inB
						}
						want = best(ax+ay, bx+by)
					}
					if mode == ModeAnd && combine != CombineBest {
						matches = (has("a", "x") || has("b", "x")) && (has("a", "y") || has("b", "y"))
					}
					score, ok := got[id]
					if ok != matches || ok && math.Abs(score-want) > 1e-3*want {
						t.Fatalf("%v, tie %v: %s scores %v (%v), want %v (%v)", q, tie, id, score, ok, want, matches)
					}
					x, err := ix.Explain(t.Context(), q, id, nil)
					if ix.must(err); x.Matches != ok || x.Score != score {
						t.Fatalf("%v: %s scores %v (%v), explained:\n%v", q, id, score, ok, x)
					}
				}
			}
		}
	}
}

// TestCombineFilters: the same scores inside other clauses, with and without filters.
func TestCombineFilters(t *testing.T) {
	ix := combineIndex(t, rand.New(rand.NewPCG(3, 4)), 200)
	q := Match{Fields: []string{"a", "b", "k"}, Text: "x y", Combine: CombineBest, Tie: 0.5, Boosts: map[string]float64{"k": 0.5}}
	all := ix.scoresOf(q)
	filtered := ix.scoresOf(Bool{Must: []Query{q}, Filter: []Query{match("a", "z")}})
	if len(filtered) == 0 || len(filtered) == len(all) {
		t.Fatalf("%d of %d documents", len(filtered), len(all))
	}
	for id, score := range filtered {
		if all[id] != score {
			t.Errorf("%s: %v behind a filter, %v without", id, score, all[id])
		}
	}
}

// TestAndOrAnywhere: a query with AndOr is answered with And if K documents match that, and
// otherwise with Or, over several fields, with synonyms, and inside other queries. Pages, counts
// and explanations agree.
func TestAndOrAnywhere(t *testing.T) {
	ix := combineIndex(t, rand.New(rand.NewPCG(5, 6)), 150)
	for name, query := range map[string]func(Mode) Query{
		"one field": func(m Mode) Query { return Match{Field: "a", Text: "x y z", Mode: m} },
		"sum":       func(m Mode) Query { return Match{Fields: []string{"a", "b"}, Text: "x y z", Mode: m} },
		"cross": func(m Mode) Query {
			return Match{Fields: []string{"a", "b"}, Text: "x y z", Mode: m, Combine: CombineCross}
		},
		"best": func(m Mode) Query {
			return Match{Fields: []string{"a", "b"}, Text: "x y z", Mode: m, Combine: CombineBest, Tie: 0.1}
		},
		"bm25f": func(m Mode) Query {
			return Match{Fields: []string{"a", "b"}, Text: "x y z", Mode: m, Combine: CombineBM25F, Boosts: map[string]float64{"a": 2}}
		},
		"nested": func(m Mode) Query {
			return Bool{Should: []Query{Boost{Match{Field: "a", Text: "x y", Mode: m}, 2}, Match{Field: "b", Text: "y z", Mode: m}}, MustNot: []Query{match("a", "w")}}
		},
		"constant": func(m Mode) Query { return ConstantScore{Match{Field: "a", Text: "x y", Mode: m}, 2} },
		"filter": func(m Mode) Query {
			return Bool{Must: []Query{match("a", "x")}, Filter: []Query{Match{Field: "b", Text: "x y", Mode: m}}}
		},
	} {
		n, err := ix.Count(t.Context(), query(ModeAnd))
		ix.must(err)
		if n < 2 {
			t.Fatalf("%s: %d documents match all", name, n)
		}
		for _, k := range []int{1, n - 1, n, n + 1, 150} {
			want := query(ModeAnd)
			if n < k {
				want = query(ModeOr)
			}
			res := ix.search(query(ModeAndOr), &SearchOptions{K: k, ExactTotal: true})
			plain := ix.search(want, &SearchOptions{K: k, ExactTotal: true})
			same := slices.EqualFunc(res.Hits, plain.Hits, func(a, b Hit) bool { return a.ID == b.ID && math.Abs(a.Score-b.Score) < 1e-4*b.Score })
			if !same || res.Total != plain.Total {
				t.Errorf("%s, k = %d of %d: %v of %d, want %v of %d", name, k, n, hitIDs(res), res.Total, hitIDs(plain), plain.Total)
			}
			if second := ix.search(query(ModeAndOr), &SearchOptions{K: k, From: k}); len(second.Hits) != max(0, min(k, plain.Total-k)) {
				t.Errorf("%s, k = %d of %d: %d hits on the second page", name, k, n, len(second.Hits))
			}
			matches := ix.scoresOf(want)
			for i := range 150 {
				id := fmt.Sprintf("%03d", i)
				x, err := ix.Explain(t.Context(), query(ModeAndOr), id, &SearchOptions{K: k})
				ix.must(err)
				score, ok := matches[id]
				if x.Matches != ok || math.Abs(x.Score-score) > 1e-4*score {
					t.Fatalf("%s, k = %d of %d: %s scores %v (%v), explained:\n%v", name, k, n, id, score, ok, x)
				}
			}
			for _, h := range res.Hits {
				if x, err := ix.Explain(t.Context(), query(ModeAndOr), h.ID, &SearchOptions{K: k}); err != nil || x.Score != h.Score {
					t.Errorf("%s: %s scores %v, explained: %v %v", name, h.ID, h.Score, x, err)
				}
			}
		}
	}
}

// TestSearcher: an Engine and a Snapshot give the same answers.
func TestSearcher(t *testing.T) {
	ix := combineIndex(t, rand.New(rand.NewPCG(7, 8)), 50)
	snap, err := ix.Snapshot()
	ix.must(err)
	defer snap.Close()
	var answers []string
	for _, s := range []Searcher{ix.Engine, snap} {
		q := match("a", "x y")
		res, err := s.Search(t.Context(), q, nil)
		ix.must(err)
		many, err := s.SearchBatch(t.Context(), []Query{q, All{}}, nil)
		ix.must(err)
		n, err := s.Count(t.Context(), q)
		ix.must(err)
		x, err := s.Explain(t.Context(), q, res.Hits[0].ID, nil)
		ix.must(err)
		answers = append(answers, fmt.Sprint(hitIDs(res), hitIDs(many[0]), hitIDs(many[1]), n, x))
	}
	if answers[0] != answers[1] {
		t.Errorf("%s\n%s", answers[0], answers[1])
	}
}
