// Boolean trees, strip by strip: as in strips.cu a warp alone takes the strips of a tile that can win, and of these only the cells that can
// (tree_cells.cuh).
//
// Postings of all leaves, required, optional or excluded, are added as they come: to the score of their document, and a bit for the leaf to
// its mask. Leaves that do not score have weight 0. Then the tree is evaluated (tree.cuh) on the masks of those documents that would enter
// with all that was added. Mostly all of that counts. Where some does not, since a node above it has no match, the lists of such leaves are
// gone through once more, to take it away.
//
// Lists that are flat are read as flat postings; of others, the blocks that touch a strip are decoded.
#include "insert.cuh"
#include "strip.cuh"
#include "tree_cells.cuh"

// As in strips.cu, with half as many tiles at a time: they take longer.
const uint32_t tree_threads = 128, tree_blocks = 6, tree_run = 4, tree_runs_of_warp = 32;

// What a warp has in shared memory: keys to hand in, and for each document of a strip a score and two halves of a mask.
__device__ __forceinline__ Key *keys_of(uint32_t shift) {
  DYNAMIC_SHARED(uint8_t, memory);
  return reinterpret_cast<Key *>(memory + threadIdx.x / 32 * (sizeof(Key) * insert_room + (12u << shift)));
}

__device__ __forceinline__ uint32_t *scores_of(uint32_t shift) { return reinterpret_cast<uint32_t *>(keys_of(shift) + insert_room); }

__device__ __forceinline__ uint32_t *masks_of(uint32_t shift, uint32_t half) { return scores_of(shift) + ((1 + half) << shift); }

// The lists of the lane: number lane, and number lane+32.
struct Leaves {
  Source of[2];
  uint32_t leaf[2];
  uint32_t blocks[2];  // those that are not flat, a bit each
  bool upper;          // some leaf is number 32 or above, though the part may have fewer lists: a segment lacks some
};

__device__ __forceinline__ Leaves find_leaves(uint32_t tile_shift, const Part &part) {
  Leaves l;
#pragma unroll
  for (uint32_t half = 0; half < 2; half++) {
    uint32_t i = 32 * half + threadIdx.x % 32;
    l.of[half] = find_source(tile_shift, part, 32 * half);
    l.leaf[half] = i < part.term_count ? part.terms[i].leaf : 0;
    l.blocks[half] = blocks_of(l.of[half]);
  }
  l.upper = part.terms[part.term_count - 1].leaf >= 32;  // leaves ascend
  return l;
}

// Adds what a posting of a leaf adds to its document, or takes it away where the mask says so. No two postings of a list are of one
// document, so nobody else writes where a lane does.
template <bool away>
__device__ __forceinline__ void add_posting(uint32_t shift, uint32_t i, uint32_t add, uint32_t leaf) {
  uint32_t *mask = masks_of(shift, leaf / 32) + i, *score = scores_of(shift) + i, bit = 1u << leaf % 32;
  if (away) {
    if (*mask & bit) *score -= add;
  } else {
    *mask |= bit;
    *score += add;
  }
}

// Goes through the blocks of a list that is not flat. It returns how many postings there were.
template <bool away>
static __device__ __noinline__ uint32_t add_blocks(uint32_t shift, uint32_t lo, uint32_t alive, const List &l, uint32_t weight, uint32_t leaf) {
  uint32_t lane = threadIdx.x % 32, doc[4], tf[4], hi = lo + (1u << shift), postings = 0, tile = lo >> (shift + 5);
  Span blocks = blocks_of_tile(l, shift + 5, tile << (shift + 5), (tile + 1) << (shift + 5));
  for (uint32_t block = blocks.from; block < blocks.to; block++) {
    if (last_of(l, block) < lo || before(l, block) + 1 >= hi) continue;
    Block k = open_block(l, block);
    decode_docs(k, lane, doc);
    if (weight) decode_freqs(k, lane, tf);
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      if (4 * lane + j >= k.n || doc[j] < lo || doc[j] >= hi || !(alive >> ((doc[j] - lo) >> (shift - 3)) & 1)) continue;
      add_posting<away>(shift, doc[j] - lo, weight ? contribution(weight, impact_of(l, doc[j], tf[j])) : 0, leaf);
    }
    postings += k.n;
  }
  return postings;
}

