// What the warps of a thread block of or_flat.cu share: what the tiles to come are about, and who adds what of them.
//
// Shared memory of a block, for tiles of 16,384 documents:
//
//	FlatDesk   5,776 bytes
//	scores    65,536        one word a document
//	zeros      2,048        one bit a document
#pragma once
#include "insert.cuh"

// Warps that add, and how many chunks each has on its way: on an H200 seven were as fast as six and 5 % faster than eight, which
// leave fewer registers.
const uint32_t adders = 7, slots = 3;  // as in options.go

// Threads of a block: the last warp is the scout.
const uint32_t flat_threads = 32 * (adders + 1), flat_blocks = 3;

// Postings of a chunk, four of each lane.
const uint32_t chunk = 128;

// Candidates of a tile that are told apart; if there are more, all of its documents are looked at.
const uint32_t candidates_most = 1024;

// The postings of a list in a tile, or the rest of them. Chunks begin where 16 bytes do, so that the first may have up to three words
// before the list's.
struct __align__(16) Stretch {
  uint64_t base;   // address of the first chunk, plus how many of its words are not the list's
  uint32_t words;  // from there to the end
  uint32_t weight;
};

// The chunks that an adder has of a tile, consecutive ones; an empty one when there are too few.
struct __align__(16) Share {
  Stretch first;
  uint32_t list;  // that of the first
  uint32_t chunks;
  uint32_t unused[2];
};

// What a tile is about.
struct __align__(16) Job {
  uint32_t part;  // no_part when there is no further tile
  uint32_t tile;
  uint32_t need;  // the score from which on a document is a candidate, not 0
  uint32_t look;  // a chunk is looked at row by row when it lifted a document to this score: need, or 0 for always
  uint32_t rank;     // what the rank adds at most
  uint32_t careful;  // not 0 when some documents may not be returned, or contributions may be 0 though impacts are not
  Pointer<State> state;
  Share shares[adders];
  Stretch lists[32];
};

const uint32_t no_part = ~0u;

// Jobs in use: that of the tile at hand, those of the chunks on their way, of as many tiles at most; and one that the scout fills.
const uint32_t job_count = slots + 1;

// What has to be handed in of a tile.
struct __align__(8) Seen {
  uint32_t count;  // of candidates
  uint32_t zeros;  // not 0 when a posting added nothing
};

// What lies first in the shared memory of a block.
struct FlatDesk {
  Key keys[insert_room];
  Job jobs[job_count];
  Seen seen[2];        // in this tile and the next
  uint32_t aside[32];  // stays 0
  uint16_t candidates[candidates_most];
};

static_assert(sizeof(FlatDesk) == 512 + job_count * (32 + 32 * adders + 16 * 32) + 16 + 128 + 2048, "differs from options.go");

__device__ __forceinline__ FlatDesk &flat_desk() {
  DYNAMIC_SHARED(FlatDesk, t);
  return *t;
}
__device__ __forceinline__ uint32_t *scores() { return reinterpret_cast<uint32_t *>(&flat_desk() + 1); }
// Documents that match with a score of 0, a bit each.
__device__ __forceinline__ uint32_t *zeros_of(uint32_t tile_shift) { return scores() + (1u << tile_shift); }

__device__ __forceinline__ uint32_t job_after(uint32_t i) { return i + 1 == job_count ? 0 : i + 1; }

// A barrier of all threads, those of the scout too, who come to it from elsewhere. So it is not __syncthreads, which all of a block must call at the same
// place. PTX's aligned barrier, bar.sync, wants that too, says synccheck; the one that is not aligned does not.
__device__ __forceinline__ void meet() {
#if defined(__CUDA__) || defined(__CUDACC__)
  asm volatile("barrier.sync 0;" ::: "memory");
#else
  __syncthreads();
#endif
}
