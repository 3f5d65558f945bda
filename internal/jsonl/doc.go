// Package jsonl reads documents from JSON lines: plain, gzip or Zstandard files, or standard input.
//
// # Lines
//
// A line is one JSON object (RFC 8259) that ends at a line feed or at the end of the file; a
// carriage return before it is white space. Lines of white space only are skipped. A byte order
// mark is allowed at the start of the file. A line may be [MaxLineBytes] long. Memory stays within
// a small multiple of the longest line, however long the file.
//
// The first bytes of a file, not its name, determine how it is compressed. Zstandard windows may be
// 128 MiB (zstd --long=27).
//
// # Documents
//
// The member "id" is required: a string that is not empty, or an integer, which stands for its
// digits. Each other member is a field, in the order of the line:
//
//	"text"              string
//	17                  int64, or else uint64, when it has neither fraction nor exponent and fits
//	1.5, 2e3, 1e19...   float64
//	true                bool
//	["a", null, "b"]    []string; null elements are left out
//	[1, 2.5, "a", true] []any of the types above; arrays and objects in arrays are errors
//	{"b": {"c": 1}}     fields of their own, with names joined by dots: a.b.c
//	null                no field
//
// So the line
//
//	{"id": 7, "title": "Emma", "book": {"year": 1815, "tags": ["novel"]}, "note": null}
//
// is the document 7 with title "Emma", book.year int64(1815), book.tags ["novel"].
//
// Strings are decoded as by encoding/json: invalid UTF-8 and lone surrogates become U+FFFD. In one
// respect this package is stricter, as encoding/json/v2 is: a name that occurs twice is an error,
// because one of two values would be lost silently; "a.b" and "b" inside "a" are the same name.
// Names are compared exactly.
//
// Hostile input is bounded: names of [MaxNameBytes], objects [MaxDepth] deep, [MaxFields] names and
// [MaxElements] array elements in a document.
//
// # Errors
//
// A bad line is a [LineError], which names file, line and column; the next call continues with the
// next line. Any other error is final: a file that cannot be read, a damaged or truncated archive.
// It names file and line too.
package jsonl
