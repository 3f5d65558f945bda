// What the kernels that go tile by tile have in common: taking tiles from the queue, the scores of a tile's
// documents in shared memory, and the candidates at the end.
//
// Shared memory of a thread block, for tiles of 16,384 documents:
//
//	Fixed      1,376 bytes
//	pool       1,184          for k = 10; 17,024 for 1,000
//	lanes      1,664        two tiles of eight lists
//	scores    65,536        one word a document. Integers, so that the order of additions does not
//	                        matter and no barrier stands between lists; integer atomics on shared
//	                        memory are single instructions (ATOMS.ADD), those on floats are loops
//	bit sets   2,048 each   one bit a document
//	codes     32,768        length codes of two tiles, when they are staged
//
// Three blocks of 512 threads fit into the 228 KB of an H200's multiprocessor, which
// was the best of six shapes there. Larger tiles leave two blocks, smaller ones decode more blocks of
// postings twice, since those at the edge of a tile count in both.
//
// A tile of a query with three million postings has some twenty blocks of postings: a few microseconds of
// work. To find the next tile, its lists and their blocks takes several reads that wait for one another,
// nearly as long. So warp 0 prepares the next tile while the others score the one at hand, and drops tiles that
// cannot win without anyone else taking notice.
//
// Length codes are read a byte here and a byte there. Where a tile has many postings it may pay to bring all of its
// codes to shared memory ahead (Shape.StageLengths), which then has room for two blocks.
#pragma once
#include "block.cuh"
#include "pool.cuh"
#include "seek.cuh"

// Threads of a block, and blocks of a multiprocessor that the compiler shall leave registers for: 40 a thread,
// with which some values of the outer loops are spilled. With 512 and 2 it is 64, and none is.
const uint32_t tile_threads = 512, tile_blocks = 3;

// A list in a tile. The List is a copy: so what a warp needs for a block is one step away.
struct Lane {
  List list;
  const Table *table;
  const uint8_t *norms;  // of document 0, perhaps in shared memory; or null
  uint32_t weight;
  Span blocks;
  uint32_t first;      // number of the first, when the blocks of all essential lists are counted through
  uint32_t highest;    // what a posting there adds to a score at most
  uint32_t others;     // what the other lists and the rank add at most
  uint32_t essential;  // or_maxscore.cu; else all are
  uint32_t unused;
};

static_assert(sizeof(Lane) == 104, "differs from layout.go");

// A tile of a query, the same for all threads.
struct Tile {
  const Part *part;
  const Query *query;
  State *state;
  Key threshold;  // as it was when the tile was taken
  uint32_t lo, hi;  // documents
  uint32_t lanes;
  uint32_t blocks;  // of essential lists
  uint32_t bound;   // on every score
  uint32_t rank;    // what the rank adds at most
  uint32_t there;   // 0 when there was no further tile
};

// What a thread block counts in a tile.
struct Tally {
  uint32_t next;  // block of postings that no warp has taken
  uint32_t matched, scored, decoded, pruned;
  uint32_t zeros;  // not 0 when a document matches with a score of 0
};

// What lies first in the shared memory of a kernel that goes by tiles. There are two of each Tile, Tally and array of
// lanes, for the tile at hand and the next.
struct Fixed {
  Tile tiles[2];
  Tally tallies[2];
  Key worst;
  uint32_t count, bins[pool_bins];
  uint32_t weak[2];  // or_maxscore.cu
  uint8_t orders[2][max_terms];
  uint32_t unused[3];
};
static_assert(sizeof(Fixed) == 1376, "differs from layout.go");

// Where everything is in the shared memory of a kernel that goes by tiles.
//
// The steps of a tile are functions that are not inlined, so that each has all registers to itself: in one piece the kernels
// need 64 of them, and a step that needs 40 would go about with what the others keep. They find shared memory on
// their own, because only so the compiler knows that it is shared: as arguments its addresses could be any.
struct Desk {
  Fixed *fixed;
  uint32_t *scores;
  uint32_t *bits;  // bit sets, one after another
  Pool pool;
  Lane *lanes;  // of the tile at hand
  Tile *tile;
  Tally *tally;
  uint8_t *codes;  // of both tiles
  uint32_t words;  // of a bit set
};

