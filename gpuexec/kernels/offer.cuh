// Handing in documents that a warp has scored, one a lane: those that may enter become keys, which the warp holds until there are enough of them.
#pragma once
#include "insert.cuh"
#include "strip.cuh"

// Hands in a document of each lane that is there. keys is the warp's room for keys, of which it holds so many. It returns how many it holds then.
// threshold is the query's, and read again when it has risen for these: a read takes longer than all else here. A warp calls it together.
__device__ __forceinline__ uint32_t offer_to(Key *keys, const Batch &b, const Part &part, Key *threshold, uint32_t held, bool there, uint32_t doc, uint32_t score,
                                             Counts *n) {
  const Query &q = b.queries[part.query];
  State &state = b.states[part.query];
  n->scored += there;
  there = there && accepts(part, doc);
  n->matched += there;
  Key key = there ? key_of(score + rank_score(part, q.rank_weight, doc), part.base + doc) : 0;
  there = there && key >= *threshold && key < q.after;
  if (!__any_sync(all_lanes, there)) return held;
  held = keep_key(q, state, keys, held, there, key);
  if (held == 0) *threshold = common_threshold(state);
  return held;
}
