// How many documents match, of queries that want to know no more: bits instead of scores.
//
// A warp has a document of a tile as a bit of some rows of bits, the slots, in shared memory. It goes through the steps of the query,
// which the host has made of its OR, AND or tree (counts.go): each puts a list into a slot, cuts a slot down to a list, takes a list out of
// one, or does so with another slot. Slot 0 has the documents that match in the end.
//
// A flat posting has its document in the lower half, so that of it only a shift and a bit are left. Each lane has four consecutive
// postings, and those of one word of bits are put in at once: the denser a list, the fewer the atomics. Where an AND has only
// some strips left, only their postings are read, of lists that have a directory by strips. Of lists that are not flat the blocks of the tile are decoded.
// Dense lists have bits themselves (dense.cuh), so a lane takes 128 documents at a time.
//
// Nothing is pruned, and all queries read the lists of a few tiles at about the same time: so those that many queries have come from the cache.
#include "dense.cuh"
#include "strip.cuh"

const uint32_t count_threads = 128, count_blocks = 8;

// What a warp works on: some tiles of a part.
struct Tiled {
  uint32_t shift;  // of the tile
  uint32_t tile;
  uint32_t slots;  // the last is free between steps, and then all 0
  uint32_t tiles;  // of the part
};

// How many words of bits a slot has.
__device__ __forceinline__ uint32_t words_of(const Tiled &t) { return 1u << (t.shift - 5); }

__device__ __forceinline__ uint32_t *slot_of(const Tiled &t, uint32_t slot) {
  DYNAMIC_SHARED(uint32_t, memory);
  return memory + (threadIdx.x / 32 * t.slots + slot) * words_of(t);
}

// The lists of the lane: number lane, and number lane+32.
struct CountedLists {
  Source of[2];
  uint32_t leaf[2];    // ~0 behind the last
  uint32_t blocks[2];  // those that are not flat, a bit each
  uint32_t dense[2];   // those that have bits
};

__device__ __forceinline__ CountedLists find_lists(uint32_t tile_shift, const Part &part) {
  CountedLists l;
#pragma unroll
  for (uint32_t half = 0; half < 2; half++) {
    uint32_t i = 32 * half + threadIdx.x % 32;
    l.of[half] = find_source(tile_shift, part, 32 * half);
    l.leaf[half] = i < part.term_count ? part.terms[i].leaf : ~0u;
    l.blocks[half] = blocks_of(l.of[half]);
    l.dense[half] = __ballot_sync(all_lanes, l.of[half].bounds && is_dense(*l.of[half].list, tile_shift));
  }
  return l;
}

// Uses the bits of some documents of a list, all in one word of a slot.
template <uint32_t op>
__device__ __forceinline__ void use_bits(uint32_t *slot, uint32_t *left, uint32_t word, uint32_t bits) {
  if (op == count_or) atomicOr(slot + word, bits);
  if (op == count_not) atomicAnd(slot + word, ~bits);
  if (op == count_and && (slot[word] & bits)) atomicOr(left + word, slot[word] & bits);
}

// Uses four rising documents of a lane, by their numbers in the tile; there says which of them there are, a bit each.
template <uint32_t op>
__device__ __forceinline__ void use_four(uint32_t *slot, uint32_t *left, uint32_t d0, uint32_t d1, uint32_t d2, uint32_t d3, uint32_t there) {
  uint32_t word = d0 / 32, bits = (there & 1) << d0 % 32;
  if (d1 / 32 != word) {
    if (bits) use_bits<op>(slot, left, word, bits);
    word = d1 / 32;
    bits = 0;
  }
  bits |= (there >> 1 & 1) << d1 % 32;
  if (d2 / 32 != word) {
    if (bits) use_bits<op>(slot, left, word, bits);
    word = d2 / 32;
    bits = 0;
  }
  bits |= (there >> 2 & 1) << d2 % 32;
  if (d3 / 32 != word) {
    if (bits) use_bits<op>(slot, left, word, bits);
    word = d3 / 32;
    bits = 0;
  }
  bits |= (there >> 3 & 1) << d3 % 32;
  if (bits) use_bits<op>(slot, left, word, bits);
}

// Which of numbers first to first+3 lie from from on and before to, a bit each.
__device__ __forceinline__ uint32_t within(uint32_t first, uint32_t from, uint32_t to) {
  uint32_t there = 0;
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) there |= static_cast<uint32_t>(first + j >= from && first + j < to) << j;
  return there;
}

