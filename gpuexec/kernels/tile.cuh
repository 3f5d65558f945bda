// What the kernels that go tile by tile have in common: the scores of a tile's documents in shared
// memory, the blocks that have postings there, and the candidates at the end.
//
// Shared memory of a thread block, for tiles of 16,384 documents:
//
//	scores    65,536 bytes  one word a document. Integers, so that the order of additions does not
//	                        matter and no barrier stands between lists; integer atomics on shared
//	                        memory are single instructions (ATOMS.ADD), those on floats are loops
//	matches    2,048        one bit a document: or_tile those that match with a score of 0 so far,
//	                        the others what their files say
//	pool       8,192        for k up to 496 (16,384 for 1,000)
//
// and some 2 KB more: three blocks of 512 threads fit into the 227 KB of an H200's multiprocessor, which
// was the best of six shapes there. Larger tiles leave two blocks, smaller ones decode more blocks of
// postings twice, since those at the edge of a tile count in both.
#pragma once
#include "block.cuh"
#include "pool.cuh"
#include "seek.cuh"

// A list in the tile at work.
struct Lane {
  Span blocks;
  uint32_t first;    // where they begin when the blocks of all lists are counted through
  uint32_t highest;  // what a posting there adds to a score at most
};

// The tile at work, the same for all threads.
struct Tile {
  const Part *part;
  const Query *query;
  State *state;
  uint32_t lo, hi;  // documents
  uint32_t blocks;  // of all lists
  uint32_t bound;   // on every score
  uint32_t others;  // of that, what does not come from lists: the rank
  Key threshold;
};

// Counters of a thread block, added to the state at the end of a tile.
struct Tally {
  uint32_t matched, scored, decoded, pruned, unresolved;
};

// The shared memory of a kernel that goes by tiles.
struct Desk {
  uint32_t *scores;
  uint32_t *matches;
  Pool pool;
  Lane *lanes;
  Tile *tile;
  Tally *tally;
};

__device__ __forceinline__ uint32_t tile_words(const Batch &b) { return max(1u, (1u << b.tile_shift) / 32); }

// Lays the desk out in dynamic shared memory, as sharedBytes of launch.go counts it: bit sets come last, as many
// as the kernel has.
__device__ __forceinline__ Desk lay_out(const Batch &b, uint32_t *shared, uint32_t *count, uint32_t *bins, Key *worst,
                                        Lane *lanes, Tile *tile, Tally *tally) {
  Desk d;
  d.pool.keys = reinterpret_cast<Key *>(shared);
  d.pool.room = b.pool_room;
  d.pool.count = count;
  d.pool.bins = bins;
  d.pool.worst = worst;
  d.scores = shared + 2 * b.pool_room;
  d.matches = d.scores + (1u << b.tile_shift);
  d.lanes = lanes;
  d.tile = tile;
  d.tally = tally;
  return d;
}

// Takes the next item of a queue; false when there is none. All threads call it together.
__device__ __forceinline__ bool take(Queue &q, Item *item, uint32_t *at) {
  __syncthreads();
  if (threadIdx.x == 0) *at = atomicAdd(&q.next, 1u);
  __syncthreads();
  if (*at >= q.size) return false;
  *item = q.items[*at];
  return true;
}

// Finds the blocks of the tile, bounds them, and clears scores and bit sets.
__device__ __forceinline__ void enter_tile(const Batch &b, const Desk &d, Item item, uint32_t sets) {
  const Part &part = b.parts[item.part];
  Tile &t = *d.tile;
  const Query &query = b.queries[part.query];
  uint32_t lo = item.tile << b.tile_shift, hi = min(part.docs, lo + (1u << b.tile_shift));
  for (uint32_t i = threadIdx.x; i < part.term_count; i += blockDim.x) {
    const Term &term = part.terms[i];
    const List &l = *term.list;
    Lane &lane = d.lanes[i];
    lane.blocks = blocks_of_tile(l, b.tile_shift, lo, hi);
    uint32_t highest = query.bounds == block_bounds ? bound_of_tile(l, b.tile_shift, lo, lane.blocks) : l.highest;
    lane.highest = lane.blocks.from < lane.blocks.to ? contribution(term.weight, highest) : 0;
  }
  uint32_t words = 1u << b.tile_shift;
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) d.scores[i] = 0;
  for (uint32_t i = threadIdx.x; i < sets * tile_words(b); i += blockDim.x) d.matches[i] = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    t.part = &part;
    t.query = &query;
    t.state = &b.states[part.query];
    t.lo = lo;
    t.hi = hi;
    t.others = rank_bound(part, query.rank_weight, lo, hi);
    t.blocks = 0;
    uint32_t sum = t.others;
    for (uint32_t i = 0; i < part.term_count; i++) {
      Lane &lane = d.lanes[i];
      lane.first = t.blocks;
      t.blocks += lane.blocks.to - lane.blocks.from;
      sum += lane.highest;
    }
    t.bound = min(sum, tail_bound(part, lo));
    t.threshold = threshold_of(*t.state);
    *d.tally = Tally{0, 0, 0, 0, 0};
    *d.pool.count = 0;
  }
  __syncthreads();
}

