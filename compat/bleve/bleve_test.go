package bleve

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/riffle-search/riffle"
)

func mapping(t testing.TB, text string) *Mapping {
	t.Helper()
	m, err := ParseMapping([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMappingErrors reads mappings that bleve does not accept either.
func TestMappingErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"default_analyzer": "klingon"}`:                                              `default_analyzer: no analyzer is named "klingon"`,
		`{"default_datetime_parser": "stardate"}`:                                      `default_datetime_parser: no date parser is named "stardate"`,
		`{"types": {"a": null}}`:                                                       `types["a"]: an object is wanted`,
		`{"types": {"a": {"properties": {"b": {"fields": [{"type": "verse"}]}}}}}`:     `types["a"].properties["b"].fields[0].type: unknown "verse"`,
		`{"default_mapping": {"fields": [null]}}`:                                      `default_mapping.fields[0]: an object is wanted`,
		`{"analysis": {"analyzers": {"x": {"type": "custom"}}}}`:                       `analysis.analyzers["x"]: it has no tokenizer`,
		`{"analysis": {"analyzers": {"x": {"type": "custom", "tokenizer": "sieve"}}}}`: `tokenizer "sieve": no tokenizer has the type "sieve"`,
		`{"analysis": {"date_time_parsers": {"d": {"type": "flexiblego"}}}}`:           `date_time_parsers["d"]: layouts`,
		`{"analysis": {"tokenizers": {"x": {"type": "exception", "tokenizer": "x"}}, "analyzers": {"x": {"type": "custom", "tokenizer": "x"}}}}`: `refer to each other`,
		`[]`: `cannot unmarshal array`,
	} {
		if _, err := ParseMapping([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestLayouts turns formats of other languages into layouts of package time, and refuses some.
func TestLayouts(t *testing.T) {
	for _, c := range []struct{ typ, format, want string }{
		{"isostyle", "EEE, d MMM yy hh:mm a 'o''clock' z", "Mon, 2 Jan 06 03:04 PM oclock MST"},
		{"isostyle", "yyyyy-MM-dd''HH:m:s.SSS XXX", "02006-01-02'15:4:5.000 Z07:00"},
		{"percentstyle", "%A %e %B %Y %l%p %z:M %z: 100%%", "Monday 2 January 2006 3PM Z07:00 Z0700: 100%"},
		{"sanitizedgo", "Mon Jan _2 15:04:05.999 2006", "Mon Jan _2 15:04:05.999 2006"},
		{"isostyle", "QQQ", `layouts[0]: "QQQ" is unknown`},
		{"isostyle", "'at", `layouts[0]: the quote of "'at" is not closed`},
		{"percentstyle", "%Y%q", `layouts[0]: "%q" is unknown`},
		{"percentstyle", "%Y %", `layouts[0]: nothing follows the last "%"`},
		{"sanitizedgo", "2006x", `layouts[0]: "2006x" is no part of a layout`},
		{"stardate", "2006", `type: "stardate" is unknown`},
	} {
		parse, err := customParser(settings{"type": []byte(strconv.Quote(c.typ)), "layouts": []byte("[" + strconv.Quote(c.format) + "]")})
		if err != nil {
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s %q: %v, want %s", c.typ, c.format, err, c.want)
			}
			continue
		}
		at := time.Date(2026, 11, 4, 15, 0, 0, 0, time.UTC)
		if _, layout, ok := parse(at.Format(c.want)); !ok || layout != c.want {
			t.Errorf("%s %q: %q %v, want %q", c.typ, c.format, layout, ok, c.want)
		}
	}
}

// TestRequestErrors has requests that are refused with the place.
func TestRequestErrors(t *testing.T) {
	m := mapping(t, `{"default_mapping": {"properties": {"at": {"fields": [{"type": "geoshape"}]}}}}`)
	for text, want := range map[string]string{
		`{"query": {"match": 5}}`:             `query: json: cannot unmarshal number`,
		`{"query": {"must": {"match": "a"}}}`: `query.must: a query with "conjuncts" is wanted`,
		`{"query": {"conjuncts": [{"match": "a"}, {"regexp": "a.*?", "field": "b"}]}}`: `query.conjuncts[1].regexp: lazy quantifiers`,
		`{"query": {"regexp": "a$"}}`:                                      `query.regexp: zero width assertions`,
		`{"query": {"wildcard": "["}}`:                                     ``,
		`{"query": {"disjuncts": [{"match": "a"}], "min": 2}}`:             `query.min: 2 is more than there are clauses, 1`,
		`{"query": {"match": "whale", "fuzziness": 3}}`:                    `query.match: fuzziness is at most 2, not 3`,
		`{"query": {"match": "a", "analyzer": "klingon"}}`:                 `query.match: no analyzer is named "klingon"`,
		`{"query": {"match": "a", "operator": "xor"}}`:                     `query.match: operator`,
		`{"query": {"match": "a", "boost": -1}}`:                           `query.boost: it must not be negative`,
		`{"query": {"match": "a", "boost": 1e31}}`:                         `query.boost: it must be at most 1e+30, not 1e+31`,
		`{"query": {"query": "a^1e31"}}`:                                   `1e+31 is no boost`,
		`{"query": {"match": "a", "field": "at"}}`:                         `query.field: "at": fields of type "geoshape" are not supported`,
		`{"query": {"terms": []}}`:                                         `query.terms: a phrase needs a term`,
		`{"query": {"start": "yesterday"}}`:                                `query.start: "yesterday" is no date`,
		`{"query": {"start": "2020-01-01", "datetime_parser": "x"}}`:       `query.datetime_parser: no date parser is named "x"`,
		`{"query": {"end": "3000-01-01"}}`:                                 `query.end: "3000-01-01" is outside of the years 1677 to 2262`,
		`{"query": {"min": ""}}`:                                           `query.min: a range needs min or max`,
		`{"query": {"geometry": {}}}`:                                      `query.geometry: shapes and addresses`,
		`{"query": {"location": [0], "distance": "5km"}}`:                  `query.location: it is no point: {"lon": 13.4`,
		`{"query": {"location": [0, 0], "distance": "5 miles away"}}`:      `query.distance: "5 miles away" is no distance: a number and a unit (mm`,
		`{"query": {"location": [0, 0], "distance": "1e999km"}}`:           `query.distance: the distance "1e999km" is too large`,
		`{"query": {"location": [0, 0], "distance": 5}}`:                   `query.distance: a text such as "5km" is wanted`,
		`{"query": {"location": [0, 90.5], "distance": "5km"}}`:            `query.location: the latitude 90.5 is not within -90 to 90`,
		`{"query": {"location": "0,-181", "distance": "5km"}}`:             `query.location: the longitude -181 is not within -180 to 180`,
		`{"query": {"location": [0, 0], "distance": "-5km"}}`:              ``,
		`{"query": {"top_left": "a,b", "bottom_right": [0, 0]}}`:           `query.top_left: it is no point`,
		`{"query": {"top_left": [0, 0], "bottom_right": {"lat": 5}}}`:      `query.bottom_right: it is no point`,
		`{"query": {"top_left": [0, 0], "bottom_right": "NaN,NaN"}}`:       `query.bottom_right: it is no point`,
		`{"query": {"top_left": [0, 0], "bottom_right": [0, 1]}}`:          `query.top_left: its latitude 0 is below 1 of bottom_right`,
		`{"query": {"top_left": [0, 0]}}`:                                  `query: it is of no known kind`,
		`{"query": {"conjuncts": [{"polygon_points": [[0, 0], [0, 1]]}]}}`: `query.conjuncts[0].polygon_points: a polygon has at least three points, not 2`,
		`{"query": {"polygon_points": [[0, 0], [0, 1], 7]}}`:               `query.polygon_points: [2]: it is no point`,
		`{"query": {"polygon_points": 7}}`:                                 `query.polygon_points: a list of points is wanted`,

		`{"query": {"cidr": "::1"}}`:                                             `query.cidr: shapes and addresses`,
		`{"query": {"what": 1}}`:                                                 `query: it is of no known kind`,
		`{"query": {"query": "a AND (b"}}`:                                       ``,
		`{"query": {"query": "f:"}}`:                                             `query.query: offset 2: nothing follows the field; write \: for a colon`,
		`{"query": {"query": "a + b"}}`:                                          ``,
		`{"query": {"query": "a +"}}`:                                            `offset 3:`,
		`{"query": {"query": "\"a b\"~2"}}`:                                      `offset 5: "~" is not possible here`,
		`{"query": {"query": "a^b"}}`:                                            `offset 1: "b" is not a number`,
		`{"query": {"query": "a~3"}}`:                                            `offset 1: "3" is not a number of edits`,
		`{"query": {"query": "f:>word"}}`:                                        `offset 3: "word" is not a number; write a date in quotes`,
		`{"query": {"query": "f:>\"noon\""}}`:                                    `offset 3: "noon" is no date`,
		`{"query": {}, "sort": [{"by": "field"}]}`:                               `sort[0]: it names no field`,
		`{"query": {}, "sort": ["_all"]}`:                                        ``,
		`{"query": {}, "sort": ["at"]}`:                                          `sort[0]: "at": fields of type "geoshape" are not supported`,
		`{"query": {}, "sort": [{"by": "field", "field": "f", "type": "x"}]}`:    `sort[0]: type: "auto", "string"`,
		`{"query": {}, "sort": [{"by": "field", "field": "f", "mode": "x"}]}`:    `sort[0]: mode: "default", "min" or "max"`,
		`{"query": {}, "sort": [{"by": "field", "field": "f", "missing": "x"}]}`: `sort[0]: missing: "first" or "last"`,
		`{"query": {}, "sort": [{"by": "x"}]}`:                                   `sort[0]: by: "field", "geo_distance", "id" or "score"`,
		`{"query": {}, "sort": [{"by": "field", "field": "f", "type": "number"}], "search_after": ["x"]}`:          `search_after[0]: "x" is no number`,
		`{"query": {}, "sort": [{"by": "field", "field": "f", "type": "date"}], "search_after": ["x"]}`:            `search_after[0]: "x" is no date`,
		`{"query": {}, "sort": ["_id"], "search_after": []}`:                                                       `search_after: 1 sort keys are wanted, not 0`,
		`{"query": {}, "sort": ["_score"], "search_before": ["x"]}`:                                                `search_before[0]: "x" is no score`,
		`{"query": {}, "facets": {"f": {}}}`:                                                                       ``,
		`{"query": {}, "facets": {"f": null}}`:                                                                     `facets["f"]: an object is wanted`,
		`{"query": {}, "sort": [{"by": "geo_distance", "field": "at"}]}`:                                           `sort[0]: location: it is no point`,
		`{"query": {}, "sort": [{"by": "geo_distance", "location": [1, 2]}]}`:                                      `sort[0]: it names no field`,
		`{"query": {}, "sort": [{"by": "geo_distance", "field": "f", "location": [1, 2], "unit": "parsec"}]}`:      `sort[0]: unit: unknown unit of distances "parsec"`,
		`{"query": {}, "sort": [{"by": "geo_distance", "field": "f", "location": [1, 2]}], "search_after": ["x"]}`: `search_after[0]: "x" is no number`,
		`{"query": {}, "facets": {"f": {"field": "at"}}}`:                                                          `facets["f"]: field: "at": fields of type "geoshape" are not supported`,
		`{"query": {}, "facets": {"f": {"size": -1}}}`:                                                             `facets["f"]: size: it must not be negative`,
		`{"query": {}, "facets": {"f": {"term_pattern": "["}}}`:                                                    `facets["f"]: term_pattern: error parsing regexp`,
		`{"query": {}, "facets": {"f": {"numeric_ranges": [null]}}}`:                                               `facets["f"]: numeric_ranges[0]: an object is wanted`,
		`{"query": {}, "facets": {"f": {"numeric_ranges": [{"name": "a"}]}}}`:                                      `numeric_ranges[0]: a range needs min or max`,
		`{"query": {}, "facets": {"f": {"numeric_ranges": [{"min": 1}, {"max": 2}]}}}`:                             `numeric_ranges[1]: another range is named "", too`,
		`{"query": {}, "facets": {"f": {"numeric_ranges": [{"min": 1}], "date_ranges": [{}]}}}`:                    `either numeric_ranges or date_ranges`,
		`{"query": {}, "facets": {"f": {"date_ranges": [{"name": "a"}]}}}`:                                         `date_ranges[0]: a range of dates needs start or end`,
		`{"query": {}, "facets": {"f": {"date_ranges": [{"end": "noon"}]}}}`:                                       `date_ranges[0].end: "noon" is no date`,
		`{"query": {}, "facets": {"f": {"date_ranges": [{"end": "2020-01-01", "datetime_parser": "x"}]}}}`:         `date_ranges[0].datetime_parser: no date parser is named "x"`,
		`{"query": {}, "explain": true}`:                                                                           `explain:`,
		`{"query": {}, "score": "rrf"}`:                                                                            `score: "rrf"`,
		`{"query": {}, "knn": [{}]}`:                                                                               `knn: vectors`,
		`{"query": {}, "highlight": {"style": "bold"}}`:                                                            `highlight.style`,
		`{"query": ` + strings.Repeat(`{"conjuncts": [`, 101) + strings.Repeat(`]}`, 101) + `}`:                    `more than 100 deep`,
	} {
		_, err := m.parseRequest([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.200s: %v, want %q", text, err, want)
		}
	}
}

// TestValues encodes values and decodes them, and refuses other texts.
func TestValues(t *testing.T) {
	for _, v := range []value{
		{kind: textValue, stored: true, how: "en", places: []uint64{1, 20}, text: "a\x1fb é"},
		{kind: textValue, indexed: true, vectors: true, inAll: true, how: "keyword"},
		{kind: numberValue, number: -1e300}, {kind: numberValue, number: 0.1},
		{kind: dateValue, how: "2006-01-02", nanos: math.MinInt64},
		{kind: boolValue, truth: true},
		{kind: placeValue, place: placeOf(13.4, 52.5)}, {kind: placeValue, place: placeOf(-180, -90)},
	} {
		got, err := decode("f", v.encode())
		v.field = "f"
		if err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%+v: %+v %v", v, got, err)
		}
	}
	for _, text := range []string{"", "Moby Dick", "t\x1f\x1f", "x\x1f\x1f\x1f1", "n\x1f\x1f\x1fone", "ts?\x1f\x1f\x1fa", "t\x1f\x1fa\x1fa"} {
		if _, err := decode("f", text); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
}

// TestNumberSpans compares the terms of ranges with the numbers that lie in them.
func TestNumberSpans(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	numbers := []int64{math.MinInt64, -1, 0, 1, 15, 16, 255, math.MaxInt64}
	for range 200 {
		numbers = append(numbers, rng.Int64()>>rng.IntN(64)*int64(1-2*rng.IntN(2)))
	}
	for range 2000 {
		from, to := numbers[rng.IntN(len(numbers))], numbers[rng.IntN(len(numbers))]
		spans := numberSpans(from, to)
		if len(spans) > 32 {
			t.Errorf("%d to %d: %d spans", from, to, len(spans))
		}
		for _, n := range numbers {
			v := value{kind: dateValue, nanos: n}
			got := slices.ContainsFunc(v.exactTerms(), func(term string) bool {
				return slices.ContainsFunc(spans, func(s termSpan) bool { return s.from <= term && term <= s.to })
			})
			if want := from <= n && n <= to; got != want {
				t.Errorf("%d in %d to %d: %v", n, from, to, got)
			}
		}
	}
}

// TestEditDistance compares with a search of all words that are so many edits away.
func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"ab", "ba", 1}, {"ca", "abc", 3}, {"kitten", "sitting", 3}, {"é", "e", 1}, {"abcd", "badc", 2}} {
		if got := editDistance([]rune(c.a), []rune(c.b), 5); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := editDistance([]rune(c.a), []rune(c.b), 1); min(got, 2) != min(c.want, 2) {
			t.Errorf("%q to %q within 1: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestPaging pages by number, by sort key and backwards, with ties at the border of a page.
func TestPaging(t *testing.T) {
	x, err := Open(t.TempDir(), mapping(t, `{}`), &Options{Name: "x", Engine: &riffle.Options{Durability: riffle.SyncNone}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var all []string
	for i := range 20 {
		id := fmt.Sprintf("%02d", (i*7)%20)
		if err := x.Put(t.Context(), Document{id, []byte(`{"t": "same word"}`)}); err != nil {
			t.Fatal(err)
		}
		all = append(all, id)
	}
	slices.Sort(all)
	ids := func(request string) (ids []string) {
		t.Helper()
		res, err := x.Search(t.Context(), []byte(request))
		if err != nil {
			t.Fatal(err)
		}
		if res.Total != 20 || res.MaxScore <= 0 {
			t.Errorf("%s: total %d, best %v", request, res.Total, res.MaxScore)
		}
		for _, h := range res.Hits {
			ids = append(ids, h.ID)
		}
		return ids
	}
	for from := 0; from < 25; from += 3 {
		got := ids(fmt.Sprintf(`{"query": {"match": "word"}, "sort": ["-_score", "_id"], "from": %d, "size": 3}`, from))
		if want := all[min(from, 20):min(from+3, 20)]; !slices.Equal(got, want) {
			t.Errorf("from %d: %v, want %v", from, got, want)
		}
	}
	if got := ids(`{"query": {"match": "word"}, "sort": ["_id"], "search_after": ["04"], "size": 2}`); !slices.Equal(got, all[5:7]) {
		t.Errorf("after 04: %v", got)
	}
	if got := ids(`{"query": {"match": "word"}, "sort": [{"by": "id"}], "search_before": ["04"], "size": 2}`); !slices.Equal(got, all[2:4]) {
		t.Errorf("before 04: %v", got)
	}
	if got := ids(`{"query": {"match": "word"}, "sort": ["-_id"], "size": 1}`); !slices.Equal(got, all[19:]) {
		t.Errorf("last: %v", got)
	}
	if got := ids(`{"query": {"match": "word"}, "size": 0}`); got != nil {
		t.Errorf("none: %v", got)
	}
	if err := x.Delete(t.Context(), "00"); err != nil {
		t.Fatal(err)
	}
	if n, err := x.Engine().Len(); n != 19 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
}

// TestSchema opens an index of riffle with the schema of a mapping.
func TestSchema(t *testing.T) {
	m := mapping(t, `{"default_analyzer": "simple", "types": {"note": {"properties": {"title": {"fields": [{"type": "text", "analyzer": "de", "index": true}]}}}},
		"analysis": {"analyzers": {"grams": {"type": "custom", "tokenizer": "unicode", "token_filters": ["to_lower", "tri"]},
			"lacking": {"type": "custom", "tokenizer": "web", "token_filters": ["stemmer_snowball"]}}, "token_filters": {"tri": {"type": "ngram", "min": 3, "max": 3}}},
		"default_mapping": {"properties": {
			"title": {"fields": [{"type": "text", "analyzer": "en", "index": true, "store": true, "include_term_vectors": true},
				{"type": "text", "name": "title_grams", "analyzer": "grams", "index": true}, {"type": "number", "name": "n"}]},
			"hidden": {"enabled": false},
			"who": {"properties": {"name": {"fields": [{"type": "text", "analyzer": "keyword", "index": true}]}}},
			"odd": {"fields": [{"type": "text", "analyzer": "lacking", "index": true}]},
			"on": {"fields": [{"type": "datetime", "index": true, "date_format": "unix_sec"}]}}}}`)
	schema, problems := m.Schema()
	want := map[string]riffle.Field{
		"title":       {Analyzer: "bleve/en"},
		"title_grams": {Analyzer: "grams", CopyFrom: []string{"title"}, Positions: riffle.PositionsNone},
		"hidden":      {NoIndex: true, NoStore: true},
		"who.name":    {Type: riffle.FieldKeyword, NoStore: true},
		"odd":         {NoIndex: true, NoStore: true},
		"on":          {Type: riffle.FieldDate, NoStore: true},
	}
	if !reflect.DeepEqual(schema.Fields, want) || schema.Analyzer != "bleve/simple" {
		t.Errorf("%v", schema)
	}
	var listed []string
	for _, p := range problems {
		listed = append(listed, p.Path)
	}
	if want := []string{`analysis.analyzers["lacking"]`, `default_mapping.properties["hidden"].enabled`, `default_mapping.properties["on"].fields[0].date_format`,
		`default_mapping.properties["title"].fields[2].name`, `types["note"].properties["title"].fields[0]`, "default_datetime_parser", "default_field"}; !slices.Equal(listed, want) {
		t.Errorf("problems %q, want %q", problems, want)
	}
	e, err := riffle.Open(t.TempDir(), &riffle.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Put(t.Context(), "1", map[string]any{"title": "Running Dogs", "who": map[string]any{"name": "Ann Lee"}, "on": "2020-01-01"}); err != nil {
		t.Fatal(err)
	}
	for _, q := range []riffle.Query{riffle.Match{Field: "title", Text: "dog"}, riffle.Match{Field: "title_grams", Text: "unn"}, riffle.Term{Field: "who.name", Value: "Ann Lee"}} {
		if n, err := e.Count(t.Context(), q); n != 1 || err != nil {
			t.Errorf("%v: %d %v", q, n, err)
		}
	}
	x := &Index{m: m}
	if err := x.Put(t.Context(), Document{"d", []byte(`{"odd": "x"}`)}); err == nil || !strings.Contains(err.Error(), `field "odd": analyzer "lacking": token_filters[0] "stemmer_snowball"`) {
		t.Errorf("a value of an analyzer that is not made: %v", err)
	}
}

// TestPlainValues: phrases do not find what has no places, and have places that nobody asked for.
func TestPlainValues(t *testing.T) {
	x, err := Open(t.TempDir(), mapping(t, `{}`), &Options{Engine: &riffle.Options{Durability: riffle.SyncNone}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := x.Put(t.Context(), Document{"t", []byte(`{"ok": true, "n": 42, "text": "T shirts"}`)}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		request string
		total   int
		places  bool
	}{
		{`{"query": {"bool": true, "field": "ok"}}`, 1, false},
		{`{"query": {"term": "T"}}`, 1, false},
		{`{"query": {"fuzziness": 1, "term": "Tt", "field": "ok"}}`, 1, false},
		{`{"query": {"min": 42, "field": "n"}}`, 1, false},
		{`{"query": {"min": 43}}`, 0, false},
		{`{"query": {"terms": ["T"], "field": "ok"}}`, 0, false},
		{`{"query": {"terms": ["T"], "field": "_all"}}`, 0, false},
		{`{"query": {"match_phrase": "t", "fuzziness": 1, "field": "ok"}}`, 0, false},
		{`{"query": {"match_phrase": "t", "field": "_id", "analyzer": "keyword"}}`, 0, false},
		{`{"query": {"match_phrase": "t shirts", "field": "text"}}`, 1, true},
		{`{"query": {"conjuncts": [{"match": "shirts"}, {"match_phrase": "shirts"}]}, "facets": {}}`, 1, true},
		{`{"query": {"must_not": {"disjuncts": [{"match_phrase": "skirts"}]}}}`, 1, false},
	} {
		res, err := x.Search(t.Context(), []byte(c.request))
		if err != nil {
			t.Fatal(err)
		}
		if places := res.Total == 1 && res.Hits[0].Locations != nil; res.Total != c.total || places != c.places {
			t.Errorf("%s: %d documents, locations: %v", c.request, res.Total, places)
		}
	}
}

// TestBoostOfZero: scores are 0, where bleve's are not a number, so that its result has no JSON.
func TestBoostOfZero(t *testing.T) {
	x, err := Open(t.TempDir(), mapping(t, `{}`), &Options{Engine: &riffle.Options{Durability: riffle.SyncNone}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for i := range 9 {
		doc := fmt.Sprintf(`{"text": "white whale w%d", "n": %d, "ok": true, "at": "1851-10-18"}`, i, i)
		if err := x.Put(t.Context(), Document{fmt.Sprint(i), []byte(doc)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, query := range []string{
		`"match": "white whale"`, `"match": "wite", "fuzziness": 1`, `"match_phrase": "white whale"`, `"match_phrase": "white whal", "fuzziness": 1`,
		`"terms": [["white", "x"], ["whale"]], "field": "text"`, `"term": "white"`, `"term": "wite", "fuzziness": 1`, `"prefix": "wh"`, `"wildcard": "wh*e"`,
		`"regexp": "wh.*"`, `"min": 0, "field": "n"`, `"start": "1800-01-01", "field": "at"`, `"min": "w", "max": "x", "field": "text"`,
		`"bool": true, "field": "ok"`, `"ids": ["0", "1", "2", "3", "4", "5", "6", "7", "8"]`, `"match_all": {}`, `"query": "white^0 whale^0"`,
		`"conjuncts": [{"match": "white", "boost": 0}, {"match": "whale", "boost": 0}]`,
		`"disjuncts": [{"match": "white", "boost": 0}, {"match": "whale", "boost": 0}], "min": 2`,
		`"must": {"conjuncts": [{"match": "white", "boost": 0}]}, "should": {"disjuncts": [{"match": "whale", "boost": 0}]}`,
	} {
		for _, more := range []string{``, `, "sort": ["-_score", "_id"]`, `, "score": "none"`, `, "sort": ["_score", "_id"], "search_after": ["-1", ""]`, `, "highlight": {}`} {
			request := `{"query": {` + query + `, "boost": 0}` + more + `}`
			res, err := x.Search(t.Context(), []byte(request))
			if err != nil {
				t.Errorf("%s: %v", request, err)
				continue
			}
			if _, err := json.Marshal(res); err != nil || res.Total != 9 || len(res.Hits) != 9 {
				t.Errorf("%s: %d documents, %d hits, %v", request, res.Total, len(res.Hits), err)
			}
			for _, h := range res.Hits {
				if h.Score != 0 {
					t.Errorf("%s: score %v", request, h.Score)
					break
				}
			}
		}
	}
}

// FuzzRequest reads requests, and looks for what they find in a document.
func FuzzRequest(f *testing.F) {
	for _, text := range []string{
		`{"query": {"query": "+a:b -\"c d\"~ x*y /r.e/ f:>=5 f:<\"2020-01-01\" q^2 w~1 \\+"}, "highlight": {"style": "ansi"}}`,
		`{"query": {"must": {"conjuncts": [{"match": "Whales of the sea", "fuzziness": "auto"}]}, "must_not": {"disjuncts": [{"prefix": "x"}]}}, "includeLocations": true}`,
		`{"query": {"terms": [["a", "b"], [], ["c"]], "field": "text", "fuzziness": 1}, "sort": ["-_id", {"by": "score"}], "search_after": ["a", "1"]}`,
		`{"query": {"disjuncts": [{"min": 1, "max": 2}, {"min": "a"}, {"start": "2020-01-01"}, {"ids": ["d"]}, {"bool": true}], "min": 1}}`,
	} {
		f.Add([]byte(text))
	}
	m := mapping(f, `{"default_analyzer": "en"}`)
	doc := map[string]any{"text": []any{"The whales of the <sea> — é", "a b c"}, "n": 5.0, "at": "2020-01-01", "ok": true}
	var values []*value
	for _, v := range m.values(doc) {
		values = append(values, &v)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := m.parseRequest(text)
		if err != nil {
			if !utf8.ValidString(err.Error()) && utf8.Valid(text) {
				t.Errorf("the error %q is not UTF-8", err)
			}
			return
		}
		d := &located{m: m, id: "d", values: values, tokens: map[*value][]token{}}
		for field, terms := range d.locations(r.query) {
			for term, places := range terms {
				for _, p := range places {
					if p.Pos < 1 || p.Start < 0 || p.End <= p.Start {
						t.Errorf("%s %q at %+v", field, term, p)
					}
				}
			}
			if _, ok := d.fragmentOf(field, terms, styles["html"]); !ok {
				t.Errorf("%s matches and has no fragment", field)
			}
		}
	})
}
