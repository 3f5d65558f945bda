// What the warps that add the postings of tiles count.
#pragma once
#include "score.cuh"
#include "warp.cuh"

// What a thread counts in a part: postings whose document had a score, and, where that is not all others, documents that may
// be returned.
struct Found {
  uint32_t again, accepted;
};

// Counts what was found in a part. A warp calls it together.
__device__ __forceinline__ void settle(const Part &part, State &s, Found n) {
  uint32_t again = __reduce_add_sync(all_lanes, n.again), accepted = __reduce_add_sync(all_lanes, n.accepted);
  if (threadIdx.x % 32 != 0) return;
  unsigned long long less = -static_cast<unsigned long long>(again), matched = part.accept.address ? accepted : less;
  State *state = GLOBAL(State, reinterpret_cast<uintptr_t>(&s));
  if (less) atomicAdd(&state->scored, less);
  if (matched) atomicAdd(&state->matched, matched);
}
