package riffle

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/internal/plan"
)

var newYear = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// queryCorpus is ten documents, few enough to check queries by eye.
var queryCorpus = map[string]map[string]any{
	"0": {"text": "apple banana", "title": "fruit", "tag": "Red One", "n": 0, "ok": true, "at": newYear},
	"1": {"text": "apple apple cherry", "title": "fruit salad", "tag": "Red One", "n": 1, "ok": false},
	"2": {"text": "banana cherry", "title": "apple", "tag": "Blue", "n": 2, "ok": true, "at": newYear.Add(1)},
	"3": {"text": "cherry", "tag": "Blue", "n": 2.5},
	"4": {"text": "date", "title": "banana date", "n": -1, "ok": true},
	"5": {"text": "apple banana cherry date", "tag": []string{"Red One", "Blue"}, "n": []int{1, 5}},
	"6": {"title": "salad"},
	"7": {"n": uint64(math.MaxInt64)},
	"8": {"text": "the apples are running", "eng": "the apples are running"},
	"9": {"text": "", "eng": "an apple runs"},
}

// newQueryIndex holds queryCorpus in three segments and in memory, with old copies of replaced and
// deleted documents in each.
func newQueryIndex(t testing.TB) *testIndex {
	ix := newIndex(t, &Options{
		AllowUnknownFields: true,
		Merge:              MergeOptions{Disabled: true},
		Schema:             &Schema{Fields: map[string]Field{"tag": {Type: FieldKeyword}, "eng": {Analyzer: "english"}}},
	})
	for i := range 10 {
		var b Batch
		b.Put(fmt.Sprint((i+5)%10), map[string]any{"text": "apple banana cherry date junk", "tag": "Blue", "n": 2})
		b.Put("gone", map[string]any{"text": "apple junk"})
		ix.must(ix.Apply(t.Context(), &b))
		ix.put(fmt.Sprint(i), queryCorpus[fmt.Sprint(i)])
		if i%3 == 2 {
			ix.flush()
		}
	}
	for i := range 5 { // the junk above has replaced these
		ix.put(fmt.Sprint(i), queryCorpus[fmt.Sprint(i)])
	}
	var b Batch
	b.Delete("gone")
	for i := range 5 {
		b.Put(fmt.Sprint(i+5), queryCorpus[fmt.Sprint(i+5)])
	}
	ix.must(ix.Apply(t.Context(), &b))
	return ix
}

func match(field, text string) Match { return Match{Field: field, Text: text} }
func all(field, text string) Match   { return Match{Field: field, Text: text, Mode: ModeAnd} }