// Uses flat postings from from on, before to. A warp calls it together.
template <uint32_t op>
__device__ __forceinline__ void use_flat(const Tiled &t, uint32_t *slot, uint32_t *left, const uint32_t *flat, uint32_t from, uint32_t to) {
  if (from >= to) return;
  const uint4 *rows = reinterpret_cast<const uint4 *>(flat);
  uint32_t lane = threadIdx.x % 32, last = (to - 1) / 4, mask = (1u << t.shift) - 1;
  for (uint32_t row = from / 4; row <= last; row += 64) {
    uint4 v = __ldg(rows + min(row + lane, last)), w = __ldg(rows + min(row + 32 + lane, last));
    use_four<op>(slot, left, v.x & mask, v.y & mask, v.z & mask, v.w & mask, within(4 * (row + lane), from, to));
    use_four<op>(slot, left, w.x & mask, w.y & mask, w.z & mask, w.w & mask, within(4 * (row + 32 + lane), from, to));
  }
}

// Uses the blocks of a list that touch the tile, and returns how many postings they have. A warp calls it together.
template <uint32_t op>
static __device__ __noinline__ uint32_t use_blocks(Tiled t, uint32_t *slot, uint32_t *left, const List &l) {
  uint32_t lane = threadIdx.x % 32, lo = t.tile << t.shift, hi = lo + (1u << t.shift), postings = 0, doc[4];
  Span blocks = blocks_of_tile(l, t.shift, lo, hi);
  for (uint32_t block = blocks.from; block < blocks.to; block++) {
    Block k = open_block(l, block);
    decode_docs(k, lane, doc);
    uint32_t there = 0;
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      bool in = 4 * lane + j < k.n && doc[j] >= lo && doc[j] < hi;
      there |= static_cast<uint32_t>(in) << j;
      doc[j] = in ? doc[j] - lo : 0;
    }
    use_four<op>(slot, left, doc[0], doc[1], doc[2], doc[3], there);
    postings += k.n;
  }
  return postings;
}

// The strips of the tile in which a slot has documents, a bit each. A warp calls it together.
__device__ __forceinline__ uint32_t strips_of(const Tiled &t, const uint32_t *slot) {
  uint32_t lane = threadIdx.x % 32, words = words_of(t);
  if (words < strips) {  // a strip is a part of a word
    uint32_t docs = 1u << (t.shift - 5), at = lane * docs;
    return __ballot_sync(all_lanes, (slot[at / 32] >> at % 32 & ((1u << docs) - 1)) != 0);
  }
  uint32_t each = words / strips, found = 0;  // words of a strip
  if (each == 16) {                            // of tiles of 16,384 documents, whose rows of four words are asked for together
    const uint4 *rows = reinterpret_cast<const uint4 *>(slot);
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      uint4 row = rows[lane + 32 * j];
      uint32_t some = __ballot_sync(all_lanes, (row.x | row.y | row.z | row.w) != 0);
      some |= some >> 1;
      some = (some | some >> 2) & 0x11111111;  // strips in each fourth bit
      some = (some | some >> 3) & 0x03030303;
      some = (some | some >> 6) & 0x000f000f;
      found |= ((some | some >> 12) & 0xff) << 8 * j;
    }
    return found;
  }
  for (uint32_t base = 0; base < words; base += 32) {
    uint32_t some = __ballot_sync(all_lanes, slot[base + lane] != 0);
    if (each >= 32) {
      found |= static_cast<uint32_t>(some != 0) << base / each;
      continue;
    }
    for (uint32_t i = 0; i < 32 / each; i++) found |= static_cast<uint32_t>((some >> i * each & ((1u << each) - 1)) != 0) << (base / each + i);
  }
  return found;
}

// Uses the list of lane at, in the strips that are wanted, a bit each, and returns how many postings were read. A warp calls it together.
template <uint32_t op>
__device__ __forceinline__ uint32_t use_list(const Tiled &t, uint32_t *slot, uint32_t *left, const Source &of, uint32_t at, uint32_t wanted) {
  const uint32_t *flat = of_lane(of.flat, at), *first = of_lane(of.first, at);
  if (flat == nullptr) return use_blocks<op>(t, slot, left, *of_lane(of.list, at));
  uint32_t lane = threadIdx.x % 32, postings = 0;
  bool by_tiles = __shfl_sync(all_lanes, of.shift, at) != 0;
  uint32_t entry = by_tiles ? t.tile : t.tile * strips + lane, begin = __ldg(first + entry), end = __ldg(first + entry + 1);
  if (by_tiles) {
    use_flat<op>(t, slot, left, flat, begin, end);
    return end - begin;
  }
  while (wanted) {
    uint32_t strip = __ffs(wanted) - 1, others = ~(wanted >> strip);
    uint32_t run = others ? __ffs(others) - 1 : 32;  // strips in a row
    uint32_t from = __shfl_sync(all_lanes, begin, strip), to = __shfl_sync(all_lanes, end, strip + run - 1);
    use_flat<op>(t, slot, left, flat, from, to);
    postings += to - from;
    wanted &= run == 32 ? 0 : ~(((1u << run) - 1) << strip);
  }
  return postings;
}

