// OR, tile by tile: the warps of a block take blocks of postings from all lists of the query together,
// and add what each posting contributes to the score of its document in shared memory. Without bounds
// that is exhaustive; with those of lists, WAND's upper bounds pass over tiles; with those of blocks,
// also over blocks of postings within a tile.
//
// The grid is persistent: as many thread blocks as fit, each of which takes items until there are none.
// Decoding and scoring a block takes a warp some 40 registers (of 42 that 1,536 threads a multiprocessor
// leave each thread): hence the bound below.
#include "tile.cuh"

// Adds the postings of a block within the tile to the scores.
__device__ __forceinline__ void score_block(const Desk &d, const Term &term, uint32_t block, uint32_t lane) {
  const Tile &t = *d.tile;
  Block k = open_block(*term.list, block);
  uint32_t doc[4], tf[4];
  decode_docs(k, lane, doc);
  decode_freqs(k, lane, tf);
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    if (4 * lane + j >= k.n || doc[j] < t.lo || doc[j] >= t.hi) continue;
    uint32_t score = score_of(term, doc[j], tf[j]), i = doc[j] - t.lo;
    if (score) {
      atomicAdd(&d.scores[i], score);
    } else {
      atomicOr(&d.matches[i / 32], 1u << i % 32);
    }
  }
}

extern "C" __global__ void __launch_bounds__(512, 3) or_tile(const Batch *batch) {
  const Batch b = *batch;
  DYNAMIC_SHARED(uint32_t, shared);
  __shared__ uint32_t count, bins[pool_bins], at;
  __shared__ Key worst;
  __shared__ Lane lanes[max_terms];
  __shared__ Tile tile;
  __shared__ Tally tally;
  Desk d = lay_out(b, shared, &count, bins, &worst, lanes, &tile, &tally);
  uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x % 32;
  Item item;
  while (take(*b.queue, &item, &at)) {
    if (b.states[b.parts[item.part].query].answered) continue;
    enter_tile(b, d, item, 1);
    if (tile_is_lost(d) || tile_is_missing(b, d, item)) continue;
    uint32_t decoded = 0;
    for (uint32_t i = warp; i < tile.blocks; i += warps) {
      uint32_t of = lane_of(d, i), block = lanes[of].blocks.from + i - lanes[of].first;
      if (block_is_lost(d, of, block)) {
        if (lane == 0) tally.pruned = 1;
        continue;
      }
      score_block(d, tile.part->terms[of], block, lane);
      decoded++;
    }
    if (lane == 0 && decoded) atomicAdd(&tally.decoded, decoded);
    __syncthreads();
    collect(d, d.matches, true);
    leave_tile(d);
  }
}
