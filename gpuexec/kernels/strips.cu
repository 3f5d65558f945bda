// OR and AND of flat lists, strip by strip: a warp alone takes the strips of a tile that can win, one after the other, with the
// scores of a strip's documents in shared memory of its own. No barrier stands between warps, so that dozens of them hide each
// other's reads.
//
// Of a strip only the cells that can win are looked at (cells.cuh): postings of others are read, since they lie among them, and left out.
// What is left is a handful, so that all lists are added as they come. Whoever lifts a document over the threshold makes it a
// candidate. AND keeps for each document how many lists had it, and the last list tells the candidates.
//
// Short lists are not flat; of those, the blocks that touch a strip are decoded.
#include "offer.cuh"
#include "strip.cuh"

// Threads of a block, and blocks of a multiprocessor that the compiler shall leave registers for: 80 a thread.
const uint32_t strip_threads = 128, strip_blocks = 6;

// Consecutive tiles of the queue that a warp takes at most at a time (take_run).
const uint32_t strip_run = 8, runs_of_warp = 32;

// What a warp has in shared memory: keys to hand in, candidates, a score for each document of a strip, and a mark. Functions find it on their
// own, because only so the compiler knows that it is shared. A strip has 1 << shift documents.
__device__ __forceinline__ Key *keys_of(uint32_t shift) {
  DYNAMIC_SHARED(uint8_t, memory);
  return reinterpret_cast<Key *>(memory + threadIdx.x / 32 * ((sizeof(Key) + sizeof(uint16_t)) * insert_room + 5 * max(1u << shift, 16u)));
}

// Documents of an OR, by their number in the strip.
__device__ __forceinline__ uint16_t *candidates_of(uint32_t shift) { return reinterpret_cast<uint16_t *>(keys_of(shift) + insert_room); }

__device__ __forceinline__ uint32_t *scores_of(uint32_t shift) { return reinterpret_cast<uint32_t *>(candidates_of(shift) + insert_room); }

// Of AND, how many lists have had a document; of OR, 1 when a list has it and adds 0.
__device__ __forceinline__ uint8_t *marks_of(uint32_t shift) { return reinterpret_cast<uint8_t *>(scores_of(shift) + (1u << shift)); }

// What adding the lists of a strip came to, the same for all lanes but for touched. Candidates and touched are of OR only.
struct Sum {
  uint32_t candidates;  // of which the first are in shared memory
  uint32_t touched;     // documents with a score that the lane has seen first
  bool whole;           // scores have to be looked through, since candidates do not tell all
  bool marks;           // some are set
};

// Hands in a document of each lane that is there, as offer_to has it.
__device__ __forceinline__ uint32_t offer(const Batch &b, const Part &part, uint32_t shift, Key *threshold, uint32_t held, bool there, uint32_t doc,
                                          uint32_t score, Counts *n) {
  return offer_to(keys_of(shift), b, part, threshold, held, there, doc, score, n);
}

// Keeps those in mind that have come over the threshold, and marks those without a score. It returns how many candidates there are then,
// and whether there are marks.
[[maybe_unused]] static __device__ __noinline__ uint2 note(uint32_t shift, uint32_t i, bool over, bool zero, uint32_t candidates) {
  uint32_t votes = __ballot_sync(all_lanes, over), at = candidates + __popc(votes & ((1u << threadIdx.x % 32) - 1));
  if (over && at < insert_room) candidates_of(shift)[at] = static_cast<uint16_t>(i);
  if (zero) marks_of(shift)[i] = 1;
  return make_uint2(candidates + __popc(votes), __any_sync(all_lanes, zero));
}

