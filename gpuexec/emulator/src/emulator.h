// A CUDA emulator for kernels compiled as C++: what a kernel's source sees of it.
//
// Every CUDA thread is a fiber (fiber.h) on one thread of the operating system; the blocks of a
// grid run one after another, the threads of a block take turns and hand over only where they
// meet: at __syncthreads, warp collectives, __nanosleep and, now and then, atomics. So the
// emulator is deterministic for a given RIFFLE_EMULATOR_SEED (0, the default, runs everything in
// order; others shuffle blocks and turns), a debugger works, and so does the address sanitizer.
//
// What it proves: results, barriers and collectives that all threads reach (else a report says
// which threads wait where), loops that wait for what no other thread will do, out-of-bounds
// accesses (address sanitizer), reads of shared memory that this block has not written (it is
// filled with 0xa5 bytes), and races (race.cpp, a variant of the library). What it cannot show: what
// a weak order of memory does, and blocks that wait for later blocks.
//
// Names and meaning are those of the CUDA C++ Programming Guide. Functions that meet other threads
// take the place of their call as default arguments, for the report.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __host__
#define __device__
#define __global__ __attribute__((visibility("default")))
#define __constant__ static const
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define warpSize 32
#define GLOBAL(T, address) (reinterpret_cast<T *>(address))

// Blocks run one after another, so static memory is shared by a block. It is gathered in a
// section so that each block finds it filled with garbage; under the address sanitizer it stays
// where it is, with red zones around it.
#if defined(__SANITIZE_ADDRESS__)
#define RIFFLE_EMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RIFFLE_EMULATOR_ASAN 1
#endif
#endif
#ifdef RIFFLE_EMULATOR_ASAN
#define __shared__ static
#else
#define __shared__ static __attribute__((section("riffle_shared")))
#endif
#define DYNAMIC_SHARED(type, name) type *const name = static_cast<type *>(::emulator::dynamic_shared)

#define VECTORS(T, name, bytes)                                                          \
  struct __align__(2 * bytes) name##2 { T x, y; };                                       \
  struct name##3 { T x, y, z; };                                                         \
  struct __align__(4 * bytes) name##4 { T x, y, z, w; };                                 \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }                             \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
VECTORS(unsigned char, uchar, 1)
VECTORS(unsigned short, ushort, 2)
VECTORS(int, int, 4)
VECTORS(unsigned int, uint, 4)
VECTORS(float, float, 4)
#undef VECTORS
struct __align__(16) ulonglong2 { unsigned long long x, y; };
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }
struct dim3 { unsigned x, y, z; };

// Where the running thread is; set at every turn.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace emulator {

extern void *dynamic_shared;

struct Site { // a place in a kernel's source
  const char *file;
  int line;
};
#define RIFFLE_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

// What the threads of a block or warp meet for.
enum class Meeting : uint8_t {
  none,
  syncthreads,
  syncthreads_count,
  syncthreads_and,
  syncthreads_or,
  syncwarp,
  shfl,
  shfl_up,
  shfl_down,
  shfl_xor,
  ballot,
  any,
  all,
  match_any,
  reduce_add,
  reduce_min,
  reduce_max,
  reduce_min_signed,
  reduce_max_signed,
  reduce_and,
  reduce_or,
  reduce_xor,
};

int meet_block(Meeting, int predicate, Site);
uint64_t meet_warp(Meeting, unsigned mask, uint64_t value, int lane, int width, Site);
void polls(Site);             // a loop that waits: others have their turn
void fences();                // __threadfence
// An atomic on a word, from a place in the kernel: a turn may end here.
void touched(const void *, size_t, bool write, const void *from);
unsigned active();            // lanes of this warp that wait for nothing else
[[noreturn]] void trap(Site);

void copy_async(void *to, const void *from, Site);
void copy_async_commit();
void copy_async_wait(unsigned pending);

template <class To, class From>
inline To bits(From v) {
  static_assert(sizeof(To) == sizeof(From), "bits of unequal size");
  To to;
  memcpy(&to, &v, sizeof to);
  return to;
}

// Values of 4 and 8 bytes travel as uint64_t.
template <class T>
inline uint64_t pack(T v) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  uint64_t to = 0;
  memcpy(&to, &v, sizeof v);
  return to;
}
template <class T>
inline T unpack(uint64_t v) {
  T to;
  memcpy(&to, &v, sizeof to);
  return to;
}

} // namespace emulator