// The desk, laid out as Shape.tileShared counts it.
__device__ __forceinline__ Desk desk_of(const Batch &b, uint32_t turn) {
  DYNAMIC_SHARED(Fixed, fixed);
  Desk d;
  d.fixed = fixed;
  Key *keys = reinterpret_cast<Key *>(fixed + 1);
  d.pool = Pool{keys, b.tile_room, &fixed->count, fixed->bins, &fixed->worst};
  Lane *lanes = reinterpret_cast<Lane *>(keys + b.tile_room);
  d.lanes = lanes + turn * b.lane_room;
  d.scores = reinterpret_cast<uint32_t *>(lanes + 2 * b.lane_room);
  d.bits = d.scores + (1u << b.tile_shift);
  d.words = max(1u, (1u << b.tile_shift) / 32);
  d.codes = reinterpret_cast<uint8_t *>(d.bits + 2 * d.words);
  d.tile = &fixed->tiles[turn];
  d.tally = &fixed->tallies[turn];
  return d;
}

// Clears the desk. All threads call it together, and must meet before they use it.
__device__ __forceinline__ void clear_desk(const Batch &b) {
  Desk d = desk_of(b, 0);
  for (uint32_t i = threadIdx.x; i < (1u << b.tile_shift) + 2 * d.words; i += blockDim.x) d.scores[i] = 0;
  if (threadIdx.x == 0) d.fixed->count = 0;
}

// Whether bounds say that no posting of a block decides: its own highest impact and all that the others
// can add to it do not suffice.
__device__ __forceinline__ bool block_is_lost(const Tile &t, const Lane &l, uint32_t block, Key threshold) {
  if (is_unneeded(l.list, block)) return true;
  if (t.query->bounds != block_bounds) return false;
  return !can_win(contribution(l.weight, bound_of(l.list, block)) + l.others, t.part->base + t.lo, threshold);
}

