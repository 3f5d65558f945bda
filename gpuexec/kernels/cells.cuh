// Which cells of a tile can hold a document that enters: eighths of strips, 64 documents of a tile of 16,384. On
// 25 million documents of the shape of GOV2 a top-10 OR leaves one strip in eight alive and one cell in 140, so that 61 thousand
// postings of 3.7 million have to be looked at instead of 752 thousand (gpubench strips).
//
// A lane has a strip, so that a warp bounds the 256 cells of a tile at once, and one reads eight bytes of
// each list. In a window it reads three: the bound of the strip, and two bits for each cell that say its level (levels.cuh). These come with
// directories (windows.cu), so that cells rule out blocks before they are read. Bounds of cells, made where postings are made flat, leave a third
// fewer strips, but making them took longer than those strips.
#pragma once
#include "flat.cuh"
#include "levels.cuh"
#include "score.cuh"

// A list of a part, that of the lane by its number.
struct Source {
  const List *list;  // null behind the last
  const uint32_t *flat, *first;
  const uint8_t *bounds;  // null when the list is not flat
  uint32_t weight;
  uint32_t shift;  // of the number of a strip, for its entry of first: 0 or 5
};

// Finds the list of the lane in a part, by the number of the lane or that and first.
__device__ __forceinline__ Source find_source(uint32_t tile_shift, const Part &part, uint32_t first = 0) {
  uint32_t i = first + threadIdx.x % 32;
  Source of{nullptr, nullptr, nullptr, nullptr, 0, 0};
  if (i >= part.term_count) return of;
  const Term &term = part.terms[i];
  const List &l = *term.list;
  of.list = &l;
  of.weight = term.weight;
  if (l.flat.address == 0) return of;
  of.flat = l.flat;
  of.first = l.flat_first;
  of.bounds = l.flat_bound;
  of.shift = l.flat_shift == tile_shift ? 5 : 0;
  return of;
}

// The lists that are not flat, a bit each.
__device__ __forceinline__ uint32_t blocks_of(const Source &of) { return __ballot_sync(all_lanes, of.list && !of.bounds); }

// Bounds in a tile by bytes, as bound_impact has it, of one of those lists.
__device__ __forceinline__ uint32_t tile_byte(const Source &of, uint32_t i, uint32_t tile) {
  uint32_t bound = of_lane(of.list, i)->tile_bound[tile];
  return bound ? bound_byte(bound - 1) : 0;
}

// Whether a tile has no postings of them. A warp calls it together.
__device__ __forceinline__ bool is_flat(const Source &of, uint32_t blocks, uint32_t tile) {
  return blocks == 0 || !__any_sync(all_lanes, (blocks >> threadIdx.x % 32 & 1) && of.list->tile_bound[tile]);
}

// The cells of a lane's strip, a bit each.
struct Cells {
  uint32_t alive, matching;  // may hold a document that enters, that matches
};

// What bounds the cells of a strip by now.
struct Bounds {
  uint32_t sum[cells];
  uint2 there;  // not 0 where a list, or of an AND all lists, have postings: a byte each
};

// Adds the bounds of a list, a byte for each cell.
template <bool all>
__device__ __forceinline__ void add_bounds(Bounds *b, uint32_t weight, uint2 bytes) {
#pragma unroll
  for (uint32_t j = 0; j < cells; j++) b->sum[j] += bound_contribution(weight, j < 4 ? bytes.x : bytes.y, j % 4);
  b->there.x = all ? b->there.x & nonzero_bytes(bytes.x) : b->there.x | bytes.x;
  b->there.y = all ? b->there.y & nonzero_bytes(bytes.y) : b->there.y | bytes.y;
}

// Lists whose bounds are read at once.
const uint32_t lists_at_once = 3;

// Where a lane that has nothing to read reads something: what is written as a load of some lanes waits, since compilers make a move behind
// it that takes the register of the load. The value is not used.
__device__ __forceinline__ const uint8_t *anywhere(const Part &part) { return reinterpret_cast<const uint8_t *>(&part); }

