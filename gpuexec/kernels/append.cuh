// Keys of queries for many hits: without a lock, since warps would wait for it, and for those who cut a thousand keys under it.
//
// A warp reserves places in the query's list by one atomic addition to State.held, and writes its keys there. Places are 0 before,
// which no key is, so that whoever reads the list knows which of them have arrived.
//
// Keys are also counted, by ranges of scores. Where the counts from the top reach k, the lower edge of the range is a threshold:
// k keys are known that have it or more. It is below the k-th best by less than a range, and a warp looks at the counts every few keys.
//
// The first warp to find no place leaves in the list what is not below the threshold, while the others that find none wait. With
// so many in one range that this does not help, it cuts the list to the best k.
#pragma once
#include "cut.cuh"

// How many keys come between two looks at the counts: the threshold is late by an eighth of k at most, but for what is being counted.
__device__ __forceinline__ uint32_t look_every(uint32_t k) { return max(8u, k / 8); }

// Counts a key.
__device__ __forceinline__ void count_key(const Query &q, Key key) {
  uint32_t range = (static_cast<uint32_t>(key >> 32) - q.lowest) >> q.range_shift;
  atomicAdd(&q.counts[min(range, count_ranges - 1)], 1u);
}

// A threshold by the counts, 0 when they are fewer than k in all. A warp calls it together.
__device__ __forceinline__ Key threshold_by_counts(const Query &q) {
  const uint32_t at_once = 4;
  volatile uint32_t *counts = q.counts.get();
  uint32_t lane = threadIdx.x % 32, above = 0;
  for (uint32_t end = count_ranges; end > 0; end -= 32 * at_once) {
    uint32_t count[at_once];  // of the ranges from the top on, the first of lane 0
#pragma unroll
    for (uint32_t j = 0; j < at_once; j++) count[j] = counts[end - 1 - 32 * j - lane];
#pragma unroll
    for (uint32_t j = 0; j < at_once; j++) {
      uint32_t sum = __reduce_add_sync(all_lanes, count[j]);
      if (above + sum < q.k) {
        above += sum;
        continue;
      }
      uint32_t before = sum_before(count[j], lane), at = __ffs(__ballot_sync(all_lanes, above + before + count[j] >= q.k)) - 1;
      return static_cast<Key>(q.lowest + ((end - 1 - 32 * j - at) << q.range_shift)) << 32;
    }
  }
  return 0;
}

// Raises the query's threshold to that by the counts. A warp calls it together.
__device__ __forceinline__ void look(const Query &q, State &s) {
  Key threshold = threshold_by_counts(q);
  if (threadIdx.x % 32 == 0 && threshold > threshold_of(s)) atomicMax(&s.threshold, threshold);
}

// Waits until the keys of these places have arrived, one of each lane. A warp calls it together.
__device__ __forceinline__ Key arrived(volatile Key *best, uint32_t i, Key key) {
  while (__any_sync(all_lanes, key == 0)) {
    __nanosleep(50);
    if (key == 0) key = best[i];
  }
  return key;
}

// Leaves those of the first n keys that are floor or more, at the front. It returns how many. Places behind them are 0 then. A warp calls
// it together, when nobody else takes places.
__device__ __forceinline__ uint32_t keep_from(volatile Key *best, uint32_t n, Key floor) {
  const uint32_t at_once = 2;
  uint32_t lane = threadIdx.x % 32, kept = 0;
  for (uint32_t base = lane; base < n + lane; base += 32 * at_once) {  // as often for all lanes
    Key key[at_once];
#pragma unroll
    for (uint32_t j = 0; j < at_once; j++) key[j] = best[min(base + 32 * j, n - 1)];
#pragma unroll
    for (uint32_t j = 0; j < at_once; j++) key[j] = arrived(best, min(base + 32 * j, n - 1), key[j]);
#pragma unroll
    for (uint32_t j = 0; j < at_once; j++) {
      bool stays = base + 32 * j < n && key[j] >= floor;
      uint32_t votes = __ballot_sync(all_lanes, stays);
      if (stays) best[kept + __popc(votes & ((1u << lane) - 1))] = key[j];
      kept += __popc(votes);
    }
    __syncwarp();
  }
  for (uint32_t i = kept + lane; i < n; i += 32) best[i] = 0;
  __syncwarp();
  return kept;
}

// Makes room in a full list, of which all before held are reserved, and takes n places. It returns the first. A warp calls it together.
[[maybe_unused]] static __device__ __noinline__ uint32_t make_places(const Query &q, State &s, uint32_t held, uint32_t n) {
  uint32_t lane = threadIdx.x % 32, k = q.k, room = q.room;
  volatile Key *best = q.best.get();
  Key floor = max(threshold_by_counts(q), common_threshold(s));
  uint32_t kept = keep_from(best, held, floor);
  if (kept > (room + k) / 2) {
    floor = cut_best(best, kept, k);
    for (uint32_t i = k + lane; i < kept; i += 32) best[i] = 0;
    kept = k;
  }
  __threadfence();
  __syncwarp();
  if (lane == 0) {
    atomicMax(&s.threshold, floor);
    atomicExch(&s.held, kept + n);
  }
  return kept;
}

// Takes n places in the query's list, and returns the first. A warp calls it together.
__device__ __forceinline__ uint32_t take_places(const Query &q, State &s, uint32_t n) {
  uint32_t lane = threadIdx.x % 32, room = q.room;
  for (;;) {
    uint32_t at = lane == 0 ? atomicAdd(&s.held, n) : 0;
    at = __shfl_sync(all_lanes, at, 0);
    if (at + n <= room) return at;
    if (at <= room) return make_places(q, s, at, n);
    if (lane == 0) {
      while (*const_cast<volatile uint32_t *>(&s.held) > room) __nanosleep(200);
    }
    __syncwarp();
  }
}

// Appends the n keys, n < room - k, none of which is below the threshold that the query had before. A warp calls it together.
[[maybe_unused]] static __device__ __noinline__ void append(const Query &q, State &s, const Key *keys, uint32_t n) {
  uint32_t lane = threadIdx.x % 32, every = look_every(q.k);
  __syncwarp();
  for (uint32_t i = lane; i < n; i += 32) count_key(q, keys[i]);
  uint32_t at = take_places(q, s, n);
  volatile Key *best = q.best.get();
  for (uint32_t i = lane; i < n; i += 32) best[at + i] = keys[i];
  if (at + n >= q.k && at / every != (at + n) / every) look(q, s);
  __syncwarp();
}
