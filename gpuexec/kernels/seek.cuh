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

// The same for the whole list. The directory of tiles, where there is one, narrows the search to a few
// blocks, as the hash segments of Ao et al. (2011), which Wang et al. (2017) use, do with the upper
// bits of a document; else the extents do.
__device__ __forceinline__ uint32_t seek_block(const List &l, uint32_t tile_shift, uint32_t doc) {
  if (l.tile_first.address) {
    uint32_t tile = doc >> tile_shift;
    return seek(l, l.tile_first[tile], l.tile_first[tile + 1], doc);
  }
  uint32_t from = 0, to = (l.blocks - 1) / extent_blocks;  // the last one is not asked
  while (from < to) {
    uint32_t middle = (from + to) / 2;
    if (__ldg(&l.extents[middle].last) < doc) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return seek(l, extent_blocks * from, min(extent_blocks * (from + 1), l.blocks), doc);
}

// Blocks from from to to-1.
struct Span {
  uint32_t from, to;
};

// The blocks that have documents of a tile, which begins at document lo and ends before hi.
__device__ __forceinline__ Span blocks_of_tile(const List &l, uint32_t tile_shift, uint32_t lo, uint32_t hi) {
  Span s;
  if (l.tile_first.address) {
    s.from = l.tile_first[lo >> tile_shift];
    s.to = l.tile_first[(lo >> tile_shift) + 1];
  } else {
    s.from = seek_block(l, tile_shift, lo);
    s.to = seek_block(l, tile_shift, hi);
  }
  // The block that reaches beyond the tile may begin in it.
  if (s.to < l.blocks && (s.to == 0 || last_of(l, s.to - 1) + 1 < hi)) s.to++;
  return s;
}

// The highest impact among these blocks, or one above.
__device__ __forceinline__ uint32_t bound_of_tile(const List &l, uint32_t tile_shift, uint32_t lo, Span s) {
  if (l.tile_first.address) return l.tile_bound[lo >> tile_shift];
  uint32_t highest = 0;
  for (uint32_t b = s.from; b < s.to; b++) highest = max(highest, bound_of(l, b));
  return highest;
}