// TestQueries runs every kind of query and compares the ids of all matches.
func TestQueries(t *testing.T) {
	ix := newQueryIndex(t)
	both := []string{"title", "text"}
	for _, c := range []struct {
		q    Query
		want string
	}{
		// words of one field
		{match("text", "apple"), "0 1 5"},
		{match("text", "Apple, BANANA!"), "0 1 2 5"},
		{all("text", "apple banana"), "0 5"},
		{all("text", "apple apple"), "0 1 5"},
		{all("text", "apple nowhere"), ""},
		{match("text", "nowhere date"), "4 5"},
		{match("text", "junk"), ""},
		{match("text", ""), ""},
		{all("text", "..."), ""},
		{match("nofield", "apple"), ""},
		{all("text", "apple banana cherry date"), "5"},

		// analyzers
		{match("text", "apples"), "8"},
		{match("eng", "the running apple"), "8 9"},
		{all("eng", "the running apple"), "8 9"}, // "the" is no word there
		{match("eng", "the"), ""},
		{Match{Field: "text", Text: "the date", Analyzer: "english", Mode: ModeAnd}, "4 5"},
		{Match{Field: "text", Text: "the apples", Analyzer: "whitespace", Mode: ModeAnd}, "8"},
		{match("tag", "Red One"), "0 1 5"},
		{match("tag", "red one"), ""},
		{match("tag", "Red"), ""},

		// several fields
		{Match{Fields: both, Text: "apple"}, "0 1 2 5"},
		{Match{Fields: both, Text: "banana salad"}, "0 1 2 4 5 6"},
		{Match{Fields: both, Text: "fruit apple", Mode: ModeAnd}, "0 1"},
		{Match{Fields: both, Text: "apple banana cherry", Mode: ModeAnd}, "2 5"},
		{Match{Field: "title", Fields: []string{"text"}, Text: "apple cherry", Mode: ModeAnd}, "1 2 5"},
		{Match{Fields: []string{"eng", "text"}, Text: "the running", Mode: ModeAnd}, "8 9"}, // eng drops "the"
		{Match{Field: "text", Text: "the running", Mode: ModeAnd}, "8"},
		{Match{Fields: []string{"eng", "title"}, Text: "running apple"}, "2 8 9"},

		// exact terms
		{Term{"text", "apple"}, "0 1 5"},
		{Term{"text", "Apple"}, ""},
		{Term{"tag", "Blue"}, "2 3 5"},
		{Term{"n", 1}, "1 5"},
		{Term{"n", 5.0}, "5"},
		{Term{"n", uint8(2)}, "2"},
		{Term{"n", 2.5}, "3"},
		{Term{"n", -1}, "4"},
		{Term{"n", math.MaxInt64}, "7"},
		{Term{"n", "1"}, "1 5"}, // a string that spells a number
		{Term{"ok", true}, "0 2 4"},
		{Term{"ok", false}, "1"},
		{Term{"at", newYear}, "0"},
		{Term{"at", newYear.In(time.FixedZone("", 7200))}, "0"},
		{Term{"at", newYear.Add(1)}, "2"},
		{Term{"at", newYear.Add(2)}, ""},

		// constants and all
		{All{}, "0 1 2 3 4 5 6 7 8 9"},
		{Boost{All{}, 0}, "0 1 2 3 4 5 6 7 8 9"},
		{Boost{match("text", "date"), 0}, "4 5"},
		{ConstantScore{match("text", "date"), 2}, "4 5"},
		{ConstantScore{Bool{MustNot: []Query{Term{"ok", true}}}, 0}, "1 3 5 6 7 8 9"},

		// boolean
		{Bool{Must: []Query{match("text", "apple"), match("text", "cherry")}}, "1 5"},
		{Bool{Should: []Query{match("text", "apple"), match("text", "cherry")}}, "0 1 2 3 5"},
		{Bool{Filter: []Query{match("text", "apple"), Term{"ok", true}}}, "0"},
		{Bool{MustNot: []Query{match("text", "apple banana cherry")}}, "4 6 7 8 9"},
		{Bool{MustNot: []Query{All{}}}, ""},
		{Bool{MustNot: []Query{match("text", "nowhere")}}, "0 1 2 3 4 5 6 7 8 9"},
		{Bool{Must: []Query{match("text", "cherry")}, MustNot: []Query{Term{"tag", "Blue"}}}, "1"},
		{Bool{Must: []Query{match("text", "cherry")}, Should: []Query{match("text", "apple")}}, "1 2 3 5"},
		{Bool{Must: []Query{match("text", "cherry")}, Should: []Query{match("text", "apple")}, MinShould: 1}, "1 5"},
		{Bool{Filter: []Query{Term{"ok", true}}, Should: []Query{match("text", "apple")}}, "0 2 4"},
		{Bool{Filter: []Query{Term{"ok", true}}, Should: []Query{match("text", "apple")}, MinShould: 1}, "0"},
		{Bool{Filter: []Query{Term{"tag", "Blue"}}, MustNot: []Query{match("text", "apple")}}, "2 3"},
		{Bool{Should: []Query{match("text", "apple"), match("text", "banana"), match("text", "date")}, MinShould: 2}, "0 5"},
		{Bool{Should: []Query{match("text", "apple"), match("text", "banana"), match("text", "date")}, MinShould: 3}, "5"},
		{Bool{Should: []Query{match("text", "apple"), match("text", "apple")}, MinShould: 2}, "0 1 5"},
		{Bool{Must: []Query{match("text", "nowhere")}, Should: []Query{All{}}}, ""},
		{Bool{Must: []Query{Bool{Must: []Query{match("text", "apple")}, Filter: []Query{Term{"n", 1}}}}, MustNot: []Query{match("text", "date")}}, "1"},
		{Bool{Should: []Query{
			Bool{Must: []Query{match("text", "date")}, MustNot: []Query{match("text", "apple")}},
			Bool{Must: []Query{Term{"tag", "Red One"}}, Filter: []Query{Term{"ok", false}}},
			Match{Fields: both, Text: "salad", Mode: ModeAnd},
		}}, "1 4 6"},
		{Bool{MustNot: []Query{Bool{MustNot: []Query{Term{"ok", true}}}}}, "0 2 4"},
		{Bool{Must: []Query{Boost{ConstantScore{Term{"ok", true}, 1}, 2}, Match{Fields: both, Text: "banana"}}}, "0 2 4"},
	} {
		want := strings.Fields(c.want)
		for _, a := range []Algorithm{AlgorithmAuto, AlgorithmExhaustive, AlgorithmWAND, AlgorithmBMW, AlgorithmMaxScore, AlgorithmBMM} {
			res := ix.search(c.q, &SearchOptions{K: 100, Exec: &Exec{Algorithm: a}, ExactTotal: true})
			got := hitIDs(res)
			slices.Sort(got)
			if !slices.Equal(got, want) || res.Total != len(want) || !res.TotalExact {
				t.Errorf("%v, %v: %v, total %d %v, want %v", c.q, a, got, res.Total, res.TotalExact, want)
			}
		}
		if n, err := ix.Count(t.Context(), c.q); err != nil || n != len(want) {
			t.Errorf("%v: count %d, %v, want %d", c.q, n, err, len(want))
		}
	}
}

