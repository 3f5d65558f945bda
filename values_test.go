package riffle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// eachState runs a check on documents in memory, then read from the log, then sealed.
func (ix *testIndex) eachState(check func(state string)) {
	ix.t.Helper()
	o := ix.opts
	o.Schema = nil // the one stored in the index
	check("in memory")
	ix.reopen(&o)
	check("from the log")
	ix.flush()
	check("sealed")
	ix.reopen(&o)
	check("reopened")
}

// TestUnsignedNumbers: integers above all int64 come in as values, as JSON and as text, are exact in
// terms, ranges and stored fields, and compare with all other numbers.
func TestUnsignedNumbers(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{"n": {Type: FieldNumber}}}})
	const most = uint64(math.MaxUint64)
	ix.put("most", map[string]any{"n": most})
	ix.put("next", map[string]any{"n": json.Number("18446744073709551614")})
	ix.put("least", struct {
		N uint64 `riffle:"n"`
	}{1 << 63})
	ix.put("float", map[string]any{"n": 0x1p63})
	ix.put("beyond", map[string]any{"n": 0x1p64})
	ix.put("int", map[string]any{"n": int64(math.MaxInt64)})
	ix.put("several", map[string]any{"n": []any{-1, most - 5, 1.5}})
	ix.eachState(func(state string) {
		for _, c := range []struct {
			q    Query
			want []string
		}{
			{Term{"n", most}, []string{"most"}},
			{Term{"n", most - 1}, []string{"next"}},
			{Term{"n", json.Number("18446744073709551610")}, []string{"several"}},
			{match("n", "18446744073709551615"), []string{"most"}},
			{Term{"n", uint64(1 << 63)}, []string{"float", "least"}},
			{Term{"n", 0x1p63}, []string{"float", "least"}},
			{Term{"n", 0x1p64}, []string{"beyond"}},
			{Range{Field: "n", From: most - 5, To: most}, []string{"next", "several"}},
			{Range{Field: "n", From: most - 1, ExcludeFrom: true}, []string{"beyond", "most"}},
			{Range{Field: "n", From: int64(math.MaxInt64), To: 0x1p64}, []string{"float", "int", "least", "most", "next", "several"}},
			{Range{Field: "n", From: 0x1p63, ExcludeFrom: true, To: "18446744073709551615", IncludeTo: true}, []string{"most", "next", "several"}},
			{Range{Field: "n", To: uint64(1 << 63)}, []string{"int", "several"}},
		} {
			got := ix.ids(c.q)
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v: %v, want %v", state, c.q, got, c.want)
			}
			data, err := json.Marshal(c.q)
			ix.must(err)
			again, err := UnmarshalQuery(data)
			ix.must(err)
			if got := ix.ids(again); len(got) != len(c.want) {
				t.Errorf("%s: %s: %v, want %v", state, data, got, c.want)
			}
		}
		for _, text := range []string{"n:18446744073709551615", "n:>18446744073709551614 -n:18446744073709551616"} {
			q, err := ParseQuery(text, &ParseOptions{Schema: ix.Schema()})
			ix.must(err)
			if got := ix.ids(q); !slices.Equal(got, []string{"most"}) {
				t.Errorf("%s: %s: %v", state, text, got)
			}
		}
		for id, want := range map[string]any{"most": most, "next": most - 1, "least": uint64(1 << 63), "float": uint64(1 << 63), "beyond": 0x1p64, "several": []any{int64(-1), most - 5, 1.5}} {
			if got, err := ix.Get(ctx, id); err != nil || !reflect.DeepEqual(got["n"], want) {
				t.Errorf("%s: %s is stored as %v, %v, want %v", state, id, got["n"], err, want)
			}
		}
	})
}

