package riffle

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/analysis"
)

func TestParseSchema(t *testing.T) {
	text := `{"fields":{"body":{"type":"text","copy_from":["title","text"]},"id":{"type":"keyword","no_index":true},` +
		`"n":{"type":"number","no_store":true},"on":{"type":"bool"},"t":{"type":"text","analyzer":"english"},"when":{"type":"date"}},` +
		`"dynamic":"store","analyzer":"english","no_store":true}`
	s, err := ParseSchema([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.String(); got != text {
		t.Errorf("printed again:\n%s\nwant\n%s", got, text)
	}
	if f := s.Fields["body"]; f.Type != FieldText || !slices.Equal(f.CopyFrom, []string{"title", "text"}) {
		t.Errorf("body: %+v", f)
	}
	if s.Dynamic != DynamicStore || !s.NoStore || s.Fields["when"].Type != FieldDate {
		t.Errorf("%+v", s)
	}
}

func TestParseSchemaRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                                   "an object is wanted",
		`{"field":{}}`:                       `unknown field "field"`,
		`{"dynamic":"perhaps"}`:              `unknown dynamic rule "perhaps" (want one of index, store, ignore, refuse)`,
		`{"fields":{"a":{"type":"string"}}}`: `unknown field type "string" (want one of text, keyword, number, date, bool, place)`,
		`{"fields":{"a":{"type":"text","stored":1}}}`: `unknown field "stored"`,
		`{} {}`: "more than one JSON value",
	} {
		if _, err := ParseSchema([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestSchemaIsKept reopens an index without a schema, with a wider one, and with one that
// disagrees.
func TestSchemaIsKept(t *testing.T) {
	first := &Schema{Analyzer: "english", Fields: map[string]Field{
		"k": {Type: FieldKeyword},
		"n": {Type: FieldNumber},
		"b": {CopyFrom: []string{"t"}},
	}}
	ix := newIndex(t, &Options{Schema: first})
	ix.put("1", map[string]any{"k": "A B", "t": "running"})
	first.Fields["k"] = Field{} // the Engine has a copy
	first.Fields["k2"] = Field{}

	ix.reopen(nil)
	if got := ix.Schema().String(); got != `{"fields":{"b":{"type":"text","copy_from":["t"]},"k":{"type":"keyword"},"n":{"type":"number"}},"dynamic":"index","analyzer":"english","words":"unicode15","positions":"positions","columns":"stored"}` {
		t.Errorf("kept: %s", got)
	}
	if got := ix.ids(Match{Field: "b", Text: "runs"}); len(got) != 1 {
		t.Errorf("the kept analyzer finds %v", got)
	}
	ix.Schema().Fields["k"] = Field{} // changes a copy
	if ix.Schema().Fields["k"].Type != FieldKeyword {
		t.Error("Schema gives its own map away")
	}

	ix.reopen(&Options{AlterSchema: true, Schema: &Schema{Analyzer: "english", Dynamic: DynamicRefuse, Fields: map[string]Field{"k": {Type: FieldKeyword, NoStore: true}, "z": {Type: FieldDate}}}})
	s := ix.Schema()
	if len(s.Fields) != 4 || s.Fields["z"].Type != FieldDate || !s.Fields["k"].NoStore || s.Dynamic != DynamicRefuse {
		t.Errorf("widened: %v", s)
	}
	if got := ix.ids(Term{"k", "A B"}); len(got) != 1 {
		t.Errorf("after widening: %v", got)
	}

	ix.must(ix.Close())
	_, err := Open(ix.dir, &Options{Schema: &Schema{Fields: map[string]Field{
		"k":   {Type: FieldText},
		"n":   {Type: FieldNumber},
		"b":   {CopyFrom: []string{"u"}},
		"new": {Type: FieldBool},
	}}})
	if err == nil {
		t.Fatal("a schema that disagrees is accepted")
	}
	for _, want := range []string{
		"schema differs from the one the index was made with",
		`Schema.Analyzer: the index has "english", not ""`,
		`Schema.Fields["k"]: the index has`,
		`Schema.Fields["b"]: the index has`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), `"n"`) || strings.Contains(err.Error(), `"new"`) {
		t.Errorf("blames a field that is as it was: %v", err)
	}
	ix.open(nil)
	if _, ok := ix.Schema().Fields["new"]; ok {
		t.Error("a refused schema has left a trace")
	}
}

// TestDynamic puts one document under each rule for fields that the schema does
// not name.
func TestDynamic(t *testing.T) {
	for _, c := range []struct {
		rule          Dynamic
		found, stored bool
		err           string
	}{
		{DynamicIndex, true, true, ""},
		{DynamicStore, false, true, ""},
		{DynamicIgnore, false, false, ""},
		{DynamicRefuse, false, false, `document "1": field "other": the schema has no such field and refuses others`},
	} {
		ix := newIndex(t, &Options{AllowUnknownFields: true, Schema: &Schema{Dynamic: c.rule, Fields: map[string]Field{"known": {}}}})
		err := ix.Put(t.Context(), "1", map[string]any{"known": "a", "other": "b"})
		if c.err != "" {
			var de *DocumentError
			if !errors.As(err, &de) || de.Field != "other" || !strings.Contains(err.Error(), c.err) || ix.Len() != 0 {
				t.Errorf("%v: %v, %d documents", c.rule, err, ix.Len())
			}
			continue
		}
		ix.must(err)
		if got := ix.ids(Match{Field: "known", Text: "a"}); len(got) != 1 {
			t.Errorf("%v: the known field is not found", c.rule)
		}
		if got := len(ix.ids(Match{Field: "other", Text: "b"})) > 0; got != c.found {
			t.Errorf("%v: found %v", c.rule, got)
		}
		fields, err := ix.Get(t.Context(), "1")
		ix.must(err)
		if _, got := fields["other"]; got != c.stored {
			t.Errorf("%v: stored %v", c.rule, fields)
		}
	}
}

// TestFieldRules: what is searchable, what is stored, and what a value may be.
func TestFieldRules(t *testing.T) {
	ix := newIndex(t, &Options{AllowUnknownFields: true, Schema: &Schema{Fields: map[string]Field{
		"hidden": {NoIndex: true},
		"secret": {NoStore: true},
		"k":      {Type: FieldKeyword},
		"both":   {CopyFrom: []string{"hidden", "secret", "k", "n"}},
	}}})
	ix.put("1", map[string]any{"hidden": "alpha", "secret": []string{"beta", "gamma"}, "k": "Delta Eps", "n": 5})
	for _, c := range []struct {
		q    Query
		want int
	}{
		{Match{Field: "hidden", Text: "alpha"}, 0},
		{Match{Field: "secret", Text: "beta"}, 1},
		{Match{Field: "both", Text: "alpha beta gamma delta eps", Mode: ModeAnd}, 1},
		{Match{Field: "both", Text: "5"}, 0}, // only texts are copied
		{Match{Field: "k", Text: "Delta Eps"}, 1},
		{Match{Field: "k", Text: "delta"}, 0},
	} {
		if got := len(ix.ids(c.q)); got != c.want {
			t.Errorf("%v: %d hits, want %d", c.q, got, c.want)
		}
	}
	fields, err := ix.Get(t.Context(), "1")
	ix.must(err)
	if want := (map[string]any{"hidden": "alpha", "k": "Delta Eps", "n": int64(5)}); !reflect.DeepEqual(fields, want) {
		t.Errorf("stored %v, want %v", fields, want)
	}
}

func TestNoStore(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{NoStore: true, Fields: map[string]Field{"a": {}}}})
	ix.put("1", map[string]any{"a": "x", "b": 1})
	fields, err := ix.Get(t.Context(), "1")
	if err != nil || len(fields) != 0 || len(ix.ids(Term{"b", 1})) != 1 {
		t.Errorf("stored %v, %v", fields, err)
	}
}

// TestOpenKeepsTheSchema: what a later Open leaves at zero stays; changed rules need AlterSchema.
func TestOpenKeepsTheSchema(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{Dynamic: DynamicRefuse, NoStore: true, Fields: map[string]Field{"a": {NoIndex: true}}}})
	ix.reopen(&Options{Schema: &Schema{Fields: map[string]Field{"a": {}, "b": {}}}})
	s := ix.Schema()
	if s.Dynamic != DynamicRefuse || !s.NoStore || !s.Fields["a"].NoIndex || len(s.Fields) != 2 {
		t.Errorf("an Open that adds a field has made the schema %v", s)
	}
	ix.must(ix.Close())
	for _, c := range []struct {
		schema Schema
		want   string
	}{
		{Schema{Dynamic: DynamicStore}, "Schema.Dynamic: the index has refuse, not store; Options.AlterSchema changes it"},
		{Schema{Fields: map[string]Field{"b": {NoIndex: true}}}, `Schema.Fields["b"].NoIndex: the index has false, not true`},
		{Schema{Fields: map[string]Field{"b": {NoStore: true}}}, `Schema.Fields["b"].NoStore: the index has false, not true`},
	} {
		if _, err := Open(ix.dir, &Options{Schema: &c.schema}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", &c.schema, err, c.want)
		}
	}
	ix.open(&Options{AlterSchema: true, Schema: &Schema{Fields: map[string]Field{"a": {}}}})
	if s := ix.Schema(); s.Dynamic != DynamicIndex || s.NoStore || s.Fields["a"].NoIndex || len(s.Fields) != 2 {
		t.Errorf("altered: %v", s)
	}
}

