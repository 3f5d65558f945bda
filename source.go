package riffle

import (
	"context"
	"io"
	"iter"

	"github.com/riffle-search/riffle/internal/bulk"
)

// A Source is where Build gets documents from: Documents, JSONLines, or a type of your own.
type Source interface {
	// Documents yields all documents, in an order that is always the same. A document must
	// not be changed after it has been yielded. An error comes with no document. It ends the
	// build, unless it is an *InputError or a *DocumentError: then it is about one document,
	// and BuildOptions.Bad decides. The iterator ends early when ctx does.
	Documents(ctx context.Context) iter.Seq2[Document, error]
}

// Documents are a Source of documents that are Go values:
//
//	riffle.Build(ctx, dir, riffle.Documents(snapshot.Documents("")), nil)
type Documents iter.Seq2[Document, error]

// Documents implements Source.
func (d Documents) Documents(context.Context) iter.Seq2[Document, error] {
	return iter.Seq2[Document, error](d)
}

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

// Documents implements Source. Build does not call it: it parses lines on all cores.
func (s JSONLines) Documents(ctx context.Context) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for d, err := range bulk.JSONLines(s).Documents(ctx) {
			fields, _ := d.Doc.(map[string]any) // none with an error
			if !yield(Document{ID: d.ID, Fields: fields}, err) {
				return
			}
		}
	}
}

// bulkSource returns a source as package bulk wants it.
func bulkSource(ctx context.Context, s Source) bulk.Source {
	if lines, ok := s.(JSONLines); ok {
		return bulk.JSONLines(lines)
	}
	return bulk.Documents(func(yield func(bulk.Document, error) bool) {
		for d, err := range s.Documents(ctx) {
			value := d.Value
			if value == nil {
				value = d.Fields
			}
			if !yield(bulk.Document{ID: d.ID, Doc: value}, err) {
				return
			}
		}
	})
}
