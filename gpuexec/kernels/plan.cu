// Which tiles are worth a visit, and in which order. bound_tiles bounds every tile of every part and
// finds for each query some of the best tiles, one of each residue class by their number, so that no two are the
// same. These seeds are visited first: what they find raises the threshold. Then queue_tiles queues what
// can still win, query by query. Where no threshold spares anything, queue_all takes the place of all that.
// tiles_most * part_count is below 1<<31.
//
// Of queries whose lists are flat, tiles are bounded strip by strip, and of a tile only the strips that can
// win are queued, for strips.cu; of a seed at first only the best. Trees go likewise, to tree_strips.cu. Where bounds do not prune, a tile of an OR goes as
// a whole, for or_flat.cu or or_rounded.cu, unless it is a seed (seed_pieces); where they do, and many strips are left, or_strips leaves it to that.
#include "cells.cuh"
#include "seek.cuh"
#include "tree.cuh"
#include "warp.cuh"

// A bound on the scores in a tile of the part, no_bound where nothing can match.
__device__ __forceinline__ uint32_t bound_tile(const Batch &b, const Part &part, const Query &q, uint32_t tile) {
  uint32_t lo = tile << b.tile_shift, hi = min(part.docs, lo + (1u << b.tile_shift));
  uint32_t sum = 0;
  bool any = false, all = true;
  for (uint32_t i = 0; i < part.term_count; i++) {
    const Term &term = part.terms[i];
    const List &l = *term.list;
    Span s = blocks_of_tile(l, b.tile_shift, lo, hi);
    if (s.from == s.to) {
      all = false;
      continue;
    }
    any = true;
    sum += contribution(term.weight, q.bounds == block_bounds ? bound_of_tile(l, b.tile_shift, lo) : l.highest);
  }
  if (part.way == by_and_tiles ? !all : !any) return no_bound;
  return min(sum + rank_bound(part, q.rank_weight, lo, hi), tail_bound(part, lo));
}

// Whether the part has the tile.
__device__ __forceinline__ bool is_tile_of(const Batch &b, const Part &part, uint32_t tile) {
  return tile < part.tiles && tile >= part.skip >> b.tile_shift;
}

// Whether it is the turn of the part.
__device__ __forceinline__ bool goes_by_tiles(const Batch &b, const Part &part) {
  return part.way == (b.and_pass ? by_and_tiles : by_or_tiles);
}

// A bound on the scores in each strip of a tile, that of the lane: no_bound where nothing can match. blocks are
// the lists that are not flat. A warp calls it together.
__device__ __forceinline__ uint32_t bound_strip(const Part &part, const Source &of, uint32_t blocks, uint32_t tile_shift, uint32_t rank_weight, uint32_t tile) {
  uint32_t lane = threadIdx.x % 32, lo = tile << tile_shift, hi = min(part.docs, lo + (1u << tile_shift)), lists = part.term_count;
  bool any = false, every = true;
  uint32_t sum = 0;
  auto add = [&](uint32_t i, uint32_t byte) {
    sum += contribution(__shfl_sync(all_lanes, of.weight, i), bound_impact(byte));
    any |= byte != 0;
    every &= byte != 0;
  };
  for (uint32_t base = 0; base < lists; base += lists_at_once) {
    uint32_t bytes[lists_at_once];
#pragma unroll
    for (uint32_t g = 0; g < lists_at_once; g++) {
      const uint8_t *bounds = of_lane(of.bounds, (base + g) % 32);
      bytes[g] = __ldg(base + g < lists && bounds ? bounds + tile * strips + lane : anywhere(part));
    }
#pragma unroll
    for (uint32_t g = 0; g < lists_at_once; g++) {
      if (base + g < lists && !(blocks >> (base + g) & 1)) add(base + g, bytes[g]);
    }
  }
  for (uint32_t rest = blocks; rest; rest &= rest - 1) {
    uint32_t i = __ffs(rest) - 1;
    add(i, tile_byte(of, i, tile));
  }
  if (part.way == by_and_tiles ? !every : !any) return no_bound;
  return min(sum + rank_bound(part, rank_weight, lo, hi), tail_bound(part, lo));
}

