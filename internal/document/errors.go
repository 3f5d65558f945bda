package document

import "fmt"

// An Error says which document of a batch was refused, and which of its
// fields is at fault. Nothing of the batch has been applied.
type Error struct {
	ID    string // id of the document
	Field string // field at fault; empty when it is the document as a whole
	Err   error
}

func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("riffle: document %q: %v", e.ID, e.Err)
	}
	return fmt.Sprintf("riffle: document %q: field %q: %v", e.ID, e.Field, e.Err)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }
