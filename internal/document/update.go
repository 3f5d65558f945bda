package document

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/geo"
)

// An update changes a document without putting it again. It can change the fields that have their values in
// a column alone: of no other field could a search find the new values. See Schema.checkUpdatable.

// NewUpdate returns the operation that gives the document with an id the values of fields, a map or a struct
// as Flatten takes it. A field whose value is nil, or an empty list, loses its values.
func NewUpdate(id string, fields any) (Operation, error) {
	f := Flattener{cleared: new([]string)}
	if err := f.Flatten(fields); err != nil {
		return Operation{}, err
	}
	return f.update(id)
}

// update returns the operation that sets what the flattener has collected.
func (f *Flattener) update(id string) (Operation, error) {
	op := Operation{ID: id, Update: true, Values: f.Values}
	slices.SortStableFunc(op.Values, func(a, b Value) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range *f.cleared {
		if err := CheckName(name); err != nil {
			return op, &Error{ID: id, Field: ShortName(name), Err: err}
		}
		if !slices.ContainsFunc(op.Values, func(v Value) bool { return v.Name == name }) {
			op.Clear = append(op.Clear, name)
		}
	}
	slices.Sort(op.Clear)
	op.Clear = slices.Compact(op.Clear)
	return op, nil
}

// A FieldUpdate is what an update does to one field: Values, perhaps none, take the place of those it has.
type FieldUpdate struct {
	Field  string
	Values []columns.Value
}

// An UpdateReader finds out what the updates of a batch do, under a schema.
type UpdateReader struct {
	schema *Schema
	rank   string
	replay bool
	places placeReader
}

// NewUpdateReader returns a reader. rank is the field of the static rank, or empty. Updates of the log (replay)
// were accepted under another schema, perhaps, and are not checked again.
func NewUpdateReader(s *Schema, rank string, replay bool) *UpdateReader {
	return &UpdateReader{s, rank, replay, newPlaceReader(s)}
}

// FieldUpdates returns what an update does, by ascending field.
func (r *UpdateReader) FieldUpdates(op *Operation) ([]FieldUpdate, error) {
	s, rank, replay := r.schema, r.rank, r.replay
	changes := make([]FieldUpdate, 0, len(op.Values)+len(op.Clear))
	fault := func(field string, err error) error {
		return &Error{ID: strings.Clone(op.ID), Field: ShortName(field), Err: err}
	}
	values, field, err := r.places.read(op.Values)
	if err != nil {
		return nil, fault(field, err)
	}
	if len(r.places.fields) > 0 { // points of parts have come last
		slices.SortStableFunc(values, func(a, b Value) int { return strings.Compare(a.Name, b.Name) })
	}
	for i := range values {
		v := &values[i]
		if n := len(changes); n == 0 || changes[n-1].Field != v.Name {
			if err := s.checkUpdatable(v.Name, rank); err != nil && !replay {
				return nil, fault(v.Name, err)
			}
			changes = append(changes, FieldUpdate{Field: v.Name, Values: make([]columns.Value, 0, 1)})
		}
		c := &changes[len(changes)-1]
		value, err := s.columnValue(v)
		if err == nil {
			c.Values = append(c.Values, value)
		} else if !replay {
			return nil, fault(v.Name, err)
		}
	}
	for _, name := range op.Clear {
		if p := r.places.fieldOf(name); p != nil && p.name != name { // {"lat": nil, "lon": nil}
			name = p.name
			if slices.ContainsFunc(changes, func(c FieldUpdate) bool { return c.Field == name }) {
				continue
			}
		}
		if err := s.checkUpdatable(name, rank); err != nil && !replay {
			return nil, fault(name, err)
		}
		changes = append(changes, FieldUpdate{Field: name})
	}
	slices.SortFunc(changes, func(a, b FieldUpdate) int { return strings.Compare(a.Field, b.Field) })
	return changes, nil
}

// checkUpdatable reports why the values of a field cannot be updated, if that is so.
func (s *Schema) checkUpdatable(name, rank string) error {
	f, known := s.Fields[name]
	const how = "an update changes fields that have their values in a column alone"
	switch {
	case name == rank && rank != "":
		return errors.New("it is the field of the static rank, which an update cannot change: put the document again")
	case !known:
		return fmt.Errorf("the schema does not declare it; %s: declare it with NoIndex and ColumnStored", how)
	case f.Type == TextField:
		return fmt.Errorf("it is text, which has no column; %s: put the document again", how)
	case !f.NoIndex && f.Type != PlaceField: // which has no terms
		return fmt.Errorf("it has terms; %s: declare it with NoIndex (Options.AlterSchema) and ColumnStored", how)
	case !s.keepsColumn(f, known):
		return fmt.Errorf("it has no column; %s: declare it with NoIndex and ColumnStored, and Reindex", how)
	}
	for _, copied := range s.copies() {
		if f.Type != DateField && slices.Contains(s.Fields[copied].CopyFrom, name) {
			return fmt.Errorf("field %q has a copy of it, which an update cannot change: put the document again", ShortName(copied))
		}
	}
	return nil
}

// columnValue returns a value of a declared field as its column has it.
func (s *Schema) columnValue(v *Value) (columns.Value, error) {
	f := s.Fields[v.Name]
	switch {
	case f.Type == DateField && v.Kind == KindText:
		t, err := ParseTime(v.Str)
		return columns.OfTime(t), err
	case f.Type == KeywordField && v.Kind == KindText:
		if len(v.Str) > MaxTermBytes {
			return columns.Value{}, fmt.Errorf("a keyword of %d bytes, at most %d are allowed", len(v.Str), MaxTermBytes)
		}
	case f.Type != v.Kind.fieldType():
		return columns.Value{}, fmt.Errorf("the schema wants %s, not %s", f.Type, v.Kind.fieldType())
	}
	return v.Column(), nil
}

// OfColumn returns a value of a column as one of a field.
func OfColumn(name string, v columns.Value) Value {
	switch x := v.Any().(type) {
	case int64:
		return Int(name, x)
	case uint64:
		return Uint(name, x)
	case float64:
		return Float(name, x)
	case bool:
		return Bool(name, x)
	case time.Time:
		return Time(name, x)
	case geo.Point:
		return Place(name, x)
	default:
		return Text(name, x.(string))
	}
}

// ReplaceFields returns the stored form of a document with other values in some fields. Those of the others
// keep their order and their rules.
func ReplaceFields(data []byte, fields []FieldUpdate) ([]byte, error) {
	vals, err := ParseValues(data)
	if err != nil {
		return nil, err
	}
	vals = slices.DeleteFunc(vals, func(v Value) bool {
		return slices.ContainsFunc(fields, func(f FieldUpdate) bool { return f.Field == v.Name })
	})
	for _, f := range fields {
		for _, v := range f.Values {
			vals = append(vals, OfColumn(f.Field, v))
		}
	}
	return AppendValues(nil, vals), nil
}

// SetField replaces the values of a field in a document as ParseFields returns it.
func SetField(fields map[string]any, change FieldUpdate) {
	delete(fields, change.Field)
	for _, v := range change.Values {
		addField(fields, OfColumn(change.Field, v))
	}
}
