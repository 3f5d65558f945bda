// The last step of a batch: the best keys of each query, cut to k and put in order, best first, where the host reads them. A warp
// sorts up to 32 in its registers, a block of threads more in shared memory; both by bitonic networks,
// since no two keys are equal and their number is known.
#include "append.cuh"

// Sorts a key for each lane, highest first.
__device__ __forceinline__ Key sort_lanes(Key key, uint32_t lane) {
#pragma unroll
  for (uint32_t size = 2; size <= 32; size *= 2) {
#pragma unroll
    for (uint32_t step = size / 2; step > 0; step /= 2) {
      Key other = __shfl_xor_sync(all_lanes, key, step);
      bool first = (lane & step) == 0, down = (lane & size) == 0;
      key = (first == down) == (key > other) ? key : other;
    }
  }
  return key;
}

// Sorts the first n keys, highest first; there is room for the next power of two.
__device__ __forceinline__ void sort_block(Key *keys, uint32_t n) {
  uint32_t all = 1;
  while (all < n) all *= 2;
  for (uint32_t i = n + threadIdx.x; i < all; i += blockDim.x) keys[i] = 0;
  for (uint32_t size = 2; size <= all; size *= 2) {
    for (uint32_t step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      for (uint32_t i = threadIdx.x; i < all / 2; i += blockDim.x) {
        uint32_t a = 2 * step * (i / step) + i % step, b = a + step;
        Key x = keys[a], y = keys[b];
        if (((a & size) == 0) != (x > y)) {
          keys[a] = y;
          keys[b] = x;
        }
      }
    }
  }
  __syncthreads();
}

// Brings those of the n keys that are floor or more into the pool, as far as they have room. It returns how many they are.
__device__ __forceinline__ uint32_t gather(const Pool &p, const Key *best, uint32_t n, Key floor) {
  __syncthreads();
  if (threadIdx.x == 0) *p.count = 0;
  __syncthreads();
  for (uint32_t j = threadIdx.x; j < n; j += blockDim.x) {
    if (best[j] >= floor) add(p, best[j]);
  }
  __syncthreads();
  return *p.count;
}

// Brings those keys of a query that appends into the pool which can be among the best k, n of them. It returns how many they are.
__device__ __forceinline__ uint32_t gather_best(const Pool &p, const Query &q, State &s, uint32_t n) {
  if (n > q.k && threadIdx.x < 32) {
    Key threshold = max(threshold_by_counts(q), common_threshold(s));
    if (threadIdx.x == 0) *p.worst = threshold;
  }
  __syncthreads();
  uint32_t left = gather(p, q.best, n, n > q.k ? *p.worst : 0);
  if (left <= p.room) return left;
  // Too many are in one range.
  return gather(p, q.best, n, floor_of_best(Pool{q.best, n, p.count, p.bins, p.worst}, n, q.k));
}

// A block for each query.
extern "C" __global__ void __launch_bounds__(256) top_k(const Batch *batch) {
  const Batch b = *batch;
  DYNAMIC_SHARED(Key, keys);
  __shared__ uint32_t count, bins[pool_bins];
  __shared__ Key worst;
  changed_by_others(count, bins, worst);
  Pool pool{keys, b.pool_room, &count, bins, &worst};
  for (uint32_t i = blockIdx.x; i < b.query_count; i += gridDim.x) {
    const Query &q = b.queries[i];
    State &s = b.states[i];
    Key *best = q.best, *answer = q.answer;
    uint32_t n = s.held;
    if (n <= 32 && n <= q.k) {
      if (threadIdx.x < 32) {
        Key key = sort_lanes(threadIdx.x < n ? best[threadIdx.x] : 0, threadIdx.x);
        if (threadIdx.x < n) answer[threadIdx.x] = key;
      }
      continue;
    }
    if (q.counts.address) {
      n = gather_best(pool, q, s, n);
    } else {
      for (uint32_t j = threadIdx.x; j < n; j += blockDim.x) keys[j] = best[j];
    }
    __syncthreads();
    if (n > q.k) {
      cut(pool, n, q.k);
      n = q.k;
    }
    sort_block(keys, n);
    for (uint32_t j = threadIdx.x; j < n; j += blockDim.x) answer[j] = keys[j];
    if (threadIdx.x == 0) s.held = n;
    __syncthreads();
  }
}