// The same of some tiles of a window at once. Lists have levels of cells there, and are summed up cell by cell: postings of two sparse lists in a strip
// are seldom in one cell, and neither are high impacts of two dense ones. A warp calls it together.
template <uint32_t count>
__device__ __forceinline__ void bound_strips(const Part &part, const Source &of, uint32_t tile_shift, uint32_t rank_weight, const uint32_t tile[count],
                                             uint32_t bound[count]) {
  uint32_t lane = threadIdx.x % 32, lists = part.term_count, high = high_weight(of.weight);
  bool and_tiles = part.way == by_and_tiles;
  LevelSums sums[count];
#pragma unroll
  for (uint32_t t = 0; t < count; t++) {
    sums[t] = no_levels(and_tiles);
  }
  for (uint32_t base = 0; base < lists; base += lists_at_once) {
    Levels l[lists_at_once][count];
#pragma unroll
    for (uint32_t g = 0; g < lists_at_once; g++) {
      const uint8_t *bounds = of_lane(of.bounds, (base + g) % 32);
#pragma unroll
      for (uint32_t t = 0; t < count; t++) l[g][t] = load_levels(part, base + g < lists ? bounds : nullptr, tile[t] * strips + lane);
    }
#pragma unroll
    for (uint32_t g = 0; g < lists_at_once; g++) {
      if (base + g >= lists) continue;
      uint32_t weight = __shfl_sync(all_lanes, high, base + g);
#pragma unroll
      for (uint32_t t = 0; t < count; t++) add_levels(&sums[t], weight, l[g][t], and_tiles);
    }
  }
#pragma unroll
  for (uint32_t t = 0; t < count; t++) {
    uint32_t lo = tile[t] << tile_shift, hi = min(part.docs, lo + (1u << tile_shift));
    bound[t] = no_bound;
    if (sums[t].there & level_bits) {
      bound[t] = min(min(sums[t].strip, highest_level(sums[t])) + rank_bound(part, rank_weight, lo, hi), tail_bound(part, lo));
    }
  }
}

// The same of one tile.
__device__ __forceinline__ uint32_t bound_in_window(const Part &part, const Source &of, uint32_t tile_shift, uint32_t rank_weight, uint32_t tile) {
  uint32_t bound;
  bound_strips<1>(part, of, tile_shift, rank_weight, &tile, &bound);
  return bound;
}

// The lists of a part that goes by strips, found once as long as a warp stays with it.
struct Known {
  uint32_t part, blocks;
  Source of;
};

__device__ __forceinline__ void get_to_know(Known *known, const Batch &b, const Part &part, uint32_t index) {
  if (known->part == index) return;
  known->part = index;
  known->of = find_source(b.tile_shift, part);
  known->blocks = blocks_of(known->of);
}

// How many strips of a seed are looked at before all others in a window. One warp takes them, one after the other, before there is a threshold that
// spares work: with all 32 of a tile, the pass of the seeds lasted as long as that warp.
const uint32_t seed_strips_most = 8;

// Of the strips of a seed, those that are looked at before all others: the best, and those nearly as good. highest is the
// bound of the tile. A warp calls it together.
__device__ __forceinline__ uint32_t seed_strips(const Batch &b, const Query &q, uint32_t bound, uint32_t highest) {
  uint32_t best = __ballot_sync(all_lanes, bound != no_bound && (q.bounds == no_bounds || bound >= highest - highest / 8));
  if (b.marks && static_cast<uint32_t>(__popc(best)) > seed_strips_most) best &= (2u << nth_bit(best, seed_strips_most - 1)) - 1;
  return best;
}