// TestAndOr: documents with all words, or, if fewer than k have them, those with any.
func TestAndOr(t *testing.T) {
	ix := newQueryIndex(t)
	filtered := func(q Query) Query { return Bool{Must: []Query{q}, MustNot: []Query{Term{"n", 1}}} }
	for _, c := range []struct {
		text string
		k    int
		want string // regardless of order
		not1 string // without the documents with n = 1
	}{
		{"apple banana", 2, "0 5", ""},
		{"apple banana", 3, "", ""},
		{"apple banana", 10, "0 1 2 5", "0 2"},
		{"cherry", 10, "1 2 3 5", "2 3"},
		{"date banana cherry", 1, "5", ""},
		{"date banana cherry", 9, "0 1 2 3 4 5", "0 2 3 4"},
		{"nowhere", 5, "", ""},
	} {
		q := Match{Field: "text", Text: c.text, Mode: ModeAndOr}
		if c.want != "" {
			got := hitIDs(ix.search(q, &SearchOptions{K: c.k}))
			slices.Sort(got)
			if strings.Join(got, " ") != c.want {
				t.Errorf("%v, k %d: %v, want %s", q, c.k, got, c.want)
			}
		}
		if c.not1 != "" {
			got := hitIDs(ix.search(filtered(q), &SearchOptions{K: c.k}))
			slices.Sort(got)
			if strings.Join(got, " ") != c.not1 {
				t.Errorf("%v, k %d: %v, want %s", filtered(q), c.k, got, c.not1)
			}
		}
	}
	// Three documents, of which two have both words: as OR ranks them.
	or := ix.search(match("text", "apple banana"), &SearchOptions{K: 3})
	andOr := ix.search(Match{Field: "text", Text: "apple banana", Mode: ModeAndOr}, &SearchOptions{K: 3})
	if !slices.Equal(hitIDs(or), hitIDs(andOr)) {
		t.Errorf("and+or falls back to %v, or gives %v", hitIDs(andOr), hitIDs(or))
	}
}

// scores returns the score of every hit by id.
func (ix *testIndex) scores(q Query) map[string]float64 {
	ix.t.Helper()
	m := map[string]float64{}
	for _, h := range ix.search(q, &SearchOptions{K: 1000}).Hits {
		m[h.ID] = h.Score
	}
	return m
}

// near allows for integer scores: a part in 10,000.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-4*max(math.Abs(a), math.Abs(b), 1) }

