// Package live keeps an index that changes while it is searched. A View is the index at one moment:
// segments with their deletions, and statistics over them (view.go, totals.go, deletions.go). An Index
// publishes one view after the other:
//
//   - a batch of operations passes through a pipeline and the log into a segment in memory (apply.go,
//     pipeline.go), or is read back from the log (replay.go);
//   - a seal writes that segment out (seal.go), a merge makes one of several (merge.go), by a policy
//     (policy.go) and around what fails (aside.go, backoff.go); both write a segment (write.go) and put it
//     in the place of the old ones, on disk and then in view (commit.go);
//   - the position of the last batch goes wherever its documents go (position.go);
//   - a segment goes when the last view lets go of it (pinned.go).
//
// A document is found by its id (view.go, ids.go) and keeps what was stored of it (stored.go).
//
// A gate counts the calls that Close waits for (gate.go). Opened lists are in a cache.Lists.
//
// It implements plan.Index and keeps the schema, but it must not know queries, plans, scores, who runs
// a search, nor the types that callers of package riffle see: it has Options and events of its own.
package live