// The slot of a tile among the seeds of its query.
__device__ __forceinline__ Key &seed_of(const Batch &b, const Part &part, uint32_t tile) {
  const Query &q = b.queries[part.query];
  uint32_t count = q.by_strips == 0 || q.bounds == no_bounds ? block_seeds : part.way == by_and_tiles ? and_seeds : seeds;
  return b.seeds[seeds * part.query + tile % count];
}

// A seed without bounds goes by strips, too, since without a threshold all of its documents are candidates: dozens of warps hand these in side by side, where
// or_flat.cu has one warp a block for it. It is queued in pieces of 32/seed_pieces strips, of which the later ones mostly find a threshold. In a window it goes
// as a whole, because pieces need more room in the queue (batch.go).
const uint32_t seed_pieces = 4;  // as in layout.go

// Whether a seed is queued in pieces.
__device__ __forceinline__ bool goes_in_pieces(const Batch &b, const Part &part, const Query &q) {
  return part.way == by_or_tiles && q.by_strips && q.node_count == 0 && q.bounds == no_bounds && !b.marks;
}

// Whether a tile goes as a whole, since nothing is pruned. Where bounds prune, or_strips decides. A warp calls it together.
__device__ __forceinline__ bool goes_whole(const Part &part, const Query &q, const Source &of, uint32_t blocks, uint32_t tile) {
  return part.way == by_or_tiles && q.node_count == 0 && q.bounds == no_bounds && is_flat(of, blocks, tile);
}

// Takes note of the bound of a tile.
__device__ __forceinline__ void note_bound(const Batch &b, const Part &part, uint32_t tile, uint32_t bound) {
  uint32_t at = part.first_tile + tile;
  b.tile_bounds[at] = bound;
  if (bound != no_bound) atomicMax(&seed_of(b, part, tile), key_of(bound, at));
}

// A thread for each tile and part, tiles fastest; a warp together for those that go by strips.
extern "C" __global__ void __launch_bounds__(256) bound_tiles(const Batch *batch) {
  const Batch b = *batch;
  uint32_t all = b.tiles_most * b.part_count, lane = threadIdx.x % 32;
  Known known{~0u, 0, {nullptr, nullptr, nullptr, nullptr, 0, 0}};
  for (uint32_t base = blockIdx.x * blockDim.x + threadIdx.x - lane; base < all; base += blockDim.x * gridDim.x) {
    uint32_t i = min(base + lane, all - 1), p = i / b.tiles_most, tile = i % b.tiles_most;
    const Part &part = b.parts[p];
    const Query &q = b.queries[part.query];
    bool mine = base + lane < all && is_tile_of(b, part, tile) && goes_by_tiles(b, part);
    if (mine && !q.by_strips) note_bound(b, part, tile, bound_tile(b, part, q, tile));
    for (uint32_t rest = __ballot_sync(all_lanes, mine && q.by_strips); rest; rest &= rest - 1) {
      uint32_t at = __ffs(rest) - 1, of = __shfl_sync(all_lanes, tile, at), index = __shfl_sync(all_lanes, p, at);
      const Part &other = b.parts[index];
      get_to_know(&known, b, other, index);
      const Query &its = b.queries[other.query];
      uint32_t bound = its.node_count ? bound_tree(b, other, of)
                       : b.marks      ? bound_in_window(other, known.of, b.tile_shift, its.rank_weight, of)
                                      : bound_strip(other, known.of, known.blocks, b.tile_shift, its.rank_weight, of);
      uint32_t highest = __reduce_max_sync(all_lanes, bound == no_bound ? 0 : bound + 1);
      if (lane == 0) note_bound(b, other, of, highest == 0 ? no_bound : highest - 1);
    }
  }
}

