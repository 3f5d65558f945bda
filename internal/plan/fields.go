package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/segment"
)

// A query names fields. A field that neither the schema declares nor any document of the index has
// is a mistake, usually of spelling, unless Settings.AllowUnknown is set. The searched index
// decides: the same snapshot always gives the same answer. An index without fields, whose schema
// accepts any, accepts every name.

// mostNames is how many fields an error lists.
const mostNames = 20

// checkField reports a field that cannot be searched.
func (rw *Rewriter) checkField(part, field string) error {
	if segment.IsPairField(field) {
		return Errorf(part, "no field has the name %q", document.ShortName(field))
	}
	if rw.index == nil || rw.allowUnknown && rw.gather == nil {
		return nil
	}
	s := rw.iv.Schema
	f, declared := s.Fields[field]
	if declared && !f.NoIndex || rw.hasField(field) {
		return nil
	}
	if declared {
		if s.HasColumn(field) {
			return Errorf(part, "field %q is not indexed: it has a column, which Range, Terms, Term and Exists use, and no words", field)
		}
		return Errorf(part, "field %q is not indexed, so it cannot be searched", field)
	}
	names := map[string]bool{}
	for i := range rw.index.Segments() {
		for _, info := range rw.index.Segment(i).Reader().Fields() {
			names[info.Name] = true
		}
	}
	if rw.gather != nil {
		rw.gather.Names = slices.Sorted(maps.Keys(names))
	}
	if rw.outside != nil {
		for _, name := range rw.outside.Names {
			names[name] = true
		}
	}
	if rw.allowUnknown || len(names) == 0 && s.Dynamic == document.DynamicIndex {
		return nil
	}
	for name, f := range s.Fields {
		if !f.NoIndex {
			names[name] = true
		}
	}
	return Errorf(part, "the index has no field %q to search; it has %s", document.ShortName(field), listed(names))
}

// checkValues is checkField for what goes by values, which the columns of a field may have that is not
// indexed. It reports whether they are terms, too.
func (rw *Rewriter) checkValues(part, field string) (hasTerms bool, err error) {
	if f, declared := rw.iv.Schema.Fields[field]; declared && (f.NoIndex || f.Type == document.PlaceField) && rw.iv.Schema.HasColumn(field) {
		return false, nil
	}
	return true, rw.checkField(part, field)
}

// hasField reports whether a document of the index has a field with terms, or one with places.
func (rw *Rewriter) hasField(field string) bool {
	t, _ := rw.traitsOf(field, aspectTerms) // which has no errors
	return t&(hasTerms|hasPlaces) != 0
}

// listed prints names in order, only the first mostNames of them.
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

// isText reports whether a match analyses its text for a field. It does for fields that the schema
// declares as text, and for undeclared ones unless the index has only exact values of them.
func (rw *Rewriter) isText(field string) bool {
	if f, declared := rw.iv.Schema.Fields[field]; declared || rw.index == nil {
		return !declared || f.Type == document.TextField
	}
	t, _ := rw.traitsOf(field, aspectTerms) // which has no errors
	return t&hasLengths != 0 || t&hasTerms == 0
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

// asIndexed converts a text for an undeclared field with only exact values. The text stays as it is
// if the index has that term; otherwise it becomes the number, boolean or time that it spells.
func (rw *Rewriter) asIndexed(field string, v document.Value) document.Value {
	if v.Kind != document.KindText || rw.isText(field) {
		return v
	}
	forms := []document.Value{v}
	for _, t := range []document.FieldType{document.NumberField, document.BoolField, document.DateField} {
		if other, err := parseAs(t, field, v.Str); err == nil {
			forms = append(forms, other)
		}
	}
	as, found := v, false
	for _, form := range forms {
		if found && rw.gather == nil { // else all forms that the index has are recorded
			break
		}
		if rw.hasTerm(field, form) && !found {
			as, found = form, true
		}
	}
	return as
}
