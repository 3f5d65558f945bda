// AND, tile by tile, for lists of like length: the shortest list sets bits of a set, each further one
// keeps those that it has, too, in another, and adds to the scores only of them. Blocks without a
// document of the set are not decoded. Where the shortest list is much shorter than the others,
// and_lead.cu does better.
#include "tile.cuh"

// Adds the postings of a block that are in the set from (of the first list: all) to the scores and to the set to.
__device__ __forceinline__ void keep_block(const Desk &d, const Term &term, uint32_t block, uint32_t lane,
                                           const uint32_t *from, uint32_t *to) {
  const Tile &t = *d.tile;
  Block k = open_block(*term.list, block);
  uint32_t doc[4], tf[4];
  decode_docs(k, lane, doc);
  decode_freqs(k, lane, tf);
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    if (4 * lane + j >= k.n || doc[j] < t.lo || doc[j] >= t.hi) continue;
    uint32_t i = doc[j] - t.lo;
    if (from && !(from[i / 32] >> i % 32 & 1)) continue;
    atomicOr(&to[i / 32], 1u << i % 32);
    atomicAdd(&d.scores[i], score_of(term, doc[j], tf[j]));
  }
}

// Whether the set has a document of the block. A warp calls it together.
__device__ __forceinline__ bool meets(const Desk &d, const List &l, uint32_t block, const uint32_t *set, uint32_t lane) {
  const Tile &t = *d.tile;
  uint32_t from = max(before(l, block) + 1, t.lo) - t.lo, to = min(last_of(l, block), t.hi - 1) - t.lo;
  uint32_t found = 0;
  for (uint32_t w = from / 32 + lane; w <= to / 32; w += 32) found |= set[w];
  return __any_sync(all_lanes, found != 0);
}

extern "C" __global__ void __launch_bounds__(512, 3) and_tile(const Batch *batch) {
  const Batch b = *batch;
  DYNAMIC_SHARED(uint32_t, shared);
  __shared__ uint32_t count, bins[pool_bins], at;
  __shared__ Key worst;
  __shared__ Lane lanes[max_terms];
  __shared__ Tile tile;
  __shared__ Tally tally;
  Desk d = lay_out(b, shared, &count, bins, &worst, lanes, &tile, &tally);
  uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x % 32, words = tile_words(b);
  Item item;
  while (take(*b.queue, &item, &at)) {
    enter_tile(b, d, item, 2);
    if (tile_is_lost(d) || tile_is_missing(b, d, item)) continue;
    uint32_t decoded = 0, *from = nullptr, *to = d.matches;
    for (uint32_t of = 0; of < tile.part->term_count; of++) {
      const Term &term = tile.part->terms[of];
      for (uint32_t block = lanes[of].blocks.from + warp; block < lanes[of].blocks.to; block += warps) {
        if (from && !meets(d, *term.list, block, from, lane)) continue;
        if (block_is_lost(d, of, block)) {
          if (lane == 0) tally.pruned = 1;
          continue;
        }
        keep_block(d, term, block, lane, from, to);
        decoded++;
      }
      __syncthreads();
      from = to;
      to = from == d.matches ? d.matches + words : d.matches;
      int any = 0;
      for (uint32_t w = threadIdx.x; w < words; w += blockDim.x) {
        any |= from[w] != 0;
        to[w] = 0;
      }
      if (!__syncthreads_or(any)) break;
    }
    if (lane == 0 && decoded) atomicAdd(&tally.decoded, decoded);
    __syncthreads();
    collect(d, from, false);
    leave_tile(d);
  }
}