// Whether a block of the tile that matters is missing.
__device__ __forceinline__ bool lane_is_missing(const Tile &t, const Lane &l) {
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
__device__ __forceinline__ void fill_lanes(const Batch &b, Tile &t, Lane *lanes, uint32_t lane) {
  const Part &part = *t.part;
  uint32_t sum = t.rank, blocks = 0;
  for (uint32_t base = 0; base < t.lanes; base += 32) {
    uint32_t i = base + lane, highest = 0, count = 0;
    Lane &l = lanes[min(i, t.lanes - 1)];
    if (i < t.lanes) {
      const Term &term = part.terms[i];
      l.list = *term.list;
      l.table = term.table;
      l.norms = term.norms.address ? term.norms.get() : nullptr;
      l.weight = term.weight;
      l.essential = 1;
      l.blocks = blocks_of_tile(l.list, b.tile_shift, t.lo, t.hi);
      count = l.blocks.to - l.blocks.from;
      if (count) highest = t.query->bounds == block_bounds ? bound_of_tile(l.list, b.tile_shift, t.lo, l.blocks) : l.list.highest;
      l.highest = highest = contribution(l.weight, highest);
    }
    uint32_t first = blocks + sum_before(count, lane);
    if (i < t.lanes) l.first = first;
    sum += __reduce_add_sync(all_lanes, highest);
    blocks += __reduce_add_sync(all_lanes, count);
  }
  for (uint32_t i = lane; i < t.lanes; i += 32) lanes[i].others = sum - lanes[i].highest;
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
  Lane *lanes = d.lanes;
  uint8_t *codes = d.codes + (turn << b.tile_shift);
  const uint8_t *norms = lanes[0].norms;
  uint32_t lane = threadIdx.x % 32;
  if (b.staged_from == 0 || t.blocks < b.staged_from || norms == nullptr) return;
  for (uint32_t i = 16 * lane; i < t.hi - t.lo; i += 16 * 32) copy_async_16(codes + i, norms + t.lo + i);
  copy_async_commit();
  __syncwarp();
  for (uint32_t i = lane; i < t.lanes; i += 32) {
    if (lanes[i].norms == norms) lanes[i].norms = codes - t.lo;
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
  Lane *lanes = d.lanes;
  Queue &queue = *b.queue;
  uint32_t lane = threadIdx.x % 32;
  for (;;) {
    uint32_t at = lane == 0 ? atomicAdd(&queue.next, 1u) : 0;
    at = __shfl_sync(all_lanes, at, 0);
    __syncwarp();  // nobody reads the last tile any more
    bool there = at < queue.size;
    Item item = there ? queue.items[at] : Item{0, 0};
    const Part &part = b.parts[item.part];
    if (lane == 0) {
      t.there = there;
      t.part = &part;
      t.query = &b.queries[part.query];
      t.state = &b.states[part.query];
      t.lo = item.tile << b.tile_shift;
      t.hi = min(part.docs, t.lo + (1u << b.tile_shift));
      t.lanes = part.term_count;
      t.rank = there ? rank_bound(part, t.query->rank_weight, t.lo, t.hi) : 0;
      t.threshold = threshold_of(*t.state);
      *d.tally = Tally{0, 0, 0, 0, 0, 0};
    }
    __syncwarp();
    if (!there) return;
    if (t.state->answered) continue;
    fill_lanes(b, t, lanes, lane);
    if (t.query->bounds != no_bounds && !can_win(t.bound, part.base + t.lo, t.threshold)) {
      if (lane == 0) t.state->pruned = 1;
      continue;
    }
    bool gone = false;
    for (uint32_t i = lane; i < t.lanes; i += 32) gone |= lane_is_missing(t, lanes[i]);
    if (!__any_sync(all_lanes, gone)) {
      stage_codes(b, d, turn);
      return;
    }
    if (lane == 0) report_unresolved(b, item.part, t);
    __syncwarp();
  }
}

// The number of the next block of postings that no warp has taken. A warp calls it together.
__device__ __forceinline__ uint32_t take_block(Tally &n) {
  uint32_t i = threadIdx.x % 32 == 0 ? atomicAdd(&n.next, 1u) : 0;
  return __shfl_sync(all_lanes, i, 0);
}

// The list that a block is of, by its number through all essential lists.
__device__ __forceinline__ const Lane &lane_of(const Lane *lanes, uint32_t i) {
  uint32_t at = 0;
  while (i < lanes[at].first || i - lanes[at].first >= lanes[at].blocks.to - lanes[at].blocks.from || !lanes[at].essential) at++;
  return lanes[at];
}

// What a posting adds to the score of doc.
__device__ __forceinline__ uint32_t score_in(const Lane &l, uint32_t doc, uint32_t tf) {
  return contribution(l.weight, impact(*l.table, tf, l.norms ? l.norms[doc] : 1));
}

// Adds the postings of a block within the tile to the scores, with only: of those documents alone.
__device__ __forceinline__ void score_block(const Desk &d, const Lane &l, uint32_t block, const uint32_t *only) {
  const Tile &t = *d.tile;
  uint32_t lane = threadIdx.x % 32, doc[4], tf[4];
  Block k = open_block(l.list, block);
  decode_docs(k, lane, doc);
  decode_freqs(k, lane, tf);
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    uint32_t i = doc[j] - t.lo;
    if (4 * lane + j >= k.n || i >= t.hi - t.lo) continue;
    if (only && !(only[i / 32] >> i % 32 & 1)) continue;
    uint32_t score = score_in(l, doc[j], tf[j]);
    if (score) {
      atomicAdd(&d.scores[i], score);
    } else {
      atomicOr(&d.bits[i / 32], 1u << i % 32);
      d.tally->zeros = 1;
    }
  }
}

// Scores the blocks of essential lists: warps take them as they come. All threads call it together.
[[maybe_unused]] static __device__ __noinline__ void score_essential(const Batch &b, uint32_t turn) {
  Desk d = desk_of(b, turn);
  const Tile &t = *d.tile;
  Key threshold = threshold_of(*t.state);
  uint32_t decoded = 0, blocks = t.blocks;
  for (uint32_t i = take_block(*d.tally); i < blocks; i = take_block(*d.tally)) {
    const Lane &l = lane_of(d.lanes, i);
    uint32_t block = l.blocks.from + i - l.first;
    if (block_is_lost(t, l, block, threshold)) {
      d.tally->pruned = 1;
      continue;
    }
    score_block(d, l, block, nullptr);
    decoded++;
  }
  if (threadIdx.x % 32 == 0 && decoded) atomicAdd(&d.tally->decoded, decoded);
}

// Looks at document i of the tile, which matches: it goes into the pool if it may enter. False when there
// it found no room.
__device__ __forceinline__ bool settle(const Desk &d, const Tile &t, uint32_t i, uint32_t score, Key threshold) {
  uint32_t doc = t.lo + i;
  Key key = key_of(score + rank_score(*t.part, t.query->rank_weight, doc), t.part->base + doc);
  if (key < threshold || key >= t.query->after || !accepts(*t.part, doc)) return true;
  return add(d.pool, key);
}

// Counts documents that match, of 32 at i the bits. Those that may not be returned count as scored only.
struct Count {
  uint32_t matched, scored;
  __device__ __forceinline__ void add(const Part &p, uint32_t first, uint32_t bits) {
    scored += __popc(bits);
    if (p.accept.address) bits &= __ldg(&p.accept[first / 32]) >> first % 32;
    matched += __popc(bits);
  }
};

// Settles the documents whose bit is set, and clears those bits; of with_scores those of score 0 only, else
// all, with what they score.
__device__ __forceinline__ void settle_bits(const Desk &d, const Tile &t, uint32_t *bits, bool with_scores, Key threshold, Count *count) {
  for (uint32_t w = threadIdx.x; w < d.words; w += blockDim.x) {
    uint32_t word = bits[w], left = 0, of = 0;
    for (; word; word &= word - 1) {
      uint32_t bit = __ffs(word) - 1, i = 32 * w + bit;
      if (with_scores && d.scores[i]) continue;
      of |= 1u << bit;
      if (!settle(d, t, i, d.scores[i], threshold)) left |= 1u << bit;
    }
    if (count && of) count->add(*t.part, t.lo + 32 * w, of);
    bits[w] = left;
  }
}

// Settles the documents with a score, and clears the scores: four at a look, of which hardly any can enter.
__device__ __forceinline__ void settle_scores(const Desk &d, const Tile &t, Key threshold, Count *count) {
  uint4 *fours = reinterpret_cast<uint4 *>(d.scores);
  uint32_t need = static_cast<uint32_t>(threshold >> 32), docs = t.hi - t.lo;
  for (uint32_t i = threadIdx.x; 4 * i < docs; i += blockDim.x) {
    uint4 v = fours[i];
    if ((v.x | v.y | v.z | v.w) == 0) continue;
    if (count) count->add(*t.part, t.lo + 4 * i, (v.x != 0) | (v.y != 0) << 1 | (v.z != 0) << 2 | (v.w != 0) << 3);
    if (max(max(v.x, v.y), max(v.z, v.w)) + t.rank >= need) {
      if (v.x && settle(d, t, 4 * i, v.x, threshold)) v.x = 0;
      if (v.y && settle(d, t, 4 * i + 1, v.y, threshold)) v.y = 0;
      if (v.z && settle(d, t, 4 * i + 2, v.z, threshold)) v.z = 0;
      if (v.w && settle(d, t, 4 * i + 3, v.w, threshold)) v.w = 0;
      fours[i] = v;
    } else {
      fours[i] = make_uint4(0, 0, 0, 0);
    }
  }
}

// Makes room in the pool where it was too small; false when it was not. Documents that found no room have
// been left where they were.
__device__ __forceinline__ bool make_room(const Desk &d, const Tile &t, Key *threshold) {
  __syncthreads();
  bool full = *d.pool.count > d.pool.room;
  __syncthreads();
  if (!full) return false;
  cut(d.pool, d.pool.room, t.query->k);
  *threshold = max(*threshold, *d.pool.worst);
  __syncthreads();
  return true;
}

__device__ __forceinline__ void count_documents(Tally &n, const Count &count) {
  uint32_t matched = __reduce_add_sync(all_lanes, count.matched), scored = __reduce_add_sync(all_lanes, count.scored);
  if (threadIdx.x % 32 == 0 && scored) {
    atomicAdd(&n.matched, matched);
    atomicAdd(&n.scored, scored);
  }
}

// Adds what was counted in a tile to the query's state. All threads call it together.
__device__ __forceinline__ void leave_tile(const Tile &t, const Tally &n) {
  __syncthreads();
  if (threadIdx.x == 0) {
    if (n.matched) atomicAdd(&t.state->matched, static_cast<unsigned long long>(n.matched));
    if (n.scored) atomicAdd(&t.state->scored, static_cast<unsigned long long>(n.scored));
    if (n.decoded) atomicAdd(&t.state->decoded, static_cast<unsigned long long>(n.decoded));
    if (n.pruned) t.state->pruned = 1;
  }
}

// The end of a tile of OR: hands in the candidates, and leaves scores and the first bit set cleared. All
// threads call it together, after a barrier.
[[maybe_unused]] static __device__ __noinline__ void collect_or(const Batch &b, uint32_t turn) {
  Desk d = desk_of(b, turn);
  const Tile &t = *d.tile;
  Tally &n = *d.tally;
  Key threshold = threshold_of(*t.state);
  Count count{0, 0}, *first = &count;
  do {
    if (n.zeros) {
      settle_bits(d, t, d.bits, true, threshold, first);
      __syncthreads();
    }
    settle_scores(d, t, threshold, first);
    first = nullptr;
  } while (make_room(d, t, &threshold));
  count_documents(n, count);
  hand_in(d.pool, *t.query, *t.state);
  leave_tile(t, n);
}

// The end of a tile of AND: hands in the candidates among the documents of a bit set, which is cleared.
[[maybe_unused]] static __device__ __noinline__ void collect_and(const Batch &b, uint32_t turn, uint32_t set) {
  Desk d = desk_of(b, turn);
  const Tile &t = *d.tile;
  Tally &n = *d.tally;
  uint32_t *bits = d.bits + set * d.words;
  Key threshold = threshold_of(*t.state);
  Count count{0, 0}, *first = &count;
  do {
    settle_bits(d, t, bits, false, threshold, first);
    first = nullptr;
  } while (make_room(d, t, &threshold));
  count_documents(n, count);
  hand_in(d.pool, *t.query, *t.state);
  leave_tile(t, n);
}
