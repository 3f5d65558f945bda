package riffle

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/analysis"
)

// TestPhrasePrefixes compares the ids of all matches, in several segments and with analyzers that drop,
// stem and add words.
func TestPhrasePrefixes(t *testing.T) {
	synonyms, err := analysis.ParseSynonyms(strings.NewReader("ny, new york"), nil)
	if err != nil {
		t.Fatal(err)
	}
	ix := newIndex(t, &Options{
		Merge:     MergeOptions{Disabled: true},
		Analyzers: map[string]analysis.Analyzer{"places": analysis.New("places", analysis.Words{}, analysis.Lowercase{}, synonyms)},
		Schema: &Schema{Fields: map[string]Field{
			"text": {Type: FieldText}, "stem": {Type: FieldText, Analyzer: "english"}, "fold": {Type: FieldText, Analyzer: "folding"},
			"bare": {Type: FieldText, Positions: PositionsNone}, "key": {Type: FieldKeyword}, "n": {Type: FieldNumber},
		}},
	})
	for i, text := range []string{
		"The white whale", "white whaling ships", "a whale, white and whole", "whiter whales", "white",
		"Running with the white ship", "runs with thee", "Café crème", "white white whale", "New York City", "big nylon yard", "NY is big",
	} {
		ix.put(fmt.Sprint(i), map[string]any{"text": text, "stem": text, "fold": text, "bare": text, "key": text, "n": i})
		ix.put("gone", map[string]any{"text": "white whisk", "stem": "white whisk", "fold": "x"})
		if i%4 == 3 {
			ix.flush()
		}
	}
	ix.must(ix.Delete(t.Context(), "gone"))
	in := func(field, text string, slop int) PhrasePrefix {
		return PhrasePrefix{Field: field, Text: text, Slop: slop}
	}
	places := PhrasePrefix{Field: "text", Text: "big ny", Analyzer: "places"}
	for _, c := range []struct {
		q    Query
		want string
	}{
		{in("text", "white wha", 0), "0 1 8"},
		{in("text", "white w", 0), "0 1 8"},
		{in("text", "White WHALE", 0), "0 8"},
		{in("text", "the white wh", 0), "0"},
		{in("text", "white whi", 0), "8"},
		{in("text", "white whi", 3), "8"},
		{in("text", "white who", 1), "2"},
		{in("text", "whale whi", 2), "0 2 8"},
		{in("text", "wha", 0), "0 1 2 3 8"},
		{in("text", "white xyz", 0), ""},
		{in("text", "xyz w", 0), ""},
		{in("text", "", 0), ""},
		{in("text", " ,;", 0), ""},
		{in("fold", "CAFE cré", 0), "7"},
		{in("text", "café cre", 0), ""},
		{in("stem", "white whale", 0), "0 1 8"},  // "whaling" has the same stem
		{in("stem", "running with the", 0), "6"}, // the last word is dropped: its beginning counts
		{in("stem", "runs with the whi", 0), "5"},
		{in("stem", "whiter whaling", 0), "3"}, // as stemmed
		{in("stem", "the", 0), "6"},
		{in("bare", "whi", 0), "0 1 2 3 4 5 8"},
		{in("key", "white w", 0), "1 8"},
		{places, "10"}, // big ny*
		{PhrasePrefix{Field: "text", Text: "ny i", Analyzer: "places"}, "11"},
		{PhrasePrefix{Field: "text", Text: "ny c", Analyzer: "places"}, "9"},
		{Bool{Must: []Query{match("text", "the")}, Filter: []Query{in("text", "white wh", 0)}}, "0"},
		{Bool{Must: []Query{match("text", "whale")}, MustNot: []Query{in("text", "white wh", 0)}}, "2"},
		{Bool{Should: []Query{in("text", "white wha", 0), in("text", "whiter wha", 0), in("text", "runs w", 0)}}, "0 1 3 6 8"},
		{Bool{Must: []Query{in("text", "white wha", 0), Match{Field: "text", Text: "white whale", Mode: ModeAndOr}}}, "0 1 8"},
	} {
		ids, scores := ix.hits(c.q)
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%v matches %q, want %q", c.q, got, c.want)
		}
		for id, score := range scores {
			x, err := ix.Explain(t.Context(), c.q, id, nil)
			ix.must(err)
			if !x.Matches || x.Score != score {
				t.Errorf("%v: document %s scores %v, explained as\n%v", c.q, id, score, x)
			}
		}
	}
	x, err := ix.Explain(t.Context(), in("text", "white wha", 0), "1", nil)
	ix.must(err)
	if !strings.Contains(x.String(), `text:"white wha*" = weight × impact, at 0-1`) || !strings.Contains(x.String(), "text:wha* occurs 1 times") {
		t.Errorf("explained as\n%v", x)
	}
	for _, c := range []struct {
		q    PhrasePrefix
		want string
	}{
		{PhrasePrefix{Text: "a b"}, "PhrasePrefix.Field: is empty"},
		{in("text", "a b", -1), "PhrasePrefix.Slop: must lie in"},
		{in("n", "5", 0), "values of type number"},
		{in("none", "a b", 0), `no field "none"`},
		{in("bare", "white wh", 0), "without positions"},
		{PhrasePrefix{Field: "text", Text: "a b", Analyzer: "none"}, "PhrasePrefix.Analyzer"},
	} {
		var qe *QueryError
		if _, err := ix.Search(t.Context(), c.q, nil); !errors.As(err, &qe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.q, err, c.want)
		}
	}
}

