package riffle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/riffle-search/riffle/internal/document"
)

// A Batch is a list of changes that Apply carries out together and in order. Either all of them and
// the position take effect, or none. The zero Batch is empty and ready to use. Do not change a
// Batch while it is being applied; afterwards it may be Reset and filled again.
type Batch struct {
	// Position says how far the caller has read the source of its changes: an offset in a log, or
	// the number of a message. It has at most MaxPositionBytes and means nothing to riffle, which
	// stores it atomically with the changes: after a crash Engine.Position returns that of the last
	// batch that survived. A batch may have a position and no changes. A batch without a position
	// leaves the index's position as it is.
	Position []byte

	ops  []document.Operation
	size int
	errs []error
}

// Put adds a document, or replaces the one with this id. doc is a map with string keys or a struct
// (see SchemaOf for tags). Put reads doc immediately, so the caller may change it afterwards. Field
// names are UTF-8 and at most MaxNameBytes long; ids are any bytes. Apply reports a document that
// cannot be indexed.
//
// Values are strings, byte slices (as text), booleans, numbers, json.Number, time.Time, Point, pointers to
// these, and types with a method MarshalText and no exported fields, such as netip.Addr. Slices and
// arrays are several values of one field. Nested maps and structs are fields with dotted names. Nil
// is no value. Any other value is an error.
func (b *Batch) Put(id string, doc any) { b.put(document.Operation{ID: id}, doc) }

// PutIf is Put on a condition: the document must have this version, as Document.Version or Hit.Version
// returned it. Version 0 says that no document may have the id. If another change has come between,
// Apply returns a *ConflictError and applies nothing of the batch. The condition sees the changes that
// stand before it in the batch.
func (b *Batch) PutIf(id string, doc any, version uint64) {
	b.put(document.Operation{ID: id, Conditional: true, Version: version}, doc)
}

// put adds an operation with the values of a document.
func (b *Batch) put(op document.Operation, doc any) {
	id := op.ID
	if err := document.CheckID(id); err != nil {
		b.errs = append(b.errs, err)
		return
	}
	vals, err := document.Flatten(doc)
	if err != nil {
		b.refuse(id, err)
		return
	}
	op.Values = vals
	b.add(op)
}

// Update gives the document with this id other values in some fields, without putting it again: a new price,
// a counter, a flag. fields is a map or a struct, as for Put; a field whose value is nil, or an empty list,
// loses its values. Other fields stay as they are. It costs a small part of what Put costs, and any number of
// updates leaves the size of the index as it is. An id without a document changes nothing.
//
// Fields can be updated that have their values in a column alone: those that Schema.Fields declares with
// NoIndex and ColumnStored. Such fields serve ranges, sorting, collapsing, facets and aggregations. Apply
// refuses any other field with a *DocumentError that says how to declare it. Several values of a field come
// back in ascending order, a date as a time, and a place to about 1 cm. A field of places takes what it takes
// from Put: an object with "lat" and "lon", for example.
func (b *Batch) Update(id string, fields any) { b.update(document.Operation{ID: id}, fields) }

// UpdateIf is Update on a condition: the document must have this version; see PutIf. With version 0, which
// says that no document may have the id, nothing changes.
func (b *Batch) UpdateIf(id string, fields any, version uint64) {
	b.update(document.Operation{ID: id, Conditional: true, Version: version}, fields)
}

// update adds an operation that sets fields.
func (b *Batch) update(condition document.Operation, fields any) {
	id := condition.ID
	if err := document.CheckID(id); err != nil {
		b.errs = append(b.errs, err)
		return
	}
	op, err := document.NewUpdate(id, fields)
	if err != nil {
		b.refuse(id, err)
		return
	}
	op.Conditional, op.Version = condition.Conditional, condition.Version
	b.add(op)
}

// refuse notes the error of a change.
func (b *Batch) refuse(id string, err error) {
	var de *DocumentError
	if errors.As(err, &de) {
		de.ID = id
	} else {
		err = &DocumentError{ID: id, Err: err}
	}
	b.errs = append(b.errs, err)
}

func (b *Batch) add(op document.Operation) {
	for _, name := range op.Clear {
		b.size += len(name) + 16
	}
	for i := range op.Values {
		b.size += len(op.Values[i].Name) + len(op.Values[i].Str) + 16
	}
	b.ops = append(b.ops, op)
	b.size += len(op.ID)
}

