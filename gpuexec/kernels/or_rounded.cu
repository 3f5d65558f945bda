// OR of flat lists, tile by tile, when a threshold is known: what or_flat.cu does, by sums of 16 bits that are rounded up. A document whose sum reaches what the
// threshold needs is a candidate, and its score is added up from the lists. Of 10 best documents there are some hundred candidates a query.
//
// So a tile takes half the memory, and there are two buffers: an adder that has added its share of a tile goes on with the next one, while another warp, the
// janitor, clears the buffer behind the last adder and hands candidates in. No adder clears, hands in, or waits at a barrier (rounded.cuh).
//
// The loop has to be short, since it must fit into the instruction cache. It is unrolled by the chunks on their way alone, because words that are on their way
// must not be moved; and the compiler knows of all branches there that no lanes part over them, as in or_flat.cu.
#include "add_shared.cuh"
#include "found.cuh"
#include "rounded.cuh"

// A chunk on its way.
struct Coming {
  uint4 words;
  uint32_t weight, range;  // as in Chunk
};

// Where an adder is in asking for chunks. Places of chunks are bytes from the desk on: addresses would take two registers each.
struct Ahead {
  uint32_t next, end;  // places of the next chunk, and of that behind the portion
  uint32_t step;       // bytes from one to the next: 0 when there is no further tile
  uint32_t last;       // number of the chunk behind the portion, counted through all of the block
  uint32_t portion;
};

__device__ __forceinline__ Portion &portion_of(uint32_t n) { return rounded_desk().ring[n % portions]; }

// Asks for the next chunk. Behind the last tile it is an empty one, again and again.
__device__ __forceinline__ void ask(Ahead &a, Coming &c) {
  while (a.next >= a.end) {
    uint32_t skip = a.next - a.end, first = a.last;
    a.portion++;
    wait_for(rounded_desk().filled[a.portion % portions], a.portion / portions);
    const Portion &p = portion_of(a.portion);
    uint32_t place = __builtin_offsetof(RoundedDesk, ring) + a.portion % portions * sizeof(Portion) + __builtin_offsetof(Portion, chunks);
    a.last = p.end;
    bool over = p.part == no_part;
    a.next = over ? place : place + skip;
    a.end = over ? place + 1 : place + (a.last - first) * sizeof(Chunk);
    if (over) a.step = 0;
  }
  uint4 from = *reinterpret_cast<const uint4 *>(reinterpret_cast<const char *>(&rounded_desk()) + a.next);  // a Chunk
  c.weight = from.z;
  c.range = from.w;
  uint64_t at = static_cast<uint64_t>(from.y) << 32 | from.x;
  c.words = __ldg(GLOBAL(const uint4, at + 16 * min(threadIdx.x % 32, c.range >> 16)));
  a.next += a.step;
}

// Where an adder is in adding.
struct Adding {
  uint32_t chunk, end;  // the next, and that behind the portion
  uint32_t portion;
  uint32_t part, look;
  uint32_t base;  // address in shared memory of the tile's buffer
};

// Begins with a portion, which has been filled, as the adder knows; false when there is no further tile.
__device__ __forceinline__ bool enter(const Batch &b, uint32_t tile_shift, Adding &t, Found *n) {
  const Portion &p = portion_of(t.portion);
  if (p.part != t.part) {
    if (t.part != no_part) settle(b.parts[t.part], b.states[b.parts[t.part].query], *n);
    *n = Found{0, 0};
    t.part = p.part;
  }
  if (p.part == no_part) return false;
  t.end = p.end;
  t.look = p.look;
  uint32_t round = p.round;
  t.base = address_of(sums_of(tile_shift, round % 2));
  if (round >= 2) wait_for(rounded_desk().clean[round % 2], round / 2 - 1);
  return true;
}

// Goes on to the next portion.
__device__ __forceinline__ bool pass_on(const Batch &b, uint32_t tile_shift, Adding &t, Found *n) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) arrive(rounded_desk().left[t.portion % portions]);
  t.portion++;
  return enter(b, tile_shift, t, n);
}