// Barriers and fences.

inline void __syncthreads(RIFFLE_SITE) { emulator::meet_block(emulator::Meeting::syncthreads, 0, {file, line}); }
inline int __syncthreads_count(int p, RIFFLE_SITE) {
  return emulator::meet_block(emulator::Meeting::syncthreads_count, p, {file, line});
}
inline int __syncthreads_and(int p, RIFFLE_SITE) {
  return emulator::meet_block(emulator::Meeting::syncthreads_and, p, {file, line});
}
inline int __syncthreads_or(int p, RIFFLE_SITE) {
  return emulator::meet_block(emulator::Meeting::syncthreads_or, p, {file, line});
}
inline void __syncwarp(unsigned mask = 0xffffffff, RIFFLE_SITE) {
  emulator::meet_warp(emulator::Meeting::syncwarp, mask, 0, 0, 32, {file, line});
}
inline void __threadfence() { emulator::fences(); }
inline void __threadfence_block() { emulator::fences(); }
inline void __nanosleep(unsigned, RIFFLE_SITE) { emulator::polls({file, line}); }
[[noreturn]] inline void __trap(RIFFLE_SITE) { emulator::trap({file, line}); }

// Warp collectives.

#define SHUFFLE(name, meeting)                                                                      \
  template <class T>                                                                                \
  inline T name(unsigned mask, T v, int lane, int width = 32, RIFFLE_SITE) {                        \
    return emulator::unpack<T>(emulator::meet_warp(emulator::Meeting::meeting, mask, emulator::pack(v), lane, width, \
                                                   {file, line}));                                  \
  }
SHUFFLE(__shfl_sync, shfl)
SHUFFLE(__shfl_up_sync, shfl_up)
SHUFFLE(__shfl_down_sync, shfl_down)
SHUFFLE(__shfl_xor_sync, shfl_xor)
#undef SHUFFLE

inline unsigned __ballot_sync(unsigned mask, int p, RIFFLE_SITE) {
  return emulator::meet_warp(emulator::Meeting::ballot, mask, p != 0, 0, 32, {file, line});
}
inline int __any_sync(unsigned mask, int p, RIFFLE_SITE) {
  return emulator::meet_warp(emulator::Meeting::any, mask, p != 0, 0, 32, {file, line}) != 0;
}
inline int __all_sync(unsigned mask, int p, RIFFLE_SITE) {
  return emulator::meet_warp(emulator::Meeting::all, mask, p != 0, 0, 32, {file, line}) != 0;
}
inline unsigned __match_any_sync(unsigned mask, unsigned v, RIFFLE_SITE) {
  return emulator::meet_warp(emulator::Meeting::match_any, mask, v, 0, 32, {file, line});
}
inline unsigned __activemask() { return emulator::active(); }

#define REDUCE(name, meeting, T)                                                                      \
  inline T name(unsigned mask, T v, RIFFLE_SITE) {                                                    \
    return static_cast<T>(emulator::meet_warp(emulator::Meeting::meeting, mask, static_cast<uint32_t>(v), 0, 32, \
                                              {file, line}));                                         \
  }
REDUCE(__reduce_add_sync, reduce_add, unsigned)
REDUCE(__reduce_min_sync, reduce_min, unsigned)
REDUCE(__reduce_max_sync, reduce_max, unsigned)
REDUCE(__reduce_add_sync, reduce_add, int)
REDUCE(__reduce_min_sync, reduce_min_signed, int)
REDUCE(__reduce_max_sync, reduce_max_signed, int)
REDUCE(__reduce_and_sync, reduce_and, unsigned)
REDUCE(__reduce_or_sync, reduce_or, unsigned)
REDUCE(__reduce_xor_sync, reduce_xor, unsigned)
#undef REDUCE

// Bits.

inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(unsigned v) { return v ? __builtin_clz(v) : 32; }
inline int __clzll(unsigned long long v) { return v ? __builtin_clzll(v) : 64; }
inline int __ffs(unsigned v) { return v ? __builtin_ctz(v) + 1 : 0; }
inline int __ffsll(unsigned long long v) { return v ? __builtin_ctzll(v) + 1 : 0; }
inline unsigned __brev(unsigned v) {
  v = v >> 1 & 0x55555555 | (v & 0x55555555) << 1;
  v = v >> 2 & 0x33333333 | (v & 0x33333333) << 2;
  v = v >> 4 & 0x0f0f0f0f | (v & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(v);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  unsigned v = 0;
  for (int i = 0; i < 4; i++) {
    unsigned nibble = selector >> 4 * i & 0xf;
    unsigned byte = bytes >> 8 * (nibble & 7) & 0xff;
    if (nibble & 8) byte = byte & 0x80 ? 0xff : 0; // the sign, spread
    v |= byte << 8 * i;
  }
  return v;
}
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<uint64_t>(a) * b >> 32; }
inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) { return (a & 65535) * (b & 255) + (a >> 16) * (b >> 8 & 255) + c; }

// Arithmetic. The emulator is compiled with -ffp-contract=off, and x86-64 and arm64 round as
// the device does.

#define MIN_MAX(T)                                           \
  inline constexpr T min(T a, T b) { return b < a ? b : a; } \
  inline constexpr T max(T a, T b) { return a < b ? b : a; }
MIN_MAX(int)
MIN_MAX(unsigned)
MIN_MAX(long)
MIN_MAX(unsigned long)
MIN_MAX(long long)
MIN_MAX(unsigned long long)
#undef MIN_MAX
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float __uint2float_rn(unsigned v) { return static_cast<float>(v); }
inline float __int2float_rn(int v) { return static_cast<float>(v); }
inline unsigned __float2uint_rz(float v) { // saturates, where C++ leaves it open
  if (!(v > 0)) return 0;
  return v >= 4294967296.0f ? 0xffffffff : static_cast<unsigned>(v);
}
inline unsigned __float2uint_rn(float v) { return __float2uint_rz(__builtin_rintf(v)); }
inline unsigned __float_as_uint(float v) { return emulator::bits<unsigned>(v); }
inline float __uint_as_float(unsigned v) { return emulator::bits<float>(v); }

template <class T>
inline T __ldg(const T *p) { return *p; }

// Atomics. They tell a race detector themselves what they do, and are not instrumented for it.

#if defined(__SANITIZE_THREAD__)
#define ATOMICALLY inline __attribute__((noinline, no_sanitize("thread")))
#else
#define ATOMICALLY inline
#endif
#define TOUCH(p, write) ::emulator::touched(p, sizeof *p, write, __builtin_return_address(0))

template <class T>
ATOMICALLY T __ldcg(const T *p) {
  TOUCH(p, false);
  return *const_cast<const volatile T *>(p);
}

#define ATOMIC(name, T, expression)     \
  ATOMICALLY T name(T *p, T v) { \
    TOUCH(p, true);                     \
    T old = *p;                         \
    *p = (expression);                  \
    return old;                         \
  }
ATOMIC(atomicAdd, unsigned, old + v)
ATOMIC(atomicAdd, unsigned long long, old + v)
ATOMIC(atomicSub, unsigned, old - v)
ATOMIC(atomicMax, unsigned, old < v ? v : old)
ATOMIC(atomicMax, unsigned long long, old < v ? v : old)
ATOMIC(atomicMin, unsigned, v < old ? v : old)
ATOMIC(atomicMin, unsigned long long, v < old ? v : old)
ATOMIC(atomicAnd, unsigned, old & v)
ATOMIC(atomicOr, unsigned, old | v)
ATOMIC(atomicXor, unsigned, old ^ v)
ATOMIC(atomicExch, unsigned, v)
ATOMIC(atomicExch, unsigned long long, v)
ATOMIC(atomicAdd, int, static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(v)))
#undef ATOMIC
#define ATOMIC_CAS(T)                                        \
  ATOMICALLY T atomicCAS(T *p, T expected, T v) {     \
    TOUCH(p, true);                                          \
    T old = *p;                                              \
    if (old == expected) *p = v;                             \
    return old;                                              \
  }
ATOMIC_CAS(unsigned)
ATOMIC_CAS(unsigned long long)
#undef ATOMIC_CAS
#undef TOUCH

// Copies that arrive when they are waited for, and not before (copy_async.cuh).

inline void copy_async_16(void *shared, const void *global, RIFFLE_SITE) {
  emulator::copy_async(shared, global, {file, line});
}
inline void copy_async_commit() { emulator::copy_async_commit(); }
template <int n>
inline void copy_async_wait() { emulator::copy_async_wait(n); }
