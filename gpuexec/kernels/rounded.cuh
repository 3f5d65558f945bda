// What the warps of a thread block of or_rounded.cu share, and which waits for which.
//
// The block goes through its tiles one after the other, and adds the scores of each in one of two buffers in turn. The postings of a tile are cut into
// chunks, of which each adder takes every seventh, counted through all tiles: so all have the same number of them, whatever the tiles are like. What chunks
// there are the scout says, in portions, which lie in a ring:
//
//	the scout     fills a portion once it is free, and opens filled
//	an adder      reads chunks ahead when filled has opened, adds them when the buffer is clean, and arrives at left behind its last one
//	the janitor   when all have left the last portion of a tile, takes what candidates there are, clears the buffer, opens clean, hands the
//	              candidates in, and opens free
//
// So an adder may be one tile ahead of the others, and none waits for another while they are not further apart.
//
// Shared memory of a block, for tiles of 16,384 documents:
//
//	RoundedDesk   9,184 bytes
//	sums         65,536        two buffers, half a word a document
#pragma once
#include "gate.cuh"
#include "scout.cuh"

// Warps that add, and how many chunks each has on its way.
const uint32_t rounded_adders = 7, rounded_ahead = 3;  // as in options.go

// Threads of a block: the last two warps are the scout and the janitor.
const uint32_t rounded_threads = 32 * (rounded_adders + 2), rounded_blocks = 3;

// Chunks of a portion, portions of the ring, and the least chunks of a portion: an adder asks for a chunk before it leaves the portion of the one it has
// just added, and all portions from there on must be in the ring.
const uint32_t portion_chunks = 40, portions = 8, portion_least = 4;

static_assert((rounded_adders * rounded_ahead - 1) / portion_least + 2 < portions, "an adder would wait for itself");

// Candidates of a tile that are told apart; if there are more, all of its documents are looked at.
const uint32_t rounded_candidates = 512;

// Four consecutive postings for each lane. Of its words 128 there are some that count, from number begin to end-1.
struct __align__(16) Chunk {
  uint64_t at;      // address, a multiple of 16
  uint32_t weight;  // of a rounded sum
  uint32_t range;   // last<<16 | end<<8 | begin, where last is the last lane with a word that counts; of a whole chunk 31<<16, and of an empty one 1
};

// Chunks that follow one another in the tile.
struct __align__(16) Portion {
  uint32_t end;   // number of the chunk behind it, counted through all of the block
  uint32_t part;  // no_part when there is no further tile
  uint32_t look;  // a chunk is looked at row by row when it lifted a document to this sum: need, or 0 for always
  uint32_t tile;
  uint32_t need;   // the sum from which on a document is a candidate, not 0
  uint32_t round;  // tiles of the block before this one; its buffer is the lowest bit
  uint32_t last;   // not 0 when it is the last of its tile
  uint32_t shift;  // bits that sums have less than scores
  Chunk chunks[portion_chunks];
};

// What lies first in the shared memory of a block.
struct RoundedDesk {
  Key keys[insert_room];
  Gate filled[portions], left[portions], free[portions], clean[2];
  Portion ring[portions];
  uint32_t count[2];  // of candidates in each buffer
  uint32_t unused[2];
  uint16_t candidates[2][rounded_candidates];
  uint16_t kept[rounded_candidates];  // the janitor's
};

static_assert(sizeof(RoundedDesk) == 512 + 8 * 26 + portions * (32 + 16 * portion_chunks) + 16 + 3 * 1024, "differs from options.go");

__device__ __forceinline__ RoundedDesk &rounded_desk() {
  DYNAMIC_SHARED(RoundedDesk, t);
  return *t;
}

// The sums of a buffer, two documents a word: that of the even one in the lower half.
__device__ __forceinline__ uint32_t *sums_of(uint32_t tile_shift, uint32_t buffer) {
  return reinterpret_cast<uint32_t *>(&rounded_desk() + 1) + (buffer << tile_shift) / 2;
}

__device__ __forceinline__ uint32_t sum_of(const uint32_t *sums, uint32_t i) { return sums[i / 2] >> i % 2 * 16 & 65535; }

// How sums of a part are rounded. Where all weights together are below 1<<15 they are scores plus one for each list; else they lack bits, so that those of 32
// lists are below 65,536.
__device__ __forceinline__ uint32_t rounding_of(uint32_t all_weights) { return all_weights < 1u << 15 ? 0 : 17 - __clz(all_weights); }

// With it, __umulhi(rounded_weight, word) + 1 is more than what the posting adds, shifted likewise: no part of the word has to be cut off.
__device__ __forceinline__ uint32_t rounded_weight(uint32_t weight, uint32_t shift) { return (weight >> shift) + 1; }

// The least sum that a document with this score can have.
__device__ __forceinline__ uint32_t rounded_need(uint32_t score, uint32_t shift) { return max(1u, (score >> shift) + ((score & ((1u << shift) - 1)) != 0)); }
