// Flat postings: a list as kernels score it fastest. Each posting is one word, the impact in the upper half and the
// document modulo 65,536 in the lower one; a directory has the number of the first posting of every strip,
// 1/32 of a tile, or of every tile, where the list has fewer postings than there are strips; and each strip has a bound on
// its impacts, in a byte. So has each cell, 1/8 of a strip, in eight bytes for each strip; where the list has fewer postings than there
// are strips a byte has a bit for each cell with a posting. So scoring takes a load, a product and an addition in shared memory, where a block takes
// decoding, the length code of each document and a table: 52 instructions of a warp for 128 postings in or_flat.cu and 71 in
// or_rounded.cu, counted in sm_90 code, instead of some 600, counted on an H200.
//
// It takes 4 bytes a posting instead of 1.2, so lists are made flat where there is memory for it (flats.go), from their
// blocks, which are what is stored, copied and cached. Impacts are those of blockmax.Table: sums of
// them are the same bits.
#pragma once
#include "layout.cuh"
#include "warp.cuh"

// A bound on impacts in a byte: 0 where the list has no posting.
__device__ __forceinline__ uint32_t bound_byte(uint32_t impact) { return max(1u, (impact + 256) / 257); }

// Bounds of cells of levels 1 and 2 in a strip with a bound byte are 26 and 29 32nds of it, rounded down; level 3 has that of the strip, and level 0 no
// posting (levels.cuh). Impacts crowd near the highest.

// The highest impact that a byte stands for: 255 times 257 is 65,535.
__device__ __forceinline__ uint32_t bound_impact(uint32_t byte) { return byte * 257; }

// What a posting adds at most where byte number n of bytes is the bound.
__device__ __forceinline__ uint32_t bound_contribution(uint32_t weight, uint32_t bytes, uint32_t n) {
  return __umulhi(weight, __byte_perm(bytes, 0, n << 12 | n << 8 | 0x44));
}

// Four bits as the lowest of four bytes.
__device__ __forceinline__ uint32_t spread(uint32_t bits) { return bits * 0x00204081 & 0x01010101; }

const uint32_t high_bits = 0x80808080;

// The highest bit of each byte that is not 0.
__device__ __forceinline__ uint32_t nonzero_bytes(uint32_t bytes) { return (((bytes & ~high_bits) + ~high_bits) | bytes) & high_bits; }

// These as four bits.
__device__ __forceinline__ uint32_t gather(uint32_t high) { return (high >> 7) * 0x01020408 >> 24 & 15; }

__device__ __forceinline__ uint32_t flat_word(uint32_t doc, uint32_t impact) { return impact << 16 | (doc & 65535); }

// What a posting adds to a score: contribution, with the impact where it lies.
__device__ __forceinline__ uint32_t flat_contribution(uint32_t weight, uint32_t word) { return __umulhi(weight, word & 0xffff0000); }

// Postings of a list, from from to to-1.
struct Interval {
  uint32_t from, to;
};

// The pointer of another lane. A warp calls it together.
template <class T>
__device__ __forceinline__ const T *of_lane(const T *p, uint32_t lane) {
  return GLOBAL(const T, __shfl_sync(all_lanes, static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(p)), lane));
}