// Delete removes the document with this id, if it exists.
func (b *Batch) Delete(id string) { b.delete(document.Operation{ID: id, Delete: true}) }

// DeleteIf is Delete on a condition: the document must have this version; see PutIf.
func (b *Batch) DeleteIf(id string, version uint64) {
	b.delete(document.Operation{ID: id, Delete: true, Conditional: true, Version: version})
}

func (b *Batch) delete(op document.Operation) {
	if err := document.CheckID(op.ID); err != nil {
		b.errs = append(b.errs, err)
		return
	}
	b.add(op)
}

// MarshalJSON writes the batch in a stable form without loss: an array of its changes,
//
//	[
//	  {"put": "moby", "fields": {"title": "Moby Dick", "author.name": "Melville", "tags": ["whale", "sea"], "year": 1851}},
//	  {"put": "log", "fields": {"at": {"time": "1851-10-18T00:00:00Z"}, "raw": {"bytes": "/w=="}}},
//	  {"update": "moby", "fields": {"sold": 17, "offer": null}},
//	  {"delete": "nautilus"}
//	]
//
// or, for a batch with a position, an object with the array and the position in base64:
//
//	{"position": "AAAAAAAAAAc=", "changes": [{"delete": "nautilus"}]}
//
// Fields have flat names. Three kinds of values are objects: a time, a text that is not UTF-8 (in
// base64), and a value with rules from struct tags ({"value": "x", "noindex": true}, also nostore
// and keyword). An id that is not UTF-8 is {"bytes": …}, too. A change with "if_version" is that of
// PutIf, UpdateIf or DeleteIf. MarshalJSON fails with the error of the first change that Apply would refuse.
func (b Batch) MarshalJSON() ([]byte, error) {
	if err := errors.Join(errors.Join(b.errs...), document.CheckPosition(string(b.Position))); err != nil {
		return nil, err
	}
	ops := b.ops
	if ops == nil {
		ops = []document.Operation{}
	}
	if len(b.Position) == 0 {
		return json.Marshal(ops)
	}
	return json.Marshal(struct {
		Position []byte               `json:"position"`
		Changes  []document.Operation `json:"changes"`
	}{b.Position, ops})
}

// UnmarshalJSON replaces the batch with one that MarshalJSON wrote. Input that it does not
// understand is an error and leaves the batch unchanged.
func (b *Batch) UnmarshalJSON(data []byte) error {
	var position []byte
	var list []json.RawMessage
	var err error
	if data = bytes.TrimLeft(data, " \t\r\n"); len(data) > 0 && data[0] == '{' {
		position, list, err = unmarshalPositioned(data)
	} else {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return fmt.Errorf("riffle: batch: %w", err)
	}
	next := Batch{Position: position, ops: make([]document.Operation, 0, len(list))}
	for i, text := range list {
		var op document.Operation
		if err := json.Unmarshal(text, &op); err != nil {
			return fmt.Errorf("riffle: batch: change %d: %w", i, err)
		}
		next.add(op)
	}
	*b = next
	return nil
}

// unmarshalPositioned reads the object form, that of a batch with a position.
func unmarshalPositioned(data []byte) (position []byte, changes []json.RawMessage, err error) {
	var j struct {
		Position []byte            `json:"position"`
		Changes  []json.RawMessage `json:"changes"`
	}
	if err := document.DecodeObject(data, &j); err != nil {
		return nil, nil, err
	}
	if len(j.Position) == 0 {
		return nil, nil, errors.New(`an object without a "position", in base64`)
	}
	if len(j.Position) > MaxPositionBytes {
		return nil, nil, fmt.Errorf(`a "position" of %d bytes, at most %d are allowed`, len(j.Position), MaxPositionBytes)
	}
	return j.Position, j.Changes, nil
}

// Len returns the number of changes.
func (b *Batch) Len() int { return len(b.ops) + len(b.errs) }

// Size returns about how many bytes of memory the changes take, for callers that split their input
// into batches.
func (b *Batch) Size() int { return b.size }

// Reset empties the batch, clears its position, and keeps its memory.
func (b *Batch) Reset() {
	clear(b.ops)
	b.Position = nil
	b.ops, b.errs, b.size = b.ops[:0], nil, 0
}
