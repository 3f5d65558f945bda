// Package corrupt holds the one error by which all of riffle reports stored bytes that no version
// of riffle could have written.
//
// Damaged data is always an error and never a panic; a panic in riffle is a bug of riffle's own and
// says so ("BUG: ...").
package corrupt

import (
	"errors"
	"fmt"
)

// Err matches (with errors.Is) every error that reports corruption. The root
// package exports it as riffle.ErrCorrupt.
var Err = errors.New("corrupt index")

// An Error says which stored bytes are wrong.
type Error struct {
	Key    string // the stored key, in words: `segment 7, field "body", term "go"`; callers further out fill it in
	Block  int    // ordinal of the posting block, or -1
	Offset int    // first wrong byte, counted from the start of the value (or block), or -1
	Reason string // what was found and what was expected
	Cause  error  // the underlying error, if there is one
}

// New reports a fault at a byte offset of a value.
func New(offset int, format string, args ...any) *Error {
	return &Error{Block: -1, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string {
	s := "corrupt index"
	if e.Key != "" {
		s += ": " + e.Key
	}
	if e.Block >= 0 {
		s += fmt.Sprintf(": block %d", e.Block)
	}
	if e.Offset >= 0 {
		s += fmt.Sprintf(": offset %d", e.Offset)
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Is makes errors.Is(err, Err) true.
func (e *Error) Is(target error) bool { return target == Err }

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Cause }

// At adds the key that an error came from. It returns an error that is not corruption, or that
// already has a key, unchanged.
func At(err error, key string) error {
	var c *Error
	if !errors.As(err, &c) || c.Key != "" {
		return err
	}
	d := *c
	d.Key = key
	return &d
}

// After adds to the offset of an error: the value that it is about begins that far into a larger one.
func After(err error, bytes int) error {
	var c *Error
	if !errors.As(err, &c) || c.Offset < 0 {
		return err
	}
	d := *c
	d.Offset += bytes
	return &d
}