// Asks for the first postings of a list of a strip, that of lane at.
__device__ __forceinline__ Words first_words(const Part &part, const Source &of, const Here &h, uint32_t at) {
  uint32_t from = __shfl_sync(all_lanes, h.from, at), to = __shfl_sync(all_lanes, h.to, at);
  const uint32_t *flat = of_lane(of.flat, at);
  return load_words(part, flat, from, flat ? to : from);
}

// Goes through those lists of a strip that are wanted, a bit each. half says of which half of the leaves. A warp calls it together.
template <bool away>
__device__ __forceinline__ void add_lists(const Part &part, const Strip &s, const Source &of, uint32_t leaves, uint32_t blocks, uint32_t wanted, Counts *n) {
  Here h = find_here(part, of, blocks, s.strip);
  uint32_t rest = __ballot_sync(all_lanes, is_listed(of, h)) & wanted;
  Words words = first_words(part, of, h, (__ffs(rest) - 1) & 31);
  while (rest) {
    uint32_t at = __ffs(rest) - 1;
    rest &= rest - 1;
    Words following = first_words(part, of, h, (__ffs(rest) - 1) & 31);  // on their way while these are added
    uint32_t weight = __shfl_sync(all_lanes, of.weight, at), leaf = __shfl_sync(all_lanes, leaves, at);
    const uint32_t *flat = of_lane(of.flat, at);
    if (flat == nullptr) {
      n->postings += add_blocks<away>(s.shift, s.lo, s.cells, *of_lane(of.list, at), weight, leaf);
    } else {
      uint32_t from = __shfl_sync(all_lanes, h.from, at), to = __shfl_sync(all_lanes, h.to, at);
      n->postings += to - from;
      for (; from < to; from += 64) {
        Words next = words;
        if (from + 64 < to) next = load_words(part, flat, from + 64, to);
        words = without_others(s, words, from, to);
#pragma unroll
        for (uint32_t j = 0; j < 2; j++) {
          uint32_t word = words.word[j];
          if (is_in(s, word)) add_posting<away>(s.shift, word & ((1u << s.shift) - 1), flat_contribution(weight, word), leaf);
        }
        words = next;
      }
    }
    __syncwarp();
    words = following;
  }
}

// Whether none of 32 documents of a strip, from number i on, is in a cell that is alive; false where cells are smaller.
__device__ __forceinline__ bool are_dead(uint32_t shift, uint32_t alive, uint32_t i) { return shift >= 8 && !(alive >> (i >> (shift - 3)) & 1); }

// Hands in a document of each lane that is there. It returns how many keys the warp holds then.
__device__ __forceinline__ uint32_t offer(const Batch &b, const Part &part, uint32_t shift, Key *threshold, uint32_t held, bool there, uint32_t doc,
                                          uint32_t score) {
  const Query &q = b.queries[part.query];
  State &state = b.states[part.query];
  Key key = there ? key_of(score + rank_score(part, q.rank_weight, doc), part.base + doc) : 0;
  there = there && key >= *threshold && key < q.after;
  if (!__any_sync(all_lanes, there)) return held;
  held = keep_key(q, state, keys_of(shift), held, there, key);
  if (held == 0) *threshold = common_threshold(state);
  return held;
}

// What is left of a strip: documents whose masks have the leaves that do not count, and the union of these masks.
struct Rest {
  uint64_t leaves;
  uint32_t held;
  uint32_t skipped;  // not 0 when some were not evaluated, since they cannot enter
  uint32_t matched, scored;  // as in Counts
};

