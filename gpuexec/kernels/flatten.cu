// Makes lists flat (flat.cuh) from their blocks, which are all on the device.
#include "block.cuh"
#include "dense.cuh"
#include "flat.cuh"
#include "score.cuh"

// Has the directory say, for the groups behind that of the document before up to that of doc, that
// posting number at is their first. before is -1 for none.
__device__ __forceinline__ void enter(const Flattening &f, uint32_t before, uint32_t doc, uint32_t at) {
  for (uint32_t e = before == ~0u ? 0 : (before >> f.shift) + 1; e <= doc >> f.shift; e++) f.first[e] = at;
}

// Writes the postings of a block and their entries. A warp calls it together.
__device__ __forceinline__ void flatten_block(const Flattening &f, uint32_t block, uint32_t lane) {
  const List &l = *f.list;
  uint32_t doc[4], tf[4];
  Block k = open_block(l, block);
  decode_docs(k, lane, doc);
  decode_freqs(k, lane, tf);
  uint32_t previous = __shfl_up_sync(all_lanes, doc[3], 1);
  if (lane == 0) previous = k.prev;
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    if (4 * lane + j >= k.n) continue;
    uint32_t at = block * l.block_size + 4 * lane + j;
    f.flat[at] = flat_word(doc[j], impact_of(l, doc[j], tf[j]));
    enter(f, previous, doc[j], at);
    if (at == l.count - 1) {
      for (uint32_t e = (doc[j] >> f.shift) + 1; e <= f.entries; e++) f.first[e] = l.count;
    }
    previous = doc[j];
  }
}

// A warp for each block of each list.
extern "C" __global__ void __launch_bounds__(256) flatten(const Batch *batch) {
  const Batch b = *batch;
  uint32_t lane = threadIdx.x % 32, warps = blockDim.x / 32 * gridDim.x, warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  for (uint32_t i = 0; i < b.flattening_count; i++) {
    const Flattening f = b.flattenings[i];
    uint32_t blocks = f.list.get()->blocks;
    for (uint32_t block = warp; block < blocks; block += warps) flatten_block(f, block, lane);
    warp = (warp + warps - blocks % warps) % warps;  // short lists go to other warps each
  }
}

// The bounds of the cells of a strip, in the order of its postings. A thread calls it alone.
__device__ __forceinline__ void bound_cells(const Flattening &f, uint8_t *of_cells, uint32_t shift, uint32_t strip) {
  uint32_t highest = 0;
  uint2 bytes = make_uint2(0, 0);
  for (uint32_t at = f.first[strip]; at < f.first[strip + 1]; at++) {
    uint32_t word = f.flat[at], cell = word >> (shift - 3) & (cells - 1), by = 8 * (cell % 4), byte = bound_byte(word >> 16);
    uint32_t &half = cell < 4 ? bytes.x : bytes.y;
    half = (half & ~(255u << by)) | max(half >> by & 255, byte) << by;
    highest = max(highest, byte);
  }
  f.bound[strip] = highest;
  reinterpret_cast<uint2 *>(of_cells)[strip] = bytes;
}

// The bounds of the strips of a tile, and in which cells of each there are postings. A thread calls it alone.
__device__ __forceinline__ void bound_tile_strips(const Flattening &f, uint8_t *of_cells, uint32_t shift, uint32_t tile) {
  uint32_t strip = tile * strips, end = strip + strips, highest = 0, there = 0;
  auto leave = [&]() {
    f.bound[strip] = highest;
    of_cells[strip] = there;
    highest = there = 0;
    strip++;
  };
  for (uint32_t at = f.first[tile]; at < f.first[tile + 1]; at++) {
    uint32_t word = f.flat[at], of = tile * strips | (word >> shift & (strips - 1));
    while (strip < of) leave();
    highest = max(highest, bound_byte(word >> 16));
    there |= 1u << (word >> (shift - 3) & (cells - 1));
  }
  while (strip < end) leave();
}

// The bits of the documents of a strip, eight at a time. A thread calls it alone.
__device__ __forceinline__ void set_bits(const Flattening &f, uint8_t *bits, uint32_t shift, uint32_t strip) {
  uint32_t at = f.first[strip], end = f.first[strip + 1], each = (1u << shift) / 8, word = at < end ? f.flat[at] : 0;
  for (uint32_t i = 0; i < each; i++) {
    uint32_t byte = 0;
    while (at < end && (word & ((1u << shift) - 1)) / 8 == i) {
      byte |= 1u << word % 8;
      if (++at < end) word = f.flat[at];
    }
    bits[strip * each + i] = byte;
  }
}

// The bounds of all strips and cells, once flatten is done, and the bits of dense lists: a thread for each entry of a directory.
extern "C" __global__ void __launch_bounds__(256) bound_strips(const Batch *batch) {
  const Batch b = *batch;
  uint32_t shift = b.tile_shift - 5;
  for (uint32_t i = 0; i < b.flattening_count; i++) {
    const Flattening f = b.flattenings[i];
    const List &l = *f.list;
    uint8_t *of_cells = f.bound + l.tiles * strips;
    bool dense = is_dense(l, b.tile_shift);
    for (uint32_t e = blockIdx.x * blockDim.x + threadIdx.x; e < f.entries; e += blockDim.x * gridDim.x) {
      if (f.shift == shift) {
        bound_cells(f, of_cells, shift, e);
        if (dense) set_bits(f, GLOBAL(uint8_t, bits_behind(f.bound.address, l.tiles)), shift, e);
      } else {
        bound_tile_strips(f, of_cells, shift, e);
      }
    }
  }
}
