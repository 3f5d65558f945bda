package riffle

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
)

// newCompoundIndex has twelve documents in two segments and in memory.
func newCompoundIndex(t *testing.T, opts *Options) *testIndex {
	ix := newIndex(t, opts)
	for i := range 12 {
		doc := map[string]any{"n": i, "rank": float64(i%5) / 5, "title": fmt.Sprintf("t%d", i%4), "text": strings.Repeat("white whale ", 1+i%3) + []string{"ship", "boat"}[i%2]}
		if ix.put(fmt.Sprintf("%02d", i), doc); i%5 == 4 {
			ix.flush()
		}
	}
	return ix
}

// TestBoosting: the documents are those of the positive query, and only the scores of those that the
// negative one matches change, also with a static rank and with constant scores and phrases.
func TestBoosting(t *testing.T) {
	for _, o := range []*Options{nil, {Rank: Rank{Field: "rank", Alpha: 0.5}}} {
		ix := newCompoundIndex(t, o)
		for _, positive := range []Query{
			match("text", "ship"), Phrase{Field: "text", Text: "whale ship"}, ConstantScore{match("text", "whale"), 3},
			Match{Field: "text", Text: "boat whale", Mode: ModeAnd}, Bool{Should: []Query{Prefix{"text", "s", false}, Boost{match("title", "t1"), 2}}},
			Fuzzy{Field: "text", Term: "boot"}, Boosting{match("text", "whale"), match("text", "ship"), 0.5},
		} {
			for _, negative := range []Query{match("title", "t1"), Phrase{Field: "text", Text: "whale boat"}, All{}, Term{"n", 99}} {
				negated, _ := ix.hits(negative)
				for _, factor := range []float64{0, 0.25, 1} {
					q := Boosting{positive, negative, factor}
					plain, before := ix.hits(positive)
					ids, after := ix.hits(q)
					if fmt.Sprint(plain) != fmt.Sprint(ids) {
						t.Fatalf("%v matches %q, want %q", q, ids, plain)
					}
					for _, id := range ids {
						want := before[id]
						if strings.Contains(strings.Join(negated, " "), id) && o == nil {
							want *= factor
						} else if strings.Contains(strings.Join(negated, " "), id) {
							continue // its rank is not demoted
						}
						if math.Abs(after[id]-want) > 1e-6 {
							t.Fatalf("%v: document %s scores %v, want %v", q, id, after[id], want)
						}
						x, err := ix.Explain(t.Context(), q, id, nil)
						if ix.must(err); x.Score != after[id] {
							t.Fatalf("%v: document %s scores %v, explained as\n%v", q, id, after[id], x)
						}
					}
				}
			}
		}
	}
}

