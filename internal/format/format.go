// Package format handles stored bytes of other versions of riffle: it knows which versions of a
// format this build reads, and what to report about the others.
//
// Every format has a number, which rises with a change that older builds would misread. A build
// reads a range of them and writes the newest. A version outside the range is not damage: it is
// [Err], with a text that says what to do. Segments also have features (package segment), so that
// most changes need no new number.
package format

import (
	"errors"
	"fmt"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// Release names this version of riffle. Segments store it, so that an error can say which release
// wrote them. It ends in "-dev" while the changelog begins with "Unreleased".
const Release = "0.1-dev"

// Err matches (with errors.Is) every error about stored bytes that another version of riffle
// can read and this one cannot. The root package exports it as riffle.ErrFormat.
var Err = errors.New("format not supported")

// A Range is the versions of one format that this build reads. It writes the newest.
type Range struct {
	What           string // what has the format: "segment"
	Oldest, Newest uint64
}

// Check returns nil for a version in the range, a *corrupt.Error for version 0, which no
// format has, and an *Error for any other.
func (r Range) Check(version uint64) error { return r.CheckOf(version, "") }

// CheckOf is Check for a version whose writing release is known.
func (r Range) CheckOf(version uint64, writer string) error {
	switch {
	case version == 0:
		return corrupt.New(0, "%s of version 0, want %d to %d", r.What, r.Oldest, r.Newest)
	case version < r.Oldest || version > r.Newest:
		return &Error{Range: r, Version: version, Writer: writer}
	}
	return nil
}

// An Error says what this build cannot read: a version outside of a range, or a version
// within it with a feature that came later.
type Error struct {
	Range   Range
	Version uint64
	Feature string // the feature that this build lacks; empty if the version is at fault
	Writer  string // the release that wrote the bytes; empty if unknown
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%v: %s of version %d", Err, e.Range.What, e.Version)
	if e.Writer != "" {
		s += fmt.Sprintf(" (written by riffle %s)", e.Writer)
	}
	if e.Feature != "" {
		s += fmt.Sprintf(" needs the feature %q, which riffle %s lacks", e.Feature, Release)
	} else {
		s += fmt.Sprintf("; riffle %s reads versions %d to %d", Release, e.Range.Oldest, e.Range.Newest)
	}
	switch {
	case e.Version < e.Range.Oldest:
		return s + "; open and compact the index with an older riffle that reads both"
	case e.Writer != "":
		return s + fmt.Sprintf("; open the index with riffle %s or later", e.Writer)
	}
	return s + "; open the index with the riffle that wrote it, or a later one"
}

// Is makes errors.Is(err, Err) true.
func (e *Error) Is(target error) bool { return target == Err }
