// Where in a list a document can be.
#pragma once
#include "block.cuh"

// The first block of [from, to) whose last document is doc or later; to when there is none.
__device__ __forceinline__ uint32_t seek(const List &l, uint32_t from, uint32_t to, uint32_t doc) {
  while (from < to) {
    uint32_t middle = (from + to) / 2;
    if (last_of(l, middle) < doc) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

// The same for the whole list. The directory of tiles narrows the search to a few blocks, as the hash segments of
// Ao et al. (2011), which Wang et al. (2017) use, do with the upper bits of a document.
__device__ __forceinline__ uint32_t seek_block(const List &l, uint32_t tile_shift, uint32_t doc) {
  uint32_t tile = doc >> tile_shift;
  return seek(l, l.tile_first[tile], l.tile_first[tile + 1], doc);
}

// Blocks from from to to-1.
struct Span {
  uint32_t from, to;
};

// The blocks that have documents of a tile, which begins at document lo and ends before hi.
__device__ __forceinline__ Span blocks_of_tile(const List &l, uint32_t tile_shift, uint32_t lo, uint32_t hi) {
  uint32_t tile = lo >> tile_shift;
  Span s{l.tile_first[tile], l.tile_first[tile + 1]};
  if (l.tile_bound[tile] == 0) return Span{s.from, s.from};
  // The block that reaches beyond the tile may begin in it.
  if (s.to < l.blocks && (s.to == 0 || last_of(l, s.to - 1) + 1 < hi)) s.to++;
  return s;
}

// The highest impact in a tile where the list has postings, or one above.
__device__ __forceinline__ uint32_t bound_of_tile(const List &l, uint32_t tile_shift, uint32_t lo) {
  return l.tile_bound[lo >> tile_shift] - 1;
}
