package riffle

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/internal/plan"
)

// shapeText describes the shape of a query in a line; see plan.Clause.Shape.
func shapeText(t *testing.T, ix *testIndex, q Query) string {
	t.Helper()
	p := ix.newPreparer()
	c, err := rewrite(q, p.Rewriter(nil, new(plan.Settings)), 1)
	ix.must(err)
	shape := c.Shape()
	ix.must(err)
	return shape
}

// TestShapes: a query with a flat core runs flat, with filters before it; flat plans have the
// fastest algorithms. All other queries are trees.
func TestShapes(t *testing.T) {
	ix := newIndex(t, nil)
	abc := match("t", "a b c")
	for _, c := range []struct {
		q    Query
		want string
	}{
		{abc, "or(t:a t:b t:c)"},
		{all("t", "a b"), "and(t:a t:b)"},
		{Match{Field: "t", Text: "a b", Mode: ModeAndOr}, "and+or(t:a t:b)"},
		{match("t", "a b a"), "or(t:a^2 t:b)"},
		{Boost{match("t", "a b a"), 1.5}, "or(t:a^3 t:b^1.5)"},
		{Term{"t", "a"}, "or(t:a)"},
		{Bool{Must: []Query{abc}, Filter: []Query{Term{"n", 1}}, MustNot: []Query{Term{"n", 2}, Term{"n", 3}}}, "or(t:a t:b t:c) #1 -2"},
		{Bool{Must: []Query{Bool{Must: []Query{Term{"t", "a"}}, Filter: []Query{All{}}}}, Filter: []Query{All{}}}, "or(t:a) #2"},
		{Bool{Must: []Query{Match{Field: "t", Text: "a b", Mode: ModeAndOr}}, MustNot: []Query{All{}}}, "and+or(t:a t:b) -1"},
		{Bool{Must: []Query{Term{"t", "a"}, Term{"t", "b"}}, MustNot: []Query{Term{"t", "c"}}}, "and(t:a t:b) -1"},
		{Bool{Should: []Query{Term{"t", "a"}, Term{"u", "b"}}}, "or(t:a u:b)"},
		{Bool{Should: []Query{Term{"t", "a"}, Term{"u", "b"}}, MinShould: 1, Filter: []Query{All{}}}, "or(t:a u:b) #1"},
		{Match{Fields: []string{"t", "u"}, Text: "a", Mode: ModeAnd}, "or(t:a u:a)"},
		{Match{Fields: []string{"t", "u"}, Text: "a b", Mode: ModeAnd}, "tree"},
		{Bool{Should: []Query{Term{"t", "a"}, Term{"u", "b"}}, Filter: []Query{All{}}}, "tree"}, // matches without any
		{Bool{Should: []Query{Term{"t", "a"}, Term{"u", "b"}}, MinShould: 2}, "tree"},
		{Bool{Must: []Query{Term{"t", "a"}}, Should: []Query{Term{"t", "b"}}}, "tree"},
		{Bool{Must: []Query{ConstantScore{Term{"t", "a"}, 1}}}, "tree"},
		{ConstantScore{abc, 1}, "tree"},
		{Match{Fields: []string{"t", "u"}, Text: "a b"}, "or(t:a u:a t:b u:b)"},
		{Bool{Should: []Query{Term{"t", "a"}, Boost{match("u", "b c"), 2}}}, "or(t:a u:b^2 u:c^2)"},
		{Bool{Should: []Query{Term{"t", "a"}, all("u", "b c")}}, "tree"},
		{Match{Field: "t", Text: "", Mode: ModeAndOr}, "tree"}, // matches nothing
		{All{}, "tree"},
		{Bool{MustNot: []Query{abc}}, "tree"},
	} {
		if got := shapeText(t, ix, c.q); got != c.want {
			t.Errorf("%v: %s, want %s", c.q, got, c.want)
		}
	}
}

// TestRepeatedWords: a word that comes 300 times is one list of 300 times the weight.
func TestRepeatedWords(t *testing.T) {
	ix := newQueryIndex(t)
	once := ix.search(Boost{match("text", "cherry"), 300}, nil)
	often := ix.search(match("text", strings.Repeat("cherry ", 300)), nil)
	if !slices.Equal(hitIDs(once), hitIDs(often)) || once.Hits[0].Score != often.Hits[0].Score {
		t.Errorf("boosted: %v, repeated: %v", once.Hits, often.Hits)
	}
}

