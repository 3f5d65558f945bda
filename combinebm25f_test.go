package riffle

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
)

// A bm25f computes scores from the texts of documents, by the definition of CombineBM25F.
type bm25f struct {
	docs    []map[string][]string // words by field
	weights map[string]float64
}

func (o *bm25f) score(doc map[string][]string, word string) float64 {
	having, with, tokens := 0.0, 0.0, 0.0
	for field, weight := range o.weights {
		docs, n, sum := 0.0, 0.0, 0.0
		for _, d := range o.docs {
			if len(d[field]) > 0 {
				docs++
			}
			sum += float64(len(d[field]))
			if count(d[field], word) > 0 {
				n++
			}
		}
		having, with = max(having, docs), max(with, n)
		tokens += weight * sum
	}
	freq, length := 0.0, 0.0
	for field, weight := range o.weights {
		freq += weight * count(doc[field], word)
		length += weight * float64(blockmax.CodeLength(blockmax.LengthCode(uint32(len(doc[field])))))
	}
	length = float64(blockmax.CodeLength(blockmax.LengthCode(uint32(math.Floor(length + 0.5)))))
	idf := math.Log(1 + (having-with+0.5)/(with+0.5))
	return idf * freq / (freq + 1.2*(0.25+0.75*length/(tokens/having)))
}

func count(words []string, word string) (n float64) {
	for _, w := range words {
		if w == word {
			n++
		}
	}
	return n
}

// TestCombineBM25F compares scores with the definition, over sealed segments and documents in memory of
// which many lack a field, in all modes, and with explanations.
func TestCombineBM25F(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	ix := newIndex(t, nil)
	o := &bm25f{weights: map[string]float64{"a": 2.5, "b": 1, "c": 7}}
	const docs = 400
	for i := range docs {
		doc, values := map[string][]string{}, map[string]any{}
		for j, field := range []string{"a", "b", "c"} {
			n := rng.IntN([]int{6, 200, 3}[j])
			if field == "c" && i < docs/2 { // the first segment lacks the field
				n = 0
			}
			for range n {
				doc[field] = append(doc[field], string("vvwxyz"[rng.IntN(6)]))
			}
			values[field] = strings.Join(doc[field], " ")
		}
		o.docs = append(o.docs, doc)
		ix.put(fmt.Sprint(i), values)
		if i == docs/2-1 {
			ix.flush()
		}
	}
	compare := func(q Query, matches func(doc map[string][]string, has map[string]bool) bool) {
		t.Helper()
		got := ix.scoresOf(q)
		for i, doc := range o.docs {
			want, has := 0.0, map[string]bool{}
			for _, word := range []string{"x", "y"} {
				for field := range o.weights {
					has[word] = has[word] || count(doc[field], word) > 0
				}
				want += o.score(doc, word)
			}
			score, ok := got[fmt.Sprint(i)]
			if ok != matches(doc, has) || ok && math.Abs(score-want) > 1e-3*want {
				t.Fatalf("%v: %d scores %v (%v), want %v: %v", q, i, score, ok, want, doc)
			}
			x, err := ix.Explain(t.Context(), q, fmt.Sprint(i), nil)
			if ix.must(err); x.Matches != ok || x.Score != score {
				t.Fatalf("%v: %d scores %v (%v), explained:\n%v", q, i, score, ok, x)
			}
		}
		// The best few come by another way than all.
		top := ix.search(q, &SearchOptions{K: 7}).Hits
		for i, h := range ix.search(q, &SearchOptions{K: MaxK}).Hits[:7] {
			if top[i].ID != h.ID || top[i].Score != h.Score {
				t.Errorf("%v: hit %d is %v, want %v", q, i, top[i], h)
			}
		}
	}
	some := func(_ map[string][]string, has map[string]bool) bool { return has["x"] || has["y"] }
	every := func(_ map[string][]string, has map[string]bool) bool { return has["x"] && has["y"] }
	q := Match{Fields: []string{"a", "b", "c"}, Text: "x y", Boosts: map[string]float64{"a": 2.5, "c": 7}, Combine: CombineBM25F}
	compare(q, some)
	q.Mode = ModeAnd
	compare(q, every)
	q.Mode, q.MinShould = ModeOr, 2
	compare(q, every)
	q.MinShould = 0
	compare(Bool{Must: []Query{q}, MustNot: []Query{match("a", "z")}, Filter: []Query{match("b", "w")}}, func(doc map[string][]string, has map[string]bool) bool {
		return (has["x"] || has["y"]) && count(doc["a"], "z") == 0 && count(doc["b"], "w") > 0
	})
	ix.must(ix.Compact(t.Context()))
	compare(q, some)

	o.weights = map[string]float64{"a": 2.5} // of one field it is as if its text were repeated
	compare(Match{Field: "a", Text: "x y", Boosts: map[string]float64{"a": 2.5}, Combine: CombineBM25F}, some)
	one, plain := ix.scoresOf(Match{Field: "a", Text: "x y", Combine: CombineBM25F}), ix.scoresOf(match("a", "x y"))
	if !reflect.DeepEqual(one, plain) {
		t.Error("one field of weight 1 scores otherwise than by BM25")
	}
}

