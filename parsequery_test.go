package riffle

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// languageSchema has a field of each type.
var languageSchema = &Schema{Fields: map[string]Field{
	"title": {}, "body": {Analyzer: "english"}, "tag": {Type: FieldKeyword}, "year": {Type: FieldNumber},
	"seen": {Type: FieldDate}, "open": {Type: FieldBool}, "secret": {NoIndex: true},
}}

func day(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

func title(text string) Query { return Match{Field: "title", Text: text} }

// TestParseQuery reads texts with a schema, and with "title" for what names no field.
func TestParseQuery(t *testing.T) {
	moby := Phrase{Field: "title", Text: "moby dick"}
	for _, c := range []struct {
		text string
		want Query
	}{
		{"", IDs{}},
		{"whale", title("whale")},
		{`title:"moby dick" +year:>=1850 -whal*`, Bool{
			Must: []Query{Range{"year", int64(1850), nil, false, false, ""}}, Should: []Query{moby}, MustNot: []Query{Prefix{"title", "whal", false}}}},
		{"white whale", Bool{Should: []Query{title("white"), title("whale")}}},
		{"+body:the +body:house", Bool{Must: []Query{Match{Field: "body", Text: "house"}}}},
		{"body:the -body:of", IDs{}},
		{"body:the", IDs{}},
		{"title:!! whale", title("whale")},
		{"-whale", Bool{MustNot: []Query{title("whale")}}},
		{`white\ whale`, title("white whale")},
		{"whale^2.5", Boost{title("whale"), 2.5}},
		{"whale^", Boost{title("whale"), 1}},
		{"whale~", Fuzzy{Field: "title", Term: "whale", Edits: 1, Raw: true}},
		{"Whale~2^3", Boost{Fuzzy{Field: "title", Term: "whale", Edits: 2, Raw: true}, 3}},
		{"whale~auto", Fuzzy{Field: "title", Term: "whale", Raw: true}},
		{"whale~0", title("whale")},
		{"body:running~", Fuzzy{Field: "body", Term: "run", Edits: 1, Raw: true}},
		{"white-whale~1", Bool{Should: []Query{Fuzzy{Field: "title", Term: "white", Edits: 1, Raw: true}, Fuzzy{Field: "title", Term: "whale", Edits: 1, Raw: true}}}},
		{"tag:Wh~1", Fuzzy{Field: "tag", Term: "Wh", Edits: 1}},
		{"wh*e", Wildcard{"title", "wh*e", false}},
		{`wh\*a*e`, Wildcard{"title", `wh\*a*e`, false}},
		{`wh\*e`, title("wh*e")},
		{"/wh.+e/", Regexp{"title", "wh.+e", false}},
		{`\/wh/`, title("/wh/")},
		{`"moby dick"~2^4`, Boost{Phrase{Field: "title", Text: "moby dick", Slop: 2}, 4}},
		{"year:1850", Match{Field: "year", Text: "1850"}},
		{"year:-5", Match{Field: "year", Text: "-5"}},
		{"year:<1900 tag:>m", Bool{Should: []Query{Range{"year", nil, int64(1900), false, false, ""}, TermRange{"tag", "m", "", true, false, false}}}},
		{`seen:>"2006-01-02" seen:<=2006-02-03`, Bool{Should: []Query{Range{"seen", day(2006, 1, 2), nil, true, false, ""}, Range{"seen", nil, day(2006, 2, 3), false, true, ""}}}},
		{"year:[1850 TO 1900}", Range{"year", int64(1850), int64(1900), false, false, ""}},
		{"tag:{a TO *]", TermRange{"tag", "a", "", true, true, false}},
		{`tag:["a b" TO c]`, TermRange{"tag", "a b", "c", false, true, false}},
		{"year:=1850", Term{"year", int64(1850)}},
		{"tag:=1850", Term{"tag", "1850"}},
		{`tag:="a b"`, Term{"tag", "a b"}},
		{"open:true", Match{Field: "open", Text: "true"}},
		{"open:=true", Term{"open", true}},
		{"year:*", Exists{"year"}},
		{"*", Exists{"title"}},
		{"*:*", All{}},
		{"white AND whale", Bool{Must: []Query{title("white"), title("whale")}}},
		{"white OR whale AND NOT ship", Bool{Should: []Query{title("white"), Bool{Must: []Query{title("whale")}, MustNot: []Query{title("ship")}}}}},
		{"a NOT b", Bool{Should: []Query{title("a")}, MustNot: []Query{title("b")}}},
		{"NOT a AND NOT b", Bool{MustNot: []Query{title("a"), title("b")}}},
		{"a OR NOT b", Bool{Should: []Query{title("a"), Bool{MustNot: []Query{title("b")}}}}},
		{"+a ++b", Bool{Must: []Query{title("a")}, Filter: []Query{title("b")}}},
		{"(a OR b) AND c", Bool{Must: []Query{Bool{Should: []Query{title("a"), title("b")}}, title("c")}}},
		{"+(a b)^2 c", Bool{Must: []Query{Boost{Bool{Should: []Query{title("a"), title("b")}}, 2}}, Should: []Query{title("c")}}},
		{"(a b c)~2", Bool{Should: []Query{title("a"), title("b"), title("c")}, MinShould: 2}},
		{"tag:(a OR title:b)", Bool{Should: []Query{Match{Field: "tag", Text: "a"}, title("b")}}},
		{"tag:(a)", Bool{Should: []Query{Match{Field: "tag", Text: "a"}}}},
		{"f(x) ) y", nil},
		{"f(x) 1)", Bool{Should: []Query{title("f(x)"), title("1)")}}},
		{"(f(x))", Bool{Should: []Query{title("f(x)")}}},
		{"title^3,tag:whale", Match{Fields: []string{"title", "tag"}, Text: "whale", Boosts: map[string]float64{"title": 3}}},
		{`title^3,tag:"a b"`, Bool{Should: []Query{Boost{Phrase{Field: "title", Text: "a b"}, 3}, Phrase{Field: "tag", Text: "a b"}}}},
		{`"white wha"*~2`, PhrasePrefix{Field: "title", Text: "white wha", Slop: 2}},
		{`NEAR("white whale" ship, 5)`, Near{Field: "title", Phrases: []string{"white whale", "ship"}, Distance: 5}},
		{`body:NEAR(a b)`, Near{Field: "body", Phrases: []string{"a", "b"}, Distance: 10}},
		{"a^=2", ConstantScore{title("a"), 2}},
		{"a^2^=3", ConstantScore{Boost{title("a"), 2}, 3}},
		{`+{"all":{}} a`, Bool{Must: []Query{All{}}, Should: []Query{title("a")}}},
		{"a\tb\nAND\nc", Bool{Should: []Query{title("a"), Bool{Must: []Query{title("b"), title("c")}}}}},
		{"ANDROID ORCA", Bool{Should: []Query{title("ANDROID"), title("ORCA")}}},
		{"[draft] {x}", Bool{Should: []Query{title("[draft]"), title("{x}")}}},
	} {
		q, err := ParseQuery(c.text, &ParseOptions{Schema: languageSchema, Fields: []string{"title"}})
		if c.want == nil {
			if err == nil {
				t.Errorf("%s: %#v, want an error", c.text, q)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(q, c.want) {
			t.Errorf("%s:\n got %#v, %v\nwant %#v", c.text, q, err, c.want)
			continue
		}
		if err := q.Validate(); err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		roundTrip(t, q)
	}
}

// roundTrip reads the text of a query and compares what it reads with the query.
func roundTrip(t *testing.T, q Query) {
	t.Helper()
	want, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseQuery(q.String(), nil)
	if err != nil {
		t.Errorf("%v, which is %s: %v", q, want, err)
		return
	}
	if got, err := json.Marshal(again); err != nil || string(got) != string(want) {
		t.Errorf("%v reads back as\n%s, %v, want\n%s", q, got, err, want)
	}
}

// TestQueryString compares every query with what its text reads as.
func TestQueryString(t *testing.T) {
	for _, c := range queriesJSON {
		roundTrip(t, c.q)
	}
	r := modelQueries{rand.New(rand.NewPCG(seedOf(t), 0))}
	for range 3000 {
		roundTrip(t, r.query(3))
	}
	seen := map[string]bool{}
	for range 4000 {
		q := r.odd(2)
		seen[reflect.TypeOf(q).Name()] = true
		roundTrip(t, q)
	}
	for _, kind := range queryKinds(t) {
		if !seen[kind] {
			t.Errorf("no query was a %s", kind)
		}
	}
}

// odd makes a query of any kind with odd fields, texts and values.
func (r modelQueries) odd(depth int) Query {
	chars := []string{"a", "b", "AND", "TO", "7", ".", " ", "+", "-", "=", "&", "|", ">", "<", "!", "(", ")", "{", "}", "[", "]", "^", `"`, "~", "*", "?", ":", `\`, "/", ",", "é", "٣", "\t", "\u3000", "#", "NEAR(", "\u0000"}
	text := func() string {
		var b strings.Builder
		for range r.IntN(5) {
			b.WriteString(chars[r.IntN(len(chars))])
		}
		return b.String()
	}
	field := func() string { return text() + "x" + text() }
	value := func() any {
		return []any{text(), r.IntN(9) - 4, r.Float64() * 1e9, r.NormFloat64() * 1e-9, true, time.Unix(r.Int64N(1e10), r.Int64N(2)).UTC(), -1e300}[r.IntN(7)]
	}
	number := func() any {
		return []any{nil, r.IntN(9) - 4, r.Float64() * 1e9, time.Unix(r.Int64N(1e10), r.Int64N(2)).UTC(), "1850"}[r.IntN(5)]
	}
	point := func() Point { return Point{Lat: 180*r.Float64() - 90, Lon: 360*r.Float64() - 180} }
	yes := func() bool { return r.IntN(4) == 0 }
	terms := func() (values []any) {
		for range 1 + r.IntN(4) {
			values = append(values, value())
		}
		return values
	}
	kinds := 21
	if depth > 0 {
		kinds = 27
	}
	for {
		var q Query
		switch r.IntN(kinds) {
		case 0:
			q = Match{Field: field(), Text: text()}
		case 1:
			f := field()
			q = Match{Fields: []string{f, field()}, Text: text(), Boosts: map[string]float64{f: r.Float64()}}
		case 2:
			q = Term{field(), value()}
		case 3:
			q = Phrase{Field: field(), Text: text(), Slop: r.IntN(3)}
		case 4:
			q = Near{Field: field(), Phrases: []string{text() + "x", text()}, Distance: r.IntN(20)}
		case 5:
			q = Prefix{field(), text(), yes()}
		case 6:
			q = Wildcard{field(), text() + "*" + text(), yes()}
		case 7:
			q = Regexp{field(), text(), yes()}
		case 8:
			q = Fuzzy{Field: field(), Term: text(), Edits: r.IntN(4) - 1}
		case 9:
			q = TermRange{field(), text(), text(), yes(), yes(), yes()}
		case 10:
			q = Range{field(), number(), number(), yes(), yes(), ""}
		case 11:
			q = Exists{field()}
		case 12:
			q = PhrasePrefix{Field: field(), Text: text(), Slop: r.IntN(3)}
		case 13:
			q = MatchBoolPrefix{Field: field(), Text: text(), Mode: Mode(r.IntN(2))}
		case 14:
			q = Terms{field(), terms()}
		case 15:
			q = IDs{[]string{text(), text()}}
		case 16:
			q = MoreLikeThis{Fields: []string{field()}, Texts: []string{text()}, MaxTerms: r.IntN(9), MinShould: Percent(r.IntN(101)), Include: yes()}
		case 17:
			q = Intervals{Field: field(), Rule: r.oddRule(text, 2)}
		case 18:
			q = WithinDistance{field(), point(), r.Float64() * 1e7}
		case 19:
			q = WithinBox{field(), -90 * r.Float64(), point().Lon, 90 * r.Float64(), point().Lon}
		case 20:
			q = WithinPolygon{Field: field(), Points: []Point{{Lat: 1, Lon: 1}, {Lat: 1, Lon: 1 + r.Float64()}, {Lat: 2 + r.Float64(), Lon: 1}}}
		case 21:
			q = All{}
		case 22:
			q = Bool{Must: r.odds(depth), Should: r.odds(depth), MustNot: r.odds(depth), Filter: r.odds(depth), MinShould: r.IntN(3)}
		case 23:
			q = DisMax{r.odds(depth), float64(r.IntN(3)) / 2}
		case 24:
			q = Boosting{r.odd(depth - 1), r.odd(depth - 1), r.Float64()}
		case 25:
			q = Bool{Should: r.odds(depth), MinShould: Percent(r.IntN(101))}
		case 26:
			q = FunctionScore{r.odd(depth - 1), []ScoreFunction{FieldFactor{Field: field(), Modifier: Modifier(r.IntN(4)), Filter: r.odd(depth - 1)}}, FunctionCombine(r.IntN(5)), FunctionMode(r.IntN(4))}
		}
		if q.Validate() != nil {
			continue
		}
		if yes() {
			q = Bool{MustNot: []Query{q}}
		}
		if yes() {
			q = Boost{q, r.Float64()}
		}
		if yes() {
			q = ConstantScore{q, r.Float64() * 1e-7}
		}
		return q
	}
}

// odds makes a few queries.
func (r modelQueries) odds(depth int) (queries []Query) {
	for range r.IntN(3) {
		queries = append(queries, r.odd(depth-1))
	}
	return queries
}

// oddRule makes a rule of intervals.
func (r modelQueries) oddRule(text func() string, depth int) Interval {
	gaps := []int{NoGaps, AnyGaps, 3}[r.IntN(3)]
	if depth == 0 || r.IntN(3) == 0 {
		return IntervalText{text(), r.IntN(2) == 0, gaps}
	}
	of := []Interval{r.oddRule(text, depth-1), r.oddRule(text, depth-1)}
	switch r.IntN(4) {
	case 0:
		return IntervalAll{of, r.IntN(2) == 0, gaps}
	case 1:
		return IntervalAny{of}
	case 2:
		return IntervalFirst{of[0], 1 + r.IntN(9)}
	}
	return IntervalWhere{of[0], Relation(r.IntN(3)), of[1]}
}

// TestParseQueryErrors looks for the offset of each fault, and for what is said about it.
func TestParseQueryErrors(t *testing.T) {
	deep := strings.Repeat("(", 101) + "a" + strings.Repeat(")", 101)
	for _, c := range []struct {
		text   string
		offset int
		want   string
	}{
		{"  ", 0, "nothing but white space"},
		{`a "b c`, 2, "the quote has no end"},
		{`title:"b c`, 6, "the quote has no end"},
		{"a :b:c", 4, `":" is not possible here; write \: for a colon`},
		{"10:30", 2, "a number is not the name of a field"},
		{"title:", 6, "nothing follows the field"},
		{"a + ", 4, "a word is missing"},
		{"+-a", 1, `"-" is not possible here`},
		{">5", 0, "write a field before it"},
		{"a~3", 1, `"3" is not a number of edits`},
		{"a~x", 1, `"x" is not a number of edits`},
		{"a^x", 1, `"x" is not a number`},
		{"a^-1", 1, "a boost must lie in 0 to"},
		{"(a^1e30)^1e30", 2, "a boost must lie in 0 to"},
		{"title:-x", 6, "only a number may follow the minus"},
		{"(a b", 0, "the group has no end"},
		{"a (b ())", 5, "the group is empty"},
		{"a )", 2, `")" is not possible here`},
		{"(a b)~3", 0, "3 clauses are required, but 2 have no sign"},
		{`"a b"~x`, 5, "a number must follow ~"},
		{"AND a", 0, `AND needs something before it; write "AND" in quotes`},
		{"a OR", 2, "OR needs something after it"},
		{"a NOT", 2, "NOT needs something after it"},
		{"a OR +b", 6, "a sign of its own is not possible between ORs"},
		{"year:abc", 0, `field "year" has numbers, and "abc" is none`},
		{"year:>abc", 6, `field "year" has numbers, and "abc" is none`},
		{"year:[1 TO x]", 11, `"x" is none`},
		{"year:[1 2]", 5, "this is not a range"},
		{"year:[1 TO 2", 5, "the range has no end"},
		{"seen:>5", 6, `field "seen" has dates`},
		{"open:>true", 6, "which have no order"},
		{"open:perhaps", 0, `is true or false, not "perhaps"`},
		{"year:18*", 0, `has values of type number, which have no words`},
		{"secret:x", 0, "is not indexed"},
		{"/a(/", 0, "missing closing )"},
		{"NEAR(", 0, "NEAR has no end"},
		{"NEAR(a, x)", 8, "a number and ) must follow the comma"},
		{"NEAR(a (b))", 7, "NEAR takes words and phrases alone"},
		{`{"all":{}`, 0, "the JSON object has no end"},
		{`{"none":{}}`, 0, "there is no such query"},
		{"title^x,tag:a", 5, `"x,tag:a" is not a number`},
		{deep, 100, "more than 100 groups in each other"},
		{strings.Repeat("a ", 1025), 2048, "more than 1024 words and phrases"},
		{strings.Repeat("a", 1<<20+1), 1 << 20, "more than 1048576"},
		{strings.Repeat("title,", 1024) + "tag:a", 0, "more than 1024 words and phrases"},
		{"title,tag:(" + strings.Repeat("a ", 1024) + ")", 11 + 2*511, "more than 1024 words and phrases"},
		{"title,tag:NEAR(" + strings.Repeat("a ", 1024) + ")", 10, "more than 1024 words and phrases"},
		{`a {"bool":{"should":[` + strings.Repeat(`{"all":{}},`, 1023) + `{"all":{}}]}}`, 2, "more than 1024 words and phrases"},
		{`{"intervals":{"field":"title","rule":{"any":{"of":[` + strings.Repeat(`{"match":{"text":"a"}},`, 1023) + `{"match":{"text":"a"}}]}}}}`, 0, "more than 1024 words and phrases"},
	} {
		_, err := ParseQuery(c.text, &ParseOptions{Schema: languageSchema, Fields: []string{"title"}})
		var pe *ParseError
		if !errors.As(err, &pe) || pe.Offset != c.offset || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.100s: %v, want byte %d: %s", c.text, err, c.offset, c.want)
		}
		// A lenient parser finds the same first fault, and has a query for the rest.
		var first *ParseError
		q, err := ParseQuery(c.text, &ParseOptions{Schema: languageSchema, Fields: []string{"title"}, Lenient: true, Note: func(e *ParseError) {
			if first == nil {
				first = e
			}
		}})
		if err != nil || pe != nil && (first == nil || *first != *pe) {
			t.Errorf("%.100s: leniently %v %v, want %v", c.text, first, err, pe)
		} else if err := q.Validate(); err != nil {
			t.Errorf("%.100s: leniently %#v: %v", c.text, q, err)
		}
	}
}

// FuzzParseQuery: a text that is read is written so that it reads the same again, and a lenient parser
// reads every text.
func FuzzParseQuery(f *testing.F) {
	for _, text := range []string{
		`title:"moby dick"~2 +year:>=1850 -whal*^2`, `(a OR b~1) AND NOT t:[a TO "b"} ++c:="d"`, `a,b^2:NEAR("x y" z, 3)^=1 /re/ *:*`,
		`{"intervals":{"field":"t","rule":{"match":{"text":"a"}}}} "x y"* f:*`, `\`, `a:(b`, `"`, `f:>`, `(a b)~2`, `f:{* TO 5]`,
	} {
		f.Add(text, uint16(0))
		f.Add(text, uint16(SyntaxAdditions))
	}
	f.Fuzz(func(t *testing.T, text string, without uint16) {
		o := &ParseOptions{Fields: []string{"f"}, Without: Syntax(without)}
		q, err := ParseQuery(text, o)
		o.Lenient = true
		if _, err := ParseQuery(text, o); err != nil {
			t.Fatalf("%q leniently: %v", text, err)
		}
		if err != nil {
			var pe *ParseError
			if !errors.As(err, &pe) || pe.Offset < 0 || pe.Offset > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if err := q.Validate(); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if utf8.ValidString(text) {
			roundTrip(t, q)
		}
	})
}

// TestRange looks for numbers and times in segments on disk and in memory.
func TestRange(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{"date": {Type: FieldDate}, "tag": {Type: FieldKeyword}}}})
	ix.put("1", map[string]any{"n": 1, "seen": day(2024, 1, 5), "date": "2024-01-05", "tag": "5"})
	ix.put("2", map[string]any{"n": []any{2.5, -7}, "seen": day(2024, 1, 6), "date": "2024-01-06T10:00:00Z"})
	ix.must(ix.Flush(ctx))
	ix.put("3", map[string]any{"n": uint64(1 << 60), "text": "5"})
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Range{"n", 1, 2, false, false, ""}, "1"},
		{Range{"n", 1, 2.5, true, true, ""}, "2"},
		{Range{"n", -10, 0, false, false, ""}, "2"},
		{Range{"n", 1<<60 - 1, nil, true, false, ""}, "3"},
		{Range{"n", nil, 1e300, false, false, ""}, "1 2 3"},
		{Range{"n", 5, 3, false, true, ""}, ""},
		{Range{"text", 0, 9, false, true, ""}, ""},
		{Range{"seen", day(2024, 1, 5), day(2024, 1, 6), false, false, ""}, "1"},
		{Range{"date", "2024-01-06", nil, false, false, ""}, "2"},
		{Bool{MustNot: []Query{Range{"n", 1, nil, false, false, ""}}}, ""},
		{Bool{MustNot: []Query{Range{"n", 2, nil, false, false, ""}}}, "1"},
	} {
		if got := strings.Join(ix.sortedIDs(c.q), " "); got != c.want {
			t.Errorf("%v: %q, want %q", c.q, got, c.want)
		}
	}
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Range{"", 1, nil, false, false, ""}, "Range.Field: is empty"},
		{Range{"n", nil, nil, false, false, ""}, "has no bound"},
		{Range{"n", 1, day(2024, 1, 1), false, false, ""}, "is from a number to a date"},
		{Range{"n", true, nil, false, false, ""}, "a boolean has no order"},
		{Range{"n", "1", nil, false, false, ""}, "is a text"},
		{Range{"tag", 1, nil, false, false, ""}, "the schema declares keyword, not number"},
		{Range{"date", 1, nil, false, false, ""}, "the schema declares date, not number"},
		{Range{"date", "x", nil, false, false, ""}, "is not a time"},
		{Range{"none", 1, nil, false, false, ""}, "has no field"},
	} {
		var qe *QueryError
		if _, err := ix.Search(ctx, c.q, nil); !errors.As(err, &qe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.q, err, c.want)
		}
	}
}