// Adds a posting, or with one and word 0 nothing; it returns what the sum was before.
__device__ __forceinline__ uint32_t add_rounded(uint32_t base, uint32_t even, uint32_t weight, uint32_t word, uint32_t one, uint32_t *add) {
  *add = __umulhi(weight, word) + one;
  uint32_t half = word << 4;  // 16 for an odd document, in the bits that a shift looks at
  uint32_t both = add_shared(base + ((word & even) << 1), __funnelshift_l(0, *add, half));
  return __funnelshift_r(both, 0, half) & 65535;
}

// Looks closer at a chunk that was added, row by row where there is something to be seen. A warp calls it together.
__device__ __forceinline__ void look_closer(const Batch &b, const Adding &t, uint32_t even, uint4 word, uint4 one, uint4 add, uint4 old, Found *n) {
  RoundedDesk &d = rounded_desk();
  const Portion &p = portion_of(t.portion);
  uint32_t need = p.need, careful = t.look == 0, mine = 0;
  mine |= (need - 1 - old.x < add.x || (careful && old.x == 0 && one.x)) << 0;  // old < need <= old + add
  mine |= (need - 1 - old.y < add.y || (careful && old.y == 0 && one.y)) << 1;
  mine |= (need - 1 - old.z < add.z || (careful && old.z == 0 && one.z)) << 2;
  mine |= (need - 1 - old.w < add.w || (careful && old.w == 0 && one.w)) << 3;
  for (uint32_t rows = __reduce_or_sync(all_lanes, mine); rows; rows &= rows - 1) {
    uint32_t row = rows & -rows;
    if (!(mine & row)) continue;
    bool low = row < 4, first = row == 1 || row == 4;
    uint32_t i = (low ? (first ? word.x : word.y) : (first ? word.z : word.w)) & (even | 1);
    uint32_t before = low ? (first ? old.x : old.y) : (first ? old.z : old.w), added = low ? (first ? add.x : add.y) : (first ? add.z : add.w);
    if (need - 1 - before < added) {
      uint32_t at = atomicAdd(&d.count[p.round % 2], 1u);
      if (at < rounded_candidates) d.candidates[p.round % 2][at] = static_cast<uint16_t>(i);
    }
    if (careful && before == 0 && accepts(b.parts[t.part], p.tile * (even + 2) + i)) n->accepted++;
  }
}

// Adds the postings of a chunk. One that is whole needs fewer instructions.
template <bool whole>
__device__ __forceinline__ void add_chunk(const Batch &b, const Adding &t, uint32_t even, const Coming &c, Found *n) {
  uint4 word = c.words, one = make_uint4(1, 1, 1, 1), add, old;
  if (!whole) {
    uint32_t lane = threadIdx.x % 32;
    int left = static_cast<int>((c.range >> 8 & 255) - 4 * lane);
    uint32_t valid = (1u << min(max(left, 0), 4)) - 1;
    if (lane == 0) valid &= ~0u << (c.range & 3);
    one = make_uint4(valid & 1, valid >> 1 & 1, valid >> 2 & 1, valid >> 3);
    word = make_uint4(word.x & -one.x, word.y & -one.y, word.z & -one.z, word.w & -one.w);
  }
  old.x = add_rounded(t.base, even, c.weight, word.x, one.x, &add.x);
  old.y = add_rounded(t.base, even, c.weight, word.y, one.y, &add.y);
  old.z = add_rounded(t.base, even, c.weight, word.z, one.z, &add.z);
  old.w = add_rounded(t.base, even, c.weight, word.w, one.w, &add.w);
  n->again += min(old.x, one.x) + min(old.y, one.y);
  n->again += min(old.z, one.z) + min(old.w, one.w);
  uint32_t highest = max(max(max(old.x + add.x, old.y + add.y), old.z + add.z), old.w + add.w);
  if (__any_sync(all_lanes, highest >= t.look)) look_closer(b, t, even, word, one, add, old, n);
}

