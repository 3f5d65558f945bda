package riffle

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// queriesJSON are queries and their stable JSON form: later versions read it.
var queriesJSON = []struct {
	q    Query
	form string
}{
	{Match{Field: "title", Text: `white "whale"`}, `{"match":{"field":"title","text":"white \"whale\""}}`},
	{Match{Fields: []string{"title", "body"}, Text: "x", Mode: ModeAnd, Analyzer: "english"},
		`{"match":{"fields":["title","body"],"text":"x","mode":"and","analyzer":"english"}}`},
	{Match{Fields: []string{"title", "body"}, Text: "x", Boosts: map[string]float64{"title": 3, "body": 0}, Combine: CombineBest, Tie: 0.25},
		`{"match":{"fields":["title","body"],"text":"x","boosts":{"body":0,"title":3},"combine":"best","tie":0.25}}`},
	{Match{Fields: []string{"a", "b"}, Combine: CombineCross}, `{"match":{"fields":["a","b"],"text":"","combine":"cross"}}`},
	{Match{Fields: []string{"a", "b"}, Combine: CombineBM25F}, `{"match":{"fields":["a","b"],"text":"","combine":"bm25f"}}`},
	{Match{Field: "t", Mode: ModeAndOr}, `{"match":{"field":"t","text":"","mode":"and+or"}}`},
	{Term{"k", ""}, `{"term":{"field":"k","value":""}}`},
	{Term{"b", false}, `{"term":{"field":"b","value":false}}`},
	{Term{"n", int64(math.MaxInt64)}, `{"term":{"field":"n","value":9223372036854775807}}`},
	{Term{"n", 0.1}, `{"term":{"field":"n","value":0.1}}`},
	{Term{"n", 1e300}, `{"term":{"field":"n","value":1e+300}}`},
	{Term{"d", time.Date(1851, 10, 18, 12, 0, 0, 5, time.UTC)}, `{"term":{"field":"d","time":"1851-10-18T12:00:00.000000005Z"}}`},
	{Prefix{"t", "wha", false}, `{"prefix":{"field":"t","prefix":"wha"}}`},
	{Wildcard{"t", "wh*?", true}, `{"wildcard":{"field":"t","pattern":"wh*?","raw":true}}`},
	{Regexp{"t", "wh.*", false}, `{"regexp":{"field":"t","expr":"wh.*"}}`},
	{TermRange{"t", "a", "b", true, true, true}, `{"term_range":{"field":"t","from":"a","to":"b","exclude_from":true,"include_to":true,"raw":true}}`},
	{Terms{"t", []any{int64(5), "x", true, 0.5, time.Date(1851, 10, 18, 0, 0, 0, 0, time.UTC)}},
		`{"terms":{"field":"t","values":[5,"x",true,0.5,{"time":"1851-10-18T00:00:00Z"}]}}`},
	{Range{"n", int64(5), 0.5, true, true, ""}, `{"range":{"field":"n","from":5,"to":0.5,"exclude_from":true,"include_to":true}}`},
	{Range{"n", nil, time.Date(1851, 10, 18, 0, 0, 0, 0, time.UTC), false, false, ""}, `{"range":{"field":"n","to":{"time":"1851-10-18T00:00:00Z"}}}`},
	{Range{"n", "1850", nil, false, false, ""}, `{"range":{"field":"n","from":"1850"}}`},
	{Exists{"t"}, `{"exists":{"field":"t"}}`},
	{IDs{[]string{"a", "b"}}, `{"ids":{"values":["a","b"]}}`},
	{Fuzzy{Field: "t", Term: "wahle"}, `{"fuzzy":{"field":"t","term":"wahle"}}`},
	{Fuzzy{"t", "wahle", NoEdits, 1, 9, true}, `{"fuzzy":{"field":"t","term":"wahle","edits":0,"prefix":1,"expansions":9,"raw":true}}`},
	{Bool{Must: []Query{All{}}, Should: []Query{All{}, Term{"k", "v"}}, MustNot: []Query{Term{"k", "w"}}, Filter: []Query{All{}}, MinShould: 2},
		`{"bool":{"must":[{"all":{}}],"should":[{"all":{}},{"term":{"field":"k","value":"v"}}],` +
			`"must_not":[{"term":{"field":"k","value":"w"}}],"filter":[{"all":{}}],"min_should":2}}`},
	{Phrase{Field: "t", Text: "white whale", Slop: 2, Analyzer: "english"}, `{"phrase":{"field":"t","text":"white whale","slop":2,"analyzer":"english"}}`},
	{Phrase{Field: "t", Terms: [][]string{{"a"}, {}, {"b", "c"}}}, `{"phrase":{"field":"t","terms":["a",[],["b","c"]]}}`},
	{MatchBoolPrefix{Field: "t", Text: "white wha", Mode: ModeAnd, Analyzer: "english"}, `{"match_bool_prefix":{"field":"t","text":"white wha","mode":"and","analyzer":"english"}}`},
	{Match{Field: "t", Text: "a b", MinShould: -1}, `{"match":{"field":"t","text":"a b","min_should":-1}}`},
	{Match{Field: "t", Text: "a b", MinShould: Percent(75)}, `{"match":{"field":"t","text":"a b","min_should":"75%"}}`},
	{Bool{Should: []Query{All{}}, MinShould: Percent(-25)}, `{"bool":{"should":[{"all":{}}],"min_should":"-25%"}}`},
	{DisMax{[]Query{All{}, Exists{"t"}}, 0.5}, `{"dis_max":{"queries":[{"all":{}},{"exists":{"field":"t"}}],"tie":0.5}}`},
	{Boosting{All{}, Exists{"t"}, 0.5}, `{"boosting":{"positive":{"all":{}},"negative":{"exists":{"field":"t"}},"factor":0.5}}`},
	{FunctionScore{Functions: []ScoreFunction{Fixed{}}}, `{"function_score":{"functions":[{"fixed":{}}]}}`},
	{FunctionScore{Query: All{}, Combine: FunctionsMax, Mode: FunctionMultiply, Functions: []ScoreFunction{
		FieldFactor{"n", ModifierSqrt, 2, 1, 3, Exists{"t"}}, Decay{"d", time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), "", "7d", "1h", 0.25, DecayLinear, 2, All{}},
		Decay{Field: "d", Origin: "now/d", TimeZone: "Europe/Berlin", Scale: "36h"}, Decay{Field: "n", Origin: int64(5), Scale: 0.5},
		Random{math.MaxUint64, "n", 0.5, nil}, Fixed{4, Exists{"t"}},
	}}, `{"function_score":{"query":{"all":{}},"functions":[` +
		`{"field_factor":{"field":"n","modifier":"sqrt","factor":2,"missing":1,"weight":3,"filter":{"exists":{"field":"t"}}}},` +
		`{"decay":{"field":"d","origin":{"time":"2026-01-02T00:00:00Z"},"scale":"7d","offset":"1h","decay":0.25,"shape":"linear","weight":2,"filter":{"all":{}}}},` +
		`{"decay":{"field":"d","origin":"now/d","time_zone":"Europe/Berlin","scale":"36h"}},{"decay":{"field":"n","origin":5,"scale":0.5}},` +
		`{"random":{"seed":18446744073709551615,"field":"n","weight":0.5}},{"fixed":{"weight":4,"filter":{"exists":{"field":"t"}}}}],"combine":"max","mode":"product"}}`},
	{WithinDistance{"p", Point{Lat: 52.52, Lon: 13.405}, 5000}, `{"within_distance":{"field":"p","point":{"lat":52.52,"lon":13.405},"metres":5000}}`},
	{WithinBox{"p", -10, 170, 10, -170}, `{"within_box":{"field":"p","south":-10,"west":170,"north":10,"east":-170}}`},
	{WithinPolygon{"p", []Point{{}, {Lon: 9}, {Lat: 9}}, [][]Point{{{Lat: 1, Lon: 1}, {Lat: 1, Lon: 2}, {Lat: 2, Lon: 1}}}},
		`{"within_polygon":{"field":"p","points":[{"lat":0,"lon":0},{"lat":0,"lon":9},{"lat":9,"lon":0}],` +
			`"holes":[[{"lat":1,"lon":1},{"lat":1,"lon":2},{"lat":2,"lon":1}]]}}`},
	{MoreLikeThis{Fields: []string{"t"}, Texts: []string{"a"}}, `{"more_like_this":{"fields":["t"],"texts":["a"]}}`},
	{MoreLikeThis{[]string{"t"}, []string{"a"}, []string{"x"}, 1, 2, 3, 4, Percent(30), true},
		`{"more_like_this":{"fields":["t"],"texts":["a"],"ids":["x"],"min_term_freq":1,"min_doc_freq":2,"max_doc_freq":3,"max_terms":4,"min_should":"30%","include":true}}`},
	{PhrasePrefix{Field: "t", Text: "white wha", Slop: 1, Analyzer: "english"}, `{"phrase_prefix":{"field":"t","text":"white wha","slop":1,"analyzer":"english"}}`},
	{Near{Field: "t", Phrases: []string{"a b", "c"}, Distance: 10}, `{"near":{"field":"t","phrases":["a b","c"],"distance":10}}`},
	{Intervals{Field: "t", Rule: IntervalAll{[]Interval{IntervalText{"a b", true, NoGaps}, IntervalAny{[]Interval{IntervalText{"c", false, 3}}}}, true, AnyGaps}},
		`{"intervals":{"field":"t","rule":{"all":{"of":[{"match":{"text":"a b","ordered":true,"max_gaps":0}},{"any":{"of":[{"match":{"text":"c","max_gaps":3}}]}}],"ordered":true}}}}`},
	{Intervals{Field: "t", Rule: IntervalWhere{IntervalFirst{IntervalText{Text: "a"}, 9}, NotContaining, IntervalText{Text: "b"}}},
		`{"intervals":{"field":"t","rule":{"not_containing":{"rule":{"first":{"rule":{"match":{"text":"a"}},"positions":9}},"of":{"match":{"text":"b"}}}}}}`},
	{All{}, `{"all":{}}`},
	{ConstantScore{Exists{"t"}, 2}, `{"constant":{"query":{"exists":{"field":"t"}},"score":2}}`},
	{Boost{ConstantScore{All{}, 0.5}, 2}, `{"boost":{"query":{"constant":{"query":{"all":{}},"score":0.5}},"by":2}}`},
}

