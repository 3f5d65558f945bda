package plan

import (
	"fmt"

	"github.com/riffle-search/riffle/internal/document"
)

// A Range is riffle.Range.
type Range struct {
	Field       string
	From, To    any
	ExcludeFrom bool
	IncludeTo   bool
}

// Validate reports what is wrong with a range on any index.
func (q *Range) Validate() error {
	if q.Field == "" {
		return Errorf("Range.Field", "is empty")
	}
	if q.From == nil && q.To == nil {
		return Errorf("Range", "has no bound; Exists finds the documents that have any value")
	}
	from, to, err := q.bounds(nil)
	text := document.TextField
	if err == nil && from != nil && to != nil && from.Type() != to.Type() && from.Type() != text && to.Type() != text {
		err = Errorf("Range", "is from a %s to a %s", from.Type(), to.Type())
	}
	return err
}

// bounds returns the bounds as values, each as a function makes it; nil for one that is not there.
func (q *Range) bounds(as func(document.Value) (document.Value, error)) (from, to *document.Value, err error) {
	bound := func(name string, x any) *document.Value {
		if x == nil || err != nil {
			return nil
		}
		v, e := valueOf(q.Field, x)
		if err = e; err == nil && as != nil {
			if v, err = as(v); err != nil {
				err = Errorf("Range."+name, "field %q: %w", q.Field, err)
			}
		}
		if err == nil && v.Type() == document.BoolField {
			err = Errorf("Range."+name, "field %q: a boolean has no order", q.Field)
		}
		return &v
	}
	from = bound("From", q.From)
	to = bound("To", q.To)
	return from, to, err
}

// Range returns the clause of the numbers or times of a field between two.
func (rw *Rewriter) Range(q Range, score float64) (Clause, error) {
	if err := q.Validate(); err != nil {
		return Clause{}, err
	}
	if err := rw.checkField("Range.Field", q.Field); err != nil {
		return Clause{}, err
	}
	f, declared := rw.iv.Schema.Fields[q.Field]
	if declared && f.Type != document.NumberField && f.Type != document.DateField {
		return Clause{}, Errorf("Range.Field", "field %q has values of type %s, not numbers or dates; TermRange compares texts", q.Field, f.Type)
	}
	from, to, err := q.bounds(func(v document.Value) (document.Value, error) {
		if declared {
			return rw.asDeclared(q.Field, v)
		} else if v.Kind == document.KindText {
			return v, fmt.Errorf("%q is a text, and no schema says what it means", v.Str)
		}
		return v, nil
	})
	if err != nil {
		return Clause{}, err
	}
	var sets []Clause
	for _, s := range document.Between(from, to, q.ExcludeFrom, q.IncludeTo) {
		text := string(appendText(appendText(nil, string(s.From)), string(s.To)))
		sets = append(sets, Clause{kind: clauseSet, set: &termPattern{field: q.Field, kind: "range", text: text, Pattern: termRange{s.From, s.To}}})
	}
	if len(sets) == 0 {
		return Clause{kind: clauseBool}, nil
	}
	return Constant(anyClause(sets), score), nil
}
