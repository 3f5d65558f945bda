// Kernels that try what device.cuh offers. They run under the emulator's own tests, on its
// libcuda through package device, and on a GPU, with the same results.
#include "../../kernels/device.cuh"

struct Words {
  Pointer<uint32_t> in, out;
  uint32_t n, pad;
};

// out[i] = sum of in[0..i] within each block's 256.
extern "C" __global__ void __launch_bounds__(256) scan(const Words *args) {
  __shared__ uint32_t totals[8];
  const Words a = *args;
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint32_t sum = i < a.n ? a.in[i] : 0;
  for (uint32_t d = 1; d < 32; d *= 2) {
    uint32_t before = __shfl_up_sync(0xffffffff, sum, d);
    if (lane >= d) sum += before;
  }
  if (lane == 31) totals[warp] = sum;
  __syncthreads();
  for (uint32_t w = 0; w < warp; w++) sum += totals[w];
  if (i < a.n) a.out[i] = sum;
}

// A histogram of in's low bytes in dynamic shared memory, a block a slice.
extern "C" __global__ void histogram(const Words *args) {
  DYNAMIC_SHARED(uint32_t, counts);
  const Words a = *args;
  for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += gridDim.x * blockDim.x)
    atomicAdd(&counts[a.in[i] & 255], 1u);
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&a.out[i], counts[i]);
}

// Every collective once, against what it is defined to be: out[lane] = 0 when all hold.
extern "C" __global__ void collectives(const Words *args) {
  const Words a = *args;
  uint32_t lane = threadIdx.x % 32, bad = 0, all = 0xffffffff, v = lane * 7 % 32;
  bad |= (__shfl_sync(all, v, 5) != 35 % 32) << 0;
  bad |= (__shfl_sync(all, v, 5, 8) != ((lane & 24) + 5) * 7 % 32) << 1;
  bad |= (__shfl_up_sync(all, lane, 3, 16) != (lane % 16 < 3 ? lane : lane - 3)) << 2;
  bad |= (__shfl_down_sync(all, lane, 3, 16) != (lane % 16 > 12 ? lane : lane + 3)) << 3;
  bad |= (__shfl_xor_sync(all, lane, 9) != (lane ^ 9)) << 4;
  bad |= (__ballot_sync(all, lane % 3 == 0) != 0x49249249) << 5;
  bad |= (__any_sync(all, lane == 31) != 1) << 6;
  bad |= (__all_sync(all, lane != 31) != 0) << 7;
  bad |= (__reduce_add_sync(all, lane) != 496) << 8;
  bad |= (__reduce_max_sync(all, v) != 31) << 9;
  bad |= (__reduce_min_sync(all, -1 - static_cast<int>(lane)) != -32) << 10;
  bad |= (__match_any_sync(all, lane / 4) != 0xfu << (lane & 28)) << 11;
  bad |= (__shfl_sync(all, static_cast<unsigned long long>(lane) << 40, 9) != 9ull << 40) << 12;
  if (lane < 16)
    bad |= (__ballot_sync(0xffff, lane & 1) != 0xaaaa) << 13;
  else
    bad |= (__reduce_or_sync(0xffff0000, lane) != 31) << 13;
  bad |= (__syncthreads_count(lane < 3) != static_cast<int>(blockDim.x) / 32 * 3) << 14;
  bad |= (__syncthreads_and(lane < 32) != 1 || __syncthreads_or(lane > 31) != 0) << 15;
  bad |= (__funnelshift_r(0x80000000, 1, 31) != 3 || __funnelshift_l(0x80000000, 1, 1) != 3) << 16;
  bad |= (__byte_perm(0x44332211, 0x88776655, 0x7130) != 0x88224411) << 17;
  bad |= (__clz(1) != 31 || __clz(0) != 32 || __ffs(8) != 4 || __ffs(0) != 0 || __brev(1) != 0x80000000) << 18;
  bad |= (__umulhi(0xffffffff, 2) != 1 || __popcll(~0ull) != 64) << 19;
  a.out[blockIdx.x * blockDim.x + threadIdx.x] = bad;
}

// A lock that threads of one warp fight for, with other threads in between. Who has it gives it back within the
// loop: a compiler may have a warp meet behind it.
extern "C" __global__ void lock(const Words *args) {
  const Words a = *args;
  for (bool done = false; !done;) {
    if (atomicCAS(&a.out[0], 0u, 1u) == 0) {
      __threadfence();
      uint32_t v = a.out[1];
      __nanosleep(100);
      a.out[1] = v + 1;
      __threadfence();
      atomicExch(&a.out[0], 0u);
      done = true;
    } else {
      __nanosleep(100);
    }
  }
}

// Copies that are read only after they have been waited for.
extern "C" __global__ void copies(const Words *args) {
  __shared__ __align__(16) uint32_t words[4 * 64];
  const Words a = *args;
  copy_async_16(&words[4 * threadIdx.x], &a.in[4 * threadIdx.x]);
  copy_async_commit();
  copy_async_wait<0>();
  __syncthreads();
  a.out[threadIdx.x] = words[4 * (63 - threadIdx.x) + 3];
}