// TestSimilarityOfTheQuery compares scores with BM25 computed directly, for parameters of the
// query.
func TestSimilarityOfTheQuery(t *testing.T) {
	ix := newIndex(t, &Options{Similarity: &BM25{K1: 2, B: 0.1}})
	texts := []string{"x", "x x x y", "x y y y y y y y y y", "y", "z z z z z"}
	tokens := 0
	for i, text := range texts {
		ix.put(fmt.Sprint(i), map[string]any{"t": text})
		tokens += len(strings.Fields(text))
		if i == 2 {
			ix.flush()
		}
	}
	avg := float64(tokens) / float64(len(texts))
	for _, sim := range []*BM25{
		nil, {K1: 1.2, B: 0.75}, {K1: 0.9, B: 0.4}, {K1: BM25Zero, B: 0.5}, {K1: 5, B: BM25Zero}, {K1: 100, B: 1},
		{K1: 1.2, B: 0.75, IDF: IDFRobertson},
	} {
		p := BM25{K1: 2, B: 0.1}
		if sim != nil {
			p = sim.OrDefault()
		}
		for _, word := range []string{"x", "z"} {
			n, N := 0.0, float64(len(texts))
			for _, text := range texts {
				if strings.Contains(text, word) {
					n++
				}
			}
			idf := math.Log(1 + (N-n+0.5)/(n+0.5))
			if p.IDF == IDFRobertson {
				idf = max(0, math.Log((N-n+0.5)/(n+0.5)))
			}
			hits := ix.search(match("t", word), &SearchOptions{Similarity: sim}).Hits
			if len(hits) != int(n) {
				t.Errorf("%+v: %d documents have %s, want %v", p, len(hits), word, n)
			}
			for _, h := range hits {
				text := texts[h.ID[0]-'0']
				tf, length := float64(strings.Count(text, word)), float64(len(strings.Fields(text)))
				want := idf * tf / (tf + p.K1*(1-p.B+p.B*length/avg))
				if !near(h.Score, want) {
					t.Errorf("%+v: %s scores %v for %s, want %v", p, h.ID, h.Score, word, want)
				}
			}
		}
	}
}

// TestExplainIsTheScore explains every hit of random queries. The sums are equal to the last bit,
// and every other document is reported as not matching.
func TestExplainIsTheScore(t *testing.T) {
	r := modelQueries{rand.New(rand.NewPCG(7, 7))}
	ix := newIndex(t, &Options{Schema: modelSchema, Merge: MergeOptions{Disabled: true}, Rank: Rank{Field: "rank", Alpha: 0.25}})
	m := model{}
	for i := range 120 {
		id := fmt.Sprintf("d%d", r.IntN(90))
		m[id] = r.doc()
		ix.put(id, map[string]any(m[id]))
		if i%40 == 39 {
			ix.flush()
		}
	}
	alphas := []float64{0, 1}
	hits := 0
	for i := range 90 {
		q := r.query(3)
		o := &SearchOptions{K: 1000}
		if i%3 > 0 {
			o.Alpha = &alphas[i%3-1]
		}
		if i%5 == 0 {
			o.Similarity = &BM25{K1: 3 * r.Float64(), B: r.Float64()}
		}
		score := map[string]float64{}
		for _, h := range ix.search(q, o).Hits {
			score[h.ID] = h.Score
		}
		hits += len(score)
		for id := range m {
			x, err := ix.Explain(t.Context(), q, id, o)
			ix.must(err)
			want, isHit := score[id]
			if x.Matches != isHit || x.Score != want {
				t.Fatalf("%v: %s scores %v, a hit: %v, explained as\n%v", q, id, want, isHit, x)
			}
		}
	}
	if hits < 1000 {
		t.Errorf("%d hits in all prove little", hits)
	}
}

func TestExplainWords(t *testing.T) {
	ix := newQueryIndex(t)
	for _, c := range []struct {
		q    Query
		id   string
		want []string
	}{
		{match("text", "apple"), "1", []string{"text:apple = weight × impact", "tf = 2, len = 3", "k1 = 1.2, b = 0.75"}},
		{match("text", "apple"), "4", []string{"no match: text:apple does not occur"}},
		{all("text", "apple date"), "0", []string{"no match: a must clause does not match", "text:date does not occur"}},
		{Bool{Should: []Query{match("text", "apple"), match("text", "date"), All{}}, MinShould: 3}, "0", []string{"no match: 2 should clauses match, 3 are needed"}},
		{Bool{Must: []Query{match("text", "apple")}, MustNot: []Query{Term{"n", 1}}}, "1", []string{"no match", "a filter excludes the document"}},
		{ConstantScore{match("text", "apple"), 2}, "1", []string{"2.000000  constant score"}},
		{All{}, "1", []string{"0.000000  matches every document"}},
		{Term{"n", 0}, "0", []string{"n:0069"}},
	} {
		x, err := ix.Explain(t.Context(), c.q, c.id, nil)
		ix.must(err)
		for _, want := range c.want {
			if !strings.Contains(x.String(), want) {
				t.Errorf("%v, %s: %q is not in\n%v", c.q, c.id, want, x)
			}
		}
		if x.Matches == strings.Contains(x.String(), "no match") {
			t.Errorf("%v, %s: matches %v, but\n%v", c.q, c.id, x.Matches, x)
		}
	}
	if _, err := ix.Explain(t.Context(), All{}, "gone", nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("a deleted document: %v", err)
	}
}
