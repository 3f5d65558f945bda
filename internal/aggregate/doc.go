// Package aggregate counts and measures the documents that match a query, by the values of their
// columns: how many there are of each value, in each interval or month, and what their numbers come
// to. Aggregations nest: each bucket of documents has aggregations of its own.
//
// A [Run] has segments and trees of aggregations ([Spec]). Each goroutine that finds matches adds them
// to a [Collector] of its own, tile by tile. That keeps a state for the segment at hand: a tree of nodes
// like that of the specifications. At the end of a segment, it merges that into the state of the whole
// run.
//
//   - A bucket is a number, from 0 on, within one node of one state. The buckets of a node are the
//     owners of what its subordinate nodes keep. Root nodes have one owner, 0.
//   - Nodes with buckets are of two kinds. Of setNode (ranges, filters, missing), buckets are sets of
//     the documents of a tile. Of keyNode (terms, histograms), each value of a document chooses one.
//   - A node gets the documents of a tile as an input: a set with one owner, or pairs of a document
//     and an owner. Sets are many times faster, and are kept as long as whole tiles allow.
//   - Keys of columns differ from segment to segment: a key of kind columns.Terms is an ordinal. A
//     space says how they become keys of the whole run: see space.go.
//
// A run ends with results, or with a [Partial]: all buckets and unrounded sums, as bytes if need be.
// Those of several indexes merge into that of one index (partial*.go), whose nodes make the results.
//
// All answers are exact, and do not depend on segments or goroutines: sums are kept as integers
// that no number overflows (sum.go), and percentiles are values of documents.
//
// The package knows columns, bits and the orders of package cpuexec. It must not know queries or ids.
package aggregate
