package riffle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/analysis"
)

// termIndex is an index whose documents are in a sealed segment and in memory.
func termIndex(t *testing.T, schema *Schema, docs map[string]any) *testIndex {
	ix := newIndex(t, &Options{Schema: schema})
	i := 0
	for _, id := range slices.Sorted(func(yield func(string) bool) {
		for id := range docs {
			if !yield(id) {
				return
			}
		}
	}) {
		if ix.put(id, docs[id]); i == len(docs)/2 {
			ix.flush()
		}
		i++
	}
	return ix
}

// TestNormalizedPatterns: patterns are lower-cased and folded where the field's words are, and not if
// they are raw.
func TestNormalizedPatterns(t *testing.T) {
	schema := &Schema{Fields: map[string]Field{
		"fold": {Type: FieldText, Analyzer: "folding"},
		"text": {Type: FieldText},
		"stem": {Type: FieldText, Analyzer: "english"},
		"key":  {Type: FieldKeyword},
		"char": {Type: FieldText, Analyzer: "ascii characters"},
		"term": {Type: FieldText, Analyzer: "ascii terms"},
	}, Analyzers: analysis.Declarations{
		"ascii characters": {CharFilters: []analysis.Component{{Type: "ascii_folding"}}, Filters: []analysis.Component{{Type: "lowercase"}}},
		"ascii terms": {Filters: []analysis.Component{
			{Type: "lowercase", Params: map[string]any{"final_sigma": true}},
			{Type: "elision", Params: map[string]any{"articles": []any{"l"}}},
			{Type: "ascii_folding"},
		}},
	}}
	docs := map[string]any{}
	for i, word := range []string{"Café", "cafeteria", "CAFÉS", "Running", "runs", "Straße", "L’ÉTÉ", "ΟΔΟΣ"} {
		docs[fmt.Sprint(i)] = map[string]any{"fold": word, "text": word, "stem": word, "key": word, "char": word, "term": word}
	}
	ix := termIndex(t, schema, docs)
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Prefix{"fold", "Caf", false}, "0 1 2"},
		{Prefix{"fold", "CAFÉ", false}, "0 1 2"},
		{Prefix{"fold", "Caf", true}, ""},
		{Prefix{"text", "CAFÉ", false}, "0 2"},
		{Prefix{"key", "Caf", false}, "0"},
		{Prefix{"key", "", false}, "0 1 2 3 4 5 6 7"},
		{Wildcard{"char", "Caf*", false}, "0 1 2"},
		{Wildcard{"char", "CAFÉ*", false}, "0 1 2"},
		{Prefix{"char", "Café", false}, "0 1 2"},
		{Wildcard{"term", "Caf*", false}, "0 1 2"},
		{Wildcard{"term", "C*FÉ", false}, "0"},
		{Regexp{"char", "CAFÉ.?", false}, "0 2"},
		{Prefix{"term", "L’É", false}, "6"},
		{Fuzzy{Field: "term", Term: "L'ÉTÉ", Edits: NoEdits}, "6"},
		{Fuzzy{Field: "term", Term: "ΟΔΟΣ", Edits: NoEdits}, "7"},
		{Prefix{"term", "ΟΔΟ", false}, "7"},
		{TermRange{Field: "term", From: "ΟΔΟΣ", To: "ΟΔΟΣ", IncludeTo: true}, "7"},
		{Wildcard{"fold", "*FÉ*", false}, "0 1 2"},
		{Wildcard{"fold", "Caf?", false}, "0"},
		{Wildcard{"fold", "stra?se", false}, "5"},
		{Wildcard{"fold", "straß*", false}, "5"},
		{Wildcard{"text", `caf\é`, false}, "0"},
		{Regexp{"text", "CAF[éx]s?", false}, "0 2"},
		{Regexp{"fold", "CAFÉ(s|teria)", false}, "1 2"},
		{Regexp{"text", "CAF.*", true}, ""},
		{Regexp{"key", "C.*", false}, "0 2"},
		{TermRange{Field: "text", From: "CAFÉ", To: "RUN"}, "0 2 6"},
		{TermRange{Field: "fold", From: "CAFÉT"}, "1 3 4 5 6 7"},
		{TermRange{Field: "fold", To: "\u0301", IncludeTo: true}, ""}, // an accent is nothing, not no end
		{TermRange{Field: "key", From: "Running", To: "runs", IncludeTo: true}, "3 4 5 1"},
		{Prefix{"stem", "running", false}, ""}, // the term is "run"
		{Prefix{"stem", "run", false}, "3 4"},
		{Fuzzy{Field: "fold", Term: "CAFFE", Edits: 2}, "0 2"},
		{Fuzzy{Field: "fold", Term: "CAFFE", Edits: NoEdits}, ""},
		{Fuzzy{Field: "text", Term: "Srtaße", Edits: 1}, "5"},
	} {
		got := ix.sortedIDs(c.q)
		want := strings.Fields(c.want)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%v finds %q, want %q", c.q, got, want)
		}
	}
}

