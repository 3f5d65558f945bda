// A warp hands keys in on its own: what pool.cuh does for a thread block.
#pragma once
#include "append.cuh"

// Keys that a warp gathers before it hands them in.
const uint32_t insert_room = 64;

// How many keys over k a query's list may have before a warp cuts it: for many hits a cut takes long, and a threshold that is late
// by some of them does little harm.
__device__ __forceinline__ uint32_t wide_slack_of(uint32_t k) { return k < 64 ? k / 8 : min(k, 512u); }

// Hands the n keys in: under the query's lock they join those found so far, and where there are more than k and some slack, the
// best k stay, and the worst of them is the threshold. Queries that append (append.cuh) need no lock. A warp calls it together.
[[maybe_unused]] static __device__ __noinline__ void insert(const Query &q, State &s, const Key *keys, uint32_t n) {
  if (q.counts.address) {
    append(q, s, keys, n);
    return;
  }
  uint32_t lane = threadIdx.x % 32, k = q.k;
  volatile Key *best = q.best.get();
  __syncwarp();
  if (lane == 0) {
    while (atomicCAS(&s.lock, 0u, 1u) != 0) __nanosleep(100);
    __threadfence();
  }
  __syncwarp();
  uint32_t held = __shfl_sync(all_lanes, *const_cast<volatile uint32_t *>(&s.held), 0);
  Key threshold = __shfl_sync(all_lanes, threshold_of(s), 0);
  for (uint32_t base = 0; base < n; base += 32) {
    Key key = base + lane < n ? keys[base + lane] : 0;
    bool enters = base + lane < n && key >= threshold;
    uint32_t votes = __ballot_sync(all_lanes, enters), had = held;
    if (votes == 0) continue;
    if (enters) best[held + __popc(votes & ((1u << lane) - 1))] = key;
    held += __popc(votes);
    __syncwarp();
    if (held < k || (had >= k && held <= k + wide_slack_of(k))) continue;
    threshold = max(threshold, cut_best(best, held, k));
    held = k;
    if (lane == 0) atomicMax(&s.threshold, threshold);
  }
  __syncwarp();
  if (lane == 0) *const_cast<volatile uint32_t *>(&s.held) = held;
  __threadfence();
  __syncwarp();
  if (lane == 0) atomicExch(&s.lock, 0u);
  __syncwarp();
}

// Gathers the keys of those lanes that want, behind the held ones of the warp, and hands in what there are when there would be no
// room for more. It returns how many are held then. A warp calls it together.
__device__ __forceinline__ uint32_t keep_key(const Query &q, State &s, Key *keys, uint32_t held, bool wants, Key key) {
  uint32_t lane = threadIdx.x % 32, votes = __ballot_sync(all_lanes, wants);
  if (votes == 0) return held;
  if (wants) keys[held + __popc(votes & ((1u << lane) - 1))] = key;
  held += __popc(votes);
  if (held <= insert_room - 32) return held;
  insert(q, s, keys, held);
  return 0;
}
