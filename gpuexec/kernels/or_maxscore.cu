// OR with essential and other lists (Turtle and Flood's MaxScore, tile by tile). In a tile, the weakest
// lists, which all together cannot bring a document in, are not essential: a document that only they
// have cannot enter. So the essential ones are scored whole, as in or_tile; then a bit set has the
// documents that can still get in with all that the others might add, and of the others, strongest
// first, only the blocks around such documents are decoded. Where few are left, that is next to
// nothing.
#include "collect.cuh"
#include "prepare.cuh"

// Finds which lists of a tile are essential, and numbers their blocks. The others are put in order, weakest
// first. One thread calls it.
[[maybe_unused]] static __device__ __noinline__ void part_lists(const Batch &b, uint32_t turn) {
  Desk d = desk_of(b, turn);
  Tile &t = *d.tile;
  TileList *lists = d.lists;
  uint8_t *order = d.fixed->orders[turn];
  uint32_t n = t.lists, sum = t.rank, weak = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = i;
    for (; at > 0 && lists[order[at - 1]].highest > lists[i].highest; at--) order[at] = order[at - 1];
    order[at] = i;
  }
  while (weak < n && t.query->bounds != no_bounds && !can_win(sum + lists[order[weak]].highest, t.part->base + t.lo, t.threshold)) {
    TileList &l = lists[order[weak++]];
    sum += l.highest;
    l.essential = 0;
  }
  t.blocks = 0;
  for (uint32_t i = 0; i < n; i++) {
    lists[i].first = t.blocks;
    if (lists[i].essential) t.blocks += lists[i].blocks.to - lists[i].blocks.from;
  }
  d.fixed->weak[turn] = weak;
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

// Looks into the lists that are not essential, for documents that can still get in. All threads call it together.
[[maybe_unused]] static __device__ __noinline__ void score_weak(const Batch &b, uint32_t turn) {
  Desk d = desk_of(b, turn);
  const Tile &t = *d.tile;
  const uint8_t *order = d.fixed->orders[turn];
  uint32_t *bits = d.bits + d.words;  // the second set: documents that can still get in
  uint32_t weak = d.fixed->weak[turn], rest = t.rank, decoded = 0;
  Key threshold = common_threshold(*t.state);
  for (uint32_t o = 0; o < weak; o++) rest += d.lists[order[o]].highest;
  for (uint32_t o = weak; o-- > 0;) {
    if (!still_in(d, t, bits, rest, threshold)) break;
    const TileList &l = d.lists[order[o]];
    for (uint32_t block = l.blocks.from + threadIdx.x / 32; block < l.blocks.to; block += blockDim.x / 32) {
      if (block_is_lost(t, l, block, threshold)) continue;  // it may be missing, too
      if (!touches(t, bits, before(l.list, block) + 1, last_of(l.list, block))) continue;
      score_block(d, l, block, bits);
      decoded++;
    }
    rest -= l.highest;
    __syncthreads();
  }
  if (threadIdx.x % 32 == 0 && decoded) atomicAdd(&d.tally->decoded, decoded);
  if (threadIdx.x == 0 && weak) d.tally->pruned = 1;
}

// Warp 0 prepares a tile.
__device__ __forceinline__ void prepare_parted(const Batch &b, uint32_t turn) {
  if (threadIdx.x >= 32) return;
  prepare(b, turn);
  __syncwarp();
  if (threadIdx.x == 0 && desk_of(b, turn).tile->there) part_lists(b, turn);
  __syncwarp();
}

extern "C" __global__ void __launch_bounds__(tile_threads, tile_blocks) or_maxscore(const Batch *batch) {
  clear_desk(*batch);
  prepare_parted(*batch, 0);
  for (uint32_t turn = 0;; turn ^= 1) {
    stage_arrived();
    __syncthreads();
    if (!desk_of(*batch, turn).tile->there) return;
    prepare_parted(*batch, turn ^ 1);
    score_essential(*batch, turn);
    __syncthreads();
    score_weak(*batch, turn);
    __syncthreads();
    collect_or(*batch, turn);
  }
}
