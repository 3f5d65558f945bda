package riffle

import (
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/format"
	"github.com/riffle-search/riffle/internal/live"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/store"
)

// Errors that callers test for with errors.Is.
var (
	// ErrLocked: another process, or another Engine of this process, holds the directory.
	ErrLocked = store.ErrLocked

	// ErrFormat: another version of riffle wrote the index, in a format that this version does not
	// read, or the directory holds something else.
	ErrFormat = format.Err

	// ErrCorrupt matches every error about stored bytes that no version of riffle could have
	// written. Its text names the key and the offset.
	ErrCorrupt = corrupt.Err

	// ErrUnfinished: a Build of the index, or the Checkpoint that wrote it, was interrupted. It has
	// to start over.
	ErrUnfinished = store.ErrUnfinished

	// ErrClosed: the Engine or Snapshot has been closed.
	ErrClosed = store.ErrClosed

	// ErrPending: the context of an Apply ended when the batch was already in the log. The batch
	// will be applied, unless the log fails.
	ErrPending = live.ErrPending

	// ErrReadOnly: the call would change an Engine opened with Options.ReadOnly.
	ErrReadOnly = live.ErrReadOnly

	// ErrConflict matches every *ConflictError.
	ErrConflict = live.ErrConflict

	// ErrNotFound: no document has this id.
	ErrNotFound = live.ErrNotFound

	// ErrAmbiguous: several engines of a Multi have a document with this id.
	ErrAmbiguous = live.ErrAmbiguous

	// ErrLate: a search with SearchOptions.FailLate cannot be answered by its Deadline. The error
	// says by how much. Another engine that has the index may answer it, or this one when it has less
	// to do. The context's deadline gives context.DeadlineExceeded instead.
	ErrLate = accelerator.ErrLate

	// ErrNoDevice: a required GPU is missing, or this build has no GPU support.
	ErrNoDevice = accelerator.ErrNoDevice
)

// A DocumentError says which document of a batch was refused, and which of its fields is at fault.
// Nothing of the batch has been applied.
//
//	type DocumentError struct {
//		ID    string // id of the document
//		Field string // field at fault; empty when it is the document as a whole
//		Err   error  // the reason, which Unwrap returns
//	}
type DocumentError = document.Error

// A ConflictError says which document does not have the version on which a change of a batch depends:
// see Batch.PutIf. Nothing of the batch has been applied. With several, Apply joins their errors.
//
//	type ConflictError struct {
//		ID   string // id of the document
//		Want uint64 // the version that the change depends on; 0 for no document
//		Have uint64 // the version that the document has; 0 if there is none
//	}
type ConflictError = live.ConflictError

// A QueryError says which part of a query or of its options is invalid.
//
//	type QueryError struct {
//		Part string // the clause or option, such as "Match" or "SearchOptions.K"
//		Err  error  // the reason, which Unwrap returns
//	}
type QueryError = plan.Error
