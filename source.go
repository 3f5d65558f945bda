package riffle

import (
	"io"
	"iter"

	"github.com/riffle-search/riffle/internal/bulk"
)

// A Source is where Build gets documents from: Documents or JSONLines.
type Source interface {
	source() bulk.Source
}

// Documents are Go values with their ids: maps or structs, as Batch.Put takes them. A
// document must not be changed after it has been yielded.
type Documents iter.Seq2[string, any]

// JSONLines are files with one JSON object a line, plain or compressed (gzip and zstd,
// told by their content). The member "id" of an object is the document's id, a string
// or an integer; every other member is a field:
//
//	{"id": "m1", "title": "Moby Dick", "text": "Call me Ishmael.", "year": 1851}
//
// Strings, numbers, booleans and arrays of these are values, members of objects get
// dotted names (a.b), null is no field.
type JSONLines struct {
	Files []string  // "-" is Stdin
	Stdin io.Reader // nil when no file is "-"

	// IDPrefix is put before every id, where those of several sources clash.
	IDPrefix string

	// Readers is how many files are read and decompressed at a time. With more than one,
	// documents come from these files by turns, some hundreds each, and lie so in the
	// index. The default is 1: file after file.
	Readers int
}

// An InputError says where in the input something stands that is no document, or one that
// cannot be indexed.
//
//	type InputError struct {
//		File   string
//		Line   int   // counted from 1
//		Column int   // in bytes, counted from 1; 0 for the line as a whole
//		Err    error // a *DocumentError if the line is well-formed; Unwrap returns it
//	}
//
// Its Error reads FILE:LINE:COLUMN: reason.
type InputError = bulk.InputError

func (d Documents) source() bulk.Source { return bulk.Documents(d) }
func (s JSONLines) source() bulk.Source { return bulk.JSONLines(s) }