// Whether bounds say that nothing in the tile can enter.
__device__ __forceinline__ bool tile_is_lost(const Desk &d) {
  const Tile &t = *d.tile;
  bool lost = t.query->bounds != no_bounds && !can_win(t.bound, t.part->base + t.lo, t.threshold);
  if (lost && threadIdx.x == 0) t.state->pruned = 1;
  return lost;
}

__device__ __forceinline__ bool block_is_lost(const Desk &d, uint32_t lane, uint32_t block);

// Whether extents are missing that have blocks of the tile which matter. Then the tile is reported, to be
// looked at elsewhere.
__device__ __forceinline__ bool tile_is_missing(const Batch &b, const Desk &d, Item item) {
  const Tile &t = *d.tile;
  int gone = 0;
  for (uint32_t i = threadIdx.x; i < t.part->term_count; i += blockDim.x) {
    Span s = d.lanes[i].blocks;
    const List &l = *t.part->terms[i].list;
    for (uint32_t block = s.from; block < s.to;) {
      uint32_t next = min(s.to, (block / extent_blocks + 1) * extent_blocks);
      if (is_missing(l, block)) {
        for (; block < next; block++) gone |= !block_is_lost(d, i, block);
      }
      block = next;
    }
  }
  if (!__syncthreads_or(gone)) return false;
  if (threadIdx.x == 0) {
    uint32_t at = atomicAdd(b.unresolved_count.get(), 1u);
    if (at < b.unresolved_room) b.unresolved[at] = Range{item.part, t.lo, t.hi, t.bound};
    atomicAdd(&t.state->unresolved, 1u);
  }
  return true;
}

// The key of document i of the tile, when it may enter: one that matches, with its score as it stands.
__device__ __forceinline__ bool candidate(const Desk &d, uint32_t i, Key threshold, Key *key) {
  const Tile &t = *d.tile;
  uint32_t doc = t.lo + i, score = d.scores[i] + rank_score(*t.part, t.query->rank_weight, doc);
  *key = key_of(score, t.part->base + doc);
  return *key >= threshold && *key < t.query->after && accepts(*t.part, doc);
}

// Hands in the candidates among the documents of the tile that match: those of the bit set, and when
// scored_match those with a score.
__device__ __forceinline__ void collect(const Desk &d, const uint32_t *matches, bool scored_match) {
  const Tile &t = *d.tile;
  uint32_t docs = t.hi - t.lo, matched = 0, scored = 0;
  Key key;
  for (uint32_t i = threadIdx.x; i < docs; i += blockDim.x) {
    if (!(matches[i / 32] >> i % 32 & 1) && !(scored_match && d.scores[i])) continue;
    scored++;
    if (accepts(*t.part, t.lo + i)) matched++;
    if (candidate(d, i, t.threshold, &key)) add(d.pool, key);
  }
  if (matched) atomicAdd(&d.tally->matched, matched);
  if (scored) atomicAdd(&d.tally->scored, scored);
  __syncthreads();
  uint32_t found = *d.pool.count;
  __syncthreads();
  if (found > d.pool.room) {  // the slow way: as many as fit, cut, and on
    if (threadIdx.x == 0) *d.pool.count = 0;
    Key threshold = t.threshold;
    for (uint32_t base = 0; base < docs; base += blockDim.x) {
      __syncthreads();
      uint32_t i = base + threadIdx.x, n = *d.pool.count;
      __syncthreads();
      if (n + blockDim.x > d.pool.room) {
        cut(d.pool, n, t.query->k);
        threshold = max(threshold, *d.pool.worst);
      }
      bool match = i < docs && ((matches[i / 32] >> i % 32 & 1) || (scored_match && d.scores[i]));
      if (match && candidate(d, i, threshold, &key)) add(d.pool, key);
    }
  }
  hand_in(d.pool, *t.query, *t.state);
}

// Adds what the thread block counted in this tile to the query's state.
__device__ __forceinline__ void leave_tile(const Desk &d) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const Tile &t = *d.tile;
    const Tally &n = *d.tally;
    if (n.matched) atomicAdd(&t.state->matched, static_cast<unsigned long long>(n.matched));
    if (n.scored) atomicAdd(&t.state->scored, static_cast<unsigned long long>(n.scored));
    if (n.decoded) atomicAdd(&t.state->decoded, static_cast<unsigned long long>(n.decoded));
    if (n.pruned) t.state->pruned = 1;
  }
}

// The list whose blocks number i, counted through all lists, is one of.
__device__ __forceinline__ uint32_t lane_of(const Desk &d, uint32_t i) {
  uint32_t lane = 0, lanes = d.tile->part->term_count;
  while (lane + 1 < lanes && d.lanes[lane + 1].first <= i) lane++;
  return lane;
}

// Whether bounds say that no posting of a block decides: its own highest impact and all that the others
// can add to it do not suffice.
__device__ __forceinline__ bool block_is_lost(const Desk &d, uint32_t lane, uint32_t block) {
  const Tile &t = *d.tile;
  const Term &term = t.part->terms[lane];
  if (is_unneeded(*term.list, block)) return true;
  if (t.query->bounds != block_bounds) return false;
  uint32_t sum = t.others;
  for (uint32_t i = 0; i < t.part->term_count; i++) sum += i == lane ? 0 : d.lanes[i].highest;
  sum += contribution(term.weight, bound_of(*term.list, block));
  return !can_win(sum, t.part->base + t.lo, t.threshold);
}
