package document

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// placesOf returns the positions of each term of a field, as a document of these values is indexed.
func placesOf(t *testing.T, s *Schema, field string, doc map[string]any) string {
	t.Helper()
	values, err := Flatten(doc)
	if err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (analysis.Analyzer, error) {
		if name == "grams" {
			return analysis.New("grams", analysis.NGrams{Min: 1, Max: 2}), nil
		}
		return analysis.Lookup(name)
	}
	var c segment.Chunk
	if err := NewInverter(s, "", lookup, false).Invert(&c, "a", values); err != nil {
		t.Fatal(err)
	}
	c.Group(segment.OnePartition())
	m := segment.NewMemory()
	m.AddChunk(&c)
	v := m.View()
	it, err := v.Terms(field, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for it.Next() {
		l, err := it.List()
		if err != nil {
			t.Fatal(err)
		}
		if !l.HasPositions() {
			all = append(all, fmt.Sprintf("%q", it.Term()))
			continue
		}
		var p postings.Positions
		p.Reset(l)
		if err := p.Load(0); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%q%v", it.Term(), p.Append(nil, 0)))
	}
	return strings.Join(all, " ")
}

// TestPositions spells out where words are.
func TestPositions(t *testing.T) {
	stored := &Schema{
		Positions: PositionsStored,
		Fields: map[string]Field{
			"none":    {Positions: PositionsNone},
			"key":     {Type: KeywordField},
			"english": {Analyzer: "english"},
			"grams":   {Analyzer: "grams"},
			"both":    {CopyFrom: []string{"a", "b"}},
		},
	}
	for _, c := range []struct {
		schema *Schema
		field  string
		value  any
		want   string
	}{
		{stored, "a", "to be or not to be", `"be"[1 5] "not"[3] "or"[2] "to"[0 4]`},
		{stored, "a", []string{"to be", "", "be there"}, `"be"[1 102] "there"[103] "to"[0]`},
		{stored, "a", []any{"one two", 7, "three"}, "\"\\x00i\\x80\\x00\\x00\\x00\\x00\\x00\\x00\\a\"[0] \"one\"[0] \"three\"[102] \"two\"[1]"},
		{stored, "english", "The dogs of the war", `"dog"[1] "war"[4]`},
		{stored, "english", []string{"dogs of", "of war"}, `"dog"[0] "war"[102]`},
		{stored, "grams", "ab", `"a"[0] "ab"[0] "b"[1]`},
		{stored, "none", "a b", `"a" "b"`},
		{stored, "key", "a b", `"a b"`},
		{&Schema{}, "a", "a b", `"a" "b"`},
		{&Schema{Positions: PositionsNone, Fields: map[string]Field{"a": {Positions: PositionsStored}}}, "a", "a b", `"a"[0] "b"[1]`},
		{&Schema{Positions: PositionsNone, Fields: map[string]Field{"a": {Positions: PositionsStored}}}, "b", "a b", `"a" "b"`},
	} {
		if got := placesOf(t, c.schema, c.field, map[string]any{c.field: c.value}); got != c.want {
			t.Errorf("%s: %v: %s, want %s", c.field, c.value, got, c.want)
		}
	}
	doc := map[string]any{"a": []string{"x", "y z"}, "b": "w"}
	if got, want := placesOf(t, stored, "both", doc), `"w"[203] "x"[0] "y"[101] "z"[102]`; got != want {
		t.Errorf("a copy: %s, want %s", got, want)
	}
	long := strings.Repeat("w ", 3000) // more than a batch of the analyzer
	if got := placesOf(t, stored, "a", map[string]any{"a": long + "end"}); !strings.HasPrefix(got, `"end"[3000] "w"[0 1 2 `) {
		t.Errorf("%.100s", got)
	}
}

// TestKeptPositions: schemas that mention positions have a version of their own; others do not.
func TestKeptPositions(t *testing.T) {
	for _, s := range []*Schema{{}, {Positions: PositionsStored}, {Positions: PositionsNone}, {Fields: map[string]Field{"a": {Positions: PositionsNone}}}} {
		s.Words = analysis.WordsUnicode8
		kept := string(s.Kept())
		if mentioned := strings.Contains(kept, "positions"); strings.Contains(kept, `"version":3`) != mentioned {
			t.Errorf("%s", kept)
		}
		if back, err := ParseKept([]byte(kept)); err != nil || back.String() != s.String() {
			t.Errorf("%s comes back as %v, %v", kept, back, err)
		}
	}
	if (&Schema{}).New().Positions != PositionsStored || (&Schema{Positions: PositionsNone}).New().Positions != PositionsNone {
		t.Error("a new index has other positions")
	}
}

// TestExtendPositions: an index keeps the positions of its fields.
func TestExtendPositions(t *testing.T) {
	earlier := &Schema{Fields: map[string]Field{"a": {}}}
	for _, c := range []struct {
		index, with *Schema
		refused     bool
	}{
		{earlier, &Schema{Positions: PositionsStored}, true},
		{earlier, &Schema{Positions: PositionsNone}, false},
		{earlier, &Schema{Fields: map[string]Field{"a": {Positions: PositionsStored}}}, true},
		{earlier, &Schema{Fields: map[string]Field{"b": {Positions: PositionsStored}}}, false},
		{earlier.New(), &Schema{Positions: PositionsNone}, true},
		{earlier.New(), &Schema{Fields: map[string]Field{"a": {Positions: PositionsStored}}}, false},
		{earlier.New(), &Schema{Fields: map[string]Field{"a": {Positions: PositionsNone}}}, true},
	} {
		for _, alter := range []bool{false, true} {
			got, err := c.index.Extend(c.with, alter)
			if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "Reindex") {
				t.Errorf("%v with %v: %v", c.index, c.with, err)
			}
			if err == nil && got.HasPositions("a") != c.index.HasPositions("a") {
				t.Errorf("%v with %v: %v", c.index, c.with, got)
			}
		}
	}
	narrow := earlier.New()
	wide, err := narrow.Extend(&Schema{Fields: map[string]Field{"new": {Positions: PositionsNone}}}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := narrow.CheckWords("new", wide); err == nil || !strings.Contains(err.Error(), "with positions") {
		t.Errorf("documents have the words with positions: %v", err)
	}
	if !slices.Contains(narrow.Declared(wide), "new") {
		t.Error("the field is not checked")
	}
}
