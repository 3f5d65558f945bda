package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/internal/document"
)

// A query names fields. One that neither the schema declares nor any document of the index has is a
// mistake, most often of spelling, unless Settings.AllowUnknown is set. What counts is the index that is
// searched: the same snapshot gives the same answer for ever. An index without fields, whose schema
// takes any, has nothing yet to hold a name against.

// mostNames is how many fields an error lists.
const mostNames = 20

// checkField reports a field that cannot be searched.
func (rw *Rewriter) checkField(part, field string) error {
	if rw.index == nil || rw.allowUnknown {
		return nil
	}
	s := rw.iv.Schema
	f, declared := s.Fields[field]
	if declared && !f.NoIndex || rw.hasField(field) {
		return nil
	}
	if declared {
		return Errorf(part, "field %q is not indexed, so it cannot be searched", field)
	}
	names := map[string]bool{}
	for i := range rw.index.Segments() {
		for _, info := range rw.index.Segment(i).Reader().Fields() {
			names[info.Name] = true
		}
	}
	if len(names) == 0 && s.Dynamic == document.DynamicIndex {
		return nil
	}
	for name, f := range s.Fields {
		if !f.NoIndex {
			names[name] = true
		}
	}
	return Errorf(part, "the index has no field %q to search; it has %s", document.ShortName(field), listed(names))
}

// hasField reports whether a document of the index has a field.
func (rw *Rewriter) hasField(field string) bool {
	for i := range rw.index.Segments() {
		if _, ok := rw.index.Segment(i).Reader().Field(field); ok {
			return true
		}
	}
	return false
}

// listed prints names in their order, the first ones if there are many.
func listed(names map[string]bool) string {
	sorted := slices.Sorted(maps.Keys(names))
	more := ""
	if len(sorted) > mostNames {
		more = fmt.Sprintf(" and %d more", len(sorted)-mostNames)
		sorted = sorted[:mostNames]
	}
	if len(sorted) == 0 {
		return "none"
	}
	for i := range sorted {
		sorted[i] = document.ShortName(sorted[i])
	}
	return strings.Join(sorted, ", ") + more
}

// isText reports whether the text of a match is analysed for a field: one that the schema declares as
// text, and one that it does not declare unless the index has only exact values of it.
func (rw *Rewriter) isText(field string) bool {
	if f, declared := rw.iv.Schema.Fields[field]; declared || rw.index == nil {
		return !declared || f.Type == document.TextField
	}
	exact := false
	for i := range rw.index.Segments() {
		info, ok := rw.index.Segment(i).Reader().Field(field)
		if ok && info.Norms {
			return true
		}
		exact = exact || ok
	}
	return !exact
}

// asDeclared gives the value of a Term the type that the schema declares for its field.
func (rw *Rewriter) asDeclared(field string, v document.Value) (document.Value, error) {
	f, declared := rw.iv.Schema.Fields[field]
	switch want := v.Type(); {
	case !declared:
		return rw.asIndexed(field, v), nil
	case f.Type == want, f.Type == document.KeywordField && v.Kind == document.KindText:
		return v, nil
	case v.Kind == document.KindText:
		return parseAs(f.Type, field, v.Str)
	default:
		return v, fmt.Errorf("the schema declares %s, not %s", f.Type, want)
	}
}

// asIndexed returns a text as the value that it stands for in a field which is not declared and has only
// exact values: as it is, if the index has that, else as the number, boolean or time that it spells.
func (rw *Rewriter) asIndexed(field string, v document.Value) document.Value {
	if v.Kind != document.KindText || rw.isText(field) || rw.hasTerm(field, v) {
		return v
	}
	for _, t := range []document.FieldType{document.NumberField, document.BoolField, document.DateField} {
		if other, err := parseAs(t, field, v.Str); err == nil && rw.hasTerm(field, other) {
			return other
		}
	}
	return v
}

// hasTerm reports whether a value is in the index. A list that cannot be read is met again by the search.
func (rw *Rewriter) hasTerm(field string, v document.Value) bool {
	term := string(document.AppendTerm(nil, v))
	for i := range rw.index.Segments() {
		if l, err := rw.index.List(i, field, term); err == nil && l.Postings != nil {
			return true
		}
	}
	return false
}
