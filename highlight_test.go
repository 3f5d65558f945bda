package riffle

import (
	"errors"
	"fmt"
	"html"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/proximity"
)

var brackets = Markup{Open: "[", Close: "]", Cut: "…"}

// marked prints the fragments of a document's fields.
func marked(fragments map[string][]Fragment) string {
	var out []string
	for _, field := range slices.Sorted(maps.Keys(fragments)) {
		for _, f := range fragments[field] {
			out = append(out, f.Format(brackets))
		}
	}
	return strings.Join(out, " | ")
}

// TestHighlight marks whole texts for queries of every kind.
func TestHighlight(t *testing.T) {
	ix := newIndex(t, &Options{
		Schema: &Schema{Fields: map[string]Field{
			"text": {Type: FieldText}, "stem": {Type: FieldText, Analyzer: "english"}, "fold": {Type: FieldText, Analyzer: "folding"},
			"html": {Type: FieldText, Analyzer: "page"}, "tag": {Type: FieldKeyword}, "n": {Type: FieldNumber}, "day": {Type: FieldDate},
			"tv": {Type: FieldText, Analyzer: "tv"}, "gram": {Type: FieldText, Analyzer: "gram"}, "cjk": {Type: FieldText, Analyzer: "pairs"},
		}},
		Analyzers: map[string]analysis.Analyzer{
			"page":  analysis.New("page", analysis.FilterText(analysis.Words{}, analysis.HTMLStrip{}), analysis.Lowercase{}),
			"tv":    analysis.New("tv", analysis.Words{}, analysis.Lowercase{}, mustSynonyms(t, "tv, television")),
			"gram":  analysis.New("gram", analysis.Words{}, analysis.Lowercase{}, analysis.EdgeNGrams{Min: 2, Max: 5}),
			"pairs": analysis.New("pairs", analysis.Words{}, analysis.CJKBigrams{}),
		},
	})
	ix.put("1", map[string]any{
		"text": []any{"The white whale; a whale, white.", "To be or not to be."},
		"stem": "Running dogs ran", "fold": "Un Café crème", "html": "a <b>white</b> &amp; whale", "tag": []any{"novel", "White Whale"},
		"n": 7, "day": "1851-10-18", "tv": "My television set", "gram": "whaling", "cjk": "東京都", "sub": map[string]any{"text": "A whale"},
	})
	word := func(field, text string) Query { return Match{Field: field, Text: text} }
	text := func(text string) Query { return word("text", text) }
	for _, c := range []struct {
		q    Query
		want string
	}{
		{text("Whale to"), "The white [whale]; a [whale], white. | [To] be or not [to] be."},
		{Match{Field: "text", Text: "whale not", Mode: ModeAnd}, "The white [whale]; a [whale], white. | To be or [not] to be."},
		{Term{"text", "whale"}, "The white [whale]; a [whale], white."},
		{phrase("white whale", 0), "The [white] [whale]; a whale, white."},
		{phrase("white whale", 4), "The [white] [whale]; a [whale], [white]."},
		{phrase("be be", 3), "To [be] or not to [be]."},
		{nearby(0, "white", "whale"), "The [white] [whale]; a [whale], [white]."},
		{nearby(0, "the", "white"), "[The] [white] whale; a whale, white."},
		{nearby(1, "to be", "or not"), "[To] [be] [or] [not] [to] [be]."},
		{intervals(IntervalText{Text: "white a", Ordered: true, MaxGaps: 1}), "The [white] whale; [a] whale, white."},
		{intervals(IntervalWhere{IntervalText{Text: "be be", Ordered: true}, Containing, IntervalText{Text: "not"}}), "To [be] or [not] to [be]."},
		{intervals(IntervalWhere{IntervalText{Text: "whale"}, NotContaining, IntervalText{Text: "white"}}), "The white [whale]; a [whale], white."},
		{Prefix{"text", "WH", false}, "The [white] [whale]; a [whale], [white]."},
		{Wildcard{"text", "w*e", false}, "The [white] [whale]; a [whale], [white]."},
		{Wildcard{"text", "?o", false}, "[To] be or not [to] be."},
		{Regexp{"text", "wha.*|n[aeiou]t", false}, "The white [whale]; a [whale], white. | To be or [not] to be."},
		{TermRange{Field: "text", From: "b", To: "o"}, "To [be] or [not] to [be]."},
		{Terms{"text", []any{"or", "the"}}, "[The] white whale; a whale, white. | To be [or] not to be."},
		{Fuzzy{Field: "text", Term: "whole", Edits: 1}, "The white [whale]; a [whale], white."},
		{PhrasePrefix{Field: "text", Text: "white wh"}, "The [white] [whale]; a whale, white."},
		{PhrasePrefix{Field: "text", Text: "wh"}, "The [white] [whale]; a [whale], [white]."},
		{Range{Field: "n", From: 1}, ""},
		{Bool{Should: []Query{text("not"), Bool{Must: []Query{text("whale"), Range{Field: "n", From: 8}}}}}, "To be or [not] to be."},
		{word("stem", "runs dog"), "[Running] [dogs] ran"},
		{word("fold", "CAFE"), "Un [Café] crème"},
		{Prefix{"fold", "Crè", false}, "Un Café [crème]"},
		{word("html", "white amp whale"), "a <b>[white]</b> &amp; [whale]"},
		{word("tag", "White Whale"), "[White Whale]"},
		{Term{"tag", "novel"}, "[novel]"},
		{Prefix{"tag", "White", false}, "[White Whale]"},
		{word("tv", "tv"), "My [television] set"},
		{word("gram", "wha"), "[whaling]"},
		{word("cjk", "東京"), "[東京]都"},
		{word("sub.text", "whale"), "A [whale]"},
		{Term{"n", 7}, ""}, {Term{"day", "1851-10-18"}, ""}, {Exists{"text"}, ""}, {IDs{[]string{"1"}}, ""}, {All{}, ""},

		{Bool{Must: []Query{text("whale")}, MustNot: []Query{text("nowhere")}}, "The white [whale]; a [whale], white."},
		{Bool{Must: []Query{text("whale")}, Filter: []Query{text("not")}}, "The white [whale]; a [whale], white. | To be or [not] to be."},
		{Bool{Should: []Query{text("not"), Bool{Must: []Query{text("whale"), text("nowhere")}}}}, "To be or [not] to be."},
		{Bool{Should: []Query{text("not"), Bool{Must: []Query{text("whale"), word("stem", "cats")}}}}, "To be or [not] to be."},
		{Bool{Should: []Query{text("not"), Bool{Must: []Query{text("the")}, MustNot: []Query{text("whale")}}}}, "To be or [not] to be."},
		{Bool{Should: []Query{text("not"), Bool{Must: []Query{text("the")}, MustNot: []Query{text("white"), text("x")}}}}, "To be or [not] to be."},
		{Bool{Should: []Query{text("not"), Bool{Should: []Query{text("the"), text("a"), text("x")}, MinShould: 3}}}, "To be or [not] to be."},
		{Bool{Should: []Query{text("not"), Match{Field: "text", Text: "whale nowhere", Mode: ModeAnd}}}, "To be or [not] to be."},
		{Bool{MustNot: []Query{text("nowhere")}}, ""},
		{Boosting{text("whale"), text("not"), 0.5}, "The white [whale]; a [whale], white."},
		{DisMax{[]Query{text("or"), word("tv", "tv")}, 0}, "To be [or] not to be. | My [television] set"},
		{ConstantScore{Boost{text("or"), 2}, 1}, "To be [or] not to be."},
		{Match{Fields: []string{"stem", "fold"}, Text: "dogs creme", Mode: ModeAnd}, "Un Café [crème] | Running [dogs] ran"},
	} {
		o := &HighlightOptions{Size: WholeText, Fragments: 9, InOrder: true}
		res, err := ix.Search(t.Context(), c.q, &SearchOptions{Highlight: o})
		ix.must(err)
		if len(res.Hits) != 1 {
			t.Errorf("%v finds nothing", c.q)
			continue
		}
		if got := marked(res.Hits[0].Fragments); got != c.want || res.Hits[0].Fields != nil {
			t.Errorf("%v: %s, want %s", c.q, got, c.want)
		}
		h, err := ix.Highlighter(t.Context(), c.q, o)
		ix.must(err)
		doc, err := ix.Get(t.Context(), "1")
		ix.must(err)
		fragments, err := h.Fragments(doc)
		if got := marked(fragments); err != nil || got != c.want {
			t.Errorf("%v, of a document: %s (%v), want %s", c.q, got, err, c.want)
		}
	}
}