// Which of the 32 parts of a tile can hold a document that enters, by the bounds of the blocks that touch each: with
// lists that have several blocks in a tile much fewer than the bounds of the whole tile say. A lane has a part. A warp
// calls it together.
__device__ __forceinline__ uint32_t alive_parts(const Batch &b, const Part &part, const Query &q, uint32_t tile, Key threshold) {
  uint32_t lane = threadIdx.x % 32, lo = tile << b.tile_shift, hi = min(part.docs, lo + (1u << b.tile_shift)), shift = b.tile_shift - 5;
  uint32_t sum = rank_bound(part, q.rank_weight, lo, hi);
  bool any = false, all = true;
  for (uint32_t i = 0; i < part.term_count; i++) {
    const Term &term = part.terms[i];
    const List &l = *term.list;
    Span s = blocks_of_tile(l, b.tile_shift, lo, hi);
    uint32_t most = 0;
    bool here = false;
    for (uint32_t base = s.from; base < s.to; base += 32) {
      uint32_t block = base + lane, first = 0, last = 0, highest = 0;
      if (block < s.to) {
        first = (max(before(l, block) + 1, lo) - lo) >> shift;
        last = (min(last_of(l, block), hi - 1) - lo) >> shift;
        highest = contribution(term.weight, min(bound_of(l, block), bound_of_tile(l, b.tile_shift, lo)));
      }
      for (uint32_t j = 0; j < min(32u, s.to - base); j++) {
        uint32_t from = __shfl_sync(all_lanes, first, j), to = __shfl_sync(all_lanes, last, j);
        uint32_t bound = __shfl_sync(all_lanes, highest, j);
        if (from <= lane && lane <= to) {
          most = max(most, bound);
          here = true;
        }
      }
    }
    sum += most;
    any |= here;
    all &= here;
  }
  uint32_t from = lo + (lane << shift);
  bool alive = from < hi && (part.way == by_and_tiles ? all : any) && can_win(min(sum, tail_bound(part, lo)), part.base + from, threshold);
  return __ballot_sync(all_lanes, alive);
}

// Whether the tile, with this bound, is a seed.
__device__ __forceinline__ bool is_seed(const Batch &b, const Part &part, uint32_t tile, uint32_t bound) {
  return seed_of(b, part, tile) == key_of(bound, part.first_tile + tile);
}

// What is left of a tile for the pass behind that of the seeds.
struct Left {
  uint32_t alive;  // strips that may hold a document that enters, but for those that were looked at as a seed's
  bool seed;       // there are some of these
  bool whole;      // the tile is for or_flat.cu or or_rounded.cu
};

// The strips that are left of a tile with the bound highest, whose strips have these bounds. A warp calls it together.
__device__ __forceinline__ uint32_t alive_strips(const Batch &b, const Part &part, const Query &q, uint32_t tile, uint32_t highest, bool seed, Key threshold,
                                                 uint32_t bound) {
  uint32_t lane = threadIdx.x % 32, from = part.base + (tile << b.tile_shift) + (lane << (b.tile_shift - 5));
  uint32_t matching = __ballot_sync(all_lanes, bound != no_bound);
  uint32_t alive = matching & __ballot_sync(all_lanes, q.bounds == no_bounds || can_win(bound, from, threshold));
  if (lane == 0 && alive != matching) b.states[part.query].pruned = 1;
  return seed ? alive & ~seed_strips(b, q, bound, highest) : alive;
}

// A warp calls it together.
__device__ __forceinline__ Left strips_left(const Batch &b, const Part &part, const Known &known, uint32_t tile) {
  const Query &q = b.queries[part.query];
  uint32_t highest = b.tile_bounds[part.first_tile + tile];
  Left left{~0u, is_seed(b, part, tile, highest), goes_whole(part, q, known.of, known.blocks, tile)};
  if (left.whole) {
    if (left.seed) left.alive = 0;
    return left;
  }
  uint32_t bound = q.node_count ? bound_tree(b, part, tile) : bound_strip(part, known.of, known.blocks, b.tile_shift, q.rank_weight, tile);
  left.alive = alive_strips(b, part, q, tile, highest, left.seed, common_threshold(b.states[part.query]), bound);
  return left;
}