// Evaluates the tree on the documents of a strip, hands in those that can enter, and clears their masks. A warp calls it together.
[[maybe_unused]] static __device__ __noinline__ Rest evaluate_strip(const Batch &b, const Part &part, uint32_t shift, uint32_t lo, uint32_t alive,
                                                                    uint32_t rank, bool upper, uint32_t held) {
  const Query &q = b.queries[part.query];
  uint32_t lane = threadIdx.x % 32, docs = 1u << shift, most = rank + q.constants, *scores = scores_of(shift);
  Key threshold = common_threshold(b.states[part.query]);
  Rest r{0, held, 0, 0, 0};
  for (uint32_t i = lane; i < docs + lane; i += 32) {  // as often for all lanes
    if (are_dead(shift, alive, i - lane)) continue;
    uint64_t leaves = 0;
    uint32_t score = 0;
    if (i < docs) {
      leaves = masks_of(shift, 0)[i];
      if (upper) leaves |= static_cast<uint64_t>(masks_of(shift, 1)[i]) << 32;
      score = scores[i];
    }
    bool can = leaves && (q.bounds == no_bounds || score + most >= static_cast<uint32_t>(threshold >> 32));
    if (leaves) {
      r.scored++;
      if (!can) r.skipped = 1;
    }
    can = can && accepts(part, lo + i);
    Match m{false, 0, 0};
    if (can) m = evaluate<false>(q, leaves);
    uint64_t wrong = m.matches ? leaves & q.scoring & ~m.counted : 0;
    if (m.matches) {
      r.matched++;
      score += m.constant;
    }
    if (leaves) {
      masks_of(shift, 0)[i] = static_cast<uint32_t>(wrong);
      if (upper) masks_of(shift, 1)[i] = static_cast<uint32_t>(wrong >> 32);
      scores[i] = wrong ? score : 0;
    }
    r.leaves |= wrong;
    r.held = offer(b, part, shift, &threshold, r.held, m.matches && wrong == 0, lo + i, score);
  }
  uint32_t low = __reduce_or_sync(all_lanes, static_cast<uint32_t>(r.leaves)), high = __reduce_or_sync(all_lanes, static_cast<uint32_t>(r.leaves >> 32));
  r.leaves = static_cast<uint64_t>(high) << 32 | low;
  r.skipped = __any_sync(all_lanes, r.skipped != 0);
  __syncwarp();
  return r;
}

// Hands in the documents that are left, whose scores are right by now, and clears scores and masks. A warp calls it together.
[[maybe_unused]] static __device__ __noinline__ uint32_t offer_rest(const Batch &b, const Part &part, uint32_t shift, uint32_t lo, uint32_t alive,
                                                                    bool upper, uint32_t held) {
  uint32_t lane = threadIdx.x % 32, docs = 1u << shift, *scores = scores_of(shift);
  Key threshold = common_threshold(b.states[part.query]);
  for (uint32_t i = lane; i < docs + lane; i += 32) {  // as often for all lanes
    if (are_dead(shift, alive, i - lane)) continue;
    uint32_t mask = 0, score = 0;
    if (i < docs) {
      mask = masks_of(shift, 0)[i] | (upper ? masks_of(shift, 1)[i] : 0);
      score = scores[i];
    }
    held = offer(b, part, shift, &threshold, held, mask != 0, lo + i, score);
    if (mask == 0) continue;
    scores[i] = masks_of(shift, 0)[i] = 0;
    if (upper) masks_of(shift, 1)[i] = 0;
  }
  __syncwarp();
  return held;
}

// Takes care of one strip, and returns how many keys the warp holds. A warp calls it together.
__device__ __forceinline__ uint32_t take_strip(const Batch &b, const Part &part, const Strip &s, const Leaves &l, uint32_t rank, uint32_t held, Counts *n) {
  bool more = part.term_count > 32;
  add_lists<false>(part, s, l.of[0], l.leaf[0], l.blocks[0], all_lanes, n);
  if (more) add_lists<false>(part, s, l.of[1], l.leaf[1], l.blocks[1], all_lanes, n);
  Rest r = evaluate_strip(b, part, s.shift, s.lo, s.cells, rank, l.upper, held);
  n->matched += r.matched;
  n->scored += r.scored;
  if (r.skipped && threadIdx.x % 32 == 0) b.states[part.query].pruned = 1;
  if (r.leaves == 0) return r.held;
  uint32_t wanted = __ballot_sync(all_lanes, r.leaves >> l.leaf[0] & 1);
  if (wanted) add_lists<true>(part, s, l.of[0], l.leaf[0], l.blocks[0], wanted, n);
  wanted = __ballot_sync(all_lanes, more && (r.leaves >> l.leaf[1] & 1));
  if (wanted) add_lists<true>(part, s, l.of[1], l.leaf[1], l.blocks[1], wanted, n);
  return offer_rest(b, part, s.shift, s.lo, s.cells, l.upper, r.held);
}