func mustSynonyms(t *testing.T, rules string) analysis.Filter {
	s, err := analysis.ParseSynonyms(strings.NewReader(rules), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestHighlightOptions cuts fragments, of fields that are named, copied, not stored or not there.
func TestHighlightOptions(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{
		"title": {}, "body": {}, "n": {Type: FieldNumber}, "secret": {NoStore: true},
		"all": {CopyFrom: []string{"title", "body", "n"}}, "hidden": {CopyFrom: []string{"secret"}},
	}}})
	doc := map[string]any{
		"title":  "Moby Dick, or The Whale",
		"body":   "Call me Ishmael. Some years ago I went to sea. There was a whale. It was not white.\n\nA white whale <i>came</i> by & by.",
		"secret": "A whale in secret.", "n": 7,
	}
	ix.put("1", doc)
	all := func(text string) Query { return Match{Field: "all", Text: text} }
	for _, c := range []struct {
		q    Query
		o    HighlightOptions
		want string
	}{
		{all("white whale"), HighlightOptions{Size: 35}, "…A [white] [whale] <i>came</i> by & by. | Moby Dick, or The [Whale]"},
		{all("white whale"), HighlightOptions{Size: 45, Fields: []string{"body"}}, "…There was a [whale]. It was not [white].…"},
		{all("white whale"), HighlightOptions{Size: 40, Fields: []string{"all"}, Fragments: 2, InOrder: true},
			"…There was a [whale]. It was not [white].… | …A [white] [whale] <i>came</i> by & by. | Moby Dick, or The [Whale]"},
		{all("white"), HighlightOptions{Size: 20, Fields: []string{"body"}, BySize: true}, "…[white].\n\nA [white]…"},
		{all("white"), HighlightOptions{Size: 20, Lead: true}, "…It was not [white].… | Moby Dick, or The…"},
		{all("white"), HighlightOptions{Size: 20, Lead: true, Fields: []string{"title"}}, "Moby Dick, or The…"},
		{all("nothing"), HighlightOptions{}, ""},
		{Match{Field: "title", Text: "whale"}, HighlightOptions{Fields: []string{"body"}}, ""},
		{Match{Field: "secret", Text: "whale"}, HighlightOptions{}, ""},
		{Bool{Should: []Query{all("white"), Match{Field: "secret", Text: "whale"}}}, HighlightOptions{Size: 20}, "…It was not [white].…"},
		{all("white"), HighlightOptions{Fields: []string{"elsewhere"}}, ""},
	} {
		res, err := ix.Search(t.Context(), Bool{Must: []Query{All{}}, Should: []Query{c.q}}, &SearchOptions{Highlight: &c.o})
		ix.must(err)
		if got := marked(res.Hits[0].Fragments); got != c.want {
			t.Errorf("%v, %+v:\n%s, want\n%s", c.q, c.o, got, c.want)
		}
	}
	for _, c := range []struct {
		o    HighlightOptions
		want string
	}{
		{HighlightOptions{Fragments: -1}, "HighlightOptions.Fragments: must lie in 0 to 1000, not -1"},
		{HighlightOptions{Size: -2}, "HighlightOptions.Size: must lie in 0 to 1000000, or be WholeText, not -2"},
		{HighlightOptions{Fields: []string{""}}, "HighlightOptions.Fields: has a field without a name"},
		{HighlightOptions{Fields: []string{"n"}}, `field "n" has values of type number, not texts`},
		{HighlightOptions{Fields: []string{"secret"}}, `field "secret" is not stored; a Highlighter takes its text from the caller`},
		{HighlightOptions{Fields: []string{"hidden"}}, `field "hidden" is not stored`},
	} {
		var qe *QueryError
		if _, err := ix.Search(t.Context(), all("x"), &SearchOptions{Highlight: &c.o}); !errors.As(err, &qe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.o, err, c.want)
		}
	}
	h, err := ix.Highlighter(t.Context(), Match{Field: "secret", Text: "whale"}, &HighlightOptions{Fields: []string{"secret"}})
	ix.must(err)
	if fragments, err := h.Fragments(doc); err != nil || marked(fragments) != "A [whale] in secret." {
		t.Errorf("a text that is not stored: %v %v", fragments, err)
	}
	type page struct {
		Secret []string `riffle:"secret"`
	}
	spans, err := h.Spans(&page{Secret: []string{"no", "Whale whales whale"}})
	want := []Span{{1, 0, 5, "whale", 0}, {1, 13, 18, "whale", 2}}
	if err != nil || !slices.Equal(spans["secret"], want) {
		t.Errorf("spans %v, want %v (%v)", spans, want, err)
	}
	if _, err := h.Spans(7); err == nil {
		t.Error("a number is a document")
	}
	if _, err := ix.Highlighter(t.Context(), Match{Field: "nofield", Text: "x"}, nil); err == nil {
		t.Error("a query of a field that does not exist")
	}
	if _, err := ix.Highlighter(t.Context(), nil, nil); err == nil {
		t.Error("no query")
	}
	batch, err := ix.SearchBatch(t.Context(), []Query{all("ishmael"), all("sea")}, &SearchOptions{Highlight: &HighlightOptions{Size: 20}, Load: []string{"n"}})
	ix.must(err)
	if got := marked(batch[1].Hits[0].Fragments); got != "…to [sea].…" || batch[1].Hits[0].Fields["n"] != int64(7) {
		t.Errorf("in a batch: %s", got)
	}
}