// Adds postings to the scores of an OR. No two of a list are of one document, so nobody else writes where a lane does. need is the lowest
// sum that can enter, at least 1.
__device__ __forceinline__ void add_or(const Strip &s, const Words &w, uint32_t weight, uint32_t need, Sum *sum) {
  uint32_t *scores = scores_of(s.shift), i[2];
  bool over[2], zero[2];
#pragma unroll
  for (uint32_t j = 0; j < 2; j++) {
    uint32_t add = flat_contribution(weight, w.word[j]), old = 0;
    bool there = is_in(s, w.word[j]);
    i[j] = w.word[j] & ((1u << s.shift) - 1);
    if (there) {
      old = scores[i[j]];
      scores[i[j]] = old + add;
      sum->touched += old == 0;
    }
    over[j] = there && need - 1 - old < add;  // old < need <= old + add
    zero[j] = there && add == 0;
  }
  if (!__any_sync(all_lanes, over[0] || zero[0] || over[1] || zero[1])) return;
#pragma unroll
  for (uint32_t j = 0; j < 2; j++) {
    uint2 noted = note(s.shift, i[j], over[j], zero[j], sum->candidates);
    sum->candidates = noted.x;
    if (noted.y) sum->whole = sum->marks = true;
  }
}

// Offers documents that all lists of an AND have had, two of each lane that has them. It returns a byte each: how many keys the warp holds
// then, and of the lane's documents those scored and matched.
[[maybe_unused]] static __device__ __noinline__ uint32_t offer_both(const Batch &b, const Part &part, uint32_t shift, uint32_t held, uint32_t doc0,
                                                                    uint32_t score0, bool there0, uint32_t doc1, uint32_t score1, bool there1) {
  Counts n{0, 0, 0};
  Key threshold = common_threshold(b.states[part.query]);
  held = offer(b, part, shift, &threshold, held, there0, doc0, score0, &n);
  held = offer(b, part, shift, &threshold, held, there1, doc1, score1, &n);
  return n.matched << 16 | n.scored << 8 | held;
}

// Adds postings to those scores of an AND that all lists before have added to: the lists come by turns from number 0 on.
// The last offers documents. It returns whether the lane has one that all have had so far.
__device__ __forceinline__ bool add_and(const Batch &b, const Part &part, const Strip &s, const Words &w, uint32_t weight, uint32_t list, bool last,
                                        uint32_t *held, Counts *n) {
  uint32_t *scores = scores_of(s.shift), i[2], score[2];
  uint8_t *marks = marks_of(s.shift);
  bool there[2];
#pragma unroll
  for (uint32_t j = 0; j < 2; j++) {
    i[j] = w.word[j] & ((1u << s.shift) - 1);
    score[j] = 0;
    there[j] = is_in(s, w.word[j]) && marks[i[j]] == list;
    if (there[j]) {
      marks[i[j]] = list + 1;
      score[j] = scores[i[j]] + flat_contribution(weight, w.word[j]);
      scores[i[j]] = score[j];
    }
  }
  if (last && __any_sync(all_lanes, there[0] || there[1])) {
    uint32_t offered = offer_both(b, part, s.shift, *held, s.lo + i[0], score[0], there[0], s.lo + i[1], score[1], there[1]);
    *held = offered & 255;
    n->scored += offered >> 8 & 255;
    n->matched += offered >> 16;
  }
  return there[0] || there[1];
}

// Adds the blocks of a list that is not flat. list is its number in an AND, or_list in an OR. It returns whether the lane has left a mark,
// and how many postings there were.
const uint32_t or_list = ~0u;

[[maybe_unused]] static __device__ __noinline__ uint2 add_blocks(uint32_t shift, uint32_t lo, const List &l, uint32_t weight, uint32_t list) {
  uint32_t lane = threadIdx.x % 32, doc[4], tf[4], *scores = scores_of(shift), hi = lo + (1u << shift), postings = 0, tile = lo >> (shift + 5);
  uint8_t *marks = marks_of(shift);
  bool marked = false;
  Span blocks = blocks_of_tile(l, shift + 5, tile << (shift + 5), (tile + 1) << (shift + 5));
  for (uint32_t block = blocks.from; block < blocks.to; block++) {
    if (is_unneeded(l, block) || last_of(l, block) < lo || before(l, block) + 1 >= hi) continue;
    Block k = open_block(l, block);
    decode_docs(k, lane, doc);
    decode_freqs(k, lane, tf);
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      uint32_t i = doc[j] - lo;
      if (4 * lane + j >= k.n || doc[j] < lo || doc[j] >= hi || (list != or_list && marks[i] != list)) continue;
      uint32_t add = contribution(weight, impact_of(l, doc[j], tf[j]));
      scores[i] += add;
      if (list == or_list && add) continue;
      marks[i] = list == or_list ? 1 : list + 1;
      marked = true;
    }
    postings += k.n;
  }
  return make_uint2(marked, postings);
}

