// AND, tile by tile, for lists of like length: the shortest list sets bits of a set, each further one
// keeps those that it has, too, in another, and adds to the scores only of them. Blocks without a
// document of the set are not decoded. Where the shortest list is much shorter than the others,
// and_lead.cu does better.
#include "collect.cuh"
#include "prepare.cuh"

// Adds the postings of a block that are in the set from (of the first list: all) to the scores and to the set to.
__device__ __forceinline__ void keep_block(const Desk &d, const TileList &l, uint32_t block, const uint32_t *from, uint32_t *to) {
  const Tile &t = *d.tile;
  uint32_t lane = threadIdx.x % 32, doc[4], tf[4];
  Block k = open_block(l.list, block);
  decode_docs(k, lane, doc);
  decode_freqs(k, lane, tf);
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    uint32_t i = doc[j] - t.lo;
    if (4 * lane + j >= k.n || i >= t.hi - t.lo) continue;
    if (from && !(from[i / 32] >> i % 32 & 1)) continue;
    atomicOr(&to[i / 32], 1u << i % 32);
    atomicAdd(&d.scores[i], score_in(l, doc[j], tf[j]));
  }
}

// Whether the set has a document of the block. A warp calls it together.
__device__ __forceinline__ bool meets(const Tile &t, const List &l, uint32_t block, const uint32_t *set) {
  uint32_t from = max(before(l, block) + 1, t.lo) - t.lo, to = min(last_of(l, block), t.hi - 1) - t.lo;
  uint32_t found = 0;
  for (uint32_t w = from / 32 + threadIdx.x % 32; w <= to / 32; w += 32) found |= set[w];
  return __any_sync(all_lanes, found != 0);
}

// Intersects the lists of a tile, and returns which of the two sets has the documents in all of them. All threads call it
// together.
[[maybe_unused]] static __device__ __noinline__ uint32_t intersect(const Batch &b, uint32_t turn) {
  Desk d = desk_of(b, turn);
  const Tile &t = *d.tile;
  Key threshold = common_threshold(*t.state);
  uint32_t decoded = 0, *from = nullptr, *to = d.bits;
  for (uint32_t of = 0; of < t.lists; of++) {
    const TileList &l = d.lists[of];
    for (uint32_t block = l.blocks.from + threadIdx.x / 32; block < l.blocks.to; block += blockDim.x / 32) {
      if (from && !meets(t, l.list, block, from)) continue;
      if (block_is_lost(t, l, block, threshold)) {
        d.tally->pruned = 1;
        continue;
      }
      keep_block(d, l, block, from, to);
      decoded++;
    }
    __syncthreads();
    from = to;
    to = from == d.bits ? d.bits + d.words : d.bits;
    int any = 0;
    for (uint32_t w = threadIdx.x; w < d.words; w += blockDim.x) {
      any |= from[w] != 0;
      to[w] = 0;
    }
    if (!__syncthreads_or(any)) break;
  }
  if (threadIdx.x % 32 == 0 && decoded) atomicAdd(&d.tally->decoded, decoded);
  return from == d.bits ? 0 : 1;
}

extern "C" __global__ void __launch_bounds__(tile_threads, tile_blocks) and_tile(const Batch *batch) {
  clear_desk(*batch);
  if (threadIdx.x < 32) prepare(*batch, 0);
  for (uint32_t turn = 0;; turn ^= 1) {
    stage_arrived();
    __syncthreads();
    if (!desk_of(*batch, turn).tile->there) return;
    if (threadIdx.x < 32) prepare(*batch, turn ^ 1);
    uint32_t set = intersect(*batch, turn);
    __syncthreads();
    collect_and(*batch, turn, set);
    uint32_t *scores = desk_of(*batch, turn).scores;  // some are of documents that a list lacked
    for (uint32_t i = threadIdx.x; i < 1u << batch->tile_shift; i += blockDim.x) scores[i] = 0;
  }
}
