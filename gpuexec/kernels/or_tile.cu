// OR, tile by tile: the warps of a block take blocks of postings from all lists of the query together,
// and add what each posting contributes to the score of its document in shared memory. Without bounds
// that is exhaustive; with those of lists, WAND's upper bounds pass over tiles; with those of blocks,
// also over blocks of postings within a tile.
//
// The grid is persistent: as many thread blocks as fit, each of which takes items until there are none.
#include "collect.cuh"
#include "prepare.cuh"

extern "C" __global__ void __launch_bounds__(tile_threads, tile_blocks) or_tile(const Batch *batch) {
  clear_desk(*batch);
  if (threadIdx.x < 32) prepare(*batch, 0);
  for (uint32_t turn = 0;; turn ^= 1) {
    stage_arrived();
    __syncthreads();
    if (!desk_of(*batch, turn).tile->there) return;
    if (threadIdx.x < 32) prepare(*batch, turn ^ 1);
    score_essential(*batch, turn);
    __syncthreads();
    collect_or(*batch, turn);
  }
}