// TestPhrasePrefixBounds: Options.MaxTerms bounds the words that the last one stands for, and statistics
// of two halves of an index score as those of the whole.
func TestPhrasePrefixBounds(t *testing.T) {
	whole, bounded := newIndex(t, nil), newIndex(t, &Options{MaxTerms: 3})
	halves := []*testIndex{newIndex(t, nil), newIndex(t, nil)}
	for i, word := range strings.Fields("wa wb wc wd wc wb wa wa") {
		doc := map[string]any{"text": "white " + word + " and " + word + strings.Repeat(" more", i)}
		for _, ix := range []*testIndex{whole, bounded, halves[i%2]} {
			ix.put(fmt.Sprint(i), doc)
		}
		if i == 5 {
			whole.flush()
			bounded.flush()
		}
	}
	q := PhrasePrefix{Field: "text", Text: "white w"}
	_, want := whole.hits(q)
	if len(want) != 8 {
		t.Fatalf("%d hits", len(want))
	}
	st, err := halves[0].Statistics(t.Context(), q, nil)
	whole.must(err)
	other, err := halves[1].Statistics(t.Context(), q, nil)
	whole.must(err)
	st.Add(other)
	for _, half := range halves {
		res, err := half.Search(t.Context(), q, &SearchOptions{Statistics: st})
		whole.must(err)
		for _, h := range res.Hits {
			if h.Score != want[h.ID] {
				t.Errorf("document %s scores %v in its half, %v in the whole", h.ID, h.Score, want[h.ID])
			}
		}
	}
	var qe *QueryError
	if _, err := bounded.Search(t.Context(), q, nil); !errors.As(err, &qe) || !strings.Contains(err.Error(), `text:prefix("w") stands for more than 3 terms`) {
		t.Errorf("error %v", err)
	}
	res, err := bounded.Search(t.Context(), q, &SearchOptions{Partial: true})
	whole.must(err)
	if !res.Incomplete || len(res.Hits) != 7 { // without wd and "white"
		t.Errorf("%d hits, incomplete %v", len(res.Hits), res.Incomplete)
	}
	q.Text = "white wb"
	if res, err := bounded.Search(t.Context(), q, nil); err != nil || res.Incomplete || len(res.Hits) != 2 {
		t.Errorf("%v %v", res, err)
	}
}