// TestDateStrings: a date field accepts RFC 3339 and dates from JSON, maps and structs, and
// returns the same times.
func TestDateStrings(t *testing.T) {
	ix := newIndex(t, &Options{Schema: &Schema{Fields: map[string]Field{
		"d": {Type: FieldDate}, "both": {CopyFrom: []string{"d", "t"}},
	}}})
	at := time.Date(2024, 1, 5, 10, 0, 0, 5, time.UTC)
	var parsed map[string]any
	ix.must(json.Unmarshal([]byte(`{"d": "2024-01-05T10:00:00.000000005Z", "t": "word"}`), &parsed))
	ix.put("json", parsed)
	ix.put("offset", map[string]string{"d": "2024-01-05T11:00:00.000000005+01:00"})
	ix.put("struct", struct {
		D string `riffle:"d"`
	}{"2024-01-05"})
	ix.put("several", map[string]any{"d": []any{"2024-01-05", at}})
	ix.put("time", map[string]any{"d": at})
	ix.eachState(func(state string) {
		for _, c := range []struct {
			q    Query
			want []string
		}{
			{Term{"d", at}, []string{"json", "offset", "several", "time"}},
			{match("d", "2024-01-05T10:00:00.000000005Z"), []string{"json", "offset", "several", "time"}},
			{match("d", "2024-01-05"), []string{"several", "struct"}},
			{match("both", "2024"), nil}, // a date is no text
			{match("both", "word"), []string{"json"}},
		} {
			got := ix.ids(c.q)
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v: %v, want %v", state, c.q, got, c.want)
			}
		}
		for id, want := range map[string]any{"offset": "2024-01-05T11:00:00.000000005+01:00", "struct": "2024-01-05", "several": []any{"2024-01-05", at}, "time": at} {
			if got, err := ix.Get(ctx, id); err != nil || !reflect.DeepEqual(got["d"], want) {
				t.Errorf("%s: %s is stored as %v, %v, want %v", state, id, got["d"], err, want)
			}
		}
	})
	for _, bad := range []string{"", "today", "2024-13-01", "2024-01-05 10:00:00", "2024-01-05T10:00:00"} {
		err := ix.Put(ctx, "bad", map[string]any{"d": bad})
		var de *DocumentError
		if !errors.As(err, &de) || de.Field != "d" || !strings.Contains(err.Error(), fmt.Sprintf("%q is not a time", bad)) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestUndeclaredDateIsText: a string of an undeclared field stays a text, whatever it looks like.
func TestUndeclaredDateIsText(t *testing.T) {
	ix := newIndex(t, nil)
	ix.put("1", map[string]any{"d": "2024-01-05"})
	ix.eachState(func(state string) {
		if got := ix.ids(match("d", "2024")); len(got) != 1 {
			t.Errorf("%s: not found by a word", state)
		}
	})
}

// TestArraysEverywhere: Put and Build accept the same arrays from JSON.
func TestArraysEverywhere(t *testing.T) {
	const line = `{"id": "a", "n": [1, 2.5, -3], "d": ["2024-01-05", "2024-01-06T00:00:00Z"], "b": [true, false], "k": ["Big House", null, "x"], "mixed": ["word", 7, true]}`
	schema := &Schema{Fields: map[string]Field{"n": {Type: FieldNumber}, "d": {Type: FieldDate}, "b": {Type: FieldBool}, "k": {Type: FieldKeyword}}}
	file := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(file, []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	built := filepath.Join(t.TempDir(), "built")
	if _, err := Build(ctx, built, JSONLines{Files: []string{file}}, &BuildOptions{Index: Options{Schema: schema}}); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(line), &doc); err != nil {
		t.Fatal(err)
	}
	delete(doc, "id")
	type typed struct {
		N     []float64 `riffle:"n"`
		D     []string  `riffle:"d"`
		B     [2]bool   `riffle:"b"`
		K     []string  `riffle:"k,keyword"`
		Mixed []any     `riffle:"mixed"`
	}
	want := map[string]any{
		"n": []any{int64(1), 2.5, int64(-3)}, "d": []any{"2024-01-05", "2024-01-06T00:00:00Z"}, "b": []any{true, false},
		"k": []any{"Big House", "x"}, "mixed": []any{"word", int64(7), true},
	}
	for name, make := range map[string]func() *testIndex{
		"build": func() *testIndex { return openIndex(t, built, nil) },
		"map": func() *testIndex {
			ix := newIndex(t, &Options{Schema: schema})
			ix.put("a", doc)
			return ix
		},
		"struct": func() *testIndex {
			ix := newIndex(t, &Options{Schema: schema})
			ix.put("a", typed{[]float64{1, 2.5, -3}, []string{"2024-01-05", "2024-01-06T00:00:00Z"}, [2]bool{true, false}, []string{"Big House", "x"}, []any{"word", 7, true}})
			return ix
		},
	} {
		ix := make()
		for _, q := range []Query{Term{"n", 2.5}, Term{"n", -3}, match("d", "2024-01-06"), Term{"b", true}, Term{"b", false}, Term{"k", "Big House"}, Term{"mixed", 7}, match("mixed", "word")} {
			if got := ix.ids(q); len(got) != 1 {
				t.Errorf("%s: %v: %v", name, q, got)
			}
		}
		if got, err := ix.Get(ctx, "a"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: stored %v, %v\nwant %v", name, got, err, want)
		}
	}
}

// openIndex opens an existing index.
func openIndex(t testing.TB, dir string, o *Options) *testIndex {
	ix := &testIndex{t: t, dir: dir}
	ix.open(o)
	t.Cleanup(func() { ix.Close() })
	return ix
}

// TestNoValueVanishes: a value that cannot be indexed is an error that names document and field.
func TestNoValueVanishes(t *testing.T) {
	ix := newIndex(t, nil)
	for _, v := range []any{big.NewInt(5), errors.New("boom"), strings.NewReader("x"), struct{ hidden int }{1}} {
		err := ix.Put(ctx, "1", map[string]any{"v": v})
		var de *DocumentError
		if !errors.As(err, &de) || de.ID != "1" || de.Field != "v" {
			t.Errorf("%T: %v", v, err)
		}
	}
	ix.put("1", map[string]any{"v": netip.MustParseAddr("1.2.3.4")})
	if got, err := ix.Get(ctx, "1"); err != nil || got["v"] != "1.2.3.4" {
		t.Errorf("an address: %v, %v", got, err)
	}
}

type taggedInner struct {
	A string
	N int
}

// taggedDocument has every rule that a tag can give a field.
type taggedDocument struct {
	Secret string         `riffle:"secret,noindex,nostore"`
	Note   string         `riffle:"note,noindex"`
	Words  []string       `riffle:"words,nostore"`
	URL    string         `riffle:"url,keyword"`
	In     taggedInner    `riffle:"in,noindex"`
	Extra  map[string]any `riffle:"extra,nostore"`
	Plain  string
}

// TestTagsWithoutSchema: tags apply to structs whether or not a schema has them.
func TestTagsWithoutSchema(t *testing.T) {
	tagged, err := SchemaOf(taggedDocument{})
	if err != nil {
		t.Fatal(err)
	}
	plain := &Schema{Fields: map[string]Field{"secret": {}, "note": {}, "words": {}, "url": {Type: FieldKeyword}, "Plain": {}}}
	doc := taggedDocument{"hunter2", "memo", []string{"alpha", "beta"}, "https://example.com/a", taggedInner{"inner", 5}, map[string]any{"x": "extra"}, "plain"}
	for name, schema := range map[string]*Schema{"no schema": nil, "the tags' schema": tagged, "a schema without rules": plain} {
		ix := newIndex(t, &Options{Schema: schema, AllowUnknownFields: true})
		ix.put("1", &doc)
		ix.eachState(func(state string) {
			for _, c := range []struct {
				q    Query
				want int
			}{
				{match("secret", "hunter2"), 0}, {match("note", "memo"), 0}, {match("in.A", "inner"), 0}, {Term{"in.N", 5}, 0},
				{match("words", "beta"), 1}, {Term{"url", "https://example.com/a"}, 1}, {Term{"url", "example.com"}, 0},
				{match("extra.x", "extra"), 1}, {match("Plain", "plain"), 1},
			} {
				if got := len(ix.ids(c.q)); got != c.want {
					t.Errorf("%s, %s: %v: %d documents, want %d", name, state, c.q, got, c.want)
				}
			}
			want := map[string]any{"note": "memo", "url": "https://example.com/a", "in.A": "inner", "in.N": int64(5), "Plain": "plain"}
			if got, err := ix.Get(ctx, "1"); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s: stored %v, %v\nwant %v", name, state, got, err, want)
			}
		})
		st, err := ix.Stats()
		ix.must(err)
		for _, f := range st.Fields {
			if slices.Contains([]string{"secret", "note", "in.A", "in.N"}, f.Name) {
				t.Errorf("%s: the index has a field %s", name, f.Name)
			}
		}
	}
	ix := newIndex(t, nil)
	err = ix.Put(ctx, "1", struct {
		T string `riffle:"t,analyzer=english"`
	}{"running"})
	if err == nil || !strings.Contains(err.Error(), `document "1": field "t": its tag names an analyzer`) {
		t.Errorf("an analyzer without a schema: %v", err)
	}
}