// Whether a strip lacks a block, which is reported. A warp calls it together.
__device__ __forceinline__ bool lacks(const Batch &b, const Part &part, uint32_t shift, uint32_t tile, uint32_t lo, const Leaves &l) {
#pragma unroll
  for (uint32_t half = 0; half < 2; half++) {
    if (l.blocks[half] == 0) continue;
    bool reads = (l.blocks[half] >> threadIdx.x % 32 & 1) && l.of[half].list->tile_bound[tile];
    if (report_missing(b, part, shift, lo, reads ? l.of[half].list : nullptr)) return true;
  }
  return false;
}

// Takes care of those strips of a tile that can win. A warp calls it together.
__device__ __forceinline__ void take_tile(const Batch &b, const Part &part, const Leaves &l, uint32_t tile, uint32_t alive, Counts *n) {
  const Query &q = b.queries[part.query];
  State &state = b.states[part.query];
  uint32_t shift = b.tile_shift - 5, lo = tile << b.tile_shift, held = 0;
  uint32_t rank = rank_bound(part, q.rank_weight, lo, min(part.docs, lo + (1u << b.tile_shift)));
  uint32_t bound = bound_tree(b, part, tile), first = part.base + lo + (threadIdx.x % 32 << shift);
  uint32_t matching = alive & __ballot_sync(all_lanes, bound != no_bound);
  Key threshold = common_threshold(state);
  uint32_t rest = matching & __ballot_sync(all_lanes, q.bounds == no_bounds || can_win(bound, first, threshold));
  if (rest != matching && threadIdx.x % 32 == 0) state.pruned = 1;
  if (rest == 0) return;
  Cells c{(1u << cells) - 1, (1u << cells) - 1};
  if (q.bounds != no_bounds) {
    c = tree_cells(b, part, tile, rank, static_cast<uint32_t>(threshold >> 32), l.upper);
    if (__any_sync(all_lanes, (rest >> threadIdx.x % 32 & 1) && c.alive != c.matching) && threadIdx.x % 32 == 0) state.pruned = 1;
    rest &= __ballot_sync(all_lanes, c.alive != 0);
  }
  while (rest) {
    uint32_t at = __ffs(rest) - 1, strip = tile * strips + at;
    rest &= rest - 1;
    Strip s{strip, shift, strip << shift, __shfl_sync(all_lanes, c.alive, at)};
    if (!lacks(b, part, shift, tile, s.lo, l)) held = take_strip(b, part, s, l, rank, held, n);
    if (held && (rest == 0 || q.counts.address == 0)) {
      insert(q, state, keys_of(shift), held);
      held = 0;
    }
  }
}

// Takes tiles from the queue until there are none, a run of them at a time.
extern "C" __global__ void __launch_bounds__(tree_threads, tree_blocks) tree_strips(const Batch *batch) {
  const Batch &b = *batch;
  uint32_t shift = b.tile_shift - 5;
  for (uint32_t i = threadIdx.x % 32; i < 3u << shift; i += 32) scores_of(shift)[i] = 0;
  __syncwarp();
  Leaves l{{{nullptr, nullptr, nullptr, nullptr, 0, 0}, {nullptr, nullptr, nullptr, nullptr, 0, 0}}, {0, 0}, {0, 0}, false};
  Counts n{0, 0, 0};
  auto turn_to = [&](const Part &part) __attribute__((always_inline)) { l = find_leaves(b.tile_shift, part); };
  auto take = [&](const Part &part, const Item &item) __attribute__((always_inline)) {
    take_tile(b, part, l, item.tile & ~strips_only, item.alive, &n);
    return true;
  };
  take_items(b, *b.tree_queue, tree_run, tree_runs_of_warp, &n, turn_to, take, [](uint32_t, uint32_t) {});
}