// Adds an adder's chunks of all tiles, and asks meanwhile for those that follow. A warp calls it together.
__device__ __forceinline__ void add_rounds(const Batch &b, uint32_t warp) {
  uint32_t tile_shift = b.tile_shift, even = (1u << tile_shift) - 2;
  Ahead a{warp * static_cast<uint32_t>(sizeof(Chunk)), 0, rounded_adders * static_cast<uint32_t>(sizeof(Chunk)), 0, ~0u};
  Coming c[rounded_ahead];
#pragma unroll
  for (uint32_t i = 0; i < rounded_ahead; i++) {
    ask(a, c[i]);
  }
  Adding t{warp, 0, 0, no_part, 0, 0};
  Found n{0, 0};
  if (!enter(b, tile_shift, t, &n)) return;
  for (;;) {
#pragma unroll
    for (uint32_t i = 0; i < rounded_ahead; i++) {
      while (t.chunk >= t.end) {
        if (!pass_on(b, tile_shift, t, &n)) return;
      }
      if (c[i].range & 65535) {
        add_chunk<false>(b, t, even, c[i], &n);
      } else {
        add_chunk<true>(b, t, even, c[i], &n);
      }
      t.chunk += rounded_adders;
      ask(a, c[i]);
    }
  }
}

// Says of all tiles what chunks they have. The last portion says that there are no more. A warp calls it together.
__device__ __forceinline__ void scout_rounds(const Batch &b, const Item *items, uint32_t size) {
  RoundedDesk &d = rounded_desk();
  uint32_t lane = threadIdx.x % 32, portion = 0, end = 0, shift = 0;
  Scout s{};
  s.part = no_part;
  Item here = item_of(items, size, 0), after = item_of(items, size, 1);
  Interval in{0, 0};
  for (uint32_t round = 0;; round++) {
    uint32_t chunks = 0, first = 0, before = 0, all = 0, accept = 0, rank = 0;
    uint64_t from = 0;
    Key threshold = 0;
    if (here.part != no_part) {
      if (here.part != s.part) {
        turn_to(b, s, here.part);
        in = postings_in(s, here.tile);
        shift = rounding_of(__reduce_add_sync(all_lanes, lane < s.of->term_count ? s.of->terms[lane].weight : 0));
      }
      threshold = threshold_of(*GLOBAL(State, reinterpret_cast<uintptr_t>(s.state)));
      uint32_t count = in.to - in.from, words = __reduce_add_sync(all_lanes, count);
      s.words += words;
      s.decoded += (words + 127) / 128;
      from = reinterpret_cast<uintptr_t>(s.postings) + 4 * static_cast<uint64_t>(in.from);
      before = static_cast<uint32_t>(from) / 4 % 4;
      chunks = count ? (before + count + chunk - 1) / chunk : 0;
      from -= 4 * before;
      first = sum_before(chunks, lane);
      all = __reduce_add_sync(all_lanes, chunks);
      accept = s.of->accept.address != 0;
      uint32_t lo = here.tile << b.tile_shift;
      if (s.of->rank.address) rank = rank_bound(*s.of, b.queries[s.of->query].rank_weight, lo, min(s.of->docs, lo + (1u << b.tile_shift)));
    }
    uint32_t words_end = before + (in.to - in.from);
    if (here.part != no_part && after.part == s.part) in = postings_in(s, after.tile);  // on its way until the next turn
    for (uint32_t base = 0;; base += portion_chunks) {
      Portion &to = d.ring[portion % portions];
      if (portion >= portions) wait_for(d.free[portion % portions], portion / portions - 1);
      uint32_t most = min(all, base + portion_chunks);
      for (uint32_t i = max(first, base); i < min(first + chunks, most); i++) {
        uint32_t at = chunk * (i - first), upto = min(chunk, words_end - at), begin = at == 0 ? before : 0;
        bool whole = upto == chunk && begin == 0;
        to.chunks[i - base] = Chunk{from + 4 * at, rounded_weight(s.weight, shift), whole ? 31u << 16 : (upto - 1) / 4 << 16 | upto << 8 | begin};
      }
      uint32_t there = most - base, least = here.part == no_part ? 0 : portion_least;
      if (there <= lane && lane < max(least, 1u)) to.chunks[lane] = Chunk{(reinterpret_cast<uintptr_t>(&b) + 15) & ~uint64_t(15), 0, 1};
      end += max(there, least);
      if (lane == 0) {
        uint32_t score = static_cast<uint32_t>(threshold >> 32), need = rounded_need(score > rank ? score - rank : 0, shift);
        to.end = end;
        to.part = here.part;
        to.look = accept ? 0 : need;
        to.tile = here.tile;
        to.need = need;
        to.round = round;
        to.last = most == all;
        to.shift = shift;
      }
      __syncwarp();
      if (lane == 0) arrive(d.filled[portion % portions]);
      portion++;
      if (most == all) break;
    }
    if (here.part == no_part) break;
    here = after;
    after = item_of(items, size, round + 2);
  }
  account(s);
}