// rootDeclarations returns the declarations of this package, without its tests.
func rootDeclarations(t *testing.T) (all []ast.Decl) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f.Decls...)
	}
	return all
}

// queryKinds returns the names of all types of queries: those with a method that plans them, less withinShape,
// which only package compat/bleve can make.
func queryKinds(t *testing.T) (kinds []string) {
	for _, d := range rootDeclarations(t) {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "rewrite" && f.Recv != nil {
			if kind := f.Recv.List[0].Type.(*ast.Ident).Name; kind != "withinShape" {
				kinds = append(kinds, kind)
			}
		}
	}
	if len(kinds) < 22 {
		t.Fatalf("kinds of queries: %v", kinds)
	}
	return kinds
}

// TestQueryKinds: every kind of query has a JSON form among queriesJSON, and the comments of Query and
// UnmarshalQuery name it.
func TestQueryKinds(t *testing.T) {
	docs := map[string]string{}
	for _, d := range rootDeclarations(t) {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				docs[d.Name.Name] = d.Doc.Text()
			}
		case *ast.GenDecl:
			if spec, ok := d.Specs[0].(*ast.TypeSpec); ok {
				docs[spec.Name.Name] = d.Doc.Text()
			}
		}
	}
	forms := map[string]string{}
	for _, c := range queriesJSON {
		name, _, _ := strings.Cut(c.form[2:], `"`)
		forms[reflect.TypeOf(c.q).Name()] = name
	}
	for _, kind := range queryKinds(t) {
		form := forms[kind]
		if form == "" || !strings.Contains(docs["UnmarshalQuery"], `{"`+form+`": {`) {
			t.Errorf("%s: the form %q is not in the comment of UnmarshalQuery", kind, form)
		}
		if !regexp.MustCompile(`\b` + kind + `\b`).MatchString(docs["Query"]) {
			t.Errorf("%s is not in the comment of Query", kind)
		}
	}
}

