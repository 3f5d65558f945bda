// OR with essential and other lists (Turtle and Flood's MaxScore, tile by tile). In a tile, the weakest
// lists, which all together cannot bring a document in, are not essential: a document that only they
// have cannot enter. So the essential ones are scored whole, as in or_tile; then a bit set has the
// documents that can still get in with all that the others might add, and of the others, strongest
// first, only the blocks around such documents are decoded. Where few are left, that is next to
// nothing.
#include "tile.cuh"

// Finds which lists of a tile are essential, and numbers their blocks. The others are put in order, weakest
// first, and their number is returned. One thread calls it.
__device__ __forceinline__ uint32_t part_lists(Tile &t, Lane *lanes, uint8_t *order) {
  uint32_t n = t.lanes;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = i;
    for (; at > 0 && lanes[order[at - 1]].highest > lanes[i].highest; at--) order[at] = order[at - 1];
    order[at] = i;
  }
  uint32_t sum = t.rank, weak = 0;
  if (t.query->bounds == no_bounds) return 0;
  while (weak < n && !can_win(sum + lanes[order[weak]].highest, t.part->base + t.lo, t.threshold)) {
    Lane &l = lanes[order[weak++]];
    sum += l.highest;
    l.essential = 0;
  }
  t.blocks = 0;
  for (uint32_t i = 0; i < n; i++) {
    lanes[i].first = t.blocks;
    if (lanes[i].essential) t.blocks += lanes[i].blocks.to - lanes[i].blocks.from;
  }
  return weak;
}

// Sets the bits of documents that can enter with rest more; returns whether there are any.
__device__ __forceinline__ int still_in(const Desk &d, const Tile &t, uint32_t *bits, uint32_t rest, Key threshold) {
  uint32_t lane = threadIdx.x % 32, docs = t.hi - t.lo;
  int any = 0;
  for (uint32_t base = threadIdx.x - lane; base < docs; base += blockDim.x) {
    uint32_t i = base + lane, score = i < docs ? d.scores[i] : 0;
    uint32_t word = __ballot_sync(all_lanes, score && can_win(score + rest, t.part->base + t.lo + i, threshold));
    if (lane == 0) bits[base / 32] = word;
    any |= word != 0;
  }
  return __syncthreads_or(any);
}

// Whether one of the documents from first to last of the segment has its bit set. A warp calls it together.
__device__ __forceinline__ bool touches(const Tile &t, const uint32_t *bits, uint32_t first, uint32_t last) {
  uint32_t from = max(first, t.lo) - t.lo, to = min(last, t.hi - 1) - t.lo, found = 0;
  for (uint32_t w = from / 32 + threadIdx.x % 32; w <= to / 32; w += 32) {
    uint32_t word = bits[w];
    if (w == from / 32) word &= ~0u << from % 32;
    if (w == to / 32) word &= ~0u >> (31 - to % 32);
    found |= word;
  }
  return __any_sync(all_lanes, found != 0);
}

extern "C" __global__ void __launch_bounds__(tile_threads, tile_blocks) or_maxscore(const Batch *batch) {
  const Batch b = *batch;
  DYNAMIC_SHARED(uint32_t, shared);
  __shared__ uint32_t count, bins[pool_bins], weak[2];
  __shared__ Key worst;
  __shared__ Tile tiles[2];
  __shared__ Tally tallies[2];
  __shared__ uint8_t orders[2][max_terms];
  Desk d = lay_out(b, shared, 2, &count, bins, &worst, tiles, tallies);
  uint32_t *bits = d.bits + d.words;  // documents that can still get in
  uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32;
  if (warp == 0) prepare(b, d, 0);
  if (threadIdx.x == 0 && tiles[0].there) weak[0] = part_lists(tiles[0], d.lanes, orders[0]);
  for (uint32_t turn = 0;; turn ^= 1) {
    stage_arrived();
    __syncthreads();
    const Tile &t = tiles[turn];
    const Lane *lanes = d.lanes + turn * d.lane_room;
    Tally &n = tallies[turn];
    if (!t.there) return;
    if (warp == 0) prepare(b, d, turn ^ 1);
    if (threadIdx.x == 0 && tiles[turn ^ 1].there) {
      weak[turn ^ 1] = part_lists(tiles[turn ^ 1], d.lanes + (turn ^ 1) * d.lane_room, orders[turn ^ 1]);
    }
    __syncwarp();

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
    __syncthreads();

    uint32_t rest = t.rank;
    for (uint32_t o = 0; o < weak[turn]; o++) rest += lanes[orders[turn][o]].highest;
    if (weak[turn]) n.pruned = 1;
    for (uint32_t o = weak[turn]; o-- > 0;) {
      if (!still_in(d, t, bits, rest, threshold)) break;
      const Lane &l = lanes[orders[turn][o]];
      for (uint32_t block = l.blocks.from + warp; block < l.blocks.to; block += warps) {
        if (is_unneeded(l.list, block)) continue;
        if (!touches(t, bits, before(l.list, block) + 1, last_of(l.list, block))) continue;
        score_block(d, t, n, l, block, bits);
        decoded++;
      }
      rest -= l.highest;
      __syncthreads();
    }
    if (threadIdx.x % 32 == 0 && decoded) atomicAdd(&n.decoded, decoded);
    __syncthreads();
    collect_or(d, t, n);
    leave_tile(t, n);
  }
}
