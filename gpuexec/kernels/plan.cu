// Which tiles are worth a visit, and in which order. bound_tiles bounds every tile of every part and
// finds for each query the best four tiles, one of each residue class by 4, so that no two are the
// same. These seeds are visited first: what they find raises the threshold. Then queue_tiles queues what
// can still win, tile by tile over all queries, so that lists which queries share are read together
// and found in the second-level cache (50 MB on an H200). tiles_most * part_count is below 1<<31.
#include "seek.cuh"
#include "score.cuh"
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

// Whether it is the turn of the part.
__device__ __forceinline__ bool goes_by_tiles(const Batch &b, const Part &part) {
  return part.way == (b.and_pass ? by_and_tiles : by_or_tiles);
}

// A thread for each tile and part, parts fastest.
extern "C" __global__ void __launch_bounds__(256) bound_tiles(const Batch *batch) {
  const Batch b = *batch;
  uint32_t all = b.tiles_most * b.part_count;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += blockDim.x * gridDim.x) {
    const Part &part = b.parts[i % b.part_count];
    uint32_t tile = i / b.part_count;
    if (tile >= part.tiles || !goes_by_tiles(b, part)) continue;
    uint32_t at = part.first_tile + tile, bound = bound_tile(b, part, b.queries[part.query], tile);
    b.tile_bounds[at] = bound;
    if (bound != no_bound) atomicMax(&b.seeds[seeds * part.query + tile % seeds], key_of(bound, at));
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

// A thread for each tile and part queues the tile, unless it was a seed or bounds drop it.
extern "C" __global__ void __launch_bounds__(256) queue_tiles(const Batch *batch) {
  const Batch b = *batch;
  Queue &queue = *b.queue;
  uint32_t all = b.tiles_most * b.part_count, step = blockDim.x * gridDim.x;
  for (uint32_t base = blockIdx.x * blockDim.x; base < all; base += step) {
    uint32_t i = base + threadIdx.x;
    uint32_t p = i < all ? i % b.part_count : 0, tile = i < all ? i / b.part_count : ~0u;
    const Part &part = b.parts[p];
    bool wanted = tile < part.tiles && goes_by_tiles(b, part);
    if (wanted) {
      const Query &q = b.queries[part.query];
      State &s = b.states[part.query];
      uint32_t at = part.first_tile + tile, bound = b.tile_bounds[at];
      wanted = bound != no_bound && !s.answered && b.seeds[seeds * part.query + tile % seeds] != key_of(bound, at);
      if (wanted && q.bounds != no_bounds && !can_win(bound, part.base + (tile << b.tile_shift), threshold_of(s))) {
        wanted = false;
        s.pruned = 1;
      }
    }
    uint32_t lane = threadIdx.x % 32, first = 0, alive = ~0u;
    for (uint32_t rest = __ballot_sync(all_lanes, wanted); rest; rest &= rest - 1) {
      uint32_t at = __ffs(rest) - 1;
      const Part &other = b.parts[__shfl_sync(all_lanes, p, at)];
      const Query &q = b.queries[other.query];
      uint32_t parts = ~0u, tile_at = __shfl_sync(all_lanes, tile, at);
      if (q.bounds == block_bounds) parts = alive_parts(b, other, q, tile_at, threshold_of(b.states[other.query]));
      if (lane == at) alive = parts;
    }
    if (wanted && alive == 0) {
      wanted = false;
      b.states[part.query].pruned = 1;
    }
    uint32_t votes = __ballot_sync(all_lanes, wanted);
    if (votes == 0) continue;
    if (lane == 0) first = atomicAdd(&queue.size, static_cast<uint32_t>(__popc(votes)));
    first = __shfl_sync(all_lanes, first, 0);
    if (wanted) queue.items[first + __popc(votes & ((1u << lane) - 1))] = Item{p, tile, alive};
  }
}

// A thread for each seed queues its tile.
extern "C" __global__ void __launch_bounds__(256) queue_seeds(const Batch *batch) {
  const Batch b = *batch;
  Queue &queue = *b.queue;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < seeds * b.query_count; i += blockDim.x * gridDim.x) {
    Key seed = b.seeds[i];
    if (seed == 0) continue;
    const Query &q = b.queries[i / seeds];
    uint32_t at = ~static_cast<uint32_t>(seed), p = 0;
    while (at - q.parts[p].first_tile >= q.parts[p].tiles) p++;
    uint32_t index = &q.parts[p] - b.parts.get();
    queue.items[atomicAdd(&queue.size, 1u)] = Item{index, at - q.parts[p].first_tile, ~0u};
  }
}
