// Command formats writes a small index with everything that the formats of today can hold, and what
// searches of it answer:
//
//	go run ./internal/formats testdata/formats/NAME
//
// Each combination of formats that was ever released has such a folder, and keeps it for ever: the
// test in this folder opens every one of them, searches, changes, merges and compacts it. The
// folder has
//
//	index     the index, closed, with a log that is not sealed
//	answers   queries, and what they found when the index was written
//	versions  the version of every format, one `format version` a line
//
// A folder is written once, by the release that introduces the combination. The documents, the
// queries and the steps here must stay what they are; what comes later gets steps of its own,
// behind these.
package main
