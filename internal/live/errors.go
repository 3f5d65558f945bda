package live

import "errors"

// Errors of an Index.
var (
	// ErrPending: the context of an Apply ended when the batch was already in the log. The batch
	// will be applied, unless the log fails.
	ErrPending = errors.New("riffle: the batch is logged and will be applied")

	// ErrReadOnly: the call would change a read-only index.
	ErrReadOnly = errors.New("riffle: opened read-only")

	// ErrNotFound: no document has this id.
	ErrNotFound = errors.New("riffle: no such document")

	// ErrAmbiguous: several indexes have a document with this id.
	ErrAmbiguous = errors.New("riffle: several engines have a document with this id")
)
