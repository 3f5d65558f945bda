// A cursor of one thread on one list, without room for a decoded block: it reads gap after gap where
// the bits lie. A thread that walks a list alone reads as many bytes as a warp would, but none of them
// together with others: this is what the threads of Huang et al. (2017) do, and what tiles avoid.
#pragma once
#include "peek.cuh"
#include "seek.cuh"

const uint32_t list_end = ~0u;

struct Cursor {
  const List *list;
  Block k;
  uint32_t block;  // at hand; list->blocks at the end
  uint32_t i;      // posting of it
  uint32_t doc;    // list_end at the end
  uint32_t bit;    // where the next bit of a string may stand: rice, bitset
  uint32_t exception;  // of pfor, the next
  uint32_t opened;     // blocks so far
  bool gone;           // the extent is missing; doc is then the first that it may hold
};

// The next set bit of a string from at on.
__device__ __forceinline__ uint32_t next_bit(const uint32_t *words, uint32_t at) {
  uint32_t w = __ldg(&words[at / 32]) & (~0u << at % 32);
  while (w == 0) {
    at = (at | 31) + 1;
    w = __ldg(&words[at / 32]);
  }
  return (at & ~31u) + __ffs(w) - 1;
}

// The document of posting c.i, given that of the one before.
__device__ __forceinline__ uint32_t read_doc(Cursor &c, uint32_t previous) {
  const Block &k = c.k;
  uint32_t width = doc_width(k.encoding);
  switch (doc_kind(k.encoding)) {
    case bitset: {
      uint32_t at = next_bit(reinterpret_cast<const uint32_t *>(k.docs), c.bit);
      c.bit = at + 1;
      return k.prev + 1 + at;
    }
    case run:
      return k.last - (k.n - 1) + c.i;
    case pfor: {
      PFor p = open_pfor(k.docs, width);
      uint32_t gap = packed_value(p.lows, p.low, c.i);
      if (c.exception < p.exceptions && __ldg(&p.bytes[2 + c.exception]) == c.i) gap += high_part(p, c.exception++) << p.low;
      return previous + gap + 1;
    }
    case rice: {
      uint32_t low = rice_width(k.docs, width);
      uint32_t at = next_bit(reinterpret_cast<const uint32_t *>(k.docs + low), c.bit);
      uint32_t gap = ((at - c.bit) << low) + packed_value(k.docs, low, c.i);
      c.bit = at + 1;
      return previous + gap + 1;
    }
  }
  return previous + packed_value(k.docs, width, c.i) + 1;
}

// Goes to the first posting of a block; the end when there is no such block.
__device__ __forceinline__ void enter(Cursor &c, uint32_t block) {
  while (block < c.list->blocks && is_unneeded(*c.list, block)) block = (block / extent_blocks + 1) * extent_blocks;
  c.block = block;
  c.i = c.bit = c.exception = 0;
  if (block >= c.list->blocks) {
    c.doc = list_end;
    return;
  }
  if (is_missing(*c.list, block)) {
    c.gone = true;
    c.doc = before(*c.list, block) + 1;
    return;
  }
  c.k = open_block(*c.list, block);
  c.opened++;
  c.doc = read_doc(c, c.k.prev);
}

__device__ __forceinline__ void next(Cursor &c) {
  if (++c.i < c.k.n) {
    c.doc = read_doc(c, c.doc);
  } else {
    enter(c, c.block + 1);
  }
}

// Goes to the first posting from the one at hand on with document doc or later.
__device__ __forceinline__ void seek_doc(const Batch &b, Cursor &c, uint32_t doc) {
  if (c.doc == list_end || c.gone || c.doc >= doc) return;
  if (last_of(*c.list, c.block) < doc) {
    enter(c, max(c.block + 1, seek_block(*c.list, b.tile_shift, doc)));
    if (c.doc == list_end || c.gone) return;
  }
  while (c.doc < doc) {
    ++c.i;
    c.doc = read_doc(c, c.doc);
  }
}

__device__ __forceinline__ void open(const Batch &b, Cursor &c, const List *list, uint32_t doc) {
  c.list = list;
  c.gone = false;
  c.opened = 0;
  enter(c, seek_block(*list, b.tile_shift, doc));
  if (c.doc != list_end && !c.gone) seek_doc(b, c, doc);
}
