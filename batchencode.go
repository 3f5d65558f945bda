package riffle

import (
	"errors"
	"fmt"

	"github.com/riffle-search/riffle/internal/document"
)

// An EncodedChange is one change of a Batch in a compact form, for programs that pass changes on: to a
// log, or to other machines, each to that of its document.
type EncodedChange struct {
	ID   string // of the document
	Data []byte // for Batch.AddEncoded
}

// Encode returns the changes of a batch, each by itself and in order, without its position. The form is
// that of riffle's own log: it has a version, and later releases read it. Encode fails with the error of
// the first change that Apply would refuse, and if a change has a condition, which the form does not
// have.
func (b *Batch) Encode() ([]EncodedChange, error) {
	if err := errors.Join(b.errs...); err != nil {
		return nil, err
	}
	changes := make([]EncodedChange, len(b.ops))
	size := 0
	for i := range b.ops {
		if b.ops[i].Conditional {
			return nil, fmt.Errorf("riffle: batch: change %d depends on a version, which its encoded form does not have", i)
		}
		size += len(b.ops[i].ID) + 16
	}
	buf := make([]byte, 0, size+b.size)
	for i := range b.ops {
		begin := len(buf)
		buf = document.AppendRecord(buf, &b.ops[i])
		changes[i] = EncodedChange{b.ops[i].ID, buf[begin:len(buf):len(buf)]}
	}
	return changes, nil
}

// AddEncoded adds a change that Encode returned. It keeps no reference to data. The error matches
// ErrFormat if a newer release has encoded it, and ErrCorrupt if it is damaged; the batch is then
// unchanged.
func (b *Batch) AddEncoded(data []byte) error {
	ops, position, err := document.DecodeRecord(data)
	if err == nil && (len(ops) != 1 || position != "") {
		err = fmt.Errorf("%w: %d changes and a position of %d bytes, want one change", ErrCorrupt, len(ops), len(position))
	}
	if err == nil {
		err = document.CheckID(ops[0].ID)
	}
	if err != nil {
		return fmt.Errorf("riffle: batch: encoded change: %w", err)
	}
	b.add(ops[0])
	return nil
}
