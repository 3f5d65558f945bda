// Command formats writes a small index that exercises every current format, and the answers to
// searches of it:
//
//	go run ./internal/formats testdata/formats/NAME
//
// Each combination of formats that was ever released has such a folder, and keeps it forever. The
// test in this folder opens every one of them, searches, changes, merges and compacts it. The
// folder has
//
//	index     the index, closed, with a log that is not sealed
//	answers   queries, and what they found when the index was written
//	versions  the version of every format, one `format version` a line
//
// An index of one segment that is too large for such a folder, with features that only large
// segments have, is in testdata/large:
//
//	go run ./internal/formats -large testdata/large/NAME
//
// One with stored documents in codes, which smaller segments have only here, is in testdata/coded:
//
//	go run ./internal/formats -coded testdata/coded/NAME
//
// A folder is written once, by the release that introduces the combination. The documents, the
// queries and the steps here must not change; additions get steps of their own, after these.
package main