// TestBuildHoldsTags: Build obeys the tags of structs, too.
func TestBuildHoldsTags(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "built")
	docs := Documents(func(yield func(Document, error) bool) {
		yield(Document{ID: "1", Value: taggedDocument{Secret: "hunter2", URL: "a b"}}, nil)
	})
	if _, err := Build(ctx, dir, docs, nil); err != nil {
		t.Fatal(err)
	}
	ix := openIndex(t, dir, &Options{AllowUnknownFields: true})
	if got := ix.ids(match("secret", "hunter2")); len(got) != 0 {
		t.Error("found in spite of noindex")
	}
	if got := ix.ids(Term{"url", "a b"}); len(got) != 1 {
		t.Error("a keyword by its tag is not one term")
	}
	if got, err := ix.Get(ctx, "1"); err != nil || got["secret"] != nil {
		t.Errorf("stored in spite of nostore: %v, %v", got, err)
	}
}

// TestSchemaOfTakesWhatPutTakes: maps and interfaces in a struct are fields that no schema can
// name.
func TestSchemaOfTakesWhatPutTakes(t *testing.T) {
	type product struct {
		taggedInner
		Name  map[string]string `riffle:"name"`
		Extra map[string]any
		Any   any
		IP    netip.Addr `riffle:"ip,keyword"`
	}
	s, err := SchemaOf(product{})
	want := map[string]Field{"A": {}, "N": {Type: FieldNumber}, "ip": {Type: FieldKeyword}}
	if err != nil || !reflect.DeepEqual(s.Fields, want) {
		t.Errorf("%v, %v, want %v", s, err, want)
	}
	ix := newIndex(t, &Options{Schema: s})
	ix.put("1", product{taggedInner{"a", 1}, map[string]string{"en": "x"}, map[string]any{"a": 1}, "y", netip.MustParseAddr("::1")})
	for _, q := range []Query{match("A", "a"), match("name.en", "x"), Term{"Extra.a", 1}, match("Any", "y"), Term{"ip", "::1"}} {
		if got := ix.ids(q); len(got) != 1 {
			t.Errorf("%v: %v", q, got)
		}
	}
}