// TestDeclareLater: a field of existing documents can only be declared as they are indexed. A
// failed Open changes nothing.
func TestDeclareLater(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		ix := newIndex(t, nil)
		ix.put("old", map[string]any{"title": "Running shoes", "year": 1851, "seen": time.Unix(0, 0), "tags": []string{"a b"}})
		if sealed {
			ix.flush()
		}
		ix.must(ix.Close())
		before := filesOf(t, ix.dir)
		for _, c := range []struct {
			name string
			f    Field
			want string
		}{
			{"title", Field{Analyzer: "english"}, `Schema.Fields["title"]: documents of the index are indexed by the analyzer "standard"`},
			{"title", Field{Type: FieldKeyword}, `Schema.Fields["title"]: documents of the index are indexed as text`},
			{"year", Field{Type: FieldKeyword}, `Schema.Fields["year"]: documents of the index are indexed as number`},
			{"year", Field{Type: FieldDate}, `Schema.Fields["year"]: documents of the index are indexed as number`},
			{"seen", Field{}, `Schema.Fields["seen"]: documents of the index are indexed as date`},
		} {
			for _, readOnly := range []bool{true, false} {
				_, err := Open(ix.dir, &Options{ReadOnly: readOnly, Schema: &Schema{Fields: map[string]Field{c.name: c.f}}})
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "Reindex") || errors.Is(err, ErrCorrupt) {
					t.Errorf("sealed %v: %s %+v: %v", sealed, c.name, c.f, err)
				}
			}
		}
		if after := filesOf(t, ix.dir); !reflect.DeepEqual(before, after) {
			t.Errorf("sealed %v: an Open that failed changed files", sealed)
		}
		ix.open(&Options{Schema: &Schema{Fields: map[string]Field{"title": {}, "year": {Type: FieldNumber}, "seen": {Type: FieldDate}, "tags": {Analyzer: "standard"}, "new": {Type: FieldKeyword}}}})
		for _, q := range []Query{match("title", "running"), Term{"year", 1851}, match("seen", "1970-01-01"), match("tags", "b")} {
			if got := ix.ids(q); len(got) != 1 {
				t.Errorf("sealed %v: %v: %v", sealed, q, got)
			}
		}
	}
}

