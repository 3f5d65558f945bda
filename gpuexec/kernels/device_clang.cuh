// The part of CUDA C that kernels use, on clang's builtins for NVPTX and a little assembly, so
// that PTX can be made without NVIDIA's headers. Names and meaning are those of the CUDA C++
// Programming Guide; emulator.h has the same names for the emulator.
#pragma once

// Fixed-width integers, as <stdint.h> for the device: host headers may not be there for it.
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __SIZE_TYPE__ size_t;

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __device_builtin__ __device__ __forceinline__
#define DYNAMIC_SHARED(type, name)                \
  extern __shared__ uint4 riffle_shared_memory[]; \
  type *const name = reinterpret_cast<type *>(riffle_shared_memory)

// A number as an address in global memory, which the compiler then knows it to be.
#define GLOBAL(T, address) ((T *)(__attribute__((address_space(1))) T *)(address))

// Vectors.

#define VECTORS(T, name, bytes)                                           \
  struct __align__(2 * bytes) name##2 { T x, y; };                        \
  struct name##3 { T x, y, z; };                                          \
  struct __align__(4 * bytes) name##4 { T x, y, z, w; };                  \
  __device_builtin__ name##2 make_##name##2(T x, T y) { return {x, y}; }  \
  __device_builtin__ name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
VECTORS(unsigned char, uchar, 1)
VECTORS(unsigned short, ushort, 2)
VECTORS(int, int, 4)
VECTORS(unsigned int, uint, 4)
VECTORS(float, float, 4)
#undef VECTORS
struct __align__(16) ulonglong2 { unsigned long long x, y; };
__device_builtin__ ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }
struct dim3 { unsigned x, y, z; };

// LLVM 14 takes it that a barrier leaves a static shared variable as it was when its address goes nowhere, and goes on with
// what the thread read before it (GlobalsModRef; later versions ask whether a call may synchronise). So the
// address of each goes somewhere.
__device_builtin__ void shared_variable(const void *p) { asm volatile("" : : "l"(p) : "memory"); }

// Where a thread is.

#define INDEX(name, reg)                                                                        \
  struct name##_t {                                                                             \
    __declspec(property(get = get_x)) unsigned x;                                               \
    __declspec(property(get = get_y)) unsigned y;                                               \
    __declspec(property(get = get_z)) unsigned z;                                               \
    static __device_builtin__ unsigned get_x() { return __nvvm_read_ptx_sreg_##reg##_x(); }     \
    static __device_builtin__ unsigned get_y() { return __nvvm_read_ptx_sreg_##reg##_y(); }     \
    static __device_builtin__ unsigned get_z() { return __nvvm_read_ptx_sreg_##reg##_z(); }     \
  };                                                                                            \
  extern const __device__ __attribute__((weak)) name##_t name;
INDEX(threadIdx, tid)
INDEX(blockIdx, ctaid)
INDEX(blockDim, ntid)
INDEX(gridDim, nctaid)
#undef INDEX
#define warpSize 32

// Barriers and fences; __syncthreads is clang's own.

__device_builtin__ int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }
__device_builtin__ int __syncthreads_and(int p) { return __nvvm_bar0_and(p); }
__device_builtin__ int __syncthreads_or(int p) { return __nvvm_bar0_or(p); }
__device_builtin__ void __syncwarp(unsigned mask = 0xffffffff) { __nvvm_bar_warp_sync(mask); }
__device_builtin__ void __threadfence() { __nvvm_membar_gl(); }
__device_builtin__ void __threadfence_block() { __nvvm_membar_cta(); }
__device_builtin__ void __nanosleep(unsigned ns) { asm volatile("nanosleep.u32 %0;" ::"r"(ns)); }
__device_builtin__ void __trap() { asm volatile("trap;"); }

// Warp collectives. Shuffles move 4 or 8 bytes.

#define SHUFFLE(name, builtin, clamp)                                                                 \
  __device_builtin__ int name(unsigned mask, int v, int lane, int width = 32) {                       \
    return builtin(mask, v, lane, ((32 - width) << 8) | (clamp));                                     \
  }                                                                                                   \
  __device_builtin__ unsigned name(unsigned mask, unsigned v, int lane, int width = 32) {             \
    return name(mask, static_cast<int>(v), lane, width);                                              \
  }                                                                                                   \
  __device_builtin__ float name(unsigned mask, float v, int lane, int width = 32) {                   \
    return __builtin_bit_cast(float, name(mask, __builtin_bit_cast(int, v), lane, width));            \
  }                                                                                                   \
  __device_builtin__ unsigned long long name(unsigned mask, unsigned long long v, int lane, int width = 32) { \
    unsigned low = name(mask, static_cast<unsigned>(v), lane, width);                                 \
    unsigned high = name(mask, static_cast<unsigned>(v >> 32), lane, width);                          \
    return static_cast<unsigned long long>(high) << 32 | low;                                         \
  }                                                                                                   \
  __device_builtin__ unsigned long name(unsigned mask, unsigned long v, int lane, int width = 32) {   \
    return name(mask, static_cast<unsigned long long>(v), lane, width);                               \
  }
SHUFFLE(__shfl_sync, __nvvm_shfl_sync_idx_i32, 0x1f)
SHUFFLE(__shfl_up_sync, __nvvm_shfl_sync_up_i32, 0)
SHUFFLE(__shfl_down_sync, __nvvm_shfl_sync_down_i32, 0x1f)
SHUFFLE(__shfl_xor_sync, __nvvm_shfl_sync_bfly_i32, 0x1f)
#undef SHUFFLE

__device_builtin__ unsigned __ballot_sync(unsigned mask, int p) { return __nvvm_vote_ballot_sync(mask, p); }
__device_builtin__ int __any_sync(unsigned mask, int p) { return __nvvm_vote_any_sync(mask, p); }
__device_builtin__ int __all_sync(unsigned mask, int p) { return __nvvm_vote_all_sync(mask, p); }
__device_builtin__ unsigned __match_any_sync(unsigned mask, unsigned v) { return __nvvm_match_any_sync_i32(mask, v); }
__device_builtin__ unsigned __activemask() {
  unsigned mask;
  asm volatile("activemask.b32 %0;" : "=r"(mask));
  return mask;
}

__device_builtin__ unsigned __reduce_add_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_add(v, mask); }
__device_builtin__ unsigned __reduce_min_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_umin(v, mask); }
__device_builtin__ unsigned __reduce_max_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_umax(v, mask); }
__device_builtin__ int __reduce_add_sync(unsigned mask, int v) { return __nvvm_redux_sync_add(v, mask); }
__device_builtin__ int __reduce_min_sync(unsigned mask, int v) { return __nvvm_redux_sync_min(v, mask); }
__device_builtin__ int __reduce_max_sync(unsigned mask, int v) { return __nvvm_redux_sync_max(v, mask); }
__device_builtin__ unsigned __reduce_and_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_and(v, mask); }
__device_builtin__ unsigned __reduce_or_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_or(v, mask); }
__device_builtin__ unsigned __reduce_xor_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_xor(v, mask); }