// From how many strips on all of a tile of a window is made flat, so that it may go as a whole.
const uint32_t most_strips = 24;

// Marks the strips of an item in all lists of its part, so that they are made flat (windows.cu): all of the tile when it goes as a whole, or may. It returns
// the item's tile, which has strips_only when it may not. A thread calls it alone.
[[maybe_unused]] static __device__ __noinline__ uint32_t mark_item(const Part &part, uint32_t tile, uint32_t alive, bool whole) {
  if (part.way == by_or_tiles && !whole) {
    whole = static_cast<uint32_t>(__popc(alive)) >= most_strips && !(tile & strips_only);
    if (!whole) tile |= strips_only;
  }
  if (whole) alive = ~0u;
  for (uint32_t i = 0; i < part.term_count; i++) {
    const List &l = *part.terms[i].list;
    if (l.tile_first.address == 0) continue;
    uint32_t *marks = &l.tile_first[tile & ~strips_only];
    if (alive & ~*const_cast<volatile uint32_t *>(marks)) atomicOr(marks, alive);
  }
  return tile;
}

// Puts the items of those lanes that want into a queue. A warp calls it together.
__device__ __forceinline__ void enqueue(Queue &queue, bool wants, const Item &item) {
  uint32_t lane = threadIdx.x % 32, votes = __ballot_sync(all_lanes, wants), first = 0;
  if (votes == 0) return;
  if (lane == 0) first = atomicAdd(&queue.size, static_cast<uint32_t>(__popc(votes)));
  first = __shfl_sync(all_lanes, first, 0);
  if (wants) queue.items[first + __popc(votes & ((1u << lane) - 1))] = item;
}

// A tile of a part, as a lane has it.
struct Place {
  uint32_t index, tile, bound;
  Key threshold;
  bool wanted;  // it can win
};

// Looks whether tile number i, counted through all parts, can win. there says whether the lane has one.
__device__ __forceinline__ Place place_of(const Batch &b, uint32_t i, bool there) {
  Place p{i / b.tiles_most, i % b.tiles_most, no_bound, 0, false};
  const Part &part = b.parts[p.index];
  if (!there || !is_tile_of(b, part, p.tile) || !goes_by_tiles(b, part)) return p;
  const Query &q = b.queries[part.query];
  State &s = b.states[part.query];
  p.bound = b.tile_bounds[part.first_tile + p.tile];
  p.threshold = threshold_of(s);
  p.wanted = p.bound != no_bound && !s.answered && (q.by_strips || !is_seed(b, part, p.tile, p.bound));
  if (p.wanted && q.bounds != no_bounds && !can_win(p.bound, part.base + (p.tile << b.tile_shift), p.threshold)) {
    p.wanted = false;
    s.pruned = 1;
  }
  return p;
}

// Tiles that a warp takes at a time, one a lane: fewer than it has threads where there are few, since it goes through those by strips one after the other.
__device__ __forceinline__ uint32_t tiles_each(uint32_t all) {
  uint32_t warps = gridDim.x * (blockDim.x / 32);
  return min(32u, max(1u, (all + warps - 1) / warps));
}