// TestMarkup prints a fragment.
func TestMarkup(t *testing.T) {
	f := Fragment{Text: "a <b>\x1b[31mwhale\u2028\r\n", Matches: []ByteRange{{10, 15}}, Before: true}
	if got := f.HTML(); got != "…a &lt;b&gt;\x1b[31m<mark>whale</mark>\u2028\r\n" {
		t.Errorf("%q", got)
	}
	if got := f.ANSI(); got != "…a <b> [31m\x1b[1;33mwhale\x1b[0m   " {
		t.Errorf("%q", got)
	}
	if got := f.Format(Markup{Open: "<", Close: ">"}); got != "a <b>\x1b[31m<whale>\u2028\r\n" {
		t.Errorf("%q", got)
	}
}

// A highlightOracle finds the words that count by the definitions of the queries, in documents whose
// values are words with single spaces.
type highlightOracle struct{ doc map[string][][]string }

// A spot is a word of a document.
type spot struct {
	field       string
	value, word int
}

func (o *highlightOracle) where(field string, ok func(term string) bool) map[spot]bool {
	out := map[spot]bool{}
	for v, words := range o.doc[field] {
		for i, word := range words {
			if ok(word) {
				out[spot{field, v, i}] = true
			}
		}
	}
	return out
}

// together finds the words of an expression over the words of some texts.
func (o *highlightOracle) together(field string, terms []string, e *proximity.Expr) map[spot]bool {
	positions, at, places := make([][]uint32, len(terms)), uint32(0), map[uint32]spot{}
	for v, words := range o.doc[field] {
		if v > 0 && at > 0 && len(words) > 0 {
			at += 100
		}
		for i, word := range words {
			for t, term := range terms {
				if term == word {
					positions[t] = append(positions[t], at)
				}
			}
			places[at] = spot{field, v, i}
			at++
		}
	}
	out := map[spot]bool{}
	for word := range exectest.Words(e, positions) {
		out[places[word.Position]] = true
	}
	return out
}