// TestTermsAndIDs: values of every kind, deleted and replaced documents, fields with texts and
// numbers.
func TestTermsAndIDs(t *testing.T) {
	day := time.Date(1851, 10, 18, 0, 0, 0, 0, time.UTC)
	ix := termIndex(t, nil, map[string]any{
		"a": map[string]any{"n": 1, "mixed": "words", "day": day},
		"b": map[string]any{"n": 2.5, "mixed": 7},
		"c": map[string]any{"n": 3, "flag": true, "mixed": "..."},
		"d": map[string]any{"n": 4, "flag": false},
		"e": map[string]any{"empty": ""},
	})
	ix.put("a", map[string]any{"n": 10, "day": day}) // replaced in memory, without "mixed"
	ix.must(ix.Delete(t.Context(), "d"))
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Terms{"n", []any{1, 2.5, int8(3), uint(10)}}, "a b c"},
		{Terms{"n", nil}, ""},
		{Terms{"day", []any{day, "x"}}, "a"},
		{Terms{"flag", []any{true, false}}, "c"},
		{Terms{"mixed", []any{"words", 7}}, "b"},
		{IDs{[]string{"a", "d", "zzz", "c", "a"}}, "a c"},
		{IDs{}, ""},
		{Exists{"n"}, "a b c"},
		{Exists{"mixed"}, "b"},
		{Exists{"flag"}, "c"},
		{Prefix{"mixed", "", false}, ""}, // numbers have no prefix, and "words" is replaced
		{Bool{Must: []Query{Exists{"n"}}, MustNot: []Query{IDs{[]string{"b"}}}}, "a c"},
	} {
		if got := ix.sortedIDs(c.q); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%v finds %q, want %q", c.q, got, c.want)
		}
	}
	many := Terms{Field: "n"}
	for i := range 5_000 {
		many.Values = append(many.Values, i)
	}
	if got := ix.sortedIDs(many); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("5,000 values find %q", got)
	}
}