// TestCombineBM25FRefuses: weights below 1 would make lengths below 1, and Tie has no meaning.
func TestCombineBM25FRefuses(t *testing.T) {
	for _, q := range []Match{
		{Fields: []string{"a", "b"}, Boosts: map[string]float64{"a": 0.5}, Combine: CombineBM25F},
		{Fields: []string{"a", "b"}, Boosts: map[string]float64{"a": 1001}, Combine: CombineBM25F},
		{Fields: []string{"a", "b"}, Tie: 0.5, Combine: CombineBM25F},
		{Fields: make([]string, 65), Combine: CombineBM25F},
	} {
		if err := q.Validate(); err == nil {
			t.Errorf("%d fields, boosts %v, tie %v: no error", len(q.Fields), q.Boosts, q.Tie)
		}
	}
	q := Match{Fields: []string{"a", "b"}, Text: "x", Boosts: map[string]float64{"a": 1.5}, Combine: CombineBM25F}
	data, err := json.Marshal(q)
	if want := `{"match":{"fields":["a","b"],"text":"x","boosts":{"a":1.5},"combine":"bm25f"}}`; err != nil || string(data) != want {
		t.Errorf("%s %v, want %s", data, err, want)
	}
	for _, read := range []func() (Query, error){
		func() (Query, error) { return UnmarshalQuery(data) },
		func() (Query, error) { return ParseQuery(q.String(), nil) },
	} {
		if got, err := read(); err != nil || !reflect.DeepEqual(got, Query(q)) {
			t.Errorf("%v %v, want %v", got, err, q)
		}
	}
}

// TestCombineBM25FWords: terms at one position, words that fields divide differently, keywords, and words
// that an analyzer drops.
func TestCombineBM25FWords(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{
		"title": {Analyzer: "standard"}, "text": {Analyzer: "english"}, "tag": {Type: FieldKeyword},
	}}})
	ix.put("1", map[string]any{"title": "the whales", "text": "a whale swims", "tag": "sea"})
	ix.put("2", map[string]any{"title": "the sea", "text": "no whales", "tag": "the whale"})
	ix.put("3", map[string]any{"title": "ships", "text": "of wood"})
	fields := []string{"title", "text", "tag"}
	for _, c := range []struct {
		text string
		mode Mode
		want string
	}{
		{"whales", ModeOr, "1 2"},
		{"the whale", ModeAnd, "1 2"}, // "the" is not required; the tag is an alternative to both
		{"whale ships", ModeOr, "1 2 3"},
		{"swimming whales", ModeAnd, "1"},
		{"nothing", ModeOr, ""},
	} {
		q := Match{Fields: fields, Text: c.text, Mode: c.mode, Combine: CombineBM25F}
		ix.wantIDs(q, strings.Fields(c.want)...)
		for _, id := range ix.ids(q) {
			if x, err := ix.Explain(t.Context(), q, id, nil); err != nil || !x.Matches {
				t.Errorf("%q: %v %v", c.text, x, err)
			}
		}
	}
}
