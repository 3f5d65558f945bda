// Package document turns the caller's documents into the contents of segments: a map or a struct
// into typed values (flatten.go, rules.go, value.go), under the rules of a Schema (schema.go), and
// these into terms in a segment.Chunk (inverter.go). It defines three formats: the stored form of a
// document (AppendValues), the terms of values that are not text (AppendTerm), and the records of
// the log (logrecord.go). Fields counts the indexed fields of an index.
//
// It knows analyzers, and of segments only chunks and their fields. It must not know queries, how
// an index is searched, or where bytes are kept.
package document