func TestQueryJSON(t *testing.T) {
	for _, c := range queriesJSON {
		data, err := json.Marshal(c.q)
		if err != nil || string(data) != c.form {
			t.Errorf("%v: %s %v, want %s", c.q, data, err, c.form)
		}
		if q, err := UnmarshalQuery([]byte(c.form)); err != nil || !reflect.DeepEqual(q, c.q) {
			t.Errorf("%s: %#v %v, want %#v", c.form, q, err, c.q)
		}
	}
	// Values of one term have one form.
	for _, v := range []any{5, int8(5), uint16(5), 5.0} {
		if data, err := json.Marshal(Term{"n", v}); err != nil || string(data) != `{"term":{"field":"n","value":5}}` {
			t.Errorf("%T: %s %v", v, data, err)
		}
	}
}

func TestQueryJSONErrors(t *testing.T) {
	deep := strings.Repeat(`{"boost":{"by":1,"query":`, maxQueryDepth) + `{"all":{}}` + strings.Repeat("}}", maxQueryDepth)
	for _, c := range []struct{ form, want string }{
		{``, "unexpected end"},
		{`null`, "one member"},
		{`{}`, "one member"},
		{`{"all":{},"match":{}}`, "one member"},
		{`{"all":null}`, "an object is wanted"},
		{`{"haiku":{}}`, "haiku: there is no such query"},
		{`{"match":{"text":"x","slop":1}}`, `unknown field "slop"`},
		{`{"match":{"text":"x","mode":"xor"}}`, `unknown mode "xor"`},
		{`{"term":{"field":"a"}}`, `a "value" is wanted`},
		{`{"term":{"field":"a","value":[1]}}`, `a "value" is wanted`},
		{`{"term":{"field":"a","value":1,"time":"2024-01-01T00:00:00Z"}}`, `a "value" is wanted`},
		{`{"term":{"field":"a","value":1e999}}`, "out of range"},
		{`{"bool":{"must":[{"all":{}},null]}}`, "bool: must 1: a query has one member"},
		{`{"dis_max":{"queries":[{"all":{}},{}]}}`, "dis_max: query 1: a query has one member"},
		{`{"boosting":{"positive":{"all":{}}}}`, "boosting: negative: unexpected end"},
		{`{"match":{"text":"x","min_should":"101%"}}`, `"101%" is no number of clauses`},
		{`{"match":{"text":"x","min_should":1.5}}`, `"1.5" is no number of clauses`},
		{`{"boost":{"by":2}}`, "boost: unexpected end"},
		{deep, "more than 100 levels"},
	} {
		_, err := UnmarshalQuery([]byte(c.form))
		var qe *QueryError
		if !errors.As(err, &qe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.100s: %v, want %s", c.form, err, c.want)
		}
	}
	for _, q := range []Query{Match{Mode: 9}, Term{"a", nil}, Term{"a", math.NaN()}, Boost{All{}, math.Inf(1)}} {
		if data, err := json.Marshal(q); err == nil {
			t.Errorf("%v: %s", q, data)
		}
	}
}