// TestParseOptions: options that are wrong, and what they do.
func TestParseOptions(t *testing.T) {
	for _, c := range []struct {
		o    ParseOptions
		want string
	}{
		{ParseOptions{Lenient: true}, "ParseOptions.Lenient: needs Fields"},
		{ParseOptions{Mode: ModeAndOr}, "ParseOptions.Mode"},
		{ParseOptions{MaxDepth: 101}, "ParseOptions.MaxDepth: must lie in 0 to 100"},
		{ParseOptions{MaxBytes: -1}, "ParseOptions.MaxBytes"},
		{ParseOptions{Fields: []string{"a"}, Boosts: map[string]float64{"b": 1}}, `field "b" is not one of Fields`},
		{ParseOptions{Fields: []string{"a"}, Boosts: map[string]float64{"a": -1}}, "must lie in 0 to"},
	} {
		var qe *QueryError
		if _, err := ParseQuery("a", &c.o); !errors.As(err, &qe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.o, err, c.want)
		}
	}
	for _, c := range []struct {
		text string
		o    ParseOptions
		want string
	}{
		{"a b -c", ParseOptions{Fields: []string{"f"}, Mode: ModeAnd}, "+f:a +f:b -f:c"},
		{"a OR b c", ParseOptions{Fields: []string{"f"}, Mode: ModeAnd}, "+(f:a f:b) +f:c"},
		{"a AND b", ParseOptions{Fields: []string{"f"}, Without: SyntaxOperators}, "f:a f:AND f:b"},
		{"(a b)", ParseOptions{Fields: []string{"f"}, Without: SyntaxAdditions}, `f:\(a f:b\)`},
		{"a", ParseOptions{Fields: []string{"f", "g"}, Boosts: map[string]float64{"g": 2}}, "f,g^2:a"},
		{"a*", ParseOptions{Fields: []string{"f", "g"}, Boosts: map[string]float64{"g": 2}}, "f:a* g:a*^2"},
		{"A*", ParseOptions{Fields: []string{"f"}, Raw: true}, `{"prefix":{"field":"f","prefix":"A","raw":true}}`},
		{`title:"a b`, ParseOptions{Fields: []string{"f"}, Lenient: true}, `title:\"a\ b`},
		{"a (b", ParseOptions{Fields: []string{"f"}, Lenient: true}, "f:a (f:b)"},
		{"a AND AND b~9", ParseOptions{Fields: []string{"f"}, Lenient: true}, "(+f:a +f:AND) f:b"},
		{"a b c", ParseOptions{Fields: []string{"f"}, Lenient: true, MaxClauses: 2}, "f:a f:b"},
		{"aé", ParseOptions{Fields: []string{"f"}, Lenient: true, MaxBytes: 2}, "f:a"},
		{"((a))", ParseOptions{Fields: []string{"f"}, Lenient: true, MaxDepth: 2}, `(f:\(a\))`},
		{"a", ParseOptions{Fields: []string{}}, `{"ids":{"values":[]}}`},
		{"+a^2 g:b", ParseOptions{Fields: []string{}}, `+{"ids":{"values":[]}} g:b`},
		{`a"`, ParseOptions{Fields: []string{}, Lenient: true}, `{"ids":{"values":[]}}`},
	} {
		q, err := ParseQuery(c.text, &c.o)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if q.String() != c.want {
			t.Errorf("%s: %v, want %s", c.text, q, c.want)
		}
	}
}
