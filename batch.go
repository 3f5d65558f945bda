package riffle

import (
	"errors"

	"github.com/riffle-search/riffle/internal/document"
)

// A Batch is a list of changes that Apply carries out together, in order: all of
// them or none. The zero Batch is empty and ready to use. A Batch must not be
// changed while it is being applied; afterwards it may be Reset and filled again.
type Batch struct {
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
	for i := range vals {
		b.size += len(vals[i].Name) + len(vals[i].Str) + 16
	}
	b.ops = append(b.ops, document.Operation{ID: id, Values: vals})
	b.size += len(id)
}

// Delete removes the document that has this id, if there is one.
func (b *Batch) Delete(id string) {
	if err := document.CheckID(id); err != nil {
		b.errs = append(b.errs, err)
		return
	}
	b.ops = append(b.ops, document.Operation{ID: id, Delete: true})
	b.size += len(id)
}

// Len returns the number of changes.
func (b *Batch) Len() int { return len(b.ops) + len(b.errs) }

// Size returns about how many bytes the changes take in memory, for callers that
// cut their input into batches.
func (b *Batch) Size() int { return b.size }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	clear(b.ops)
	b.ops, b.errs, b.size = b.ops[:0], nil, 0
}