// FuzzUnmarshalQuery: a query that was read is written so that it reads the same again.
func FuzzUnmarshalQuery(f *testing.F) {
	for _, c := range queriesJSON {
		f.Add([]byte(c.form))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := UnmarshalQuery(data)
		if err != nil {
			return
		}
		_ = q.Validate()
		form, err := json.Marshal(q)
		if err != nil {
			t.Fatalf("%#v: %v", q, err)
		}
		again, err := UnmarshalQuery(form)
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if twice, err := json.Marshal(again); err != nil || string(twice) != string(form) {
			t.Errorf("%s became %s, %v", form, twice, err)
		}
	})
}

// TestBoundedBoosts: finite weights never panic, scores are finite, and Validate works without an
// index.
func TestBoundedBoosts(t *testing.T) {
	ix := newIndex(t, nil)
	for i := range 9 {
		ix.put(fmt.Sprint(i), map[string]any{"t": fmt.Sprint("x y", i)})
	}
	x := Match{Field: "t", Text: "x"}
	for _, c := range []struct {
		q  Query
		ok bool
	}{
		{Boost{Match{Field: "t", Text: "y1 y2"}, 1.7e308}, false},
		{Bool{Should: []Query{ConstantScore{x, 1e308}, ConstantScore{x, 1e308}}}, false},
		{ConstantScore{x, math.MaxFloat64}, false},
		{ConstantScore{x, math.Nextafter(MaxBoost, math.Inf(1))}, false},
		{Boost{Boost{x, 1e308}, 1e-308}, false},
		{Boost{x, math.NaN()}, false},
		{Boost{x, -1}, false},
		{Boost{Boost{x, MaxBoost}, 1}, true},
		{Bool{Should: []Query{ConstantScore{x, MaxBoost}, ConstantScore{x, MaxBoost}}}, true},
		{Boost{Match{Field: "t", Text: "y1 y2"}, MaxBoost}, true},
		{Boost{Match{Field: "t", Text: "y1 y2"}, math.SmallestNonzeroFloat64}, true},
	} {
		var qe *QueryError
		if err := c.q.Validate(); c.ok != (err == nil) || err != nil && !errors.As(err, &qe) {
			t.Errorf("%v: Validate: %v", c.q, err)
		}
		res, err := ix.Search(t.Context(), c.q, nil)
		if c.ok != (err == nil) {
			t.Errorf("%v: %v", c.q, err)
			continue
		}
		if c.ok && (len(res.Hits) == 0 || math.IsInf(res.Hits[0].Score, 0)) {
			t.Errorf("%v: %v", c.q, res.Hits)
		}
	}
}