// Bits.

__device_builtin__ int __popc(unsigned v) { return __builtin_popcount(v); }
__device_builtin__ int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
__device_builtin__ int __clz(unsigned v) { return v ? __builtin_clz(v) : 32; }
__device_builtin__ int __clzll(unsigned long long v) { return v ? __builtin_clzll(v) : 64; }
__device_builtin__ int __ffs(unsigned v) { return v ? __builtin_ctz(v) + 1 : 0; }
__device_builtin__ int __ffsll(unsigned long long v) { return v ? __builtin_ctzll(v) + 1 : 0; }
__device_builtin__ unsigned __brev(unsigned v) { return __builtin_bitreverse32(v); }
__device_builtin__ unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  unsigned v;
  asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(v) : "r"(low), "r"(high), "r"(shift));
  return v;
}
__device_builtin__ unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  unsigned v;
  asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(v) : "r"(low), "r"(high), "r"(shift));
  return v;
}
__device_builtin__ unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  return __nvvm_prmt(a, b, selector);
}
__device_builtin__ unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
// The products of both halves of a and the lower two bytes of b, and c.
__device_builtin__ unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
  unsigned v;
  asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(c));
  return v;
}

// Arithmetic. Device code has no std::min.

#define MIN_MAX(T)                                                       \
  __device_builtin__ constexpr T min(T a, T b) { return b < a ? b : a; } \
  __device_builtin__ constexpr T max(T a, T b) { return a < b ? b : a; }