// Adds a list of a strip, that of lane at, of which words are the first postings. list is its number in an AND, of as many as lists. It returns
// whether documents of an AND are left. A warp calls it together.
template <bool all>
__device__ __forceinline__ bool add_list(const Batch &b, const Part &part, uint32_t need, const Strip &s, const Source &of, const Here &h, uint32_t at,
                                         Words words, uint32_t list, uint32_t lists, Sum *sum, uint32_t *held, Counts *n) {
  uint32_t weight = __shfl_sync(all_lanes, of.weight, at);
  const uint32_t *flat = of_lane(of.flat, at);
  bool marked = false;
  if (flat == nullptr) {
    uint2 added = add_blocks(s.shift, s.lo, *of_lane(of.list, at), weight, all ? list : or_list);
    n->postings += added.y;
    marked = __any_sync(all_lanes, added.x);
    sum->marks |= marked;
    sum->whole |= !all || list + 1 == lists;
    return !all || marked;
  }
  uint32_t from = __shfl_sync(all_lanes, h.from, at), to = __shfl_sync(all_lanes, h.to, at);
  n->postings += to - from;
  for (;;) {
    Words next = words;
    if (from + 64 < to) next = load_words(part, flat, from + 64, to);  // on their way while these are added
    words = without_others(s, words, from, to);
    if (all) {
      marked |= add_and(b, part, s, words, weight, list, list + 1 == lists, held, n);
    } else {
      add_or(s, words, weight, need, sum);
    }
    if ((from += 64) >= to) break;
    words = next;
  }
  if (!all) return true;
  marked = __any_sync(all_lanes, marked);
  sum->marks |= marked;
  return marked;
}

// Lists that a warp has at hand, so that their first postings come together.
const uint32_t together = 3;

// Adds the lists of a strip. A warp calls it together.
template <bool all>
__device__ __forceinline__ Sum add_lists(const Batch &b, const Part &part, uint32_t need, const Strip &s, const Source &of, const Here &h, uint32_t *held,
                                         Counts *n) {
  Sum sum{0, 0, false, false};
  uint32_t list = 0, rest = __ballot_sync(all_lanes, is_listed(of, h)), lists = __popc(rest);
  for (bool goes_on = true; rest && goes_on;) {
    uint32_t left = rest;
    Words words[together];
#pragma unroll
    for (uint32_t g = 0; g < together; g++) {
      uint32_t at = (__ffs(left) - 1) & 31, from = __shfl_sync(all_lanes, h.from, at), to = __shfl_sync(all_lanes, h.to, at);
      const uint32_t *flat = of_lane(of.flat, at);
      words[g] = load_words(part, flat, from, left && flat ? to : from);
      left &= left - 1;
    }
    for (uint32_t g = 0; g < together && rest && goes_on; g++) {
      goes_on = add_list<all>(b, part, need, s, of, h, __ffs(rest) - 1, words[0], list++, lists, &sum, held, n);
      rest &= rest - 1;
#pragma unroll
      for (uint32_t i = 0; i + 1 < together; i++) words[i] = words[i + 1];
      __syncwarp();
    }
  }
  return sum;
}

// Clears scores, and marks if there are any.
__device__ __forceinline__ void clear(uint32_t shift, bool marks) {
  uint32_t lane = threadIdx.x % 32, docs = 1u << shift;
  if (shift < 7) {
    for (uint32_t i = lane; i < docs; i += 32) scores_of(shift)[i] = marks_of(shift)[i] = 0;
    return;
  }
  uint4 *fours = reinterpret_cast<uint4 *>(scores_of(shift)), *sixteens = reinterpret_cast<uint4 *>(marks_of(shift));
  for (uint32_t i = lane; 4 * i < docs; i += 32) fours[i] = make_uint4(0, 0, 0, 0);
  if (!marks) return;
  for (uint32_t i = lane; 16 * i < docs; i += 32) sixteens[i] = make_uint4(0, 0, 0, 0);
}