// The cells of a strip of a window, any one that the lane wants, as find_cells has it. A warp calls it together.
template <bool all>
__device__ __forceinline__ Cells find_cells_by_levels(const Part &part, const Source &of, uint32_t strip, uint32_t tile_shift, bool mine, uint32_t rank,
                                                      uint32_t need) {
  uint32_t lists = part.term_count;
  LevelSums sums = no_levels(all);
  uint32_t high = high_weight(of.weight);
  for (uint32_t base = 0; base < lists; base += lists_at_once) {
    Levels l[lists_at_once];
#pragma unroll
    for (uint32_t g = 0; g < lists_at_once; g++) {
      const uint8_t *bounds = of_lane(of.bounds, (base + g) % 32);
      l[g] = load_levels(part, mine && base + g < lists ? bounds : nullptr, strip);
    }
#pragma unroll
    for (uint32_t g = 0; g < lists_at_once; g++) {
      if (base + g < lists) add_levels(&sums, __shfl_sync(all_lanes, high, base + g), l[g], all);
    }
  }
  Cells c{0, 0};
  c.matching = mine ? gather_levels(sums.there) : 0;
  uint32_t tail = c.matching ? tail_bound(part, min(strip << (tile_shift - 5), part.docs - 1)) : 0;  // strips may lie behind the last document
  uint32_t least = need > rank ? (need - rank + 65535) >> 16 : 0;
#pragma unroll
  for (uint32_t j = 0; j < cells / 2; j++) {
    c.alive |= static_cast<uint32_t>((sums.pair[j] & 65535) >= least) << j | static_cast<uint32_t>(sums.pair[j] >> 16 >= least) << (j + 4);
  }
  c.alive = tail >= need ? c.alive & c.matching : 0;
  return c;
}

// Finds the cells of those strips of a tile that are wanted, a bit each. all is whether a document must have all lists, blocks are the lists
// that are not flat, rank is what the rank adds at most, and need the lowest score that can enter. A warp calls it together.
template <bool all>
__device__ __forceinline__ Cells find_cells(const Part &part, const Source &of, uint32_t blocks, uint32_t tile, uint32_t tile_shift, uint32_t wanted,
                                            uint32_t rank, uint32_t need) {
  uint32_t lane = threadIdx.x % 32, strip = tile * strips + lane, behind = part.tiles * strips, lists = part.term_count;
  bool mine = wanted >> lane & 1;
  Bounds b;
#pragma unroll
  for (uint32_t j = 0; j < cells; j++) b.sum[j] = rank;
  b.there = all ? make_uint2(high_bits, high_bits) : make_uint2(0, 0);
  for (uint32_t base = 0; base < lists; base += lists_at_once) {
    uint2 bytes[lists_at_once];
    uint32_t bound[lists_at_once];
#pragma unroll
    for (uint32_t g = 0; g < lists_at_once; g++) {
      const uint8_t *bounds = of_lane(of.bounds, (base + g) % 32);
      bool dense = __shfl_sync(all_lanes, of.shift, (base + g) % 32) == 0, there = mine && base + g < lists && bounds;
      uint32_t at = behind + (dense ? cells * strip : strip & ~7u);  // of a sparse list the bits of eight strips
      bytes[g] = __ldg(reinterpret_cast<const uint2 *>(there ? bounds + at : anywhere(part)));
      bound[g] = __ldg(there ? bounds + strip : anywhere(part));
    }
#pragma unroll
    for (uint32_t g = 0; g < lists_at_once; g++) {
      if (base + g >= lists || (blocks >> (base + g) & 1)) continue;
      if (__shfl_sync(all_lanes, of.shift, base + g)) {
        uint32_t bits = (lane % 8 < 4 ? bytes[g].x : bytes[g].y) >> 8 * (lane % 4);
        bytes[g] = make_uint2(spread(bits & 15) * bound[g], spread(bits >> 4 & 15) * bound[g]);
      }
      add_bounds<all>(&b, __shfl_sync(all_lanes, of.weight, base + g), mine ? bytes[g] : make_uint2(0, 0));
    }
  }
  for (uint32_t rest = blocks; rest; rest &= rest - 1) {
    uint32_t i = __ffs(rest) - 1, bytes = tile_byte(of, i, tile) * 0x01010101;
    add_bounds<all>(&b, __shfl_sync(all_lanes, of.weight, i), make_uint2(bytes, bytes));
  }
  Cells c{0, 0};
  c.matching = mine ? gather(nonzero_bytes(b.there.x)) | gather(nonzero_bytes(b.there.y)) << 4 : 0;
  uint32_t tail = c.matching ? tail_bound(part, min(strip << (tile_shift - 5), part.docs - 1)) : 0;  // strips may lie behind the last document
#pragma unroll
  for (uint32_t j = 0; j < cells; j++) c.alive |= static_cast<uint32_t>(b.sum[j] >= need) << j;
  c.alive = tail >= need ? c.alive & c.matching : 0;
  return c;
}
