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
