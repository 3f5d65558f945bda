// Package bulk makes a new index of a source of documents, by the pipeline of Wei 2011. One
// goroutine reads and decompresses (source.go). Workers decode, analyse and invert a block of
// documents each, and group the terms by partitions of the dictionary (parse.go). Blocks are added
// to the current run in the order of the source (builder.go); a few goroutines each own some of its
// partitions, so they need no locks. A sample of the first block determines the partitions. When
// memory is full, the run becomes a segment, encoded by all workers, while stored documents are
// written meanwhile (run.go). A GPU may take the place of indexers (gpu.go).
//
// The package knows how documents become chunks and chunks a segment, and adds segments to a
// live.Index. It must not know searches, or how a finished index changes.
package bulk