// phraseOf is the expression of a text whose words stand in terms.
func phraseOf(text string, terms []string, slop int) (e proximity.Expr) {
	e = proximity.Expr{Op: proximity.Phrase, Max: slop}
	for i, word := range strings.Fields(text) {
		e.Parts = append(e.Parts, proximity.Expr{Op: proximity.Word, Terms: []int{slices.Index(terms, word)}})
		e.Offsets = append(e.Offsets, uint32(i))
	}
	if len(e.Parts) == 1 {
		return e.Parts[0]
	}
	return e
}

func unique(text string) []string { return slices.Compact(slices.Sorted(strings.FieldsSeq(text))) }

// match returns whether a query matches, and the words that count if it does.
func (o *highlightOracle) match(q Query) (bool, map[spot]bool) {
	var words map[spot]bool
	switch q := q.(type) {
	case Term:
		words = o.where(q.Field, func(term string) bool { return term == q.Value })
	case Match:
		sought := unique(q.Text)
		found := map[string]bool{}
		words = o.where(q.Field, func(term string) bool {
			found[term] = found[term] || slices.Contains(sought, term)
			return found[term]
		})
		if q.Mode == ModeAnd && slices.ContainsFunc(sought, func(word string) bool { return !found[word] }) {
			return false, nil
		}
	case Prefix:
		words = o.where(q.Field, func(term string) bool { return strings.HasPrefix(term, q.Prefix) })
	case Wildcard:
		expr := regexp.MustCompile("^" + strings.NewReplacer("*", ".*", "?", ".").Replace(q.Pattern) + "$")
		words = o.where(q.Field, expr.MatchString)
	case Regexp:
		words = o.where(q.Field, regexp.MustCompile("^(?:"+q.Expr+")$").MatchString)
	case TermRange:
		words = o.where(q.Field, func(term string) bool { return term >= q.From && term < q.To })
	case Terms:
		words = o.where(q.Field, func(term string) bool { return slices.Contains(q.Values, any(term)) })
	case Fuzzy: // of one letter, which is replaced, dropped, inserted or exchanged
		words = o.where(q.Field, func(term string) bool {
			return term == q.Term || oneEdit(term, q.Term) && min(len(term), len(q.Term)) > 1
		})
	case Phrase:
		terms := unique(q.Text)
		e := phraseOf(q.Text, terms, q.Slop)
		words = o.together(q.Field, terms, &e)
	case PhrasePrefix: // of several words
		texts := strings.Fields(q.Text)
		terms := unique(strings.Join(append(texts, highlightWords...), " "))
		e := phraseOf(q.Text, terms, 0)
		last := &e.Parts[len(e.Parts)-1]
		last.Terms = nil
		for i, term := range terms {
			if strings.HasPrefix(term, texts[len(texts)-1]) {
				last.Terms = append(last.Terms, i)
			}
		}
		words = o.together(q.Field, terms, &e)
	case Near:
		terms := unique(strings.Join(q.Phrases, " "))
		e := proximity.Expr{Op: proximity.Near, Max: q.Distance}
		for _, p := range q.Phrases {
			e.Parts = append(e.Parts, phraseOf(p, terms, 0))
		}
		words = o.together(q.Field, terms, &e)
	case Intervals:
		terms := unique(q.Rule.(IntervalText).Text)
		e := phraseOf(q.Rule.(IntervalText).Text, terms, 0)
		if e.Op = proximity.Ordered; !q.Rule.(IntervalText).Ordered {
			e.Op = proximity.Unordered
		}
		e.Offsets, e.Max = nil, max(q.Rule.(IntervalText).MaxGaps, 0)
		if q.Rule.(IntervalText).MaxGaps == AnyGaps {
			e.Max = proximity.NoLimit
		}
		words = o.together(q.Field, terms, &e)
	case All:
		return true, nil
	case Boost:
		return o.match(q.Query)
	case ConstantScore:
		return o.match(q.Query)
	case Bool:
		return o.combine(q)
	default:
		panic(fmt.Sprintf("no oracle of %T", q))
	}
	return len(words) > 0, words
}

