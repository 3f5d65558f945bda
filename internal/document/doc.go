// Package document turns what callers hand in into what segments keep: a map or a struct into typed
// values (flatten.go, rules.go, value.go), under the rules of a Schema (schema.go), and these into terms in a
// segment.Chunk (inverter.go). It defines three formats: the stored form of a document (AppendValues),
// the terms of what is no text (AppendTerm), and the records of the log (logrecord.go). Fields counts
// the indexed fields of an index.
//
// It knows analyzers, and segments as far as chunks and their fields go. It must not know queries,
// what is searched, or where bytes are kept.
package document