func TestPatternErrors(t *testing.T) {
	schema := &Schema{Fields: map[string]Field{"text": {Type: FieldText}, "n": {Type: FieldNumber}}}
	ix := termIndex(t, schema, map[string]any{"a": map[string]any{"text": "word", "n": 1}})
	for _, c := range []struct {
		q     Query
		where string // part of the error
		late  bool   // Validate cannot know
	}{
		{Prefix{}, "Prefix.Field", false},
		{Prefix{"missing", "x", false}, `no field "missing"`, true},
		{Prefix{"n", "1", false}, `field "n" has values of type number`, true},
		{Wildcard{"text", `a\`, false}, "Wildcard.Pattern", false},
		{Regexp{"text", "(", false}, "Regexp.Expr", false},
		{Regexp{"text", `\bx`, false}, "word boundaries", false},
		{TermRange{}, "TermRange.Field", false},
		{Terms{"text", []any{[]int{1, 2}}}, "Terms.Values", false},
		{Terms{"n", []any{"x"}}, `"x" is not a number`, true},
		{Exists{}, "Exists.Field", false},
		{Fuzzy{Field: "text", Term: "x", Edits: 3}, "Fuzzy.Edits", false},
		{Fuzzy{Field: "text", Term: "x", Prefix: -1}, "Fuzzy.Prefix", false},
		{Fuzzy{Field: "text", Term: "x", Expansions: 2000}, "Fuzzy.Expansions", false},
		{Fuzzy{Term: "x"}, "Fuzzy.Field", false},
	} {
		for _, q := range []Query{c.q, Bool{Filter: []Query{c.q}}, ConstantScore{c.q, 1}} {
			_, err := ix.Search(t.Context(), q, nil)
			var qe *QueryError
			if !errors.As(err, &qe) || !strings.Contains(err.Error(), c.where) {
				t.Errorf("%v: error %v, want %s", q, err, c.where)
			}
			if err := q.Validate(); (err == nil) != c.late {
				t.Errorf("%v: Validate returns %v", q, err)
			}
		}
	}
}

// TestMaxTerms: the bound counts terms of all segments once, and a partial answer has the first ones.
func TestMaxTerms(t *testing.T) {
	ix := newIndex(t, &Options{MaxTerms: 10})
	for round := range 3 {
		for i := range 10 {
			ix.put(fmt.Sprint(round, i), map[string]any{"text": fmt.Sprintf("w%d", i)})
		}
		ix.flush()
	}
	q := Prefix{"text", "w", false}
	if res := ix.search(q, &SearchOptions{K: 100}); len(res.Hits) != 30 || res.Incomplete {
		t.Fatalf("%d hits, incomplete %v", len(res.Hits), res.Incomplete)
	}
	ix.put("more", map[string]any{"text": "w99"})
	ix.put("first", map[string]any{"text": "w"})
	_, err := ix.Search(t.Context(), q, nil)
	var qe *QueryError
	if !errors.As(err, &qe) || !strings.Contains(err.Error(), "MaxTerms") {
		t.Fatalf("error %v", err)
	}
	if _, err := ix.Count(t.Context(), q); !errors.As(err, &qe) {
		t.Fatalf("count: error %v", err)
	}
	for range 3 { // cached or not
		res := ix.search(q, &SearchOptions{K: 100, Partial: true})
		if len(res.Hits) != 28 || !res.Incomplete { // without w9 and w99
			t.Fatalf("%d hits, incomplete %v", len(res.Hits), res.Incomplete)
		}
	}
}

// TestFuzzyOrder: a misspelling does not outrank the word, and the same words are chosen however
// documents lie in segments.
func TestFuzzyOrder(t *testing.T) {
	build := func(flush bool) *testIndex {
		ix := newIndex(t, nil)
		for i := range 40 {
			ix.put(fmt.Sprintf("right%02d", i), map[string]any{"text": "whale and more"})
			if flush && i%10 == 9 {
				ix.flush()
			}
		}
		ix.put("wrong", map[string]any{"text": "whlae and more"})
		for i := range 20 { // many words of one edit, the rarer the later
			for j := range 3 - i/10 {
				ix.put(fmt.Sprint("near", i, j), map[string]any{"text": fmt.Sprintf("whal%c and more", 'f'+i)})
			}
		}
		return ix
	}
	one, many := build(false), build(true)
	q := Fuzzy{Field: "text", Term: "whale", Edits: 1}
	if got := one.ids(q); len(got) < 41 || got[0] != "right00" || slices.Index(got, "wrong") < 40 {
		t.Errorf("hits %q", got)
	}
	q.Expansions = 12
	got, want := one.sortedIDs(q), many.sortedIDs(q)
	if !slices.Equal(got, want) || len(got) != 40+10*3+2 { // the word, ten that three documents have, one that two have
		t.Errorf("%d hits in one segment, %d in several", len(got), len(want))
	}
	if x, err := one.Explain(t.Context(), Fuzzy{Field: "text", Term: "whale", Edits: 1}, "wrong", nil); err != nil || !strings.Contains(fmt.Sprint(x), "n = 40") {
		t.Errorf("explanation %v, %v", x, err)
	}
	if x, err := one.Explain(t.Context(), Prefix{"text", "wha", false}, "right00", nil); err != nil || !x.Matches || !strings.Contains(fmt.Sprint(x), `text:prefix("wha")`) {
		t.Errorf("explanation %v, %v", x, err)
	}
}

// TestPatternsAreCached: a pattern that comes again finds its documents in the cache, and documents
// that come later.
func TestPatternsAreCached(t *testing.T) {
	ix := newIndex(t, nil)
	var b Batch
	for i := range 6_000 {
		b.Put(fmt.Sprint(i), map[string]any{"text": fmt.Sprintf("w%d x%d", i%7, i)})
	}
	ix.must(ix.Apply(t.Context(), &b))
	ix.must(ix.Compact(t.Context()))
	for i := range 5 {
		if n, err := ix.Count(t.Context(), Wildcard{"text", "?1", false}); err != nil || n != 857+i {
			t.Fatalf("round %d: %d documents, %v", i, n, err)
		}
		ix.put(fmt.Sprint("more", i), map[string]any{"text": "w1"})
	}
	stats, err := ix.Stats()
	ix.must(err)
	if stats.Filters.Hits == 0 {
		t.Errorf("filters: %+v", stats.Filters)
	}
}

// TestTerms lists the terms of many segments, more than are gathered at once.
func TestTerms(t *testing.T) {
	ix := newIndex(t, nil)
	want := map[string]uint64{}
	var b Batch
	for i := range 9_000 {
		words := []string{fmt.Sprintf("w%d", i*7919%5_000), fmt.Sprintf("x%d", i%3)}
		b.Put(fmt.Sprint(i), map[string]any{"text": strings.Join(words, " "), "mixed": []any{words[0], i}})
		for _, w := range words {
			want[w]++
		}
		if i%2_000 == 1_999 {
			ix.must(ix.Apply(t.Context(), &b))
			b = Batch{}
			if i < 7_000 {
				ix.flush()
			}
		}
	}
	ix.must(ix.Apply(t.Context(), &b))
	snapshot, err := ix.Snapshot()
	ix.must(err)
	defer snapshot.Close()
	ix.put("later", map[string]any{"text": "wlater"})
	for _, prefix := range []string{"", "W", "w12", "x", "y"} {
		got := map[string]uint64{}
		last := ""
		for c, err := range snapshot.Terms(t.Context(), "text", prefix) {
			ix.must(err)
			if c.Term <= last {
				t.Fatalf("%q after %q", c.Term, last)
			}
			last = c.Term
			got[c.Term] = c.Documents
		}
		for term, n := range want {
			if strings.HasPrefix(term, strings.ToLower(prefix)) && got[term] != n {
				t.Fatalf("%q: %q has %d documents, want %d", prefix, term, got[term], n)
			}
		}
		for term := range got {
			if want[term] == 0 || !strings.HasPrefix(term, strings.ToLower(prefix)) {
				t.Fatalf("%q: %q is wrong", prefix, term)
			}
		}
	}
	n := 0
	for c, err := range ix.Terms(t.Context(), "mixed", "") { // without the numbers
		ix.must(err)
		if !strings.HasPrefix(c.Term, "w") {
			t.Fatalf("term %q", c.Term)
		}
		if n++; n == 5 {
			break
		}
	}
	for _, err := range ix.Terms(t.Context(), "missing", "") {
		if err == nil || !strings.Contains(err.Error(), `no field "missing"`) {
			t.Errorf("error %v", err)
		}
		n++
	}
	if n != 6 {
		t.Errorf("%d steps", n)
	}
}