// TestSimilarityDefaults: a parameter of BM25 left at 0 is the default, and BM25Zero is 0.
func TestSimilarityDefaults(t *testing.T) {
	ix := newIndex(t, nil)
	ix.put("1", map[string]any{"t": "x x y"})
	ix.put("2", map[string]any{"t": "x y z z z z z"})
	score := func(m *BM25) string {
		var scores []float64
		for _, h := range ix.search(match("t", "x y"), &SearchOptions{Similarity: m}).Hits {
			scores = append(scores, h.Score)
		}
		return fmt.Sprint(scores)
	}
	for _, c := range []struct {
		m    BM25
		same BM25
	}{
		{BM25{}, BM25{K1: 1.2, B: 0.75}},
		{BM25{K1: 0.9}, BM25{K1: 0.9, B: 0.75}},
		{BM25{B: 0.3}, BM25{K1: 1.2, B: 0.3}},
	} {
		if got, want := score(&c.m), score(&c.same); got != want {
			t.Errorf("%+v scores %s, and %+v %s", c.m, got, c.same, want)
		}
		o := (&Options{Similarity: &c.m}).withDefaults()
		if got := *o.Similarity; got != c.same {
			t.Errorf("Options with %+v have %+v", c.m, got)
		}
	}
	flat := BM25{K1: 0.9, B: BM25Zero}
	if score(&flat) == score(&BM25{K1: 0.9}) {
		t.Error("BM25Zero as B is the default")
	}
	if o := (&Options{Similarity: &BM25{K1: BM25Zero, B: BM25Zero}}).withDefaults(); *o.Similarity != (BM25{}) {
		t.Errorf("BM25Zero is %+v", *o.Similarity)
	}
}

// ownSource is a Source that an application defines.
type ownSource []error