func (o *highlightOracle) combine(q Bool) (bool, map[spot]bool) {
	words, matching, least := map[spot]bool{}, 0, q.MinShould
	if least == 0 && len(q.Must)+len(q.Filter) == 0 && len(q.Should) > 0 {
		least = 1
	}
	for i, sub := range slices.Concat(q.Must, q.Filter, q.Should) {
		ok, some := o.match(sub)
		switch {
		case i >= len(q.Must)+len(q.Filter) && ok:
			matching++
		case i < len(q.Must)+len(q.Filter) && !ok:
			return false, nil
		}
		maps.Copy(words, some)
	}
	for _, sub := range q.MustNot {
		if ok, _ := o.match(sub); ok {
			return false, nil
		}
	}
	return matching >= least, words
}

func oneEdit(a, b string) bool {
	for i := range len(a) + 1 {
		if i < len(a) && a[:i]+a[i+1:] == b || i < len(b) && b[:i]+b[i+1:] == a {
			return true
		}
		if i < len(a) && len(a) == len(b) && a[:i]+a[i+1:] == b[:i]+b[i+1:] {
			return true
		}
		if i+1 < len(a) && a[:i]+a[i+1:i+2]+a[i:i+1]+a[i+2:] == b {
			return true
		}
	}
	return false
}

