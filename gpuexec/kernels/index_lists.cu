// The directories of tiles of those lists of a batch that have blocks enough: the first block that
// reaches each tile, and the highest impact in it. A warp for each extent, a lane for each block. It
// reads 6 bytes a block once, and spares every tile a search in every list.
#include "block.cuh"

// The list that extent number i of all lists belongs to.
__device__ __forceinline__ const List &list_of(const Batch &b, uint32_t extent) {
  uint32_t from = 0, to = b.list_count;  // the last list whose first extent is not beyond
  while (to - from > 1) {
    uint32_t middle = (from + to) / 2;
    if (b.lists[middle].first_extent <= extent) {
      from = middle;
    } else {
      to = middle;
    }
  }
  return b.lists[from];
}

extern "C" __global__ void __launch_bounds__(256) index_lists(const Batch *batch) {
  const Batch b = *batch;
  uint32_t lane = threadIdx.x % 32, warps = blockDim.x / 32 * gridDim.x;
  for (uint32_t i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < b.extent_count; i += warps) {
    const List &l = list_of(b, i);
    uint32_t block = (i - l.first_extent) * extent_blocks + lane;
    if (block >= l.blocks) continue;
    uint32_t prev = before(l, block), last = last_of(l, block), bound = bound_of(l, block);
    uint32_t first = block == 0 ? 0 : (prev >> b.tile_shift) + 1;  // tile that begins behind prev
    for (uint32_t t = first; t <= last >> b.tile_shift; t++) l.tile_first[t] = block;
    for (uint32_t t = (prev + 1) >> b.tile_shift; t <= last >> b.tile_shift; t++) atomicMax(&l.tile_bound[t], bound);
    if (block == l.blocks - 1) {
      for (uint32_t t = (last >> b.tile_shift) + 1; t <= l.tiles; t++) l.tile_first[t] = l.blocks;
    }
  }
}
