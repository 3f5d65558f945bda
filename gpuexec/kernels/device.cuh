// What kernels need of the language CUDA C, from one header, for three compilers:
//
//   clang -x cuda --cuda-device-only -nocudainc -nocudalib   PTX without NVIDIA's headers (device_clang.cuh)
//   nvcc                                                     which has all of it
//   g++ or clang++ -x c++                                    the emulator (../emulator/src/emulator.h)
//
// Kernels are plain CUDA C++17 within what device_clang.cuh and emulator.h both define; a name
// that is missing is added to both. Beyond plain CUDA there are these rules:
//
//   - A kernel is  extern "C" __global__ void __launch_bounds__(threads, blocks) name(const Args *args):
//     one pointer to a struct in device memory, which is written once for a whole batch.
//     The emulator finds kernels by name, so a name must not be one of libc's (select, index, ...).
//   - Static __shared__ variables stand in kernels, not in templates, and each is named to
//     changed_by_others there, since clang 14 may keep an old value over a barrier. Dynamic shared memory is
//     got by  DYNAMIC_SHARED(uint32_t, words);  aligned to 16 bytes.
//   - A kernel begins with  const Args a = *args;  so that its parameters are read once.
//   - Only kernels.h-style structs of fixed-width integers, floats and 64-bit device addresses are
//     shared with Go; Pointer<T> is such an address, 8 bytes on every machine.
//   - No fused multiply-add: clang and the emulator get -ffp-contract=off, nvcc -fmad=false.
//   - A wait on another thread goes through a barrier or a warp collective. A loop that polls
//     memory calls __nanosleep, or the emulator, whose threads take turns, cannot go on.
#pragma once

#if defined(__CUDACC__) && defined(__NVCC__)
#include <cstdint>
#define DYNAMIC_SHARED(type, name)                \
  extern __shared__ uint4 riffle_shared_memory[]; \
  type *const name = reinterpret_cast<type *>(riffle_shared_memory)
#define GLOBAL(T, address) (static_cast<T *>(__cvta_global_to_generic(address)))
#include "copy_async.cuh"
#elif defined(__CUDA__)
#include "device_clang.cuh"
#include "copy_async.cuh"
#else
#include "../emulator/src/emulator.h"
#endif

// An address in device memory within a struct that Go fills in.
template <class T>
struct Pointer {
  uint64_t address;
  __device__ __host__ T *get() const { return GLOBAL(T, address); }
  __device__ __host__ T &operator[](uint64_t i) const { return get()[i]; }
  __device__ __host__ operator T *() const { return get(); }
};

// Says of static shared variables that other threads write them (device_clang.cuh has why).
template <class... T>
__device__ __forceinline__ void changed_by_others([[maybe_unused]] T &...variables) {
#if defined(__CUDA__) && !defined(__NVCC__)
  (shared_variable(&variables), ...);
#endif
}