// TestReindex: Reindex builds an index with another schema from the stored documents, with the
// rules of their values.
func TestReindex(t *testing.T) {
	ix := newIndex(t, nil)
	ix.put("1", map[string]any{"title": "Running shoes", "year": 1851, "n": "12", "pr": 0.5, "q": 0.25})
	ix.put("2", struct {
		Note string `riffle:"note,noindex"`
		Key  string `riffle:"key,keyword"`
	}{"memo", "one term"})
	s, err := ix.Snapshot()
	ix.must(err)
	defer s.Close()
	ix.must(ix.Delete(ctx, "1"))
	dir := filepath.Join(t.TempDir(), "again")
	schema := &Schema{Fields: map[string]Field{"title": {Analyzer: "english"}, "year": {Type: FieldKeyword}, "n": {Type: FieldNumber}}}
	res, err := Reindex(ctx, s, dir, &BuildOptions{Index: Options{Schema: schema, Rank: Rank{Field: "q"}}})
	if err != nil || res.Docs != 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	again := openIndex(t, dir, &Options{AllowUnknownFields: true})
	for q, want := range map[Query]int{
		Term{"year", "1851"}: 1, Term{"n", 12}: 1, Term{"key", "one term"}: 1, Term{"note", "memo"}: 0, Boost{Term{"title", "run"}, 1}: 1,
	} {
		if got := again.ids(q); len(got) != want {
			t.Errorf("%v: %v, want %d", q, got, want)
		}
	}
	for _, lossy := range []Schema{{NoStore: true}, {Dynamic: DynamicIgnore}, {Fields: map[string]Field{"f": {NoStore: true}}}} {
		ix := newIndex(t, &Options{Schema: &lossy})
		s, err := ix.Snapshot()
		ix.must(err)
		if _, err := Reindex(ctx, s, filepath.Join(t.TempDir(), "x"), nil); err == nil || !strings.Contains(err.Error(), "cannot be indexed again") {
			t.Errorf("%v: %v", &lossy, err)
		}
		s.Close()
	}
}

