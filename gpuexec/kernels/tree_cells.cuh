// Which cells of a tile can hold a document that enters the answer of a boolean tree: the tree is evaluated for each cell, on the lists that
// have postings there. In a strip that all lists of an AND have, they seldom meet in a cell.
#pragma once
#include "tree.cuh"

// The bounds of a list in the cells of the lane's strip, a byte for each as bound_impact has it: of a list that is not flat that of the tile.
__device__ __forceinline__ uint2 cell_bytes(const Batch &b, const Part &part, const List &l, uint32_t tile) {
  uint32_t strip = tile * strips + threadIdx.x % 32;
  if (l.flat_bound.address == 0) {
    uint32_t bytes = leaf_byte(l, tile) * 0x01010101;
    return make_uint2(bytes, bytes);
  }
  const uint8_t *bounds = l.flat_bound, *behind = bounds + part.tiles * strips;
  if (!b.marks && l.flat_shift != b.tile_shift) return __ldg(reinterpret_cast<const uint2 *>(behind + cells * strip));
  uint32_t byte = __ldg(bounds + strip);
  if (!b.marks) {
    uint32_t bits = __ldg(behind + strip);
    return make_uint2(spread(bits & 15) * byte, spread(bits >> 4) * byte);
  }
  // Levels (levels.cuh) choose among four bytes.
  uint32_t bits = __ldg(reinterpret_cast<const uint16_t *>(behind + 2 * strip)), of_levels = byte * 26 / 32 << 8 | byte * 29 / 32 << 16 | byte << 24;
  uint32_t four = (bits | bits << 8) & 0x00ff00ff, which = (four | four << 4) & 0x0f0f0f0f;
  which = (which | which << 2) & 0x33333333;  // a level in each four bits
  return make_uint2(__byte_perm(of_levels, 0, which & 0xffff), __byte_perm(of_levels, 0, which >> 16));
}

// As evaluate<true>, but a call: it is made for each cell.
[[maybe_unused]] static __device__ __noinline__ Match evaluate_cell(const Query &q, uint64_t leaves) { return evaluate<true>(q, leaves); }

// The cells of the lane's strip of a tile. rank is what the rank adds at most, need the lowest score that can enter, and upper says whether
// some leaf is number 32 or above. A warp calls it together.
[[maybe_unused]] static __device__ __noinline__ Cells tree_cells(const Batch &b, const Part &part, uint32_t tile, uint32_t rank, uint32_t need, bool upper) {
  const Query &q = b.queries[part.query];
  uint32_t low[cells], high[cells], sum[cells];  // leaves that have postings in each cell, and then those of them that count
#pragma unroll
  for (uint32_t j = 0; j < cells; j++) low[j] = high[j] = sum[j] = 0;
  for (uint32_t i = 0; i < part.term_count; i++) {
    const Term &term = part.terms[i];
    uint2 bytes = cell_bytes(b, part, *term.list, tile);
    uint32_t there = gather(nonzero_bytes(bytes.x)) | gather(nonzero_bytes(bytes.y)) << 4, bit = 1u << term.leaf % 32;
    bool above = term.leaf >= 32;
#pragma unroll
    for (uint32_t j = 0; j < cells; j++) {
      uint32_t leaf = there >> j & 1 ? bit : 0;
      if (above) {
        high[j] |= leaf;
      } else {
        low[j] |= leaf;
      }
    }
  }
  Cells c{0, 0};
#pragma unroll
  for (uint32_t j = 0; j < cells; j++) {
    Match m = evaluate_cell(q, upper ? static_cast<uint64_t>(high[j]) << 32 | low[j] : low[j]);
    c.matching |= static_cast<uint32_t>(m.matches) << j;
    low[j] &= static_cast<uint32_t>(m.counted);
    high[j] &= static_cast<uint32_t>(m.counted >> 32);
    sum[j] = rank + m.constant;
  }
  if (!__any_sync(all_lanes, c.matching != 0)) return c;
  for (uint32_t i = 0; i < part.term_count; i++) {
    const Term &term = part.terms[i];
    uint2 bytes = cell_bytes(b, part, *term.list, tile);
    uint32_t weight = term.weight, bit = 1u << term.leaf % 32;
    bool above = term.leaf >= 32;
#pragma unroll
    for (uint32_t j = 0; j < cells; j++) {
      if ((above ? high[j] : low[j]) & bit) sum[j] += bound_contribution(weight, j < 4 ? bytes.x : bytes.y, j % 4);
    }
  }
  uint32_t strip = tile * strips + threadIdx.x % 32;
  uint32_t tail = c.matching ? tail_bound(part, min(strip << (b.tile_shift - 5), part.docs - 1)) : 0;  // strips may lie behind the last document
#pragma unroll
  for (uint32_t j = 0; j < cells; j++) c.alive |= static_cast<uint32_t>(sum[j] >= need) << j;
  c.alive = tail >= need ? c.alive & c.matching : 0;
  return c;
}
