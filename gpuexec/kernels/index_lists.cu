// The directories of tiles of the lists of a batch. Of a dense list the bound of a tile is that of the blocks that
// touch it. A block of a sparse list touches many tiles and has postings in few of them: such lists are decoded, once
// a batch, however many queries have them and whatever tiles those visit. They are short, and what they then say, that
// there is nothing in most tiles, is worth many times as much. A warp for each block.
#include "score.cuh"
#include "block.cuh"

// The list that block number i of all lists belongs to.
__device__ __forceinline__ const List &list_of(const Batch &b, uint32_t i) {
  uint32_t from = 0, to = b.list_count;  // the last list whose first block is not beyond
  while (to - from > 1) {
    uint32_t middle = (from + to) / 2;
    if (b.lists[middle].first_block <= i) {
      from = middle;
    } else {
      to = middle;
    }
  }
  return b.lists[from];
}

// Raises the bounds of the tiles that the block has postings in.
__device__ __forceinline__ void bound_postings(const List &l, uint32_t block, uint32_t tile_shift, uint32_t lane) {
  uint32_t doc[4], tf[4];
  Block k = open_block(l, block);
  decode_docs(k, lane, doc);
  decode_freqs(k, lane, tf);
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    if (4 * lane + j < k.n) atomicMax(&l.tile_bound[doc[j] >> tile_shift], impact_of(l, doc[j], tf[j]) + 1);
  }
}

extern "C" __global__ void __launch_bounds__(256) index_lists(const Batch *batch) {
  const Batch b = *batch;
  uint32_t lane = threadIdx.x % 32, warps = blockDim.x / 32 * gridDim.x;
  for (uint32_t i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < b.block_count; i += warps) {
    const List &l = list_of(b, i);
    uint32_t block = i - l.first_block, prev = before(l, block), last = last_of(l, block), end = last >> b.tile_shift;
    uint32_t first = block == 0 ? 0 : (prev >> b.tile_shift) + 1;  // tile that begins behind prev
    for (uint32_t t = first + lane; t <= end; t += 32) l.tile_first[t] = block;
    if (block == l.blocks - 1) {
      for (uint32_t t = end + 1 + lane; t <= l.tiles; t += 32) l.tile_first[t] = l.blocks;
    }
    if (l.sparse && !is_missing(l, block) && !is_unneeded(l, block)) {
      bound_postings(l, block, b.tile_shift, lane);
    } else {
      for (uint32_t t = ((prev + 1) >> b.tile_shift) + lane; t <= end; t += 32) atomicMax(&l.tile_bound[t], bound_of(l, block) + 1);
    }
  }
}