var highlightWords = []string{"ab", "abc", "abd", "bac", "b", "ca", "cab"}

func someWords(rng *rand.Rand, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = highlightWords[rng.IntN(len(highlightWords))]
	}
	return strings.Join(words, " ")
}

func highlightQuery(rng *rand.Rand, depth int) Query {
	field := []string{"x", "y"}[rng.IntN(2)]
	word := someWords(rng, 1)
	some := func(n int) (out []Query) {
		for range n {
			out = append(out, highlightQuery(rng, depth-1))
		}
		return out
	}
	kind := rng.IntN(17)
	if depth == 0 {
		kind = rng.IntN(13)
	}
	switch kind {
	case 0:
		return Term{field, word}
	case 1, 2:
		return Match{Field: field, Text: someWords(rng, 1+rng.IntN(3)), Mode: Mode(rng.IntN(2))}
	case 3:
		return Prefix{field, word[:1+rng.IntN(len(word))], false}
	case 4:
		return Wildcard{field, []string{"*b*", "?a?", "a*", "*"}[rng.IntN(4)], false}
	case 5:
		return Regexp{field, []string{"a.*", "(ab|ca)c?", "[bc]a."}[rng.IntN(3)], false}
	case 6:
		return TermRange{Field: field, From: word, To: "c"}
	case 7:
		return Terms{field, []any{word, someWords(rng, 1)}}
	case 8:
		return Fuzzy{Field: field, Term: word, Edits: 1}
	case 9, 10:
		return Phrase{Field: field, Text: someWords(rng, 2+rng.IntN(2)), Slop: rng.IntN(4)}
	case 11:
		if rng.IntN(2) == 0 {
			return PhrasePrefix{Field: field, Text: someWords(rng, 1+rng.IntN(2)) + " " + word[:1]}
		}
		return Near{Field: field, Phrases: []string{someWords(rng, 1+rng.IntN(2)), someWords(rng, 1)}, Distance: rng.IntN(4)}
	case 12:
		two := rng.Perm(len(highlightWords)) // words that differ: equal ones are one part that repeats
		text := highlightWords[two[0]] + " " + highlightWords[two[1]]
		return Intervals{Field: field, Rule: IntervalText{Text: text, Ordered: rng.IntN(2) == 0, MaxGaps: rng.IntN(4) - 1}}
	case 13:
		return ConstantScore{Boost{highlightQuery(rng, depth-1), 2}, 1}
	default:
		b := Bool{Must: some(rng.IntN(3)), Should: some(rng.IntN(3)), MustNot: some(rng.IntN(4) / 3), Filter: some(rng.IntN(3) / 2)}
		if len(b.Should) > 0 {
			b.MinShould = rng.IntN(len(b.Should) + 1)
		}
		if len(b.Must)+len(b.Should)+len(b.MustNot)+len(b.Filter) == 0 {
			return All{}
		}
		return b
	}
}

