package document

import (
	"errors"
	"fmt"
)

// An Operation is a change of one document.
type Operation struct {
	ID     string
	Delete bool // the document is deleted, instead of being put
	Update bool // the document, if there is one, gets values in some fields instead of those it has there
	Values []Value
	Clear  []string // of an update: fields that have no value afterwards

	// Conditional: the batch applies only if the document has this version, or, for 0, does not exist.
	// The condition is checked before the batch is logged, and not logged.
	Conditional bool
	Version     uint64
}

// IsPut reports whether the operation puts a document.
func (op *Operation) IsPut() bool { return !op.Delete && !op.Update }

// CheckPosition reports whether a batch may have this position.
func CheckPosition(p string) error {
	if len(p) > MaxPositionBytes {
		return fmt.Errorf("riffle: a position of %d bytes, at most %d are allowed", len(p), MaxPositionBytes)
	}
	return nil
}

// CheckID reports whether a document may have this id.
func CheckID(id string) error {
	if id == "" {
		return &Error{ID: id, Err: errors.New("an id must not be empty")}
	}
	if len(id) > MaxIDBytes {
		return &Error{ID: id[:32] + "…", Err: fmt.Errorf("an id of %d bytes, at most %d are allowed", len(id), MaxIDBytes)}
	}
	return nil
}