// TestValidateQuery: Validate reports what no index can carry out, without an index.
func TestValidateQuery(t *testing.T) {
	for _, q := range []Query{
		Match{Text: "a"}, Match{Field: "a", Mode: 9}, Term{"", 1}, Term{"a", nil}, Bool{}, Bool{Must: []Query{nil}},
		DisMax{}, DisMax{[]Query{nil}, 0}, DisMax{[]Query{All{}}, 1.5}, Boosting{nil, All{}, 0}, Boosting{All{}, nil, 0}, Boosting{All{}, All{}, 2},
		Match{Field: "a", MinShould: 1, Mode: ModeAnd}, Match{Field: "a", MinShould: Percent(101)}, Bool{Should: []Query{All{}}, MinShould: Percent(-101)},
		MatchBoolPrefix{Text: "a"}, MatchBoolPrefix{Field: "a", Mode: 9},
		Bool{Should: []Query{All{}}, MinShould: 2}, Boost{nil, 1}, ConstantScore{nil, 1}, Bool{Filter: []Query{Boost{All{}, -1}}},
	} {
		var qe *QueryError
		if err := q.Validate(); !errors.As(err, &qe) {
			t.Errorf("%v: %v", q, err)
		}
	}
	for _, c := range queriesJSON {
		if err := c.q.Validate(); err != nil {
			t.Errorf("%v: %v", c.q, err)
		}
	}
}
