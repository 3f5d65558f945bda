package riffle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/riffle-search/riffle/internal/document"
)

// A Batch is a list of changes that Apply carries out together, in order: all of
// them or none, with their position. The zero Batch is empty and ready to use. A Batch must not be
// changed while it is being applied; afterwards it may be Reset and filled again.
type Batch struct {
	// Position says where the batch stands in what the caller reads changes from: an offset in a log, the
	// number of a message. It is at most MaxPositionBytes long and means nothing to riffle, which stores
	// it atomically with the changes: after a crash Engine.Position returns that of the last batch that
	// survived. A batch may have a position and no changes. One without a position leaves the index's as it is.
	Position []byte

	ops  []document.Operation
	size int
	errs []error
}

// Put adds a document, or replaces the one that has this id. doc is a map with
// string keys or a struct (see SchemaOf for tags); it is read now and may be
// changed afterwards. Field names are UTF-8 and at most MaxNameBytes long; ids are
// any bytes. A document that cannot be indexed is reported by Apply.
//
// Values are strings, byte slices (as text), booleans, numbers, json.Number, time.Time,
// pointers to these, and what has a method MarshalText and no exported fields, such as netip.Addr.
// Slices and arrays are several values of one field; maps and structs within are fields
// with dotted names. Nil is no value. Any other value is an error.
func (b *Batch) Put(id string, doc any) {
	if err := document.CheckID(id); err != nil {
		b.errs = append(b.errs, err)
		return
	}
	vals, err := document.Flatten(doc)
	if err != nil {
		var de *DocumentError
		if errors.As(err, &de) {
			de.ID = id
		} else {
			err = &DocumentError{ID: id, Err: err}
		}
		b.errs = append(b.errs, err)
		return
	}
	b.add(document.Operation{ID: id, Values: vals})
}

func (b *Batch) add(op document.Operation) {
	for i := range op.Values {
		b.size += len(op.Values[i].Name) + len(op.Values[i].Str) + 16
	}
	b.ops = append(b.ops, op)
	b.size += len(op.ID)
}

// Delete removes the document that has this id, if there is one.
func (b *Batch) Delete(id string) {
	if err := document.CheckID(id); err != nil {
		b.errs = append(b.errs, err)
		return
	}
	b.add(document.Operation{ID: id, Delete: true})
}

// MarshalJSON writes the batch in a form that stays and loses nothing: an array of its changes,
//
//	[
//	  {"put": "moby", "fields": {"title": "Moby Dick", "author.name": "Melville", "tags": ["whale", "sea"], "year": 1851}},
//	  {"put": "log", "fields": {"at": {"time": "1851-10-18T00:00:00Z"}, "raw": {"bytes": "/w=="}}},
//	  {"delete": "nautilus"}
//	]
//
// or, where there is a position, an object with the array and the position in base64:
//
//	{"position": "AAAAAAAAAAc=", "changes": [{"delete": "nautilus"}]}
//
// Fields have flat names. A time, a text that is not UTF-8 (in base64), and a value that the tags of a struct give
// rules ({"value": "x", "noindex": true}, also nostore and keyword) are objects. An id that is not UTF-8 is
// {"bytes": …}, too. The error is that of a change which Apply would refuse.
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

// UnmarshalJSON replaces the batch by what MarshalJSON has written. What is not understood is an error, and
// leaves the batch as it was.
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

// unmarshalPositioned reads the object that a batch with a position is.
func unmarshalPositioned(data []byte) (position []byte, changes []json.RawMessage, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, nil, err
	}
	for name, text := range members {
		switch name {
		case "position":
			err = json.Unmarshal(text, &position)
		case "changes":
			err = json.Unmarshal(text, &changes)
		default:
			err = fmt.Errorf(`unknown member %q: a batch is an array of changes, or an object with "position" and "changes"`, document.ShortName(name))
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if len(position) == 0 {
		return nil, nil, errors.New(`an object without a "position", in base64`)
	}
	if len(position) > MaxPositionBytes {
		return nil, nil, fmt.Errorf(`a "position" of %d bytes, at most %d are allowed`, len(position), MaxPositionBytes)
	}
	return position, changes, nil
}

// Len returns the number of changes.
func (b *Batch) Len() int { return len(b.ops) + len(b.errs) }

// Size returns about how many bytes the changes take in memory, for callers that
// cut their input into batches.
func (b *Batch) Size() int { return b.size }

// Reset empties the batch, which has no position then, and keeps its memory.
func (b *Batch) Reset() {
	clear(b.ops)
	b.Position = nil
	b.ops, b.errs, b.size = b.ops[:0], nil, 0
}
