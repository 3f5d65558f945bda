package riffle

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/riffle-search/riffle/internal/document"
)

// TestDocumentsComeBack puts documents and loads them.
func TestDocumentsComeBack(t *testing.T) {
	ix := newIndex(t, nil)
	at := time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	ix.put("1", map[string]any{
		"s": "text", "i": -7, "f": 0.25, "b": false, "t": at, "empty": "",
		"many": []any{"a", 1, true}, "one": []string{"x"}, "none": []string{}, "o": map[string]any{"p": "q"},
		"nul": "a\x00b", "invalid": "a\xffb", "big": int64(math.MaxInt64),
	})
	want := map[string]any{
		"s": "text", "i": int64(-7), "f": 0.25, "b": false, "t": at, "empty": "",
		"many": []any{"a", int64(1), true}, "one": "x", "o.p": "q",
		"nul": "a\x00b", "invalid": "a\xffb", "big": int64(math.MaxInt64),
	}
	for _, state := range []string{"in memory", "sealed", "reopened"} {
		switch state {
		case "sealed":
			ix.flush()
		case "reopened":
			ix.reopen(nil)
		}
		got, err := ix.Get(t.Context(), "1")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v\nwant %v", state, got, err, want)
		}
		// The returned shape can be put again.
		again, err := document.Flatten(got)
		if err != nil || !reflect.DeepEqual(document.Unflatten(again), want) {
			t.Errorf("%s: flattened again: %v, %v", state, again, err)
		}
	}
}

type (
	schemaInner    struct{ X, Y int }
	SchemaEmbedded struct{ E int }
	SchemaWord     string
	schemaTree     struct{ Left, Right *schemaTree }
)

func TestSchemaOf(t *testing.T) {
	type all struct {
		S   string      `riffle:"s,nostore"`
		K   []string    `riffle:"k,keyword,noindex"`
		B   []byte      `riffle:"b,analyzer=english"`
		I   *int64      `riffle:"i"`
		N   json.Number `riffle:"n"`
		F   [2]float32
		T   []time.Time
		Yes bool
		In  []schemaInner `riffle:"in"`
		SchemaEmbedded
		SchemaWord
		Out    chan int `riffle:"-"`
		hidden chan int
	}
	s, err := SchemaOf(&all{hidden: nil})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Field{
		"s":          {NoStore: true},
		"k":          {Type: FieldKeyword, NoIndex: true},
		"b":          {Analyzer: "english"},
		"i":          {Type: FieldNumber},
		"n":          {Type: FieldNumber},
		"F":          {Type: FieldNumber},
		"T":          {Type: FieldDate},
		"Yes":        {Type: FieldBool},
		"in.X":       {Type: FieldNumber},
		"in.Y":       {Type: FieldNumber},
		"E":          {Type: FieldNumber},
		"SchemaWord": {Type: FieldText},
	}
	if !reflect.DeepEqual(s.Fields, want) {
		t.Errorf("got %v\nwant %v", s.Fields, want)
	}
	// The schema and the document must agree.
	ix := newIndex(t, &Options{Schema: s})
	i := int64(3)
	ix.put("1", &all{S: "x", K: []string{"k"}, B: []byte("words"), I: &i, N: "4", T: []time.Time{time.Now()}, In: []schemaInner{{}}})
}

func TestSchemaOfRefuses(t *testing.T) {
	type slice []slice
	for _, c := range []struct {
		doc  any
		want string
	}{
		{nil, "takes a struct, not <nil>"},
		{map[string]any{}, "takes a struct, not map[string]interface {}"},
		{&time.Time{}, "takes a struct, not *time.Time"},
		{struct{ C chan int }{}, `field "C": a chan int cannot be indexed`},
		{struct{ S slice }{}, `field "S"`},
		{struct {
			N int `riffle:"n,keyword"`
		}{}, `field "n": tag item "keyword" is not understood for a int`},
		{struct {
			S string `riffle:"s,stored"`
		}{}, `tag item "stored" is not understood`},
		{schemaTree{}, "nested deeper than 32"},
	} {
		if _, err := SchemaOf(c.doc); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %q", c.doc, err, c.want)
		}
	}
}
