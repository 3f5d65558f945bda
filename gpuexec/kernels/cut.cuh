// A warp cuts the keys of a query to the best k.
#pragma once
#include "pool.cuh"

// How many of the n keys that the lane looks at, one in 32, are floor or more. Reads take long, so that there are always some on their way.
__device__ __forceinline__ uint32_t count_from(volatile Key *best, uint32_t n, Key floor) {
  const uint32_t at_once = 4;
  uint32_t lane = threadIdx.x % 32, count = 0;
  for (uint32_t i = lane; i < n; i += 32 * at_once) {
    Key key[at_once];
#pragma unroll
    for (uint32_t j = 0; j < at_once; j++) key[j] = best[min(i + 32 * j, n - 1)];
#pragma unroll
    for (uint32_t j = 0; j < at_once; j++) count += i + 32 * j < n && key[j] >= floor;
  }
  return count;
}

// The best k of the n keys of a query, and how many they are, n > k or n == k: moves them to the front, and returns the worst.
__device__ __forceinline__ Key cut_best(volatile Key *best, uint32_t n, uint32_t k) {
  uint32_t lane = threadIdx.x % 32;
  Key highest = 0, lowest = ~Key(0);
  for (uint32_t i = lane; i < n; i += 32) {
    Key key = best[i];
    highest = max(highest, key);
    lowest = min(lowest, key);
  }
#pragma unroll
  for (uint32_t step = 16; step > 0; step /= 2) {
    highest = max(highest, __shfl_xor_sync(all_lanes, highest, step));
    lowest = min(lowest, __shfl_xor_sync(all_lanes, lowest, step));
  }
  if (n == k) return lowest;
  // From the first bit where keys differ on, the largest number with k keys at it or above. With just k the rest of its bits
  // does not matter.
  uint32_t bit = 64 - __clzll(highest ^ lowest);
  Key floor = bit == 64 ? 0 : highest >> bit << bit;
  while (bit-- > 0) {
    Key higher = floor | Key(1) << bit;
    uint32_t count = __reduce_add_sync(all_lanes, count_from(best, n, higher));
    if (count >= k) floor = higher;
    if (count == k) break;
  }
  // Keys move to the front only, a chunk at a time.
  uint32_t kept = 0;
  lowest = ~Key(0);
  for (uint32_t base = 0; base < n; base += 32) {
    Key key = base + lane < n ? best[base + lane] : 0;
    bool stays = base + lane < n && key >= floor;
    uint32_t votes = __ballot_sync(all_lanes, stays);
    if (stays) {
      best[kept + __popc(votes & ((1u << lane) - 1))] = key;
      lowest = min(lowest, key);
    }
    kept += __popc(votes);
    __syncwarp();
  }
#pragma unroll
  for (uint32_t step = 16; step > 0; step /= 2) lowest = min(lowest, __shfl_xor_sync(all_lanes, lowest, step));
  return lowest;
}