// TestDeepBoostings: where scores count, each level doubles those inside its Positive, and 99 levels are
// refused by name. Where only documents count, the same 99 levels are the innermost query.
func TestDeepBoostings(t *testing.T) {
	ix := newCompoundIndex(t, nil)
	ship := Query(Term{"text", "ship"})
	deep, inner := Query(Prefix{"text", "sh", false}), ship
	for range 99 {
		deep, inner = Boosting{deep, All{}, 0.5}, Boosting{ship, inner, 0.5}
	}
	var qe *QueryError
	if _, err := ix.Search(t.Context(), deep, nil); !errors.As(err, &qe) || qe.Part != "Boosting.Positive" || !strings.Contains(err.Error(), "more than 4096 terms: each Boosting doubles") {
		t.Errorf("99 levels of Positive: %v", err)
	}
	title := Term{"title", "t0"}
	fixed := func(filter Query) Query {
		return FunctionScore{Query: title, Functions: []ScoreFunction{Fixed{Weight: 3, Filter: filter}}}
	}
	for _, c := range []struct{ deep, flat Query }{
		{inner, Boosting{ship, ship, 0.5}},
		{Boosting{title, deep, 0.5}, Boosting{title, ship, 0.5}},
		{Boosting{title, Bool{Must: []Query{Boost{deep, 2}}}, 0.5}, Boosting{title, ship, 0.5}},
		{Bool{Must: []Query{title}, Filter: []Query{deep}}, Bool{Must: []Query{title}, Filter: []Query{ship}}},
		{Bool{MustNot: []Query{deep}}, Bool{MustNot: []Query{ship}}},
		{ConstantScore{deep, 2}, ConstantScore{ship, 2}},
		{fixed(deep), fixed(ship)},
	} {
		_, got := ix.hits(c.deep)
		_, want := ix.hits(c.flat)
		if len(want) == 0 || !maps.Equal(got, want) {
			t.Errorf("%v scores %v, want %v", c.flat, got, want)
		}
	}
	aggs := map[string]Aggregation{"ships": FiltersAggregation{Filters: map[string]Query{"deep": deep, "flat": ship}}}
	b := ix.search(All{}, &SearchOptions{Aggregations: aggs}).Aggregations["ships"].Buckets
	if len(b) != 2 || b[0].Count != 6 || b[1].Count != 6 {
		t.Errorf("buckets %v, want 6 documents each", b)
	}
	unknown := Boosting{ship, Boosting{ship, match("unknown", "x"), 0.5}, 0.5}
	if _, err := ix.Search(t.Context(), unknown, nil); !errors.As(err, &qe) || qe.Part != "Match.Field" {
		t.Errorf("an unknown field where it can do nothing: %v", err)
	}
}

// TestMinShould: numbers, those of what may be missing, and shares, of words and of queries.
func TestMinShould(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{
		"text": {Type: FieldText}, "stop": {Type: FieldText, Analyzer: "english"}, "key": {Type: FieldKeyword},
	}}})
	for n := 1; n <= 5; n++ { // document n has the first n words of five
		text := strings.Join(strings.Fields("a b c d e")[:n], " ")
		ix.put(fmt.Sprint(n), map[string]any{"text": text, "stop": text, "key": text})
	}
	for _, c := range []struct {
		least int
		want  int // the fewest words of a hit
	}{
		{0, 1}, {1, 1}, {2, 2}, {5, 5}, {9, 5}, {-1, 4}, {-4, 1}, {-5, 1}, {-9, 1},
		{Percent(0), 1}, {Percent(19), 1}, {Percent(40), 2}, {Percent(59), 2}, {Percent(75), 3}, {Percent(100), 5},
		{Percent(-1), 5}, {Percent(-25), 4}, {Percent(-40), 3}, {Percent(-100), 1},
	} {
		words := Bool{MinShould: c.least}
		for _, w := range strings.Fields("a b c d e") {
			words.Should = append(words.Should, Term{"text", w})
		}
		queries := []Query{
			Match{Field: "text", Text: "a b c d e", MinShould: c.least},
			Match{Fields: []string{"text", "stop"}, Text: "b c d e a", MinShould: c.least, Combine: CombineBest},
		}
		if c.least >= -5 && c.least != 9 {
			queries = append(queries, words)
		}
		for _, q := range queries {
			ids, _ := ix.hits(q)
			if len(ids) != 6-c.want {
				t.Errorf("%v matches %q, want those of %d words", q, ids, c.want)
			}
		}
	}
	ix.wantIDs(Match{Fields: []string{"text", "stop"}, Text: "a b c", MinShould: 2}, "3", "4", "5") // "a" is dropped in one field
	ix.wantIDs(Match{Fields: []string{"text", "key"}, Text: "a b", MinShould: 2}, "2", "3", "4", "5")
	ix.wantIDs(Match{Fields: []string{"text", "key"}, Text: "x y a", MinShould: 2})
	ix.wantIDs(Match{Field: "text", Text: "e e x y", MinShould: Percent(50)}, "5")
	ix.wantIDs(Match{Field: "text", Text: "", MinShould: 2})
	ix.wantIDs(Bool{Must: []Query{Term{"text", "b"}}, Should: []Query{Term{"text", "e"}, Term{"text", "d"}}, MinShould: Percent(-50)}, "4", "5")
}