// TestOtherRankField: documents have their static rank from one field; changing it needs Reindex.
func TestOtherRankField(t *testing.T) {
	ix := newIndex(t, &Options{Rank: Rank{Field: "pr"}})
	ix.reopen(&Options{Rank: Rank{Field: "q"}}) // no document has a rank yet
	ix.reopen(&Options{Rank: Rank{Field: "q"}, Schema: &Schema{Fields: map[string]Field{"q": {Type: FieldNumber}}}})
	ix.put("1", map[string]any{"q": 0.5, "pr": 0.1})
	for _, sealed := range []bool{false, true} {
		if sealed {
			ix.flush()
		}
		ix.reopen(&Options{Schema: &Schema{Fields: map[string]Field{fmt.Sprint("f", sealed): {}}}}) // does not mention a rank
		ix.must(ix.Close())
		_, err := Open(ix.dir, &Options{Rank: Rank{Field: "pr"}})
		if err == nil || !strings.Contains(err.Error(), `Options.Rank.Field: documents of the index have their static rank from "q", not from "pr"`) {
			t.Errorf("sealed %v: %v", sealed, err)
		}
		ix.open(&Options{Rank: Rank{Field: "q", Alpha: 0.5}})
	}
}

// TestSchemaIsCopiedWhole: internally a schema has another type. Conversions in both directions
// lose nothing.
func TestSchemaIsCopiedWhole(t *testing.T) {
	s := &Schema{Fields: map[string]Field{"f": {Type: FieldDate, CopyFrom: []string{"g"}, Positions: PositionsStored, Column: ColumnNone}}, Dynamic: DynamicStore, Analyzer: "english", NoStore: true, Words: analysis.WordsBleve,
		Analyzers: analysis.Declarations{"a": {Tokenizer: analysis.Component{Type: "letters"}}}, Positions: PositionsNone, Columns: ColumnNone}
	v := reflect.ValueOf(*s)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("this test gives %s no value", v.Type().Field(i).Name)
		}
	}
	if inside := s.internal(); v.NumField() != reflect.ValueOf(*inside).NumField() {
		t.Errorf("a schema inside has %d members, not %d", reflect.ValueOf(*inside).NumField(), v.NumField())
	}
	if back, err := publicSchema(s.internal(), nil); err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("%+v comes back as %+v, %v", s, back, err)
	}
}

// TestSchemaValidate: Validate refuses what Open refuses, and names all of it.
func TestSchemaValidate(t *testing.T) {
	for _, s := range []*Schema{nil, {}, {Analyzer: "english", Fields: map[string]Field{"a": {Type: FieldText}, "b": {Type: FieldText, CopyFrom: []string{"a"}}}}} {
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
	}
	bad := &Schema{Analyzer: "klingon", Fields: map[string]Field{"b": {Type: FieldNumber, Analyzer: "english"}}}
	err := bad.Validate()
	if err == nil || !strings.Contains(err.Error(), "klingon") || !strings.Contains(err.Error(), `"b"`) {
		t.Error(err)
	}
	e, openErr := Open(t.TempDir(), &Options{Schema: bad})
	if openErr == nil {
		e.Close()
		t.Error("Open takes what Validate refuses")
	}
}
