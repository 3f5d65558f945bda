package riffle

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// A boostingModel makes random queries of Boostings, one inside the other, and says what documents score, by
// the scores of the parts alone.
type boostingModel struct {
	*rand.Rand
	t  *testing.T
	ix *testIndex

	peak float64 // the highest score of a part, of which all scores have steps
}

// boostingScores are those of the documents that match.
type boostingScores map[string]float64

func (m *boostingModel) search(q Query) (boostingScores, *Result) {
	r, err := m.ix.Search(m.t.Context(), q, &SearchOptions{K: 1000, Now: functionNow})
	if err != nil {
		m.t.Fatalf("%#v: %v", q, err)
	}
	of := boostingScores{}
	for _, h := range r.Hits {
		of[h.ID], m.peak = h.Score, max(m.peak, h.Score)
	}
	return of, r
}

// leaf makes a query that has no Boosting in it. Most have functions.
func (m *boostingModel) leaf() Query {
	words := Match{Field: "text", Text: []string{"alpha", "beta gamma", "all", "delta delta alpha"}[m.IntN(4)]}
	switch m.IntN(8) {
	case 0:
		return words
	case 1:
		return ConstantScore{words, []float64{0, 1, 3}[m.IntN(3)]}
	case 2:
		return ConstantScore{Boosting{m.function(words), words, 0.5}, 2}
	}
	return m.function(words)
}

func (m *boostingModel) function(q Query) FunctionScore {
	return FunctionScore{Query: q, Mode: FunctionMode(m.IntN(4)), Functions: []ScoreFunction{[]ScoreFunction{
		FieldFactor{Field: "n", Modifier: ModifierLog1p}, Decay{Field: "at", Scale: "10d", Weight: 3}, Fixed{Weight: []float64{1e-30, 5, MaxBoost / 4}[m.IntN(3)], Filter: Term{"tag", "alpha"}},
	}[min(m.IntN(5), 2)]}}
}

// nested makes a query of at most depth levels, and returns its scores.
func (m *boostingModel) nested(depth int) (Query, boostingScores) {
	if depth == 0 {
		q := m.leaf()
		of, _ := m.search(q)
		return q, of
	}
	q, of := m.nested(depth - 1)
	out := boostingScores{}
	switch m.IntN(8) {
	case 0:
		by := []float64{1, 0.5, 1e-3}[m.IntN(3)]
		for id, score := range of {
			out[id] = by * score
		}
		return Boost{q, by}, out
	case 1:
		other, scores := m.nested(depth - 1)
		tie := float64(m.IntN(3)) / 2
		for _, from := range []boostingScores{of, scores} {
			for id := range from {
				a, b := of[id], scores[id]
				out[id] = max(a, b) + tie*min(a, b)
			}
		}
		return DisMax{[]Query{q, other}, tie}, out
	case 2:
		other, scores := m.nested(depth - 1)
		for id, score := range of {
			out[id] = score + scores[id]
		}
		return Bool{Must: []Query{q}, Should: []Query{other}}, out
	case 3:
		f := FunctionScore{Query: q, Mode: FunctionMode(m.IntN(4)), Functions: []ScoreFunction{Fixed{Weight: 0.75}}}
		for id, score := range of {
			out[id] = []float64{score + 0.75, score * 0.75, max(score, 0.75), 0.75}[f.Mode]
		}
		return f, out
	}
	return m.boosting(q, of, depth)
}

// boosting demotes some documents of a query, perhaps twice by the same factor.
func (m *boostingModel) boosting(q Query, of boostingScores, depth int) (Query, boostingScores) {
	negative := Query(Match{Field: "text", Text: []string{"alpha", "beta", "gamma delta"}[m.IntN(3)]})
	if m.IntN(4) == 0 {
		negative, _ = m.nested(depth - 1)
	}
	negated, _ := m.search(negative)
	factor := []float64{0.5, 0.5, 1, 0.25, 0}[m.IntN(5)]
	out := boostingScores{}
	for id, score := range of {
		if out[id] = score; negated.has(id) {
			out[id] = score * factor
		}
	}
	return Boosting{q, negative, factor}, out
}

func (s boostingScores) has(id string) bool {
	_, ok := s[id]
	return ok
}

// TestNestedBoostings: each Boosting multiplies the scores of what it demotes, wherever it stands and whatever
// is inside, and all ways to search agree.
func TestNestedBoostings(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 9))
	ix, _ := functionIndex(t, r, 90)
	m := &boostingModel{Rand: r, t: t, ix: ix}
	for round := range 120 {
		m.peak = 0
		q, want := m.nested(1 + r.IntN(4))
		got, all := m.search(q)
		if len(got) != len(want) {
			t.Fatalf("round %d: %#v matches %d documents, want %d", round, q, len(got), len(want))
		}
		for id, score := range want {
			if !got.has(id) || math.Abs(got[id]-score) > 1e-3*score+1e-6*m.peak {
				t.Fatalf("round %d: %#v: %s scores %v, want %v", round, q, id, got[id], score)
			}
		}
		checkFunctionHits(t, ix, q, all, round)
	}
}

// TestNestedProducts: functions inside one another may multiply scores beyond what a float64 holds. That is an
// error, also where the score is 0.
func TestNestedProducts(t *testing.T) {
	ix := newIndex(t, nil)
	ix.put("a", map[string]any{"text": "all"})
	for _, innermost := range []Query{match("text", "all"), ConstantScore{match("text", "all"), 0}} {
		q := innermost
		for range 7 {
			q = FunctionScore{Query: q, Combine: FunctionsProduct, Mode: FunctionMultiply, Functions: []ScoreFunction{Fixed{Weight: MaxBoost}, Fixed{Weight: MaxBoost}}}
		}
		var qe *QueryError
		if _, err := ix.Search(t.Context(), q, nil); !errors.As(err, &qe) || qe.Part != "FunctionScore" {
			t.Errorf("%v: %v", innermost, err)
		}
		if _, err := ix.Search(t.Context(), Boosting{Boosting{q, match("text", "x"), 0}, q, 0.5}, nil); !errors.As(err, &qe) {
			t.Errorf("%v, demoted: %v", innermost, err)
		}
	}
}
