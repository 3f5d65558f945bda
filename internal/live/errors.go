package live

import "errors"

// Errors of an Index.
var (
	// ErrPending: the context of an Apply ended when the batch was in the log already. The batch will
	// be applied, unless the log fails.
	ErrPending = errors.New("riffle: the batch is logged and will be applied")

	// ErrReadOnly: a change was asked of an index that is open for reading alone.
	ErrReadOnly = errors.New("riffle: opened read-only")

	// ErrNotFound: no document has the id that was asked for.
	ErrNotFound = errors.New("riffle: no such document")
)
