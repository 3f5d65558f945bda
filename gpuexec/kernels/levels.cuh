// Levels of cells in a window, and what they bound: the two bits of each cell of a strip in a record (windows.cu). Level 0 has no posting,
// level 3 the bound of the strip, and those between have shares of it that flat.cuh names.
//
// Sums of cells are halves of words, rounded up to multiples of 65,536. The four levels of a list are four halves, eight bytes of two registers, from
// which a byte permutation chooses for two cells at once: five instructions for two cells of a list.
#pragma once
#include "flat.cuh"

// What a record says of a strip: its bound byte, and bits 2j and 2j+1 for cell j.
struct Levels {
  uint32_t byte, bits;
};

// What bounds the cells of a strip: cells j and j+4 in the halves of pair j.
struct LevelSums {
  uint32_t pair[cells / 2];
  uint32_t strip;  // what bounds the strip as a whole, not rounded
  uint32_t there;  // bit 2j is set when a list, or of an AND all lists, have postings in cell j
};

const uint32_t level_bits = 0x5555;

__device__ __forceinline__ LevelSums no_levels(bool all) {
  LevelSums s;
#pragma unroll
  for (uint32_t j = 0; j < cells / 2; j++) s.pair[j] = 0;
  s.strip = 0;
  s.there = all ? level_bits : 0;
  return s;
}

// A weight by which bytes may be multiplied instead of impacts: what a byte adds is at most its product, which is below 1<<31.
__device__ __forceinline__ uint32_t high_weight(uint32_t weight) { return __umulhi(weight, 257u << 16) + 1; }

// Asks for the levels of a strip of a list with these bounds, or of a lane that needs none for something else.
__device__ __forceinline__ Levels load_levels(const Part &part, const uint8_t *bounds, uint32_t strip) {
  const uint8_t *at = bounds ? bounds + strip : reinterpret_cast<const uint8_t *>(&part);
  const uint8_t *bits = bounds ? bounds + part.tiles * strips + 2 * strip : at;
  return Levels{__ldg(at), __ldg(reinterpret_cast<const uint16_t *>(bits))};
}

// Adds a list. high is its high_weight, and all whether a document must have all lists. Products are 26 and 29 32nds or more.
__device__ __forceinline__ void add_levels(LevelSums *s, uint32_t high, const Levels &l, bool all) {
  uint32_t top = l.byte * high, part = top >> 5, low = part * 26 + (65536 + 26), mid = part * 29 + (65536 + 29);
  uint32_t lower = low & 0xffff0000, upper = __byte_perm(mid, top + 65536, 0x7632);
  s->strip += top;
  uint32_t there = l.bits | l.bits >> 1;
  s->there = all ? s->there & there : s->there | there;
#pragma unroll
  for (uint32_t j = 0; j < cells / 2; j++) s->pair[j] += __byte_perm(lower, upper, (l.bits >> 2 * j & 0x0303) * 0x22 + 0x1010);
}

// The highest bound of a cell that may match, a multiple of 65,536.
__device__ __forceinline__ uint32_t highest_level(const LevelSums &s) {
  uint32_t best = 0;
#pragma unroll
  for (uint32_t j = 0; j < cells / 2; j++) {
    uint32_t two = s.there >> 2 * j & 0x0101, matching = s.pair[j] & ((two | two << 8) & 0x00010001) * 65535;
    best = max(best, max(matching & 65535, matching >> 16));
  }
  return best << 16;
}

// The cells that are there, a bit each.
__device__ __forceinline__ uint32_t gather_levels(uint32_t there) {
  uint32_t two = there & level_bits;
  two = (two | two >> 1) & 0x3333;
  two = (two | two >> 2) & 0x0f0f;
  return (two | two >> 4) & 0xff;
}
