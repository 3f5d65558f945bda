// Gates in shared memory: threads arrive at one without waiting there, and others wait until so many have (PTX's mbarrier). What the ones did before
// is seen by the others afterwards. A gate opens again and again: the n-th time, from 0 on, when count times n+1 have arrived.
#pragma once
#include "warp.cuh"

// A word of PTX's own making; in the emulator count in the upper half, and how many have arrived in the lower one.
struct Gate {
  unsigned long long word;
};

#if defined(__CUDA__) || defined(__CUDACC__)

// A thread calls it, before a barrier of the block.
__device__ __forceinline__ void set_gate(Gate &g, uint32_t count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(&g))), "r"(count) : "memory");
}

__device__ __forceinline__ void arrive(Gate &g) {
  asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared.b64 state, [%0];\n\t}" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(&g))) : "memory");
}

__device__ __forceinline__ uint32_t has_opened(Gate &g, uint32_t odd) {
  uint32_t yes;
  asm volatile("{\n\t.reg .pred p;\n\tmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n\tselp.b32 %0, 1, 0, p;\n\t}"
               : "=r"(yes)
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(&g))), "r"(odd)
               : "memory");
  return yes;
}

#else

inline void set_gate(Gate &g, uint32_t count) { atomicExch(&g.word, static_cast<unsigned long long>(count) << 32); }
inline void arrive(Gate &g) {
  __threadfence_block();
  atomicAdd(&g.word, 1ull);
}
inline uint32_t has_opened(Gate &g, uint32_t odd) {
  unsigned long long word = __ldcg(&g.word);
  __threadfence_block();
  uint32_t times = static_cast<uint32_t>(word) / static_cast<uint32_t>(word >> 32);
  if ((times & 1) != odd) return 1;
  __nanosleep(0);
  return 0;
}

#endif

// Waits until a gate has opened the n-th time. It must not have opened the time after next by then. A warp calls it together, and the compiler knows that
// its lanes do not part.
__device__ __forceinline__ void wait_for(Gate &g, uint32_t n) {
  while (!__all_sync(all_lanes, has_opened(g, n & 1))) {
  }
}