// TestHighlightOracle compares the words that a Highlighter marks, and what it takes to match, with the
// oracle and with what a search finds.
func TestHighlightOracle(t *testing.T) {
	indexes := 40
	if testing.Short() {
		indexes = 4
	}
	for seed := range indexes {
		rng := rand.New(rand.NewPCG(7, uint64(seed)))
		ix := newIndex(t, &Options{Merge: MergeOptions{Disabled: true}})
		oracles, docs := map[string]*highlightOracle{}, map[string]map[string]any{}
		for i := range 12 {
			id, doc, o := fmt.Sprint(i), map[string]any{}, &highlightOracle{map[string][][]string{}}
			for _, field := range []string{"x", "y"} {
				var values []string
				for range 1 + rng.IntN(2) {
					text := someWords(rng, rng.IntN(8))
					values = append(values, text)
					o.doc[field] = append(o.doc[field], strings.Fields(text))
				}
				doc[field] = values
			}
			ix.put(id, doc)
			oracles[id], docs[id] = o, doc
			if i == 6 {
				ix.flush()
			}
		}
		for range 60 {
			q := highlightQuery(rng, 2)
			h, err := ix.Highlighter(ctx, q, nil)
			ix.must(err)
			found := ix.sortedIDs(q)
			all := &HighlightOptions{Fragments: 100, Size: WholeText}
			res, err := ix.Search(ctx, q, &SearchOptions{Highlight: all, K: 100})
			ix.must(err)
			ofHits := map[string]string{}
			for _, hit := range res.Hits {
				ofHits[hit.ID] = marked(hit.Fragments)
			}
			whole, err := ix.Highlighter(ctx, q, all)
			ix.must(err)
			for id, o := range oracles {
				ok, want := o.match(q)
				if ok != slices.Contains(found, id) {
					t.Fatalf("seed %d: %v and document %v: the oracle says %v, the search %v", seed, q, o.doc, ok, !ok)
				}
				if !ok {
					want = nil
				}
				spans, err := h.Spans(docs[id])
				ix.must(err)
				got := map[spot]bool{}
				for field, list := range spans {
					for _, s := range list {
						got[spot{field, s.Value, s.Position}] = true
						if text := docs[id][field].([]string)[s.Value]; text[s.Start:s.End] != s.Term || strings.Fields(text)[s.Position] != s.Term {
							t.Fatalf("seed %d: %+v of %q", seed, s, text)
						}
					}
				}
				if !maps.Equal(got, want) {
					t.Fatalf("seed %d: %v and document %v: marked %v, want %v", seed, q, o.doc, got, want)
				}
				fragments, err := whole.Fragments(docs[id])
				ix.must(err)
				if hit, ok := ofHits[id]; ok && hit != marked(fragments) {
					t.Fatalf("seed %d: %v and document %v: the hit shows %s, the document %s", seed, q, o.doc, hit, marked(fragments))
				}
			}
		}
	}
}

