// OR, tile by tile: the warps of a block take blocks of postings from all lists of the query together,
// and add what each posting contributes to the score of its document in shared memory. Without bounds
// that is exhaustive; with those of lists, WAND's upper bounds pass over tiles; with those of blocks,
// also over blocks of postings within a tile.
//
// The grid is persistent: as many thread blocks as fit, each of which takes items until there are none.
#include "tile.cuh"

extern "C" __global__ void __launch_bounds__(tile_threads, tile_blocks) or_tile(const Batch *batch) {
  const Batch b = *batch;
  DYNAMIC_SHARED(uint32_t, shared);
  __shared__ uint32_t count, bins[pool_bins];
  __shared__ Key worst;
  __shared__ Tile tiles[2];
  __shared__ Tally tallies[2];
  Desk d = lay_out(b, shared, 1, &count, bins, &worst, tiles, tallies);
  if (threadIdx.x < 32) prepare(b, d, 0);
  for (uint32_t turn = 0;; turn ^= 1) {
    stage_arrived();
    __syncthreads();
    const Tile &t = tiles[turn];
    const Lane *lanes = d.lanes + turn * d.lane_room;
    Tally &n = tallies[turn];
    if (!t.there) return;
    if (threadIdx.x < 32) prepare(b, d, turn ^ 1);

    Key threshold = threshold_of(*t.state);
    uint32_t decoded = 0;
    for (uint32_t i = take_block(n); i < t.blocks; i = take_block(n)) {
      const Lane &l = lane_of(lanes, i);
      uint32_t block = l.blocks.from + i - l.first;
      if (block_is_lost(t, l, block, threshold)) {
        n.pruned = 1;
        continue;
      }
      score_block(d, t, n, l, block, nullptr);
      decoded++;
    }
    if (threadIdx.x % 32 == 0 && decoded) atomicAdd(&n.decoded, decoded);
    __syncthreads();
    collect_or(d, t, n);
    leave_tile(t, n);
  }
}