// TestScoresAddUp: the score of a query follows from its parts.
func TestScoresAddUp(t *testing.T) {
	ix := newQueryIndex(t)
	apple, cherry := ix.scores(match("text", "apple")), ix.scores(match("text", "cherry"))
	title := ix.scores(match("title", "apple"))
	for _, c := range []struct {
		q    Query
		want func(id string) float64
	}{
		{match("text", "apple cherry"), func(id string) float64 { return apple[id] + cherry[id] }},
		{match("text", "apple cherry apple"), func(id string) float64 { return 2*apple[id] + cherry[id] }},
		{all("text", "apple cherry"), func(id string) float64 { return apple[id] + cherry[id] }},
		{Term{"text", "apple"}, func(id string) float64 { return apple[id] }},
		{Boost{match("text", "apple"), 3.5}, func(id string) float64 { return 3.5 * apple[id] }},
		{Boost{Boost{match("text", "apple"), 3}, 0.5}, func(id string) float64 { return 1.5 * apple[id] }},
		{Boost{match("text", "apple"), 0}, func(string) float64 { return 0 }},
		{All{}, func(string) float64 { return 0 }},
		{ConstantScore{All{}, 0.125}, func(string) float64 { return 0.125 }},
		{Boost{ConstantScore{match("text", "apple"), 2}, 2}, func(string) float64 { return 4 }},
		{Match{Fields: []string{"title", "text"}, Text: "apple"}, func(id string) float64 { return apple[id] + title[id] }},
		{Bool{Must: []Query{match("text", "apple")}, Should: []Query{Boost{match("text", "cherry"), 2}}, Filter: []Query{Term{"n", 1}}},
			func(id string) float64 { return apple[id] + 2*cherry[id] }},
		{Bool{Should: []Query{match("text", "apple"), ConstantScore{Term{"tag", "Blue"}, 1}}}, func(id string) float64 {
			if strings.Contains("2 3 5", id) {
				return apple[id] + 1
			}
			return apple[id]
		}},
		{Bool{Filter: []Query{match("text", "apple")}}, func(string) float64 { return 0 }},
		{Bool{MustNot: []Query{match("text", "apple")}}, func(string) float64 { return 0 }},
	} {
		got := ix.scores(c.q)
		if len(got) == 0 {
			t.Errorf("%v matches nothing", c.q)
		}
		for id, score := range got {
			if !near(score, c.want(id)) {
				t.Errorf("%v: %s scores %v, want %v", c.q, id, score, c.want(id))
			}
		}
	}
}

func TestQueriesPrint(t *testing.T) {
	q := Bool{
		Must:      []Query{match("a", "x y"), Boost{Term{"n", 1}, 2.5}},
		Should:    []Query{Match{Fields: []string{"a", "b"}, Text: "z", Mode: ModeAndOr}, Match{Field: "c", Fields: []string{"d"}, Mode: ModeAnd}},
		Filter:    []Query{ConstantScore{All{}, 1}},
		MustNot:   []Query{Term{"k", "v"}},
		MinShould: 1,
	}
	const want = `(+a:x\ y +n:=1^2.5 {"match":{"fields":["a","b"],"text":"z","mode":"and+or"}} {"match":{"field":"c","fields":["d"],"text":"","mode":"and"}} ++*:*^=1 -k:="v")~1`
	if got := q.String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestQueryErrors(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{"n": {Type: FieldNumber}, "d": {Type: FieldDate}, "b": {Type: FieldBool}, "title": {}}}})
	ix.put("1", map[string]any{"text": "a b", "n": 1, "d": newYear, "b": true})
	for _, q := range []Query{match("n", "1"), match("n", "1.0"), match("d", "2024-01-01T02:00:00+02:00"), match("b", "true")} {
		if got := ix.ids(q); len(got) != 1 {
			t.Errorf("%v: %v", q, got)
		}
	}
	many := make([]string, plan.MaxClauses+1)
	for i := range many {
		many[i] = fmt.Sprint("w", i)
	}
	for _, c := range []struct {
		q          Query
		part, want string
	}{
		{nil, "Query", "is nil"},
		{Match{Text: "a"}, "Match", "no field is named"},
		{Match{Field: "text", Text: "a", Mode: 9}, "Match.Mode", "must be ModeOr, ModeAnd or ModeAndOr, not 9"},
		{Match{Field: "text", Text: "a", Analyzer: "klingon"}, "Match.Analyzer", `unknown analyzer "klingon"`},
		{match("n", "one"), "Match.Text", `field "n": "one" is not a number`},
		{match("n", "NaN"), "Match.Text", "is not a number"},
		{match("d", "today"), "Match.Text", `"today" is not a time as RFC 3339 writes it`},
		{match("b", "perhaps"), "Match.Text", "neither true nor false"},
		{Term{"", 1}, "Term.Field", "is empty"},
		{Term{"n", nil}, "Term.Value", "one value is wanted"},
		{Term{"n", []int{1, 2}}, "Term.Value", "one value is wanted"},
		{Term{"n", math.Inf(1)}, "Term.Value", "+Inf is not a number"},
		{Term{"n", make(chan int)}, "Term.Value", "a chan int cannot be indexed"},
		{Boost{All{}, -1}, "Boost.By", "must lie in 0 to 1e+30, not -1"},
		{Boost{All{}, math.NaN()}, "Boost.By", "not NaN"},
		{Boost{Boost{All{}, 1e20}, 1e20}, "Boost.By", "1e+20 makes 1e+40 with the boosts around it, more than 1e+30"},
		{Boost{ConstantScore{All{}, 1e20}, 1e20}, "ConstantScore.Score", "1e+20 makes 1e+40"},
		{Boost{nil, 1}, "Query", "is nil"},
		{ConstantScore{All{}, -1}, "ConstantScore.Score", "not -1"},
		{ConstantScore{nil, 1}, "Query", "is nil"},
		{Bool{}, "Bool", "has no clause"},
		{Bool{Must: []Query{nil}}, "Query", "is nil"},
		{Bool{Should: []Query{All{}}, MinShould: 2}, "Bool.MinShould", "must lie in -1 to 1, the number of Should, or be a Percent, not 2"},
		{Bool{Should: []Query{All{}}, MinShould: -2}, "Bool.MinShould", "not -2"},
		{match("text", strings.Join(many, " ")), "Query", "more than 4096 terms"},
		{Match{Field: "text", Text: "a", Boosts: map[string]float64{"title": 2}}, "Match.Boosts", `field "title" is not one of Fields`},
		{Match{Field: "text", Text: "a", Boosts: map[string]float64{"text": -1}}, "Match.Boosts", "not -1"},
		{Boost{Match{Field: "text", Text: "a", Boosts: map[string]float64{"text": 1e20}}, 1e20}, "Match.Boosts", "with the boosts around it"},
		{Match{Field: "text", Text: "a", Combine: 9}, "Match.Combine", "there is no 9"},
		{Match{Field: "text", Text: "a", Tie: 0.5}, "Match.Tie", "goes with CombineCross or CombineBest"},
		{Match{Field: "text", Text: "a", Combine: CombineBest, Tie: 1.5}, "Match.Tie", "must lie in 0 to 1"},
	} {
		_, err := ix.Search(t.Context(), c.q, nil)
		var qe *QueryError
		if !errors.As(err, &qe) || qe.Part != c.part || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s: %s", c.q, err, c.part, c.want)
			continue
		}
		if _, err := ix.Count(t.Context(), c.q); err == nil {
			t.Errorf("%v: Count gives no error", c.q)
		}
		if _, err := ix.Explain(t.Context(), c.q, "1", nil); err == nil {
			t.Errorf("%v: Explain gives no error", c.q)
		}
	}
}

