// OR with essential and other lists (Turtle and Flood's MaxScore, tile by tile). In a tile, the weakest
// lists, which all together cannot bring a document in, are not essential: a document that only they
// have cannot enter. So the essential ones are scored whole, as in or_tile; then a bit set has the
// documents that can still get in with all that the others might add, and of the others, strongest
// first, only the blocks around such documents are decoded. Where few are left, that is next to
// nothing.
#include "tile.cuh"

// Adds the postings of a block within the tile to the scores, with only: of those documents alone.
__device__ __forceinline__ void score_block(const Desk &d, const Term &term, uint32_t block, uint32_t lane,
                                            const uint32_t *only) {
  const Tile &t = *d.tile;
  Block k = open_block(*term.list, block);
  uint32_t doc[4], tf[4];
  decode_docs(k, lane, doc);
  decode_freqs(k, lane, tf);
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    if (4 * lane + j >= k.n || doc[j] < t.lo || doc[j] >= t.hi) continue;
    uint32_t i = doc[j] - t.lo;
    if (only && !(only[i / 32] >> i % 32 & 1)) continue;
    uint32_t score = score_of(term, doc[j], tf[j]);
    if (score) {
      atomicAdd(&d.scores[i], score);
    } else {
      atomicOr(&d.matches[i / 32], 1u << i % 32);
    }
  }
}

// Puts the lists in order, weakest first, and returns how many are not essential. One thread calls it.
__device__ __forceinline__ uint32_t part_lists(const Desk &d, uint8_t *order) {
  const Tile &t = *d.tile;
  uint32_t n = t.part->term_count;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = i;
    for (; at > 0 && d.lanes[order[at - 1]].highest > d.lanes[i].highest; at--) order[at] = order[at - 1];
    order[at] = i;
  }
  if (t.query->bounds == no_bounds) return 0;
  uint32_t sum = t.others, weak = 0;
  while (weak < n && !can_win(sum + d.lanes[order[weak]].highest, t.part->base + t.lo, t.threshold)) {
    sum += d.lanes[order[weak++]].highest;
  }
  return weak;
}

// Sets the bits of documents that can enter with rest more; returns whether there are any.
__device__ __forceinline__ int still_in(const Desk &d, uint32_t *bits, uint32_t rest) {
  const Tile &t = *d.tile;
  uint32_t lane = threadIdx.x % 32, docs = t.hi - t.lo;
  int any = 0;
  for (uint32_t base = threadIdx.x - lane; base < docs; base += blockDim.x) {
    uint32_t i = base + lane, score = i < docs ? d.scores[i] : 0;
    uint32_t word = __ballot_sync(all_lanes, score && can_win(score + rest, t.part->base + t.lo + i, t.threshold));
    if (lane == 0) bits[base / 32] = word;
    any |= word != 0;
  }
  return __syncthreads_or(any);
}

// Whether one of the documents from first to last of the segment has its bit set. A warp calls it together.
__device__ __forceinline__ bool touches(const Desk &d, const uint32_t *bits, uint32_t first, uint32_t last, uint32_t lane) {
  const Tile &t = *d.tile;
  uint32_t from = max(first, t.lo) - t.lo, to = min(last, t.hi - 1) - t.lo;
  uint32_t found = 0;
  for (uint32_t w = from / 32 + lane; w <= to / 32; w += 32) {
    uint32_t word = bits[w];
    if (w == from / 32) word &= ~0u << from % 32;
    if (w == to / 32) word &= ~0u >> (31 - to % 32);
    found |= word;
  }
  return __any_sync(all_lanes, found != 0);
}

extern "C" __global__ void __launch_bounds__(512, 3) or_maxscore(const Batch *batch) {
  const Batch b = *batch;
  DYNAMIC_SHARED(uint32_t, shared);
  __shared__ uint32_t count, bins[pool_bins], at, weak;
  __shared__ Key worst;
  __shared__ Lane lanes[max_terms];
  __shared__ Tile tile;
  __shared__ Tally tally;
  __shared__ uint8_t order[max_terms];
  Desk d = lay_out(b, shared, &count, bins, &worst, lanes, &tile, &tally);
  uint32_t *bits = d.matches + tile_words(b);  // documents that can still get in
  uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x % 32;
  Item item;
  while (take(*b.queue, &item, &at)) {
    if (b.states[b.parts[item.part].query].answered) continue;
    enter_tile(b, d, item, 2);
    if (tile_is_lost(d) || tile_is_missing(b, d, item)) continue;
    if (threadIdx.x == 0) {
      weak = part_lists(d, order);
      if (weak) tally.pruned = 1;
    }
    __syncthreads();

    uint32_t decoded = 0, rest = 0;
    for (uint32_t o = 0; o < weak; o++) rest += lanes[order[o]].highest;
    for (uint32_t i = warp; i < tile.blocks; i += warps) {
      uint32_t of = lane_of(d, i), block = lanes[of].blocks.from + i - lanes[of].first;
      bool essential = true;
      for (uint32_t o = 0; o < weak; o++) essential &= order[o] != of;
      if (!essential) continue;
      if (block_is_lost(d, of, block)) {
        if (lane == 0) tally.pruned = 1;
        continue;
      }
      score_block(d, tile.part->terms[of], block, lane, nullptr);
      decoded++;
    }
    __syncthreads();

    for (uint32_t o = weak; o-- > 0;) {
      if (!still_in(d, bits, tile.others + rest)) break;
      const Lane &l = lanes[order[o]];
      const Term &term = tile.part->terms[order[o]];
      for (uint32_t block = l.blocks.from + warp; block < l.blocks.to; block += warps) {
        if (is_unneeded(*term.list, block)) continue;
        if (!touches(d, bits, before(*term.list, block) + 1, last_of(*term.list, block), lane)) continue;
        score_block(d, term, block, lane, bits);
        decoded++;
      }
      rest -= l.highest;
      __syncthreads();
    }
    if (lane == 0 && decoded) atomicAdd(&tally.decoded, decoded);
    __syncthreads();
    collect(d, d.matches, true);
    leave_tile(d);
  }
}