// Offers all documents of the strip that can enter, and counts all that match: scored, matched. all is how many lists an AND has, 0 of an OR.
// What the warp holds then is in the upper half of scored.
[[maybe_unused]] static __device__ __noinline__ uint2 collect(const Batch &b, const Part &part, uint32_t shift, uint32_t lo, bool marks, uint32_t all,
                                                              uint32_t held) {
  uint32_t lane = threadIdx.x % 32, docs = 1u << shift;
  Key threshold = common_threshold(b.states[part.query]);
  Counts n{0, 0, 0};
  for (uint32_t i = lane; i < docs + lane; i += 32) {  // as often for all lanes
    uint32_t score = 0, mark = 0;
    if (i < docs) {
      score = scores_of(shift)[i];
      if (marks) mark = marks_of(shift)[i];
    }
    bool matches = all ? mark == all : score != 0 || mark != 0;
    if (__any_sync(all_lanes, matches)) held = offer(b, part, shift, &threshold, held, matches, lo + i, score, &n);
  }
  return make_uint2(held << 16 | n.scored, n.matched);
}

// Offers the candidates of an OR, none of whose documents is filtered. It returns how many keys the warp holds then.
[[maybe_unused]] static __device__ __noinline__ uint32_t offer_candidates(const Batch &b, const Part &part, uint32_t shift, uint32_t lo, uint32_t candidates,
                                                                          uint32_t held) {
  uint32_t lane = threadIdx.x % 32;
  Key threshold = common_threshold(b.states[part.query]);
  Counts n{0, 0, 0};  // they are among those touched
  for (uint32_t at = lane; at < candidates + lane; at += 32) {  // as often for all lanes
    bool there = at < candidates;
    uint32_t i = there ? candidates_of(shift)[at] : 0;
    held = offer(b, part, shift, &threshold, held, there, lo + i, there ? scores_of(shift)[i] : 0, &n);
  }
  return held;
}

// Takes care of one strip, and leaves keys that the warp holds. A warp calls it together.
template <bool all>
__device__ __forceinline__ void take_strip(const Batch &b, const Part &part, uint32_t need, const Strip &s, const Source &of, const Here &h, uint32_t *held,
                                           Counts *n) {
  Sum sum = add_lists<all>(b, part, need, s, of, h, held, n);
  if (all ? sum.whole && sum.marks : sum.whole || part.accept.address || sum.candidates > insert_room) {
    uint2 counts = collect(b, part, s.shift, s.lo, sum.marks, all ? part.term_count : 0, *held);
    *held = counts.x >> 16;
    n->scored += counts.x & 65535;
    n->matched += counts.y;
  } else if (!all) {
    if (sum.candidates) *held = offer_candidates(b, part, s.shift, s.lo, sum.candidates, *held);
    n->scored += sum.touched;
    n->matched += sum.touched;
  }
  if (all && !sum.marks) return;  // nobody has written anything
  __syncwarp();
  clear(s.shift, sum.marks);
  __syncwarp();
}

// What terms have to add for a document to enter, where the rank adds so much at most: at least 1.
__device__ __forceinline__ uint32_t need_above(Key threshold, uint32_t rank) {
  uint32_t score = static_cast<uint32_t>(threshold >> 32);
  return max(1u, score > rank ? score - rank : 0);
}

