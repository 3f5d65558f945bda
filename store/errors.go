package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/format"
)

// Errors that callers may want to tell apart. Damage matches corrupt.Err, and a missing store
// matches fs.ErrNotExist.
var (
	// ErrLocked: this or another process has the directory open for writing, or an Open for writing
	// found readers.
	ErrLocked = errors.New("store: the directory is in use")

	// ErrFormat: a newer version wrote the directory, or its contents are not riffle's.
	ErrFormat = format.Err

	// ErrUnfinished: the creation of the directory was interrupted.
	ErrUnfinished = errors.New("store: unfinished")

	// ErrReadOnly: a write to a store that was opened read-only.
	ErrReadOnly = errors.New("store: opened read-only")

	// ErrClosed: a call after Close.
	ErrClosed = errors.New("riffle: closed")

	// ErrFailed: an earlier write failed in a way that leaves memory and disk in disagreement.
	// Earlier reads are valid and reading continues to work, but nothing can be written any more.
	// Opening anew, after Close, finds everything that was acknowledged.
	ErrFailed = errors.New("store: failed")
)

// wrap turns an error of Pebble's into one of ours; what describes the operation, or names the key.
//
// Pebble's corruption errors name the file and the offset in it.
func wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	var ours *corrupt.Error
	switch {
	case errors.As(err, &ours):
		return corrupt.At(err, what)
	case pebble.IsCorruptionError(err):
		e := corrupt.Error{Key: what, Block: -1, Offset: -1, Cause: oneLine{err}}
		if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
			e.Reason = info.Path
		}
		return &e
	}
	return fmt.Errorf("store: %s: %w", what, err)
}

// A oneLine is an error of Pebble's without the lines that only say that more is attached to it.
type oneLine struct{ error }

func (e oneLine) Error() string {
	first, _, _ := strings.Cut(e.error.Error(), "\n")
	return first
}

func (e oneLine) Unwrap() error { return e.error }

// A failure is what makes a store ErrFailed.
type failure struct{ cause error }

func (f *failure) Error() string        { return ErrFailed.Error() + ": " + f.cause.Error() }
func (f *failure) Is(target error) bool { return target == ErrFailed }
func (f *failure) Unwrap() error        { return f.cause }