// TestHighlighterIsShared uses one Highlighter in several goroutines.
func TestHighlighterIsShared(t *testing.T) {
	ix := newIndex(t, nil)
	ix.put("1", map[string]any{"text": "white whale"})
	q := Bool{Should: []Query{phrase("white whale", 2), Regexp{"text", "wh.*", false}, Fuzzy{Field: "text", Term: "wale"}}}
	h, err := ix.Highlighter(ctx, q, nil)
	ix.must(err)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 50 {
				text := strings.Repeat("so ", i) + "white whale"
				got, err := h.Fragments(map[string]any{"text": text})
				if want := strings.Repeat("so ", i) + "[white] [whale]"; err != nil || marked(got) != want {
					t.Errorf("%v (%v), want %s", got, err, want)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzHighlight: fragments of any text are parts of it, and come back from HTML.
func FuzzHighlight(f *testing.F) {
	ix := newIndex(f, nil)
	ix.put("1", map[string]any{"text": "white whale"})
	f.Add("white whale", "A <white> whale & so on.\n\nWhale's", 20, false)
	f.Add("日本", "\xff日本語\x80。whale", 3, true)
	f.Add("w* é", "&amp;\x00 whale e\u0301é", -1, false)
	f.Fuzz(func(t *testing.T, query, text string, size int, bySize bool) {
		if size < WholeText || size > 1<<16 {
			t.Skip()
		}
		q := Bool{Should: []Query{Match{Field: "text", Text: query}, Phrase{Field: "text", Text: query, Slop: 1}, Prefix{"text", query, false}}}
		h, err := ix.Highlighter(ctx, q, &HighlightOptions{Fragments: 3, Size: size, BySize: bySize, Lead: true})
		if err != nil {
			t.Skip()
		}
		fragments, err := h.Fragments(map[string]any{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fragments["text"] {
			if text[f.Start:f.End] != f.Text {
				t.Fatalf("%q: %+v", text, f)
			}
			before := 0
			for i, m := range f.Matches {
				if m.Start < before || m.Start >= m.End || m.End > len(f.Text) || i > 0 && m.Start == before {
					t.Fatalf("%q: matches %v", f.Text, f.Matches)
				}
				before = m.End
			}
			escaped := f.Format(Markup{Escape: html.EscapeString})
			if strings.ContainsAny(escaped, "<>\"") || html.UnescapeString(escaped) != f.Text {
				t.Fatalf("%q becomes %q", f.Text, escaped)
			}
			if plain := f.Format(ANSI("", "")); strings.ContainsAny(plain, "\x1b\r\n\u009b") {
				t.Fatalf("%q becomes %q", f.Text, plain)
			}
		}
	})
}

// BenchmarkHighlight highlights documents of different lengths: the time of a byte stays the same.
func BenchmarkHighlight(b *testing.B) {
	ix := newIndex(b, nil)
	ix.put("1", map[string]any{"text": "white whale"})
	for _, q := range []Query{match("text", "white whale"), phrase("white whale", 3), Prefix{"text", "wh", false}} {
		h, err := ix.Highlighter(b.Context(), q, &HighlightOptions{Fragments: 3})
		ix.must(err)
		for _, size := range []int{1 << 10, 1 << 16, 1 << 22} {
			b.Run(fmt.Sprintf("query=%T/bytes=%d", q, size), func(b *testing.B) {
				doc := map[string]any{"text": strings.Repeat("It was a white whale. He saw it, and so did I. ", size/47)}
				b.SetBytes(int64(size))
				for b.Loop() {
					if _, err := h.Fragments(doc); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// TestHighlightQuery marks the matches of another query than that of the search.
func TestHighlightQuery(t *testing.T) {
	ix := newIndex(t, nil)
	ix.put("1", map[string]any{"t": "the white whale and the ship"})
	res := ix.search(IDs{Values: []string{"1"}}, &SearchOptions{Highlight: &HighlightOptions{Query: match("t", "whale")}})
	if len(res.Hits) != 1 || len(res.Hits[0].Fragments["t"]) != 1 || len(res.Hits[0].Fragments["t"][0].Matches) != 1 {
		t.Errorf("%+v", res.Hits)
	}
	res = ix.search(match("t", "white"), &SearchOptions{Highlight: &HighlightOptions{Query: match("t", "nothing")}})
	if len(res.Hits) != 1 || len(res.Hits[0].Fragments) > 0 {
		t.Errorf("%+v", res.Hits)
	}
}