// Takes care of a tile, of which these strips can win. blocks are the lists that are not flat. It returns false when the tile is better done
// as a whole, if it may be, and nothing is done then. A warp calls it together.
template <bool all>
__device__ __forceinline__ bool take_tile(const Batch &b, const Part &part, const Source &of, uint32_t blocks, uint32_t tile_shift, uint32_t tile,
                                          uint32_t alive, bool whole, Counts *n) {
  const Query &q = b.queries[part.query];
  Key threshold = common_threshold(b.states[part.query]);
  uint32_t shift = tile_shift - 5, lo = tile << tile_shift, need = static_cast<uint32_t>(threshold >> 32);
  uint32_t rank = rank_bound(part, q.rank_weight, lo, min(part.docs, lo + (1u << tile_shift)));
  uint32_t bar = q.bounds == no_bounds ? 0 : need;
  Cells c = b.marks ? find_cells_by_levels<all>(part, of, tile * strips + threadIdx.x % 32, tile_shift, alive >> threadIdx.x % 32 & 1, rank, bar) : find_cells<all>(part, of, blocks, tile, tile_shift, alive, rank, bar);
  if (__any_sync(all_lanes, c.alive != c.matching) && threadIdx.x % 32 == 0) b.states[part.query].pruned = 1;
  uint32_t rest = __ballot_sync(all_lanes, c.alive != 0);
  if (rest == 0) return true;
  if (!all && whole && static_cast<uint32_t>(__popc(rest)) >= q.whole_strips && is_flat(of, blocks, tile)) return false;
  need = need_above(threshold, rank);
  uint32_t at = __ffs(rest) - 1, held = 0;
  Here h = find_here(part, of, blocks, tile * strips + at);
  do {
    rest &= rest - 1;
    uint32_t after = rest ? __ffs(rest) - 1 : at, strip = tile * strips + at;
    Here next = find_here(part, of, blocks, tile * strips + after);  // on its way during this one
    Strip s{strip, shift, strip << shift, __shfl_sync(all_lanes, c.alive, at)};
    if (blocks == 0 || !report_missing(b, part, shift, s.lo, (blocks >> threadIdx.x % 32 & 1) && h.bound ? of.list : nullptr)) take_strip<all>(b, part, need, s, of, h, &held, n);
    // Few hits make a threshold that is worth a lock at once. The strips that follow go by it: without, all documents of a seed would be candidates.
    if (held && (rest == 0 || q.counts.address == 0)) {
      insert(q, b.states[part.query], keys_of(shift), held);
      held = 0;
      if (!all && q.bounds == no_bounds) need = need_above(common_threshold(b.states[part.query]), rank);
    }
    at = after;
    h = next;
  } while (rest);
  return true;
}

// Leaves items of the queue, from from on, to or_flat.cu or or_rounded.cu: a bit each. A warp calls it together.
[[maybe_unused]] static __device__ __noinline__ void leave_whole(const Batch &b, uint32_t from, uint32_t which) {
  Queue &queue = *b.flat_queue;
  uint32_t lane = threadIdx.x % 32, at = lane == 0 ? atomicAdd(&queue.size, static_cast<uint32_t>(__popc(which))) : 0;
  at = __shfl_sync(all_lanes, at, 0);
  if (which >> lane & 1) queue.items[at + __popc(which & ((1u << lane) - 1))] = b.strip_queue.get()->items[from + lane];
}

// Takes tiles from the queue until there are none, a run of them at a time.
template <bool all>
__device__ __forceinline__ void take_tiles(const Batch &b) {
  uint32_t tile_shift = b.tile_shift, blocks = 0;
  clear(tile_shift - 5, true);
  __syncwarp();
  Source of{nullptr, nullptr, nullptr, nullptr, 0, 0};
  Counts n{0, 0, 0};
  auto turn_to = [&](const Part &part) __attribute__((always_inline)) {
    of = find_source(tile_shift, part);
    blocks = blocks_of(of);
  };
  auto take = [&](const Part &part, const Item &item) __attribute__((always_inline)) {
    if (b.states[part.query].answered) return true;
    return take_tile<all>(b, part, of, blocks, tile_shift, item.tile & ~strips_only, item.alive, !(item.tile & strips_only), &n);
  };
  take_items(b, *b.strip_queue, strip_run, runs_of_warp, &n, turn_to, take, [&](uint32_t from, uint32_t which) {
    if (!all) leave_whole(b, from, which);
  });
}

extern "C" __global__ void __launch_bounds__(strip_threads, strip_blocks) or_strips(const Batch *batch) { take_tiles<false>(*batch); }

extern "C" __global__ void __launch_bounds__(strip_threads, strip_blocks) and_strips(const Batch *batch) { take_tiles<true>(*batch); }
