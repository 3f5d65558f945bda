// Kernels whose threads do not meet as they should, or go where they should not.
#include "../../kernels/device.cuh"

struct Words {
  Pointer<uint32_t> in, out;
  uint32_t n, pad;
};

extern "C" __global__ void divergent_barrier(const Words *) {
  if (threadIdx.x < 40)
    __syncthreads();
  else
    __syncthreads();
}

extern "C" __global__ void missing_lane(const Words *args) {
  if (threadIdx.x == 7)
    __syncthreads();
  else
    args->out[threadIdx.x] = __ballot_sync(0xffffffff, 1);
}

extern "C" __global__ void forever(const Words *args) {
  while (__ldcg(&args->out[0]) != 77) __nanosleep(10);
}

// A warp waits together, as for a gate (../../kernels/gate.cuh).
__device__ __forceinline__ bool has_opened(const Words *args) {
  bool yes = __ldcg(&args->out[0]) == 77;
  if (!yes) __nanosleep(0);
  return yes;
}

extern "C" __global__ void closed_gate(const Words *args) {
  while (!__all_sync(0xffffffff, has_opened(args))) {
  }
}

extern "C" __global__ void absent_source(const Words *args) {
  if (threadIdx.x < 8) args->out[threadIdx.x] = __shfl_sync(0xff, threadIdx.x, 9);
}

extern "C" __global__ void trapped(const Words *) {
  if (threadIdx.x == 33) __trap();
}

extern "C" __global__ void not_waited(const Words *args) {
  __shared__ __align__(16) uint32_t words[4];
  copy_async_16(words, &args->in[0]);
}

extern "C" __global__ void out_of_bounds(const Words *args) {
  DYNAMIC_SHARED(uint32_t, words);
  words[threadIdx.x] = 1;
  args->out[0] = words[0];
}

extern "C" __global__ void misaligned(const Words *args) {
  args->out[0] = __ldg(reinterpret_cast<const uint4 *>(args->in.get() + 1)).x;
}

extern "C" __global__ void far_shift(const Words *args) { args->out[0] = 1u << args->n; }

// Races: a missing barrier, a shuffle taken for one, words that two blocks write, and a message without fences.

extern "C" __global__ void no_barrier(const Words *args) {
  __shared__ uint32_t words[64];
  words[threadIdx.x] = threadIdx.x;
  args->out[threadIdx.x] = words[63 - threadIdx.x];
}

extern "C" __global__ void no_order(const Words *args) {
  __shared__ uint32_t words[32];
  words[threadIdx.x] = threadIdx.x;
  uint32_t v = __shfl_xor_sync(0xffffffff, threadIdx.x, 1);
  args->out[threadIdx.x] = words[31 - threadIdx.x] + v;
}

extern "C" __global__ void two_blocks(const Words *args) {
  args->out[1] = 5; // the same value: no race
  args->out[0] = blockIdx.x;
}

extern "C" __global__ void no_fence(const Words *args) {
  if (threadIdx.x == 40) {
    args->out[1] = 7;
    atomicExch(&args->out[0], 1u);
  }
  if (threadIdx.x == 0) {
    while (atomicAdd(&args->out[0], 0u) == 0) __nanosleep(10);
    args->out[2] = args->out[1];
  }
}
