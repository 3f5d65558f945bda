// A strip of a tile, 1/32 of its documents, as a warp comes to know it: where the postings of its lists are, and whether some are
// missing; and how warps share a queue of tiles. strips.cu and tree_strips.cu add postings up, count_matches.cu counts documents.
#pragma once
#include "block.cuh"
#include "cells.cuh"
#include "seek.cuh"

// A strip at hand, the same for all lanes.
struct Strip {
  uint32_t strip;      // counted through the segment
  uint32_t shift, lo;  // its documents are 1 << shift, from lo on
  uint32_t cells;      // those that are looked at, a bit each
};

// The list of a lane in a strip.
struct Here {
  uint32_t from, to;  // postings of a flat list: of the strip, or where the directory is by tiles of the tile
  uint32_t bound;     // 0 when the strip has none, of a list that there is
};

__device__ __forceinline__ bool is_listed(const Source &of, const Here &h) { return of.list && h.bound; }

// Postings of a strip, two of each lane at a time.
struct Words {
  uint32_t word[2];
};

// Asks for postings from from on, before to. What lanes behind get is something else.
__device__ __forceinline__ Words load_words(const Part &part, const uint32_t *flat, uint32_t from, uint32_t to) {
  Words w;
  uint32_t at = from + threadIdx.x % 32;
#pragma unroll
  for (uint32_t j = 0; j < 2; j++) w.word[j] = __ldg(at + 32 * j < to ? flat + at + 32 * j : reinterpret_cast<const uint32_t *>(anywhere(part)));
  return w;
}

// Makes words of lanes behind the last posting those of no document of the strip.
__device__ __forceinline__ Words without_others(const Strip &s, Words w, uint32_t from, uint32_t to) {
  uint32_t at = from + threadIdx.x % 32, absent = ~(s.strip % strips) << s.shift;
#pragma unroll
  for (uint32_t j = 0; j < 2; j++) w.word[j] = at + 32 * j < to ? w.word[j] : absent;
  return w;
}

// Whether a word is of a document in the cells of a strip.
__device__ __forceinline__ bool is_in(const Strip &s, uint32_t word) {
  uint32_t cell = (word >> (s.shift - 3) & (strips * cells - 1)) ^ s.strip % strips * cells;
  return s.cells >> min(cell, 31u) & 1;
}

// Finds the list of the lane in a strip. blocks are the lists that are not flat. A warp calls it together.
__device__ __forceinline__ Here find_here(const Part &part, const Source &of, uint32_t blocks, uint32_t strip) {
  Here h;
  const uint32_t *entry = of.bounds ? of.first + (strip >> of.shift) : reinterpret_cast<const uint32_t *>(anywhere(part));
  h.from = __ldg(entry);
  h.to = __ldg(entry + 1);
  h.bound = __ldg(of.bounds ? of.bounds + strip : anywhere(part));
  if (blocks >> threadIdx.x % 32 & 1) h.bound = of.list->tile_bound[strip / strips];
  return h;
}

// Whether a block of the list that touches the strip is missing. A lane calls it alone.
__device__ __forceinline__ bool misses(const List &l, uint32_t shift, uint32_t lo) {
  uint32_t tile_shift = shift + 5, tile = lo >> tile_shift;
  Span blocks = blocks_of_tile(l, tile_shift, tile << tile_shift, (tile + 1) << tile_shift);
  for (uint32_t block = blocks.from; block < blocks.to; block++) {
    if (is_missing(l, block) && last_of(l, block) >= lo && before(l, block) + 1 < lo + (1u << shift)) return true;
  }
  return false;
}

// Reports a strip where a block is missing of a list of some lane; returns whether that is so.
[[maybe_unused]] static __device__ __noinline__ bool report_missing(const Batch &b, const Part &part, uint32_t shift, uint32_t lo, const List *list) {
  if (!__any_sync(all_lanes, list && misses(*list, shift, lo))) return false;
  if (threadIdx.x % 32 != 0) return true;
  uint32_t at = atomicAdd(b.unresolved_count.get(), 1u), bound = b.tile_bounds[part.first_tile + (lo >> (shift + 5))];
  if (at < b.unresolved_room) b.unresolved[at] = Range{static_cast<uint32_t>(&part - b.parts.get()), lo, min(part.docs, lo + (1u << shift)), bound};
  atomicAdd(&b.states[part.query].unresolved, 1u);
  return true;
}

// What a lane counts.
struct Counts {
  uint32_t matched, scored;
  uint32_t postings;  // the same for all lanes
};

// Adds what the lanes of a warp have counted to the query's state. By value, since Counts would be kept in memory otherwise. A warp calls it together.
[[maybe_unused]] static __device__ __noinline__ void add_counts(State &s, uint32_t matched, uint32_t scored, uint32_t postings) {
  matched = __reduce_add_sync(all_lanes, matched);
  scored = __reduce_add_sync(all_lanes, scored);
  if (threadIdx.x % 32 != 0) return;
  if (matched) atomicAdd(&s.matched, static_cast<unsigned long long>(matched));
  if (scored) atomicAdd(&s.scored, static_cast<unsigned long long>(scored));
  if (postings) atomicAdd(&s.decoded, static_cast<unsigned long long>((postings + 127) / 128));
}

// Items of a queue, as a warp takes them.
struct Run {
  uint32_t from, count;
};

// Takes the next items of a queue, at most most consecutive ones; none when all are taken. They are of one part mostly, so that what is to be
// known of it is asked once. Where a warp of the grid has fewer than runs_of_warp such runs, it takes fewer items at a time: those of one part are
// alike, and a run of the worst takes longer than all others together, which the end of the kernel waits for. A warp calls it together.
__device__ __forceinline__ Run take_run(Queue &queue, uint32_t most, uint32_t runs_of_warp) {
  uint32_t size = queue.size, run = min(most, max(1u, size / (runs_of_warp * gridDim.x * (blockDim.x / 32)))), runs = (size + run - 1) / run;
  uint32_t number = threadIdx.x % 32 == 0 ? atomicAdd(&queue.next, 1u) : 0;
  number = __shfl_sync(all_lanes, number, 0);
  if (number >= runs) return Run{0, 0};
  uint32_t from = run * shuffled(number, runs);
  return Run{from, min(run, size - from)};
}

// Takes all items of a queue, a run of them at a time, as take_run has it. turn_to finds out what is to be known of a part, once as long as items are of one.
// take takes an item, and returns false where it is better left to another kernel; leave gets those of a run, a bit each. All items are counted
// in n, which goes to the state of each part's query. What is handed over must be inlined (always_inline), or what it captures is kept in memory.
// A warp calls it together.
template <class TurnTo, class Take, class Leave>
__device__ __forceinline__ void take_items(const Batch &b, Queue &queue, uint32_t most, uint32_t runs_of_warp, Counts *n, TurnTo turn_to, Take take, Leave leave) {
  uint32_t known = ~0u;
  for (;;) {
    Run run = take_run(queue, most, runs_of_warp);
    if (run.count == 0) break;
    uint32_t left = 0;
    for (uint32_t i = 0; i < run.count; i++) {
      Item item = queue.items[run.from + i];
      const Part &part = b.parts[item.part];
      if (item.part != known) {
        if (known != ~0u) add_counts(b.states[b.parts[known].query], n->matched, n->scored, n->postings);
        *n = Counts{0, 0, 0};
        known = item.part;
        turn_to(part);
      }
      if (!take(part, item)) left |= 1u << i;
    }
    if (left) leave(run.from, left);
  }
  if (known != ~0u) add_counts(b.states[b.parts[known].query], n->matched, n->scored, n->postings);
}