MIN_MAX(int)
MIN_MAX(unsigned)
MIN_MAX(long)
MIN_MAX(unsigned long)
MIN_MAX(long long)
MIN_MAX(unsigned long long)
#undef MIN_MAX
__device_builtin__ float __fadd_rn(float a, float b) { return __nvvm_add_rn_f(a, b); }
__device_builtin__ float __fsub_rn(float a, float b) { return __nvvm_add_rn_f(a, -b); }
__device_builtin__ float __fmul_rn(float a, float b) { return __nvvm_mul_rn_f(a, b); }
__device_builtin__ float __fdiv_rn(float a, float b) { return __nvvm_div_rn_f(a, b); }
__device_builtin__ float __fsqrt_rn(float a) { return __nvvm_sqrt_rn_f(a); }
__device_builtin__ float __fmaf_rn(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
__device_builtin__ float __uint2float_rn(unsigned v) { return __nvvm_ui2f_rn(v); }
__device_builtin__ float __int2float_rn(int v) { return __nvvm_i2f_rn(v); }
__device_builtin__ unsigned __float2uint_rn(float v) { return __nvvm_f2ui_rn(v); }
__device_builtin__ unsigned __float2uint_rz(float v) { return __nvvm_f2ui_rz(v); }
__device_builtin__ unsigned __float_as_uint(float v) { return __builtin_bit_cast(unsigned, v); }
__device_builtin__ float __uint_as_float(unsigned v) { return __builtin_bit_cast(float, v); }

// Loads of memory that no thread writes while the kernel runs: the read-only path.

typedef unsigned device_uint4 __attribute__((ext_vector_type(4)));
typedef unsigned device_uint2 __attribute__((ext_vector_type(2)));
__device_builtin__ unsigned char __ldg(const unsigned char *p) { return __nvvm_ldg_uc(p); }
__device_builtin__ unsigned short __ldg(const unsigned short *p) { return __nvvm_ldg_us(p); }
__device_builtin__ int __ldg(const int *p) { return __nvvm_ldg_i(p); }
__device_builtin__ unsigned __ldg(const unsigned *p) { return __nvvm_ldg_ui(p); }
__device_builtin__ unsigned long __ldg(const unsigned long *p) { return __nvvm_ldg_ul(p); }
__device_builtin__ unsigned long long __ldg(const unsigned long long *p) { return __nvvm_ldg_ull(p); }
__device_builtin__ float __ldg(const float *p) { return __nvvm_ldg_f(p); }
__device_builtin__ uint2 __ldg(const uint2 *p) {
  device_uint2 v = __nvvm_ldg_ui2(reinterpret_cast<const device_uint2 *>(p));
  return {v.x, v.y};
}
__device_builtin__ uint4 __ldg(const uint4 *p) {
  device_uint4 v = __nvvm_ldg_ui4(reinterpret_cast<const device_uint4 *>(p));
  return {v.x, v.y, v.z, v.w};
}
// A load that sees what other blocks have written (past the first-level cache).
__device_builtin__ unsigned __ldcg(const unsigned *p) {
  unsigned v;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}

// Atomics, on global and on shared memory; each returns what was there before.

__device_builtin__ unsigned atomicAdd(unsigned *p, unsigned v) { return __nvvm_atom_add_gen_i((int *)p, v); }
__device_builtin__ int atomicAdd(int *p, int v) { return __nvvm_atom_add_gen_i(p, v); }
__device_builtin__ unsigned long long atomicAdd(unsigned long long *p, unsigned long long v) {
  return __nvvm_atom_add_gen_ll((long long *)p, v);
}
__device_builtin__ unsigned atomicSub(unsigned *p, unsigned v) { return __nvvm_atom_add_gen_i((int *)p, -v); }
__device_builtin__ unsigned atomicMax(unsigned *p, unsigned v) { return __nvvm_atom_max_gen_ui(p, v); }
__device_builtin__ unsigned atomicMin(unsigned *p, unsigned v) { return __nvvm_atom_min_gen_ui(p, v); }
__device_builtin__ unsigned long long atomicMax(unsigned long long *p, unsigned long long v) {
  return __nvvm_atom_max_gen_ull(p, v);
}
__device_builtin__ unsigned long long atomicMin(unsigned long long *p, unsigned long long v) {
  return __nvvm_atom_min_gen_ull(p, v);
}
__device_builtin__ unsigned atomicAnd(unsigned *p, unsigned v) { return __nvvm_atom_and_gen_i((int *)p, v); }
__device_builtin__ unsigned atomicOr(unsigned *p, unsigned v) { return __nvvm_atom_or_gen_i((int *)p, v); }
__device_builtin__ unsigned atomicXor(unsigned *p, unsigned v) { return __nvvm_atom_xor_gen_i((int *)p, v); }
__device_builtin__ unsigned atomicExch(unsigned *p, unsigned v) { return __nvvm_atom_xchg_gen_i((int *)p, v); }
__device_builtin__ unsigned long long atomicExch(unsigned long long *p, unsigned long long v) {
  return __nvvm_atom_xchg_gen_ll((long long *)p, v);
}
__device_builtin__ unsigned atomicCAS(unsigned *p, unsigned expected, unsigned v) {
  return __nvvm_atom_cas_gen_i((int *)p, expected, v);
}
__device_builtin__ unsigned long long atomicCAS(unsigned long long *p, unsigned long long expected, unsigned long long v) {
  return __nvvm_atom_cas_gen_ll((long long *)p, expected, v);
}

__device_builtin__ size_t __cvta_generic_to_shared(const void *p) {
  return (size_t)(const __attribute__((address_space(3))) void *)p;
}