// A thread for each tile and part queues the tile, unless bounds drop it, or it was a seed.
extern "C" __global__ void __launch_bounds__(256) queue_tiles(const Batch *batch) {
  const Batch b = *batch;
  uint32_t all = b.tiles_most * b.part_count, lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32), each = tiles_each(all);
  Known known{~0u, 0, {nullptr, nullptr, nullptr, nullptr, 0, 0}};
  for (uint32_t base = (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * each; base < all; base += warps * each) {
    Place p = place_of(b, min(base + lane, all - 1), lane < each && base + lane < all);
    const Query &q = b.queries[b.parts[p.index].query];
    Left mine{~0u, false, false};
    for (uint32_t rest = __ballot_sync(all_lanes, p.wanted); rest; rest &= rest - 1) {
      uint32_t at = __ffs(rest) - 1, of = __shfl_sync(all_lanes, p.tile, at), index = __shfl_sync(all_lanes, p.index, at);
      const Part &other = b.parts[index];
      const Query &its = b.queries[other.query];
      Left left{~0u, false, false};
      if (its.by_strips) {
        get_to_know(&known, b, other, index);
        left = strips_left(b, other, known, of);
      } else if (its.bounds == block_bounds) {
        left.alive = alive_parts(b, other, its, of, threshold_of(b.states[other.query]));
        if (left.alive == 0 && lane == 0) b.states[other.query].pruned = 1;
      }
      if (lane == at) mine = left;
    }
    bool wanted = p.wanted && mine.alive != 0;
    enqueue(*b.queue, wanted && !q.by_strips, Item{p.index, p.tile, mine.alive});
    uint32_t strip_tile = p.tile | (mine.seed ? strips_only : 0);
    enqueue(*b.strip_queue, wanted && q.by_strips && !mine.whole && q.node_count == 0, Item{p.index, strip_tile, mine.alive});
    enqueue(*b.tree_queue, wanted && q.node_count, Item{p.index, p.tile, mine.alive});
    enqueue(*b.flat_queue, wanted && q.by_strips && mine.whole, Item{p.index, p.tile, mine.alive});
  }
}

// A thread for each tile and part queues the tile if something can match there: for ANDs without bounds, block by block, of which
// no tile is spared by what seeds would find.
extern "C" __global__ void __launch_bounds__(256) queue_all(const Batch *batch) {
  const Batch b = *batch;
  uint32_t all = b.tiles_most * b.part_count, lane = threadIdx.x % 32;
  for (uint32_t base = blockIdx.x * blockDim.x + threadIdx.x - lane; base < all; base += blockDim.x * gridDim.x) {
    uint32_t i = min(base + lane, all - 1), p = i / b.tiles_most, tile = i % b.tiles_most;
    const Part &part = b.parts[p];
    bool mine = base + lane < all && is_tile_of(b, part, tile) && goes_by_tiles(b, part);
    bool wanted = mine && bound_tile(b, part, b.queries[part.query], tile) != no_bound;
    enqueue(*b.queue, wanted, Item{p, tile, ~0u});
  }
}

// Tiles of a window that are bounded at once.
const uint32_t tiles_at_once = 2;

