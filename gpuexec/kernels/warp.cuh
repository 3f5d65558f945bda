// What the 32 threads of a warp do together. All of them must call.
#pragma once
#include "device.cuh"

const uint32_t all_lanes = ~0u;

// The sum of v over all lanes before this one.
__device__ __forceinline__ uint32_t sum_before(uint32_t v, uint32_t lane) {
  uint32_t sum = v;
#pragma unroll
  for (uint32_t step = 1; step < 32; step *= 2) {
    uint32_t other = __shfl_up_sync(all_lanes, sum, step);
    if (lane >= step) sum += other;
  }
  return sum - v;
}

// Where set bit n of a word stands, counted from 0. The word has more than n. A lane may call it alone.
__device__ __forceinline__ uint32_t nth_bit(uint32_t word, uint32_t n) {
  uint32_t at = 0;
#pragma unroll
  for (uint32_t half = 16; half > 0; half /= 2) {
    uint32_t low = __popc(word >> at & ((1u << half) - 1));
    if (n >= low) {
      n -= low;
      at += half;
    }
  }
  return at;
}

// Number i of n numbers in another order: those that follow one another come to lie n/1024 apart, or four where there are few. The last
// stays the last. A lane may call it alone.
//
// Work of a queue is taken in this order. It stands query by query, and so much of it is under way at a time that nothing which
// is found in a query would be known before all of its work is taken; and those who find something would wait for one another.
__device__ __forceinline__ uint32_t shuffled(uint32_t i, uint32_t n) {
  uint32_t ways = min(1024u, max(1u, n / 4)), each = n / ways;
  return i < ways * each ? i % ways * each + i / ways : i;
}
