// Taking a tile from the queue.
//
// A tile of a query with three million postings has some twenty blocks of postings: a few microseconds of
// work. To find the next tile, its lists and their blocks takes several reads that wait for one another,
// nearly as long. So warp 0 prepares the next tile while the others score the one at hand, and drops tiles that
// cannot win without anyone else taking notice.
//
// Length codes are read a byte here and a byte there. Where a tile has many postings it may pay to bring all of its
// codes to shared memory ahead (Shape.StageLengths), which then has room for two blocks.
#pragma once
#include "tile.cuh"

// Whether a block of the tile that matters is missing.
__device__ __forceinline__ bool list_is_missing(const Tile &t, const TileList &l) {
  for (uint32_t block = l.blocks.from; block < l.blocks.to;) {
    uint32_t next = min(l.blocks.to, (block / extent_blocks + 1) * extent_blocks);
    if (is_missing(l.list, block)) {
      for (; block < next; block++) {
        if (!block_is_lost(t, l, block, t.threshold)) return true;
      }
    }
    block = next;
  }
  return false;
}

__device__ __forceinline__ void report_unresolved(const Batch &b, uint32_t part, const Tile &t) {
  uint32_t at = atomicAdd(b.unresolved_count.get(), 1u);
  if (at < b.unresolved_room) b.unresolved[at] = Range{part, t.lo, t.hi, t.bound};
  atomicAdd(&t.state->unresolved, 1u);
}

// Finds the lists of a tile, their blocks and bounds. A warp calls it together.
__device__ __forceinline__ void fill_lists(const Batch &b, Tile &t, TileList *lists, uint32_t lane) {
  const Part &part = *t.part;
  uint32_t sum = t.rank, blocks = 0;
  for (uint32_t base = 0; base < t.lists; base += 32) {
    uint32_t i = base + lane, highest = 0, count = 0;
    TileList &l = lists[min(i, t.lists - 1)];
    if (i < t.lists) {
      const Term &term = part.terms[i];
      l.list = *term.list;
      l.norms = l.list.norms.address ? l.list.norms.get() : nullptr;
      l.weight = term.weight;
      l.essential = 1;
      l.blocks = blocks_of_tile(l.list, b.tile_shift, t.lo, t.hi);
      count = l.blocks.to - l.blocks.from;
      if (count) highest = t.query->bounds == block_bounds ? bound_of_tile(l.list, b.tile_shift, t.lo) : l.list.highest;
      l.highest = highest = contribution(l.weight, highest);
    }
    uint32_t first = blocks + sum_before(count, lane);
    if (i < t.lists) l.first = first;
    sum += __reduce_add_sync(all_lanes, highest);
    blocks += __reduce_add_sync(all_lanes, count);
  }
  for (uint32_t i = lane; i < t.lists; i += 32) lists[i].others = sum - lists[i].highest;
  if (lane == 0) {
    t.blocks = blocks;
    t.bound = min(sum, tail_bound(part, t.lo));
  }
  __syncwarp();
}

// Brings the length codes of a tile to shared memory, where they are when stage_arrived has been called. They are those
// of the first list's field, and lists of other fields read theirs from where they are. A warp calls it together.
__device__ __forceinline__ void stage_codes(const Batch &b, const Desk &d, uint32_t turn) {
  const Tile &t = *d.tile;
  TileList *lists = d.lists;
  uint8_t *codes = d.codes + (turn << b.tile_shift);
  const uint8_t *norms = lists[0].norms;
  uint32_t lane = threadIdx.x % 32;
  if (b.staged_from == 0 || t.blocks < b.staged_from || norms == nullptr) return;
  for (uint32_t i = 16 * lane; i < t.hi - t.lo; i += 16 * 32) copy_async_16(codes + i, norms + t.lo + i);
  copy_async_commit();
  __syncwarp();
  for (uint32_t i = lane; i < t.lists; i += 32) {
    if (lists[i].norms == norms) lists[i].norms = codes - t.lo;
  }
}

// Waits for the codes of the next tile. Warp 0 calls it before the barrier that shows the tile to the others.
__device__ __forceinline__ void stage_arrived() {
  if (threadIdx.x < 32) copy_async_wait<0>();
}

// Takes items from the queue until there is one to work on, or none. Those that cannot win are dropped; those
// of which something is missing are reported, to be looked at elsewhere. A warp calls it together.
[[maybe_unused]] static __device__ __noinline__ void prepare(const Batch &b, uint32_t turn) {
  Desk d = desk_of(b, turn);
  Tile &t = *d.tile;
  TileList *lists = d.lists;
  Queue &queue = *b.queue;
  uint32_t lane = threadIdx.x % 32;
  for (;;) {
    uint32_t at = lane == 0 ? atomicAdd(&queue.next, 1u) : 0;
    at = __shfl_sync(all_lanes, at, 0);
    __syncwarp();  // nobody reads the last tile any more
    bool there = at < queue.size;
    Item item = there ? queue.items[at] : Item{0, 0, 0};
    const Part &part = b.parts[item.part];
    if (lane == 0) {
      t.there = there;
      t.part = &part;
      t.query = &b.queries[part.query];
      t.state = &b.states[part.query];
      t.lo = item.tile << b.tile_shift;
      t.hi = min(part.docs, t.lo + (1u << b.tile_shift));
      t.lists = part.term_count;
      t.shift = b.tile_shift;
      t.alive = item.alive;
      t.rank = there ? rank_bound(part, t.query->rank_weight, t.lo, t.hi) : 0;
      t.threshold = threshold_of(*t.state);
      *d.tally = Tally{0, 0, 0, 0, 0, 0};
    }
    __syncwarp();
    if (!there) return;
    if (t.state->answered) continue;
    fill_lists(b, t, lists, lane);
    if (t.query->bounds != no_bounds && !can_win(t.bound, part.base + t.lo, t.threshold)) {
      if (lane == 0) t.state->pruned = 1;
      continue;
    }
    bool gone = false;
    for (uint32_t i = lane; i < t.lists; i += 32) gone |= list_is_missing(t, lists[i]);
    if (!__any_sync(all_lanes, gone)) {
      stage_codes(b, d, turn);
      return;
    }
    if (lane == 0) report_unresolved(b, item.part, t);
    __syncwarp();
  }
}
