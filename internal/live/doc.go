// Package live keeps an index that changes while it is searched. A View is the index at one moment:
// segments with their deletions, and statistics over them (view.go, totals.go, deletions.go). An
// Index publishes one view after the other:
//
//   - A batch of operations passes through a pipeline and the log into a segment in memory (apply.go,
//     pipeline.go), or is read back from the log (replay.go).
//   - A seal writes that segment out (seal.go), and a merge makes one of several (merge.go), by a policy
//     (policy.go) and around failures (aside.go, backoff.go). Both write a segment (write.go), which
//     replaces the old ones, on disk and then in the view (commit.go).
//   - An update changes columns of documents that stay (updates.go, updating.go, storedupdates.go).
//   - The position of the last batch goes wherever its documents go (position.go), and each document
//     has the version of the batch that changed it last (versions.go).
//   - A segment is dropped when the last view releases it (pinned.go).
//
// A document is found by its id (view.go, ids.go) and has stored values (stored.go).
//
// A gate counts the calls for which Close waits (gate.go). A cache.Lists holds opened lists.
//
// The package implements plan.Index and stores the schema. It must not know queries, plans, scores,
// who runs a search, or the types that callers of package riffle see: it has Options and events of
// its own.
package live