// Documents yields a document and then each of the errors, and at last another document.
func (s ownSource) Documents(context.Context) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		more := yield(Document{ID: "first", Fields: map[string]any{"t": "x"}}, nil)
		for _, err := range s {
			more = more && yield(Document{}, err)
		}
		if more {
			yield(Document{ID: "last", Value: struct{ T string }{"y"}}, nil)
		}
	}
}

// TestBuildFromOwnSource: an application may define a source, and it may fail.
func TestBuildFromOwnSource(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "good")
	if _, err := Build(ctx, dir, ownSource{}, nil); err != nil {
		t.Fatal(err)
	}
	ix := openIndex(t, dir, nil)
	if got := ix.sortedIDs(All{}); !slices.Equal(got, []string{"first", "last"}) {
		t.Errorf("built %v", got)
	}
	// A build from the documents of a snapshot.
	s, err := ix.Snapshot()
	ix.must(err)
	defer s.Close()
	again := filepath.Join(t.TempDir(), "again")
	if _, err := Build(ctx, again, Documents(s.Documents("")), nil); err != nil {
		t.Fatal(err)
	}
	if got := openIndex(t, again, nil).sortedIDs(All{}); !slices.Equal(got, []string{"first", "last"}) {
		t.Errorf("built again: %v", got)
	}

	broken := errors.New("the database is gone")
	if _, err := Build(ctx, filepath.Join(t.TempDir(), "bad"), ownSource{broken}, nil); !errors.Is(err, broken) {
		t.Errorf("a source that fails: %v", err)
	}
	fault := &DocumentError{ID: "second", Err: errors.New("no good")}
	if _, err := Build(ctx, filepath.Join(t.TempDir(), "bad"), ownSource{fault}, nil); !errors.Is(err, fault) {
		t.Errorf("a document that is none: %v", err)
	}
	var bad []error
	res, err := Build(ctx, filepath.Join(t.TempDir(), "skip"), ownSource{fault, fault}, &BuildOptions{Bad: func(err error) error {
		bad = append(bad, err)
		return nil
	}})
	if err != nil || res.Docs != 2 || res.Bad != 2 || len(bad) != 2 {
		t.Errorf("%+v, %v, faults %v", res, err, bad)
	}
}

// TestJSONLinesAsDocuments: lines can be read one by one, as Build takes them.
func TestJSONLinesAsDocuments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(file, []byte("{\"id\":\"a\",\"t\":\"x\"}\n\n{bad}\n{\"id\":7,\"n\":[1,2]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	for d, err := range (JSONLines{Files: []string{file, file + ".none"}, IDPrefix: "p-"}).Documents(ctx) {
		var in *InputError
		switch {
		case errors.As(err, &in):
			got = append(got, fmt.Sprintf("line %d", in.Line))
		case err != nil:
			got = append(got, fmt.Sprint(errors.Is(err, os.ErrNotExist)))
		default:
			got = append(got, fmt.Sprintln(d.ID, d.Fields))
		}
	}
	if want := []string{"p-a map[t:x]\n", "line 3", "p-7 map[n:[1 2]]\n", "true"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOutOfRange: meaningless numbers are refused.
func TestOutOfRange(t *testing.T) {
	ix := newIndex(t, nil)
	_, err := ix.Search(ctx, All{}, &SearchOptions{Processor: 77})
	if err == nil || !strings.Contains(err.Error(), "SearchOptions.Processor: must be ProcessorAuto, ProcessorCPU or ProcessorGPU, not 77") {
		t.Errorf("processor 77: %v", err)
	}
	_, err = Build(ctx, filepath.Join(t.TempDir(), "x"), JSONLines{Readers: -3}, nil)
	if err == nil || !strings.Contains(err.Error(), "JSONLines.Readers: must not be negative, not -3") {
		t.Errorf("-3 readers: %v", err)
	}
	ix.must(ix.Close())
	for name, err := range map[string]error{"Put": ix.Put(ctx, "1", map[string]any{}), "Flush": ix.Flush(ctx), "Compact": ix.Compact(ctx)} {
		if !errors.Is(err, ErrClosed) || !strings.HasPrefix(err.Error(), "riffle: ") {
			t.Errorf("%s of a closed Engine: %v", name, err)
		}
	}
}