// Rows of bits of a dense list, of 128 documents each, that a lane asks for before it uses any.
const uint32_t dense_rows = 4;

// Uses the bits of a dense list, in the strips that are wanted: in others a slot has no document. bounds are the list's. A warp calls it
// together.
template <uint32_t op>
__device__ __forceinline__ void use_dense(const Tiled &t, uint32_t *slot, const uint8_t *bounds, uint32_t wanted) {
  uint32_t lane = threadIdx.x % 32, words = words_of(t), rows = words / 4, each = rows / strips;  // rows of a strip
  const uint4 *from = GLOBAL(const uint4, bits_behind(reinterpret_cast<uintptr_t>(bounds), t.tiles)) + static_cast<uint64_t>(t.tile) * rows;
  uint4 *to = reinterpret_cast<uint4 *>(slot);
  for (uint32_t base = lane; base < rows; base += 32 * dense_rows) {
    uint4 v[dense_rows];
    bool there[dense_rows];
#pragma unroll
    for (uint32_t j = 0; j < dense_rows; j++) {
      uint32_t row = base + 32 * j;
      there[j] = row < rows && (each == 0 || (wanted >> row / each & 1));
      v[j] = __ldg(from + (there[j] ? row : 0));
    }
#pragma unroll
    for (uint32_t j = 0; j < dense_rows; j++) {
      if (!there[j]) continue;
      uint4 &s = to[base + 32 * j];
      if (op == count_or) s = make_uint4(s.x | v[j].x, s.y | v[j].y, s.z | v[j].z, s.w | v[j].w);
      if (op == count_and) s = make_uint4(s.x & v[j].x, s.y & v[j].y, s.z & v[j].z, s.w & v[j].w);
      if (op == count_not) s = make_uint4(s.x & ~v[j].x, s.y & ~v[j].y, s.z & ~v[j].z, s.w & ~v[j].w);
    }
  }
  __syncwarp();
}

// Does a step with a leaf, and returns how many postings were read; of a dense list it reads none. The part may lack its list. A warp calls it together.
__device__ __forceinline__ uint32_t use_leaf(const Tiled &t, const CountedLists &l, const Step &step) {
  uint32_t *slot = slot_of(t, step.slot), *left = slot_of(t, t.slots - 1), postings = 0, lane = threadIdx.x % 32, words = words_of(t);
  uint32_t wanted = step.op == count_or ? all_lanes : strips_of(t, slot);
  if (wanted == 0) return 0;
  __syncwarp();  // before documents are taken out of what other lanes read
  uint32_t lower = __ballot_sync(all_lanes, l.leaf[0] == step.from), lists = lower ? lower : __ballot_sync(all_lanes, l.leaf[1] == step.from);
  const Source of = lower ? l.of[0] : l.of[1];
  if (lists) {
    uint32_t at = __ffs(lists) - 1;
    if ((lower ? l.dense[0] : l.dense[1]) >> at & 1) {
      const uint8_t *bounds = of_lane(of.bounds, at);
      if (step.op == count_or) {
        use_dense<count_or>(t, slot, bounds, wanted);
      } else if (step.op == count_not) {
        use_dense<count_not>(t, slot, bounds, wanted);
      } else {
        use_dense<count_and>(t, slot, bounds, wanted);
      }
      return 0;
    }
    if (step.op == count_or) {
      postings = use_list<count_or>(t, slot, left, of, at, wanted);
    } else if (step.op == count_not) {
      postings = use_list<count_not>(t, slot, left, of, at, wanted);
    } else {
      postings = use_list<count_and>(t, slot, left, of, at, wanted);
    }
  }
  __syncwarp();
  if (step.op != count_and) return postings;
  uint4 *to = reinterpret_cast<uint4 *>(slot), *from = reinterpret_cast<uint4 *>(left);
  for (uint32_t i = lane; i < words / 4; i += 32) {
    to[i] = from[i];
    from[i] = make_uint4(0, 0, 0, 0);
  }
  __syncwarp();
  return postings;
}