// Where a list of the part is, for a lane of a group: each lane of the first group has the list of its number.
struct ListOfLane {
  const uint32_t *postings, *first;
  uint32_t weight, shift;
};

__device__ __forceinline__ ListOfLane list_of_lane(const Batch &b, const Scout &s, uint32_t lane) {
  uint32_t shift = s.each == 1 ? b.tile_shift : b.tile_shift - 5;
  return ListOfLane{of_lane(s.postings, lane), of_lane(s.first, lane), __shfl_sync(all_lanes, s.weight, lane), __shfl_sync(all_lanes, shift, lane)};
}

// What a list adds to the score of a document.
__device__ __forceinline__ uint32_t added_by(const ListOfLane &l, uint32_t doc) {
  uint32_t low = doc & 65535, entry = doc >> l.shift;
  uint32_t from = __ldg(&l.first[entry]), end = __ldg(&l.first[entry + 1]), to = end;
  while (from < to) {
    uint32_t middle = (from + to) / 2;
    if ((__ldg(&l.postings[middle]) & 65535) < low) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  if (from == end) return 0;
  uint32_t word = __ldg(&l.postings[from]);
  return (word & 65535) == low ? flat_contribution(l.weight, word) : 0;
}

// Hands in a document of each lane that wants, by its score. It returns how many keys are held then. Reading a list means to wait for several reads, one
// after the other. So groups of lanes, which have a lane for each list, look several documents up at a time. A warp calls it together.
__device__ __forceinline__ uint32_t hand_in(const Batch &b, const Scout &s, Key *threshold, uint32_t held, bool wants, uint32_t doc) {
  const Part &part = *s.of;
  wants = wants && accepts(part, doc);
  uint32_t lane = threadIdx.x % 32, votes = __ballot_sync(all_lanes, wants), score = 0;
  if (votes == 0) return held;
  uint32_t lists = part.term_count, log = lists <= 4 ? 2 : lists <= 8 ? 3 : lists <= 16 ? 4 : 5, at_once = 32 >> log;
  ListOfLane list = list_of_lane(b, s, lane & ((1u << log) - 1));
  for (uint32_t base = 0; base < 32; base += at_once) {
    uint32_t these = votes >> base;
    if (at_once < 32) these &= (1u << at_once) - 1;
    if (these == 0) continue;
    uint32_t at = lane >> log, mine = __shfl_sync(all_lanes, doc, base + at), sum = 0;
    if ((these >> at & 1) && list.postings) sum = added_by(list, mine);
    for (uint32_t i = 1; i < 1u << log; i *= 2) sum += __shfl_xor_sync(all_lanes, sum, i);
    uint32_t exact = __shfl_sync(all_lanes, sum, ((lane - base) << log) & 31);
    if (lane - base < at_once) score = exact;
  }
  return offer(rounded_desk().keys, part, b.queries[part.query], *s.state, threshold, held, wants, doc, score);
}

__device__ __forceinline__ void clear_sums(uint32_t *sums, uint32_t words) {
  uint32_t lane = threadIdx.x % 32;
  if (words % 4 == 0) {
    for (uint32_t i = lane; i < words / 4; i += 32) reinterpret_cast<uint4 *>(sums)[i] = make_uint4(0, 0, 0, 0);
  } else {
    for (uint32_t i = lane; i < words; i += 32) sums[i] = 0;
  }
  __syncwarp();
}

// Clears a buffer by stores of 16 bytes, several at a time. The compiler has to see that its address is a multiple of 16: else it makes two stores of each,
// which take shared memory twice as long. A warp calls it together.
__device__ __forceinline__ void clear_buffer(uint32_t tile_shift, uint32_t buffer) {
  const uint32_t at_once = 8;
  uint32_t lane = threadIdx.x % 32, fours = (1u << tile_shift) / 8;
  if (fours % (32 * at_once) != 0) {
    clear_sums(sums_of(tile_shift, buffer), max(1u, (1u << tile_shift) / 2));
    return;
  }
  uint4 *all = reinterpret_cast<uint4 *>(&rounded_desk() + 1) + buffer * fours + lane;
  for (uint32_t i = 0; i < fours; i += 32 * at_once) {
#pragma unroll
    for (uint32_t j = 0; j < at_once; j++) all[i + 32 * j] = make_uint4(0, 0, 0, 0);
  }
  __syncwarp();
}

// Hands in what documents of a tile there are, when candidates are too many to be told apart: adds the scores of one half and then of the other in
// the buffer, a word a document, the score in its upper 31 bits. It leaves the buffer as it comes. A warp calls it together.
[[maybe_unused]] static __device__ __noinline__ uint32_t hand_in_all(const Batch &b, const Scout &s, uint32_t *sums, Key threshold, uint32_t rank, uint32_t tile) {
  const Part &part = *s.of;
  const Query &q = b.queries[part.query];
  uint32_t lane = threadIdx.x % 32, docs = 1u << b.tile_shift, half = docs / 2, held = 0, shift = s.each == 1 ? b.tile_shift : b.tile_shift - 5;
  for (uint32_t side = 0; side < docs; side += half) {
    uint32_t lo = tile * docs + side, from = 0, to = 0;
    clear_sums(sums, half);
    if (s.postings) {
      from = __ldg(&s.first[lo >> shift]);
      to = __ldg(&s.first[((lo + half - 1) >> shift) + 1]);
    }
    for (uint32_t rest = __ballot_sync(all_lanes, from < to); rest; rest &= rest - 1) {
      uint32_t at = __ffs(rest) - 1, weight = __shfl_sync(all_lanes, s.weight, at), end = __shfl_sync(all_lanes, to, at);
      const uint32_t *postings = of_lane(s.postings, at);
      for (uint32_t i = __shfl_sync(all_lanes, from, at) + lane; i < end; i += 32) {
        uint32_t word = __ldg(&postings[i]), doc = word & (docs - 1);
        if ((doc & half) != side) continue;
        atomicAdd(&sums[doc & (half - 1)], 2 * flat_contribution(weight, word));
        atomicOr(&sums[doc & (half - 1)], 1u);
      }
    }
    __syncwarp();
    for (uint32_t base = 0; base < half; base += 32) {
      uint32_t sum = base + lane < half ? sums[base + lane] : 0, score = sum / 2;
      bool there = (sum & 1) && key_of(score + rank, 0) >= threshold;
      if (__any_sync(all_lanes, there)) held = offer(rounded_desk().keys, part, q, *s.state, &threshold, held, there, lo + base + lane, score);
    }
    __syncwarp();
  }
  return held;
}

// Clears a buffer behind all that was added, and hands in the candidates. A warp calls it together.
__device__ __forceinline__ void tidy(const Batch &b, Scout &s, uint32_t part, uint32_t tile, uint32_t round, uint32_t shift) {
  RoundedDesk &d = rounded_desk();
  uint32_t lane = threadIdx.x % 32, buffer = round % 2, count = d.count[buffer], docs = 1u << b.tile_shift, lo = tile << b.tile_shift, kept = 0, held = 0;
  uint32_t *sums = sums_of(b.tile_shift, buffer);
  Key threshold = 0;
  if (count) {
    if (part != s.part) turn_to(b, s, part);
    threshold = common_threshold(*s.state);
    uint32_t rank = s.of->rank.address ? rank_bound(*s.of, b.queries[s.of->query].rank_weight, lo, min(s.of->docs, lo + docs)) : 0;
    if (count > rounded_candidates) {
      held = hand_in_all(b, s, sums, threshold, rank, tile);
    } else {
      uint32_t score = static_cast<uint32_t>(threshold >> 32), need = rounded_need(score > rank ? score - rank : 0, shift);
      for (uint32_t base = 0; base < count; base += 32) {
        uint32_t i = base + lane < count ? d.candidates[buffer][base + lane] : 0;
        bool there = base + lane < count && sum_of(sums, i) >= need;
        uint32_t votes = __ballot_sync(all_lanes, there);
        if (there) d.kept[kept + __popc(votes & ((1u << lane) - 1))] = static_cast<uint16_t>(i);
        kept += __popc(votes);
      }
    }
    __syncwarp();
    if (lane == 0) d.count[buffer] = 0;
  }
  clear_buffer(b.tile_shift, buffer);
  if (lane == 0) arrive(d.clean[buffer]);
  for (uint32_t base = 0; base < kept; base += 32) {
    uint32_t at = base + lane;
    held = hand_in(b, s, &threshold, held, at < kept, lo + (at < kept ? d.kept[at] : 0));
  }
  if (held) insert(b.queries[s.of->query], *s.state, d.keys, held);
  __syncwarp();
}

// Goes behind the adders. A warp calls it together.
__device__ __forceinline__ void tidy_rounds(const Batch &b) {
  RoundedDesk &d = rounded_desk();
  Scout s{};
  s.part = no_part;
  for (uint32_t portion = 0;; portion++) {
    const Portion &p = portion_of(portion);
    wait_for(d.filled[portion % portions], portion / portions);
    uint32_t part = p.part, tile = p.tile, round = p.round, last = p.last, shift = p.shift;
    if (part == no_part) return;
    wait_for(d.left[portion % portions], portion / portions);
    if (last) tidy(b, s, part, tile, round, shift);
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(d.free[portion % portions]);
  }
}

extern "C" __global__ void __launch_bounds__(rounded_threads, rounded_blocks) or_rounded(const Batch *batch) {
  const Batch &b = *batch;
  const Item *items = b.flat_queue.get()->items;
  RoundedDesk &d = rounded_desk();
  // The compiler knows then that it is the same for all lanes, and so what depends on it.
  uint32_t warp = __reduce_max_sync(all_lanes, threadIdx.x / 32);
  uint32_t size = b.flat_queue.get()->size;
  if (flat_run * blockIdx.x >= size) return;
  if (threadIdx.x < portions) {
    set_gate(d.filled[threadIdx.x], 1);
    set_gate(d.left[threadIdx.x], rounded_adders);
    set_gate(d.free[threadIdx.x], 1);
  }
  if (threadIdx.x < 2) {
    set_gate(d.clean[threadIdx.x], 1);
    d.count[threadIdx.x] = 0;
  }
  for (uint32_t i = threadIdx.x; i < max(1u, (1u << b.tile_shift) / 2) * 2; i += rounded_threads) sums_of(b.tile_shift, 0)[i] = 0;
  __syncthreads();
  if (warp < rounded_adders) {
    add_rounds(b, warp);
  } else if (warp == rounded_adders) {
    scout_rounds(b, items, size);
  } else {
    tidy_rounds(b);
  }
}
