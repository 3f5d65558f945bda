package document

import (
	"strings"
	"testing"

	"github.com/riffle-search/riffle/analysis"
)

// TestHasColumn: which fields have a column, by the schema.
func TestHasColumn(t *testing.T) {
	fields := map[string]Field{
		"text":   {},
		"key":    {Type: KeywordField},
		"none":   {Type: NumberField, Column: ColumnNone},
		"stored": {Type: DateField, Column: ColumnStored},
		"hidden": {Type: BoolField, NoIndex: true},
		"ranged": {Type: NumberField, NoIndex: true, Column: ColumnStored},
	}
	for _, c := range []struct {
		schema *Schema
		want   string
	}{
		{&Schema{Fields: fields, Columns: ColumnStored}, "key stored ranged other"},
		{&Schema{Fields: fields, Columns: ColumnStored, Dynamic: DynamicStore}, "key stored ranged"},
		{&Schema{Fields: fields, Columns: ColumnNone}, "stored ranged"},
		{&Schema{Fields: fields}, "stored ranged"}, // of an index of an earlier release
		{(&Schema{Fields: fields}).New(), "key stored ranged other"},
		{(&Schema{Fields: fields, Columns: ColumnNone}).New(), "stored ranged"},
	} {
		var got []string
		for _, name := range []string{"text", "key", "none", "stored", "hidden", "ranged", "other"} {
			if c.schema.HasColumn(name) {
				got = append(got, name)
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%v: %s, want %s", c.schema, got, c.want)
		}
	}
}

// TestColumnsRefused: a schema that asks for a column of text, or for one that is not known.
func TestColumnsRefused(t *testing.T) {
	for _, c := range []struct {
		schema *Schema
		want   string
	}{
		{&Schema{Fields: map[string]Field{"t": {Column: ColumnStored}}}, `Schema.Fields["t"]: a column goes with a keyword, number, date, bool or place field, this one is text`},
		{&Schema{Fields: map[string]Field{"n": {Type: NumberField, Column: 3}}}, `Schema.Fields["n"]: unknown column 3`},
		{&Schema{Columns: 3}, "Schema.Columns: unknown value 3"},
		{&Schema{Fields: map[string]Field{"t": {Column: ColumnNone}}}, ""},
	} {
		err := c.schema.Validate(analysis.Lookup)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%v: %v, want %q", c.schema.Fields, err, c.want)
		}
	}
	if _, err := ParseSchema([]byte(`{"columns":"some"}`)); err == nil || !strings.Contains(err.Error(), `unknown column "some" (want one of none, stored)`) {
		t.Error(err)
	}
}

// TestKeptColumns: schemas that mention columns have a version of their own; others do not.
func TestKeptColumns(t *testing.T) {
	for _, s := range []*Schema{
		{}, {Columns: ColumnStored}, {Columns: ColumnNone}, {Positions: PositionsStored, Columns: ColumnStored},
		{Fields: map[string]Field{"a": {Type: NumberField, Column: ColumnNone}}},
		{Fields: map[string]Field{"a": {PhrasePairs: []string{"x", "y"}}}, Columns: ColumnStored},
	} {
		s.Words = analysis.WordsUnicode8
		kept := string(s.Kept())
		if mentioned := strings.Contains(kept, "column"); strings.Contains(kept, `"version":5`) != mentioned {
			t.Errorf("%s", kept)
		}
		if back, err := ParseKept([]byte(kept)); err != nil || back.String() != s.String() {
			t.Errorf("%s comes back as %v, %v", kept, back, err)
		}
	}
	if pairs := (&Schema{Fields: map[string]Field{"a": {PhrasePairs: []string{"x", "y"}}}}).Kept(); !strings.Contains(string(pairs), `"version":4`) {
		t.Errorf("%s", pairs)
	}
}

// TestExtendColumns: an index keeps the columns of its fields.
func TestExtendColumns(t *testing.T) {
	number := func(c Column, noIndex bool) *Schema {
		return &Schema{Fields: map[string]Field{"a": {Type: NumberField, Column: c, NoIndex: noIndex}}}
	}
	earlier := number(ColumnDefault, false)
	for _, c := range []struct {
		index, with *Schema
		refused     bool
	}{
		{earlier, &Schema{Columns: ColumnStored}, true},
		{earlier, &Schema{Columns: ColumnNone}, false},
		{earlier, number(ColumnStored, false), true},
		{earlier, number(ColumnNone, false), false},
		{earlier, &Schema{Fields: map[string]Field{"b": {Type: NumberField, Column: ColumnStored}}}, false},
		{earlier.New(), &Schema{Columns: ColumnNone}, true},
		{earlier.New(), number(ColumnStored, false), false},
		{earlier.New(), number(ColumnNone, false), true},
		{number(ColumnDefault, true).New(), number(ColumnStored, true), true},
		{number(ColumnStored, true).New(), number(ColumnStored, true), false},
		{number(ColumnStored, true).New(), number(ColumnNone, true), true},
	} {
		for _, alter := range []bool{false, true} {
			got, err := c.index.Extend(c.with, alter)
			if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "Reindex") {
				t.Errorf("%v with %v: %v", c.index, c.with, err)
			}
			if err == nil && got.HasColumn("a") != c.index.HasColumn("a") {
				t.Errorf("%v with %v: %v", c.index, c.with, got)
			}
		}
	}
	for _, c := range []struct {
		index *Schema
		field Field
		want  string
	}{
		{(&Schema{}).New(), Field{Type: NumberField, Column: ColumnNone}, "with a column"},
		{&Schema{}, Field{Type: NumberField, Column: ColumnStored}, "without a column"},
		{&Schema{}, Field{Type: NumberField, Column: ColumnStored, NoIndex: true}, "without a column"},
		{(&Schema{}).New(), Field{Type: NumberField}, ""},
		{&Schema{}, Field{Type: NumberField}, ""},
	} {
		wide, err := c.index.Extend(&Schema{Fields: map[string]Field{"new": c.field}}, false)
		if err != nil {
			t.Fatal(err)
		}
		v := Int("new", 7)
		err = c.index.CheckTerm("new", AppendTerm(nil, v), wide)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: documents have the field as %+v: %v, want %q", c.index, c.field, err, c.want)
		}
		if names := c.index.Declared(wide); len(names) != 1 || names[0] != "new" {
			t.Errorf("%v: %q are checked", wide, names)
		}
	}
}