// Does a step with words of bits alone. A lane does those words that are its own, so that no other lane waits for them.
__device__ __forceinline__ void use_slots(const Tiled &t, const Step &step) {
  uint32_t *to = slot_of(t, step.slot), *from = slot_of(t, step.from), words = words_of(t);
  if (step.op == count_fill) {
    uint4 *rows = reinterpret_cast<uint4 *>(to);
    for (uint32_t i = threadIdx.x % 32; i < words / 4; i += 32) rows[i] = make_uint4(step.least, step.least, step.least, step.least);
    __syncwarp();
    return;
  }
  for (uint32_t i = threadIdx.x % 32; i < words; i += 32) {
    switch (step.op) {
      case count_or_slot:
        to[i] |= from[i];
        break;
      case count_and_slot:
        to[i] &= from[i];
        break;
      case count_not_slot:
        to[i] &= ~from[i];
        break;
      case count_add:  // one to the numbers that documents have in slots from slot on, the lowest bit first
        for (uint32_t j = 0, carry = from[i]; j < step.bits && carry; j++) {
          uint32_t digit = to[j * words + i];
          to[j * words + i] = digit ^ carry;
          carry &= digit;
        }
        break;
      case count_least: {  // where such a number is at least least
        uint32_t more = 0, equal = ~0u;
        for (uint32_t j = step.bits; j-- > 0;) {
          uint32_t digit = from[j * words + i];
          if (step.least >> j & 1) {
            equal &= digit;
          } else {
            more |= equal & digit;
            equal &= ~digit;
          }
        }
        to[i] = more | equal;
        break;
      }
    }
  }
  __syncwarp();
}

// Whether a list that is not flat lacks a block of the tile, which is reported: nothing of the tile is counted then. A warp calls it together.
__device__ __forceinline__ bool report_tile(const Batch &b, const Part &part, const Tiled &t, const CountedLists &l) {
  uint32_t lo = t.tile << t.shift, hi = lo + (1u << t.shift);
  bool lacks = false;
#pragma unroll
  for (uint32_t half = 0; half < 2; half++) {
    if (!(l.blocks[half] >> threadIdx.x % 32 & 1)) continue;
    const List &list = *l.of[half].list;
    Span blocks = blocks_of_tile(list, t.shift, lo, hi);
    for (uint32_t block = blocks.from; block < blocks.to; block++) lacks |= is_missing(list, block);
  }
  if (!__any_sync(all_lanes, lacks)) return false;
  if (threadIdx.x % 32 != 0) return true;
  uint32_t at = atomicAdd(b.unresolved_count.get(), 1u);
  if (at < b.unresolved_room) b.unresolved[at] = Range{static_cast<uint32_t>(&part - b.parts.get()), lo, min(part.docs, hi), ~0u};
  atomicAdd(&b.states[part.query].unresolved, 1u);
  return true;
}

// Counts the documents of a tile. A warp calls it together.
__device__ __forceinline__ void count_tile(const Batch &b, const Part &part, const Tiled &t, const CountedLists &l, Counts *n) {
  if ((l.blocks[0] | l.blocks[1]) && report_tile(b, part, t, l)) return;
  const Query &q = b.queries[part.query];
  for (uint32_t i = 0; i < q.step_count; i++) {
    const Step step = q.steps[i];
    if (step.op <= count_not) {
      n->postings += use_leaf(t, l, step);
    } else {
      use_slots(t, step);
    }
  }
  const uint32_t *slot = slot_of(t, 0), *accept = part.accept;
  uint32_t base = t.tile << (t.shift - 5);  // word of the part
  if (part.accept.address) {
    for (uint32_t i = threadIdx.x % 32; i < words_of(t); i += 32) {
      uint32_t bits = slot[i];
      n->scored += __popc(bits);
      if (bits) bits &= __ldg(&accept[base + i]);
      n->matched += __popc(bits);
    }
  } else {
    const uint4 *rows = reinterpret_cast<const uint4 *>(slot);
    for (uint32_t i = threadIdx.x % 32; i < words_of(t) / 4; i += 32) {
      uint4 row = rows[i];
      uint32_t found = __popc(row.x) + __popc(row.y) + __popc(row.z) + __popc(row.w);
      n->scored += found;
      n->matched += found;
    }
  }
  __syncwarp();
}

// A warp takes some tiles of a part at a time: first the first tiles of all parts, then those that follow.
extern "C" __global__ void __launch_bounds__(count_threads, count_blocks) count_matches(const Batch *batch) {
  const Batch b = *batch;
  Tiled t{b.tile_shift, 0, b.count_slots, 0};
  for (uint32_t i = threadIdx.x % 32; i < words_of(t); i += 32) slot_of(t, t.slots - 1)[i] = 0;
  __syncwarp();
  for (;;) {
    uint32_t unit = threadIdx.x % 32 == 0 ? atomicAdd(&b.counters[take_count], 1u) : 0;
    unit = __shfl_sync(all_lanes, unit, 0);
    if (unit >= b.count_units) return;
    const Part &part = b.parts[b.count_parts[unit % b.count_part_count]];
    uint32_t from = unit / b.count_part_count * b.count_run, to = min(from + b.count_run, part.tiles);
    if (from >= to) continue;
    CountedLists l = find_lists(b.tile_shift, part);
    Counts n{0, 0, 0};
    t.tiles = part.tiles;
    for (t.tile = max(from, part.skip >> t.shift); t.tile < to; t.tile++) count_tile(b, part, t, l, &n);
    add_counts(b.states[part.query], n.matched, n.scored, n.postings);
  }
}
