// Package cpuexec answers plans on the CPU. Executor.TopK ranks, Count counts and
// Matches evaluates a filter; all take a blockmax.Plan over posting lists.
//
// # Which file answers what
//
//	OR              exhaustive.go  every document is scored: what pruning is measured against
//	                wand.go        document at a time, pivots from the bounds of lists
//	                bmw.go         the same with the bounds of blocks
//	                maxscore.go    document at a time, essential and other lists
//	                bmm.go         the same window at a time, with the bounds of blocks
//	AND             and.go         block by block of the shortest list, scored before it is intersected
//	AND+OR          executor.go    AND, and OR when fewer than k documents match
//	boolean trees   tree.go        bounds and windows, eval.go the sets of a window
//	counts, filters count.go       the same sets without scores
//
// # How they work
//
// A run visits the segments of a plan in order and documents in ascending order,
// with one collector for all of them, so what the first segments found prunes the
// later ones. A cursor (cursor.go) knows its current block from the directory
// alone; blocks are decoded only when a document in them may get in, and
// frequencies only when one is scored.
//
// A window (window.go) is a tile of 4,096 documents: a bitset of matches and an
// array of scores, together small enough for the first-level cache. Algorithms
// that go window by window add up a whole block of postings in one loop, where
// document-at-a-time ones pay a branch or two and a call for each posting.
//
// # The promise
//
// Whatever the algorithm, the answer is the oracle's of package exectest, to the
// last hit and the last bit. A document, block, window or segment is passed over
// only when an upper bound on its score is below the need of the collector, which
// is the lowest score that can still enter. With the build tag invariants (or the
// race detector) every posting scored is held against the bound of its block.
package cpuexec
