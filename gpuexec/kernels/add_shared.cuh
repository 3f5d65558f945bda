// Additions to shared memory whose address is a number of 32 bits, as the machine has it. The emulator has them in plain C++.
#pragma once
#include "device.cuh"

#if defined(__CUDA__) || defined(__CUDACC__)

// The address of a word in shared memory.
__device__ __forceinline__ uint32_t address_of(const uint32_t *shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

// Adds to the word at an address. It returns what was there before.
__device__ __forceinline__ uint32_t add_shared(uint32_t address, uint32_t v) {
  uint32_t old;
  asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(address), "r"(v) : "memory");
  return old;
}

// 1 unless v is 0.
__device__ __forceinline__ uint32_t one_if(uint32_t v) {
  uint32_t one;
  asm("min.u32 %0, %1, 1;" : "=r"(one) : "r"(v));
  return one;
}

#else

inline uint32_t address_of(const uint32_t *shared) {
  return static_cast<uint32_t>(reinterpret_cast<const char *>(shared) - static_cast<const char *>(::emulator::dynamic_shared));
}
inline uint32_t add_shared(uint32_t address, uint32_t v) {
  return atomicAdd(reinterpret_cast<uint32_t *>(static_cast<char *>(::emulator::dynamic_shared) + address), v);
}
inline uint32_t one_if(uint32_t v) { return min(v, 1u); }

#endif