// The same in a window, where all queries go by strips, and strips that are alive are marked in their lists.
extern "C" __global__ void __launch_bounds__(256, 3) queue_and_mark(const Batch *batch) {
  const Batch b = *batch;
  uint32_t all = b.tiles_most * b.part_count, lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32), each = tiles_each(all);
  Known known{~0u, 0, {nullptr, nullptr, nullptr, nullptr, 0, 0}};
  for (uint32_t base = (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * each; base < all; base += warps * each) {
    Place p = place_of(b, min(base + lane, all - 1), lane < each && base + lane < all);
    const Part &part = b.parts[p.index];
    Left mine{~0u, p.wanted && is_seed(b, part, p.tile, p.bound), false};
    uint32_t seeds_here = __ballot_sync(all_lanes, mine.seed);
    for (uint32_t rest = __ballot_sync(all_lanes, p.wanted); rest;) {
      uint32_t at[tiles_at_once], tile[tiles_at_once], bound[tiles_at_once], index = 0, count = 0;
#pragma unroll
      for (uint32_t t = 0; t < tiles_at_once; t++) {  // as long as they are of one part; behind the last one, that one again
        uint32_t next = rest ? __ffs(rest) - 1 : at[0], its = __shfl_sync(all_lanes, p.index, next);
        if (t == 0) index = its;
        bool taken = rest && its == index;
        at[t] = taken ? next : at[t ? t - 1 : 0];
        count += taken;
        if (taken) rest &= rest - 1;
        tile[t] = __shfl_sync(all_lanes, p.tile, at[t]);
      }
      const Part &other = b.parts[index];
      const Query &its = b.queries[other.query];
      get_to_know(&known, b, other, index);
      if (its.node_count) {  // by a call for each tile; lists of flat queries are read for all of them at once
#pragma unroll
        for (uint32_t t = 0; t < tiles_at_once; t++) {
          if (t < count) bound[t] = bound_tree(b, other, tile[t]);
        }
      } else {
        bound_strips<tiles_at_once>(other, known.of, b.tile_shift, its.rank_weight, tile, bound);
      }
#pragma unroll
      for (uint32_t t = 0; t < tiles_at_once; t++) {
        if (t >= count) continue;
        bool whole = goes_whole(other, its, known.of, known.blocks, tile[t]), seed = seeds_here >> at[t] & 1;
        uint32_t highest = __shfl_sync(all_lanes, p.bound, at[t]);
        Key threshold = __shfl_sync(all_lanes, p.threshold, at[t]);
        uint32_t alive = whole ? seed ? 0 : ~0u : alive_strips(b, other, its, tile[t], highest, seed, threshold, bound[t]);
        if (lane == at[t]) mine = Left{alive, seed, whole};
      }
    }
    bool wanted = p.wanted && mine.alive != 0, tree = b.queries[part.query].node_count != 0;
    uint32_t tile = p.tile | (mine.seed || tree ? strips_only : 0);
    if (wanted) tile = mark_item(part, tile, mine.alive, mine.whole);
    enqueue(*b.strip_queue, wanted && !mine.whole && !tree, Item{p.index, tile, mine.alive});
    enqueue(*b.tree_queue, wanted && tree, Item{p.index, p.tile, mine.alive});
    enqueue(*b.flat_queue, wanted && mine.whole, Item{p.index, p.tile, mine.alive});
  }
}

// A warp for each seed queues its tile.
extern "C" __global__ void __launch_bounds__(256) queue_seeds(const Batch *batch) {
  const Batch b = *batch;
  uint32_t lane = threadIdx.x % 32, warps = blockDim.x / 32 * gridDim.x;
  for (uint32_t i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < seeds * b.query_count; i += warps) {
    Key seed = b.seeds[i];
    if (seed == 0) continue;
    const Query &q = b.queries[i / seeds];
    uint32_t at = ~static_cast<uint32_t>(seed), p = 0;
    while (at - q.parts[p].first_tile >= q.parts[p].tiles) p++;
    const Part &part = q.parts[p];
    uint32_t tile = at - part.first_tile, alive = ~0u;
    bool whole = false;
    if (q.by_strips) {
      Source of = find_source(b.tile_shift, part);
      uint32_t blocks = blocks_of(of);
      uint32_t bound = q.node_count ? bound_tree(b, part, tile)
                       : b.marks    ? bound_in_window(part, of, b.tile_shift, q.rank_weight, tile)
                                    : bound_strip(part, of, blocks, b.tile_shift, q.rank_weight, tile);
      alive = seed_strips(b, q, bound, static_cast<uint32_t>(seed >> 32));
      whole = goes_whole(part, q, of, blocks, tile);
    }
    const uint32_t each = strips / seed_pieces;
    uint32_t count = 1;
    if (goes_in_pieces(b, part, q)) {
      count = seed_pieces;
      whole = false;
      alive &= ((1u << each) - 1) << each * min(lane, seed_pieces - 1);
    }
    if (lane < count && alive) {
      bool by_strips = q.by_strips && !whole;
      Queue &queue = q.node_count ? *b.tree_queue : by_strips ? *b.strip_queue : q.by_strips ? *b.flat_queue : *b.queue;
      Item item{static_cast<uint32_t>(&part - b.parts.get()), tile | (by_strips ? strips_only : 0), alive};
      if (b.marks) item.tile = mark_item(part, item.tile, item.alive, whole);
      queue.items[atomicAdd(&queue.size, 1u)] = item;
    }
  }
}
