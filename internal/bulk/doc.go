// Package bulk makes a new index of a source of documents, by the pipeline of Wei 2011: one goroutine reads
// and decompresses (source.go); workers decode, analyse and invert a block of documents each, and group the
// terms by partitions of the dictionary (parse.go); in the order of the source, blocks are added to the run
// at hand (builder.go), whose partitions some goroutines own each, without locks. A sample of the first block
// decides which partitions are worth how much. What exceeds the memory becomes a segment, encoded by all
// workers, while stored documents are written meanwhile (run.go). A GPU may take the place of indexers
// (gpu.go).
//
// It knows how documents become chunks and these a segment, and adds segments to a live.Index. It must not
// know searches, nor how an index changes once it is built.
package bulk