func TestParseNames(t *testing.T) {
	for _, m := range []struct {
		name string
		want Mode
	}{{"or", ModeOr}, {"AND", ModeAnd}, {"and+or", ModeAndOr}} {
		if got, err := ParseMode(m.name); err != nil || got != m.want {
			t.Errorf("%s: %v, %v", m.name, got, err)
		}
	}
	for _, a := range []Algorithm{AlgorithmAuto, AlgorithmExhaustive, AlgorithmWAND, AlgorithmBMW, AlgorithmMaxScore, AlgorithmBMM} {
		if got, err := ParseAlgorithm(a.String()); err != nil || got != a {
			t.Errorf("%v: %v, %v", a, got, err)
		}
	}
	for name, want := range map[string]Processor{"auto": ProcessorAuto, "cpu": ProcessorCPU, "gpu": ProcessorGPU} {
		if got, err := ParseProcessor(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	_, errM := ParseMode("xor")
	_, errA := ParseAlgorithm("guess")
	_, errP := ParseProcessor("tpu")
	for _, err := range []error{errM, errA, errP} {
		if err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("an unknown name: %v", err)
		}
	}
}

// TestUnknownFields: a query on a field that does not exist is an error, which names the existing
// ones.
func TestUnknownFields(t *testing.T) {
	schema := &Schema{Fields: map[string]Field{"title": {}, "note": {NoIndex: true}}}
	ix := newIndex(t, &Options{Schema: schema})
	queries := []Query{
		match("Title", "apple"), match("Title", ""), Term{"Title", "apple"}, Boost{match("Title", "apple"), 2},
		Match{Fields: []string{"title", "Title"}, Text: "apple"}, Bool{Must: []Query{match("title", "apple")}, Filter: []Query{Term{"Title", 1}}},
		Bool{MustNot: []Query{ConstantScore{match("Title", "x"), 1}}},
	}
	for _, q := range queries {
		if n, err := ix.Count(ctx, q); n != 0 || err != nil { // the index is empty, so any field is possible
			t.Errorf("%v in an empty index: %d, %v", q, n, err)
		}
	}
	before, err := ix.Snapshot()
	ix.must(err)
	defer before.Close()
	ix.put("1", map[string]any{"title": "apple", "year": 1851, "note": "n"})
	for _, state := range []string{"in memory", "sealed"} {
		if state == "sealed" {
			ix.flush()
		}
		for _, q := range queries {
			_, err := ix.Search(ctx, q, nil)
			var qe *QueryError
			if !errors.As(err, &qe) || !strings.HasSuffix(qe.Part, ".Field") || !strings.Contains(err.Error(), `the index has no field "Title" to search; it has title, year`) {
				t.Errorf("%s: %v: %v", state, q, err)
			}
			if _, counted := ix.Count(ctx, q); counted == nil || counted.Error() != err.Error() {
				t.Errorf("%s: %v: Count says %v", state, q, counted)
			}
			if n, err := before.Count(ctx, q); n != 0 || err != nil {
				t.Errorf("%s: %v: the snapshot has changed its mind: %d, %v", state, q, n, err)
			}
		}
		if _, err := ix.Count(ctx, match("note", "n")); err == nil || !strings.Contains(err.Error(), `field "note" is not indexed`) {
			t.Errorf("%s: a field that is not indexed: %v", state, err)
		}
	}
	ix.reopen(&Options{AllowUnknownFields: true})
	for _, q := range queries {
		if _, err := ix.Search(ctx, q, nil); err != nil {
			t.Errorf("%v: %v", q, err)
		}
	}
	strict := newIndex(t, &Options{Schema: &Schema{Dynamic: DynamicRefuse, Fields: map[string]Field{"title": {}}}})
	if _, err := strict.Count(ctx, match("Title", "x")); err == nil {
		t.Error("a schema that refuses other fields has no field Title, documents or not")
	}
}

// TestTermsOfDeclaredTypes: a term takes the type of its field if its meaning is clear; otherwise
// it is an error.
func TestTermsOfDeclaredTypes(t *testing.T) {
	at := time.Date(2024, 1, 5, 0, 0, 0, 0, time.UTC)
	doc := map[string]any{"d": at, "b": true, "n": 1851, "k": "7", "text": "seven 7"}
	declared := &Schema{Fields: map[string]Field{"d": {Type: FieldDate}, "b": {Type: FieldBool}, "n": {Type: FieldNumber}, "k": {Type: FieldKeyword}}}
	for name, schema := range map[string]*Schema{"declared": declared, "undeclared": nil} {
		ix := newIndex(t, &Options{Schema: schema})
		ix.put("1", doc)
		ix.put("2", map[string]any{"text": "other", "n": 7})
		ix.eachState(func(state string) {
			for _, q := range []Query{
				Term{"d", "2024-01-05"}, Term{"d", "2024-01-05T01:00:00+01:00"}, Term{"b", "true"}, Term{"n", "1851"}, Term{"n", "1851.0"},
				match("n", "1851"), match("d", "2024-01-05"), match("b", "true"), Match{Fields: []string{"text", "n"}, Text: "1851", Mode: ModeAnd}, Term{"k", "7"}, Term{"text", "seven"},
			} {
				if got := ix.ids(q); !slices.Equal(got, []string{"1"}) {
					t.Errorf("%s, %s: %v: %v", name, state, q, got)
				}
			}
			if got := ix.ids(Term{"b", "false"}); len(got) != 0 {
				t.Errorf("%s, %s: false: %v", name, state, got)
			}
		})
		if schema == nil {
			continue
		}
		for _, c := range []struct {
			q    Query
			want string
		}{
			{Term{"d", "today"}, `Term.Value: field "d": "today" is not a time as RFC 3339 writes it`},
			{Term{"d", 5}, `Term.Value: field "d": the schema declares date, not number`},
			{Term{"b", "maybe"}, `Term.Value: field "b": "maybe" is neither true nor false`},
			{Term{"n", "many"}, `Term.Value: field "n": "many" is not a number`},
			{Term{"n", true}, `Term.Value: field "n": the schema declares number, not bool`},
			{Term{"k", 7}, `Term.Value: field "k": the schema declares keyword, not number`},
			{match("n", "many"), `Match.Text: field "n": "many" is not a number`},
		} {
			_, err := ix.Search(ctx, c.q, nil)
			var qe *QueryError
			if !errors.As(err, &qe) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: %v, want %s", c.q, err, c.want)
			}
		}
	}
}
