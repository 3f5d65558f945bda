package riffle

import (
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/analysis"
)

func synonymsOf(t *testing.T, name, rules string) analysis.Analyzer {
	t.Helper()
	s, err := analysis.ParseSynonyms(strings.NewReader(rules), nil)
	if err != nil {
		t.Fatal(err)
	}
	return analysis.New(name, analysis.Words{}, analysis.Lowercase{}, s)
}

// wantIDs runs each query exhaustively and pruned, and expects the same documents.
func (ix *testIndex) wantIDs(q Query, want ...string) {
	ix.t.Helper()
	for _, a := range []Algorithm{AlgorithmExhaustive, AlgorithmAuto} {
		ids := hitIDs(ix.search(q, &SearchOptions{K: 100, Exec: &Exec{Algorithm: a}}))
		slices.Sort(ids)
		if !slices.Equal(ids, want) {
			ix.t.Errorf("%v, %v: %q, want %q", q, a, ids, want)
		}
	}
	n, err := ix.Count(ctx, q)
	if ix.must(err); n != len(want) {
		ix.t.Errorf("%v: counts %d, want %d", q, n, len(want))
	}
}

// TestAndWithSynonyms: terms at one position are alternatives, in one field and in several, even if
// they have several words.
func TestAndWithSynonyms(t *testing.T) {
	ix := newIndex(t, &Options{
		AllowUnknownFields: true,
		Analyzers: map[string]analysis.Analyzer{
			"synonyms": synonymsOf(t, "synonyms", "laptop, notebook\ndns, domain name system\n"),
			"grams":    analysis.New("grams", analysis.NGrams{Min: 2, Max: 3}, analysis.Lowercase{}),
		},
		Schema: &Schema{Fields: map[string]Field{"g": {Analyzer: "grams"}}},
	})
	ix.put("laptop", map[string]any{"t": "gaming laptop", "g": "hello"})
	ix.put("notebook", map[string]any{"t": "gaming notebook", "g": "helium low"})
	ix.put("bag", map[string]any{"t": "gaming bag"})
	ix.put("dns", map[string]any{"t": "a dns server"})
	ix.put("domain", map[string]any{"t": "the domain name system server"})
	ix.put("half", map[string]any{"t": "the domain name server"})
	for _, fields := range [][]string{{"t"}, {"t", "u"}} {
		and := func(text string) Match { return Match{Fields: fields, Text: text, Mode: ModeAnd, Analyzer: "synonyms"} }
		ix.wantIDs(and("gaming laptop"), "laptop", "notebook")
		ix.wantIDs(and("notebook"), "laptop", "notebook")
		ix.wantIDs(and("dns server"), "dns", "domain")
		ix.wantIDs(and("server domain name system"), "dns", "domain")
		ix.wantIDs(and("domain name server"), "domain", "half")
		ix.wantIDs(Bool{Must: []Query{and("dns")}, MustNot: []Query{and("a")}}, "domain")
	}
	ix.wantIDs(Match{Field: "t", Text: "dns", Analyzer: "synonyms"}, "dns", "domain", "half") // Or takes words one by one
	ix.wantIDs(Match{Field: "g", Text: "hello", Mode: ModeAnd}, "laptop")
	ix.wantIDs(Match{Fields: []string{"g", "u"}, Text: "hello", Mode: ModeAnd}, "laptop")
	for k, want := range map[int][]string{2: {"dns", "domain"}, 3: {"dns", "domain", "half"}} { // two documents match And
		got := hitIDs(ix.search(Match{Field: "t", Text: "dns", Mode: ModeAndOr, Analyzer: "synonyms"}, &SearchOptions{K: k}))
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("and+or with synonyms, k = %d: %v, want %v", k, got, want)
		}
	}
}

// TestAndOverFields: a word may occur in any of the fields, whatever their analyzers make of it.
func TestAndOverFields(t *testing.T) {
	ix := newIndex(t, &Options{AllowUnknownFields: true, Schema: &Schema{Fields: map[string]Field{
		"title": {Analyzer: "english"}, "author": {Analyzer: "standard"}, "tag": {Type: FieldKeyword}, "n": {Type: FieldNumber},
		"code": {Analyzer: "keyword"},
	}}})
	ix.put("call", map[string]any{"title": "The Call of the Wild", "author": "Jack London", "code": "Call of"})
	ix.put("sea", map[string]any{"title": "The Sea-Wolf", "author": "Jack London", "tag": "sea wolf", "n": 5})
	ix.put("who", map[string]any{"title": "Doctor Who", "author": "The Who", "tag": "the call"})
	for _, c := range []struct {
		fields string
		text   string
		want   string
	}{
		{"title author", "The Call of the Wild", "call"},
		{"title author", "the call of the wild by jack london", "call"},
		{"title author", "jack wild", "call"},
		{"title author", "jack wild sea", ""},
		{"title author", "calling london", "call"},    // stemmed in one field
		{"title author", "the who", "who"},            // the author has it
		{"title author", "the", "who"},                // no word is left in title
		{"title author", "of the", ""},                // likewise
		{"title tag", "sea wolf", "sea"},              // both
		{"title tag", "the call", "call who"},         // a keyword has all of the text
		{"title author tag", "the call", "call who"},  // and is no part of a word in any field
		{"title code", "Call of", "call"},             // an analyzer that makes one term of a text
		{"title author code", "call london", "call"},  // does not join the words of others
		{"title n", "wolf", "sea"},                    // a text that is no number cannot match a field of numbers
		{"title n", "5", "sea"},                       //
		{"n", "5", "sea"},                             //
		{"title author unknown", "jack wild", "call"}, // no document has that field
		{"author title", "The Call of the Wild", "call"},
	} {
		ix.wantIDs(Match{Fields: strings.Fields(c.fields), Text: c.text, Mode: ModeAnd}, strings.Fields(c.want)...)
	}
	if _, err := ix.Search(ctx, Match{Fields: []string{"n"}, Text: "five"}, nil); err == nil {
		t.Error("a word in a field of numbers is no error")
	}
	if _, err := ix.Search(ctx, Match{Fields: []string{"n", "n"}, Text: "five"}, nil); err == nil {
		t.Error("a word in fields of numbers is no error")
	}
}
