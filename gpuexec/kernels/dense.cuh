// Dense flat lists also have a bit for each document of their tiles (flats.go), behind the bounds of their cells, for counts: those
// need no impacts, and a word has the bits of 32 documents where it would have a posting.
#pragma once
#include "layout.cuh"

// A list is dense when it has a posting for so many documents, or more; then the bits take at most a quarter of the postings' bytes.
const uint32_t dense_share = 8;

// Whether a list that is flat, or becomes so, is dense.
__device__ __forceinline__ bool is_dense(const List &l, uint32_t tile_shift) {
  return static_cast<uint64_t>(l.count) * dense_share >= static_cast<uint64_t>(l.tiles) << tile_shift;
}

// Where the bits of a dense list begin, whose bounds begin at bound.
__device__ __forceinline__ uint64_t bits_behind(uint64_t bound, uint32_t tiles) { return bound + static_cast<uint64_t>(tiles) * strips * (1 + cells); }
