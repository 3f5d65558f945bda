package plan

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/datemath"
	"github.com/riffle-search/riffle/internal/document"
)

// A Range is riffle.Range.
type Range struct {
	Field       string
	From, To    any
	ExcludeFrom bool
	IncludeTo   bool
	TimeZone    string
}

// OpenBound returns a bound of a range; nil for an infinite number that no value can be behind, which
// bounds nothing. Errors are of a part.
func OpenBound(part string, x any, from bool) (any, error) {
	v := reflect.ValueOf(x)
	if !v.IsValid() || !v.CanFloat() {
		return x, nil
	}
	switch f := v.Float(); {
	case math.IsNaN(f):
		return nil, Errorf(part, "NaN has no place in the order of numbers")
	case math.IsInf(f, -1) && from, math.IsInf(f, 1) && !from:
		return nil, nil
	case math.IsInf(f, 0):
		return nil, Errorf(part, "no number lies beyond %v", f)
	}
	return x, nil
}

// open replaces infinite bounds.
func (q *Range) open() (err error) {
	if q.From, err = OpenBound("Range.From", q.From, true); err == nil {
		q.To, err = OpenBound("Range.To", q.To, false)
	}
	return err
}

// Validate reports what is wrong with a range on any index. It replaces infinite bounds.
func (q *Range) Validate() error {
	if q.Field == "" {
		return Errorf("Range.Field", "is empty")
	}
	if err := q.open(); err != nil {
		return err
	}
	if q.From == nil && q.To == nil {
		return Errorf("Range", "has no bound; Exists finds the documents that have any value")
	}
	if _, err := datemath.Zone(q.TimeZone); err != nil {
		return Errorf("Range.TimeZone", "%w", err)
	}
	from, to, err := q.bounds(func(v document.Value, _ bool) (document.Value, error) { return v, nil })
	text := document.TextField
	if err == nil && from != nil && to != nil && from.Type() != to.Type() && from.Type() != text && to.Type() != text {
		err = Errorf("Range", "is from a %s to a %s", from.Type(), to.Type())
	}
	return err
}

// bounds returns the bounds as values, each as a function makes it; nil for one that is not there. With
// up, the last instant of what a text says is meant.
func (q *Range) bounds(as func(v document.Value, up bool) (document.Value, error)) (from, to *document.Value, err error) {
	bound := func(name string, x any, up bool) *document.Value {
		if x == nil || err != nil {
			return nil
		}
		v, e := valueOf(q.Field, x)
		var of *Error
		if errors.As(e, &of) {
			e = Errorf("Range."+name, "%w", of.Err)
		}
		if err = e; err == nil {
			if v, err = as(v, up); err != nil {
				err = Errorf("Range."+name, "field %q: %w", q.Field, err)
			}
		}
		if err == nil && v.Type() == document.PlaceField {
			err = Errorf("Range."+name, "field %q: places have no order; WithinDistance, WithinBox and WithinPolygon find them", q.Field)
		}
		if err == nil && v.Type() == document.BoolField {
			err = Errorf("Range."+name, "field %q: a boolean has no order", q.Field)
		}
		return &v
	}
	from = bound("From", q.From, q.ExcludeFrom)
	to = bound("To", q.To, q.IncludeTo)
	return from, to, err
}

// Range returns the clause of the numbers, times or keywords of a field between two.
func (rw *Rewriter) Range(q Range, score float64) (Clause, error) {
	if err := q.Validate(); err != nil {
		return Clause{}, err
	}
	hasTerms, err := rw.checkValues("Range.Field", q.Field)
	if err != nil {
		return Clause{}, err
	}
	f, declared := rw.iv.Schema.Fields[q.Field]
	if declared && f.Type == document.PlaceField {
		return Clause{}, Errorf("Range.Field", "field %q has places, which have no order; WithinDistance, WithinBox and WithinPolygon find them", q.Field)
	}
	if declared && (f.Type == document.TextField || f.Type == document.BoolField) {
		return Clause{}, Errorf("Range.Field", "field %q has values of type %s, not numbers, dates or keywords; TermRange compares the words of texts", q.Field, f.Type)
	}
	zone, err := datemath.Zone(q.TimeZone)
	if err != nil {
		return Clause{}, Errorf("Range.TimeZone", "%w", err)
	}
	from, to, err := q.bounds(func(v document.Value, up bool) (document.Value, error) {
		return rw.rangeBound(q.Field, v, zone, up)
	})
	if err != nil {
		return Clause{}, err
	}
	set := &valueSet{field: q.Field, from: columnBound(from, q.ExcludeFrom), to: columnBound(to, !q.IncludeTo)}
	if hasTerms {
		set.terms = func() []*termPattern { return termsBetween(q.Field, from, to, q.ExcludeFrom, q.IncludeTo) }
	}
	if columns.Compare(set.from.Value, set.to.Value) > 0 && from != nil && to != nil {
		return Clause{kind: clauseBool}, nil
	}
	return setOf(set, score), nil
}

// rangeBound reads a bound of a range of a field: a text as the field's type in the schema says, or as an
// instant relative to now.
func (rw *Rewriter) rangeBound(field string, v document.Value, zone *time.Location, up bool) (document.Value, error) {
	f, declared := rw.iv.Schema.Fields[field]
	switch {
	case v.Kind != document.KindText:
	case declared && f.Type == document.KeywordField:
		return v, nil
	case datemath.Is(v.Str) && (!declared || f.Type == document.DateField):
		t, err := datemath.Parse(v.Str, rw.now, zone, up)
		return document.Time(field, t), err
	case declared && f.Type == document.DateField && zone != time.UTC && len(v.Str) >= len(time.DateOnly):
		t, err := datemath.ParseDate(v.Str, zone)
		return document.Time(field, t), err
	case !declared:
		return v, fmt.Errorf("%q is a text, and no schema says what it means", v.Str)
	}
	if declared {
		return rw.asDeclared(field, v)
	}
	return v, nil
}

// columnBound returns an end of an interval.
func columnBound(v *document.Value, exclusive bool) columns.Bound {
	if v == nil {
		return columns.Bound{Open: true}
	}
	return columns.Bound{Value: v.Column(), Exclusive: exclusive}
}

// termsBetween returns patterns of the terms of the values between two.
func termsBetween(field string, from, to *document.Value, excludeFrom, includeTo bool) (patterns []*termPattern) {
	if from != nil && from.Kind == document.KindText || to != nil && to.Kind == document.KindText {
		r := termRange{}
		if from != nil {
			if r.from = []byte(from.Str); excludeFrom {
				r.from = append(r.from, 0)
			}
		}
		if to != nil {
			r.to = []byte(to.Str)
			if includeTo {
				r.to = append(r.to, 0)
			}
		}
		return []*termPattern{rangePattern(field, r)} // of a keyword field, which has no other terms
	}
	for _, s := range document.Between(from, to, excludeFrom, includeTo) {
		patterns = append(patterns, rangePattern(field, termRange{s.From, s.To}))
	}
	return patterns
}

func rangePattern(field string, r termRange) *termPattern {
	text := string(appendText(appendText(nil, string(r.from)), string(r.to)))
	return &termPattern{field: field, kind: "range", text: text, Pattern: r}
}
