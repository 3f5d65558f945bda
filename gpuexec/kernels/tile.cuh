// What the kernels that go tile by tile have in common: the scores of a tile's documents in shared memory, and
// how blocks of postings add to them. prepare.cuh has how a tile is taken, collect.cuh how candidates are.
//
// Shared memory of a thread block, for tiles of 16,384 documents:
//
//	Fixed      1,392 bytes
//	pool       1,184          for k = 10; 17,024 for 1,000
//	lists      1,920        two tiles of eight lists
//	scores    65,536        one word a document. Integers, so that the order of additions does not
//	                        matter and no barrier stands between lists; integer atomics on shared
//	                        memory are single instructions (ATOMS.ADD), those on floats are loops
//	bit sets   2,048 each   one bit a document
//	codes     32,768        length codes of two tiles, when they are staged
//
// Three blocks of 512 threads fit into the 228 KB of an H200's multiprocessor, which was the best of six shapes
// there. Larger tiles leave two blocks, smaller ones decode more blocks of postings twice, since those at the
// edge of a tile count in both.
#pragma once
#include "block.cuh"
#include "pool.cuh"
#include "seek.cuh"

// Threads of a block, and blocks of a multiprocessor that the compiler shall leave registers for: 40 a thread,
// with which the loop over postings spills 32 bytes (registers.sh). With 512 and 2 it is 64, and nothing is spilled.
const uint32_t tile_threads = 512, tile_blocks = 3;

// A list in a tile. The List is a copy: so what a warp needs for a block is one step away.
struct TileList {
  List list;
  const uint8_t *norms;  // of document 0, perhaps in shared memory; or null
  uint32_t weight;
  Span blocks;
  uint32_t first;      // number of the first, when the blocks of all essential lists are counted through
  uint32_t highest;    // what a posting there adds to a score at most
  uint32_t others;     // what the other lists and the rank add at most
  uint32_t essential;  // or_maxscore.cu; else all are
  uint32_t unused;
};

static_assert(sizeof(TileList) == 144, "differs from layout.go");

// A tile of a query, the same for all threads.
struct Tile {
  const Part *part;
  const Query *query;
  State *state;
  Key threshold;  // as it was when the tile was taken
  uint32_t lo, hi;  // documents
  uint32_t shift;   // hi is at most lo + (1 << shift)
  uint32_t lists;
  uint32_t blocks;  // of essential lists
  uint32_t bound;   // on every score
  uint32_t rank;    // what the rank adds at most
  uint32_t alive;   // parts of it, as in Item
  uint32_t there;   // 0 when there was no further tile
};

// What a thread block counts in a tile.
struct Tally {
  uint32_t next;  // block of postings that no warp has taken
  uint32_t matched, scored, decoded, pruned;
  uint32_t zeros;  // not 0 when a document matches with a score of 0
};

// What lies first in the shared memory of a kernel that goes by tiles. There are two of each Tile, Tally and array of
// lists, for the tile at hand and the next.
struct Fixed {
  Tile tiles[2];
  Tally tallies[2];
  Key worst;
  uint32_t count, bins[pool_bins];
  uint32_t weak[2];  // or_maxscore.cu
  uint8_t orders[2][max_terms];
  uint32_t unused[3];
};
static_assert(sizeof(Fixed) == 1392, "differs from layout.go");

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
  TileList *lists;  // of the tile at hand
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
  TileList *lists = reinterpret_cast<TileList *>(keys + b.tile_room);
  d.lists = lists + turn * b.list_room;
  d.scores = reinterpret_cast<uint32_t *>(lists + 2 * b.list_room);
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
__device__ __forceinline__ bool block_is_lost(const Tile &t, const TileList &l, uint32_t block, Key threshold) {
  if (is_unneeded(l.list, block)) return true;
  if (t.query->bounds != block_bounds) return false;
  if (t.alive != ~0u) {
    uint32_t shift = t.shift - 5, first = max(before(l.list, block) + 1, t.lo) - t.lo, last = min(last_of(l.list, block), t.hi - 1) - t.lo;
    if ((t.alive >> (first >> shift) & (~0u >> (31 - (last >> shift) + (first >> shift)))) == 0) return true;
  }
  return !can_win(min(l.highest, contribution(l.weight, bound_of(l.list, block))) + l.others, t.part->base + t.lo, threshold);
}

// The number of the next block of postings that no warp has taken. A warp calls it together.
__device__ __forceinline__ uint32_t take_block(Tally &n) {
  uint32_t i = threadIdx.x % 32 == 0 ? atomicAdd(&n.next, 1u) : 0;
  return __shfl_sync(all_lanes, i, 0);
}

// The list that a block is of, by its number through all essential lists.
__device__ __forceinline__ const TileList &list_of(const TileList *lists, uint32_t i) {
  uint32_t at = 0;
  while (i < lists[at].first || i - lists[at].first >= lists[at].blocks.to - lists[at].blocks.from || !lists[at].essential) at++;
  return lists[at];
}

// What a posting adds to the score of doc.
__device__ __forceinline__ uint32_t score_in(const TileList &l, uint32_t doc, uint32_t tf) {
  return contribution(l.weight, impact(*l.list.table, tf, l.norms ? l.norms[doc] : 1));
}

// Adds the postings of a block within the tile to the scores, with only: of those documents alone.
__device__ __forceinline__ void score_block(const Desk &d, const TileList &l, uint32_t block, const uint32_t *only) {
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
  Key threshold = common_threshold(*t.state);
  uint32_t decoded = 0, blocks = t.blocks;
  for (uint32_t i = take_block(*d.tally); i < blocks; i = take_block(*d.tally)) {
    const TileList &l = list_of(d.lists, i);
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
