// The best keys of a query. A thread block gathers candidates in a pool in its shared memory, cuts that
// to k where there are more, and hands it in: under the query's lock, the keys found so far and the new
// ones become the best k of both, and the worst of them is the threshold for everybody. Nothing is ever
// dropped that could still enter.
//
// A query's list may grow by slack keys over k before it is cut again, so that where every tile has a
// few candidates for a thousand places not each pays for a cut.
//
// Selection is by radix, 8 bits at a step from the top: keys are all different, so it ends after 8 steps
// at the latest, and after 3 or 4 mostly. All threads of the block call these functions together.
#pragma once
#include "score.cuh"
#include "warp.cuh"

struct Pool {
  Key *keys;        // room for at least 2*k + slack
  uint32_t room;
  uint32_t *count;  // keys in it; it may go beyond room, and then what came last is not in it
  uint32_t *bins;   // 256, and 4 more
  Key *worst;       // of those that a cut left
};

const uint32_t pool_bins = 256 + 4;

__device__ __forceinline__ uint32_t slack_of(uint32_t k) { return min(k / 8, 32u); }

// Puts a key into the pool; false when there is no room. Any thread may call it alone.
__device__ __forceinline__ bool add(const Pool &p, Key key) {
  uint32_t at = atomicAdd(p.count, 1u);
  if (at < p.room) p.keys[at] = key;
  return at < p.room;
}

// A key with just k of the n keys at it or above; n > k.
__device__ __forceinline__ Key floor_of_best(const Pool &p, uint32_t n, uint32_t k) {
  uint32_t *digit = p.bins + 256, *rest = p.bins + 257, *here = p.bins + 258;
  Key prefix = 0;
  uint32_t want = k;
  for (uint32_t shift = 56;; shift -= 8) {
    for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) p.bins[i] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
      if ((p.keys[i] ^ prefix) >> shift >> 8 == 0) atomicAdd(&p.bins[p.keys[i] >> shift & 255], 1u);
    }
    __syncthreads();
    if (threadIdx.x < 32) {  // lane t looks at the digits from 255-8t down
      uint32_t top = 255 - 8 * threadIdx.x, sum = 0;
      for (uint32_t i = 0; i < 8; i++) sum += p.bins[top - i];
      uint32_t above = sum_before(sum, threadIdx.x);
      if (above < want && want <= above + sum) {
        uint32_t d = top;
        while (above + p.bins[d] < want) above += p.bins[d--];
        *digit = d;
        *rest = want - above;
        *here = p.bins[d];
      }
    }
    __syncthreads();
    prefix |= static_cast<Key>(*digit) << shift;
    want = *rest;
    if (*here == want || shift == 0) return prefix;
    __syncthreads();
  }
}

// Leaves the best k of the n keys in the pool, in any order, n > k.
__device__ __forceinline__ void cut(const Pool &p, uint32_t n, uint32_t k) {
  Key floor = floor_of_best(p, n, k);
  __syncthreads();
  if (threadIdx.x == 0) {
    *p.count = 0;
    *p.worst = ~Key(0);
  }
  __syncthreads();
  // What is kept moves down, never up, a stride of the block at a time.
  for (uint32_t base = 0; base < n; base += blockDim.x) {
    uint32_t i = base + threadIdx.x;
    Key key = i < n ? p.keys[i] : 0;
    __syncthreads();
    if (i < n && key >= floor) {
      add(p, key);
      atomicMin(p.worst, key);
    }
    __syncthreads();
  }
}

__device__ __forceinline__ void lock(State &s) {
  if (threadIdx.x == 0) {
    while (atomicCAS(&s.lock, 0u, 1u) != 0) __nanosleep(100);
    __threadfence();
  }
  __syncthreads();
}

__device__ __forceinline__ void unlock(State &s) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicExch(&s.lock, 0u);
}

// Hands the keys of the pool in. The pool is empty afterwards.
__device__ __forceinline__ void hand_in(const Pool &p, const Query &q, State &s) {
  __syncthreads();
  uint32_t n = min(*p.count, p.room), k = q.k;
  __syncthreads();
  if (n == 0) return;
  if (n > k) {
    cut(p, n, k);
    n = k;
  }
  lock(s);
  volatile Key *best = q.best.get();
  uint32_t held = *const_cast<volatile uint32_t *>(&s.held);
  __syncthreads();  // it will change
  uint32_t sum = held + n;
  if (sum < k || (held >= k && sum <= k + slack_of(k))) {
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) best[held + i] = p.keys[i];
  } else {
    for (uint32_t i = threadIdx.x; i < held; i += blockDim.x) p.keys[n + i] = best[i];
    __syncthreads();
    if (sum > k) {
      cut(p, sum, k);
    } else {  // just k
      if (threadIdx.x == 0) *p.worst = ~Key(0);
      __syncthreads();
      for (uint32_t i = threadIdx.x; i < k; i += blockDim.x) atomicMin(p.worst, p.keys[i]);
      __syncthreads();
    }
    for (uint32_t i = threadIdx.x; i < k; i += blockDim.x) best[i] = p.keys[i];
    sum = k;
    if (threadIdx.x == 0) atomicMax(&s.threshold, *p.worst);
  }
  if (threadIdx.x == 0) {
    *const_cast<volatile uint32_t *>(&s.held) = sum;
    *p.count = 0;
  }
  unlock(s);
  __syncthreads();
}
