// Turns values into the sums of all values before each, and their total behind the last. A block for each tile, twice:
// what the tiles are in all is added up by every block for itself, which is less than it has of its own.
#include "layout.cuh"

// The sum over a block of 256 threads. words holds 8.
__device__ __forceinline__ uint32_t block_sum(uint32_t v, uint32_t *words) {
  __syncthreads();
  v = __reduce_add_sync(all_lanes, v);
  if (threadIdx.x % 32 == 0) words[threadIdx.x / 32] = v;
  __syncthreads();
  uint32_t sum = 0;
  for (uint32_t w = 0; w < 8; w++) sum += words[w];
  return sum;
}

extern "C" __global__ void __launch_bounds__(256) sum_tiles(const Args *args) {
  const Args a = *args;
  __shared__ uint32_t words[8];
  uint32_t first = blockIdx.x * tile, end = min(first + tile, a.value_count), sum = 0;
  for (uint32_t i = first + threadIdx.x; i < end; i += blockDim.x) sum += a.values[i];
  sum = block_sum(sum, words);
  if (threadIdx.x == 0) a.sums[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(256) sum_before_each(const Args *args) {
  const Args a = *args;
  __shared__ uint32_t words[8];
  uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, before = 0;
  for (uint32_t i = threadIdx.x; i < blockIdx.x; i += blockDim.x) before += a.sums[i];
  before = block_sum(before, words);
  uint32_t first = blockIdx.x * tile, end = min(first + tile, a.value_count);
  for (uint32_t row = first; row < end; row += blockDim.x) {
    uint32_t i = row + threadIdx.x, v = i < end ? a.values[i] : 0, in_warp = sum_before(v, lane);
    __syncthreads();
    if (lane == 31) words[warp] = in_warp + v;
    __syncthreads();
    uint32_t sum = before + in_warp;
    for (uint32_t w = 0; w < 8; w++) {
      if (w < warp) sum += words[w];
      before += words[w];
    }
    if (i < end) a.values[i] = sum;
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) a.values[a.value_count] = before;
}
