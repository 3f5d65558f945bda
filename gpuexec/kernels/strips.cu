// OR and AND of flat lists, strip by strip: a warp alone takes the strips of a tile that can win, one after the other, with the
// scores of a strip's documents in shared memory of its own. No barrier stands between warps, so that dozens of them hide each
// other's reads; a strip costs some 500 instructions.
//
// OR goes through the lists from the highest bound down (MaxScore, strip by strip): once what is left cannot bring a new document
// in, it goes on only while one that has been seen can still enter. AND goes through them as they stand, the shortest first, and
// keeps for each document how many had it.
//
// Short lists are not flat; of those, the blocks that touch a strip are decoded.
#include "block.cuh"
#include "flat.cuh"
#include "insert.cuh"
#include "seek.cuh"

// Threads of a block, and blocks of a multiprocessor that the compiler shall leave registers for: 80 a thread.
const uint32_t strip_threads = 128, strip_blocks = 6;

// What a warp has in shared memory: keys to hand in, a score for each document of a strip, and a mark. Functions find it on their
// own, because only so the compiler knows that it is shared.
__device__ __forceinline__ uint32_t docs_of(const Batch &b) { return 1u << (b.tile_shift - 5); }

__device__ __forceinline__ Key *keys_of(const Batch &b) {
  DYNAMIC_SHARED(uint8_t, memory);
  return reinterpret_cast<Key *>(memory + threadIdx.x / 32 * (sizeof(Key) * insert_room + 5 * max(docs_of(b), 16u)));
}

__device__ __forceinline__ uint32_t *scores_of(const Batch &b) { return reinterpret_cast<uint32_t *>(keys_of(b) + insert_room); }

// Of AND, how many lists have had a document; of OR, 1 when a list has it and adds 0.
__device__ __forceinline__ uint8_t *marks_of(const Batch &b) { return reinterpret_cast<uint8_t *>(scores_of(b) + docs_of(b)); }

// A strip at hand, the same for all lanes.
struct Strip {
  uint32_t tile, strip;  // strip is counted through the segment
  uint32_t lo, hi;       // documents
};

// The list of a lane, in all strips of a part.
struct Source {
  const List *list;  // null behind the last
  const uint32_t *flat, *first;
  const uint8_t *bounds;  // null when the list is not flat
  uint32_t weight;
  uint32_t shift;  // of the number of a strip, for its entry of first
};

// The same in one strip.
struct Here {
  bool listed;        // it has a posting, or may have one
  uint32_t bound;     // what it adds at most
  Interval postings;  // of a flat list
};

// Adds a posting of a list to the score of document i of the strip; returns whether it left a mark. list is the number of the list
// in an AND, or_list in an OR. No two postings of a list are of one document, so nobody else writes where a lane does.
const uint32_t or_list = ~0u;

__device__ __forceinline__ bool add_posting(uint32_t *scores, uint8_t *marks, uint32_t i, uint32_t score, uint32_t list) {
  if (list != or_list) {
    if (marks[i] != list) return false;
    marks[i] = list + 1;
    scores[i] += score;
    return true;
  }
  if (score) {
    scores[i] += score;
    return false;
  }
  marks[i] = 1;
  return true;
}

// What adding a list did, for a lane: whether it left marks; and the postings looked at, for all lanes the same.
struct Added {
  bool marked;
  uint32_t postings;
};

// Postings of a strip, two of each lane at a time.
struct Words {
  uint32_t word[2];
};

__device__ __forceinline__ Words load_words(const uint32_t *flat, uint32_t from, uint32_t to, uint32_t absent) {
  Words w;
#pragma unroll
  for (uint32_t j = 0; j < 2; j++) {
    uint32_t at = from + 32 * j + threadIdx.x % 32;
    w.word[j] = at < to ? __ldg(&flat[at]) : absent;
  }
  return w;
}

// Adds the postings of a flat list, of which w are the first.
__device__ __forceinline__ Added add_flat(const Batch &b, const Strip &s, const uint32_t *flat, Interval of, Words w, uint32_t weight, uint32_t list) {
  uint32_t shift = b.tile_shift - 5, strip = s.strip % strips, *scores = scores_of(b), docs = (1u << shift) - 1;
  uint8_t *marks = marks_of(b);
  bool marked = false;
  for (uint32_t base = of.from;;) {
#pragma unroll
    for (uint32_t j = 0; j < 2; j++) {
      if ((w.word[j] >> shift) % strips == strip) marked |= add_posting(scores, marks, w.word[j] & docs, flat_contribution(weight, w.word[j]), list);
    }
    if ((base += 64) >= of.to) break;
    w = load_words(flat, base, of.to, ~strip << shift);
  }
  return Added{marked, of.to - of.from};
}

// The same for a list that is not flat.
[[maybe_unused]] static __device__ __noinline__ uint2 add_blocks(const Batch &b, Strip s, const List &l, uint32_t weight, uint32_t list) {
  uint32_t lane = threadIdx.x % 32, doc[4], tf[4], *scores = scores_of(b);
  uint8_t *marks = marks_of(b);
  Span blocks = blocks_of_tile(l, b.tile_shift, s.tile << b.tile_shift, (s.tile + 1) << b.tile_shift);
  Added added{false, 0};
  for (uint32_t block = blocks.from; block < blocks.to; block++) {
    if (is_unneeded(l, block) || last_of(l, block) < s.lo || before(l, block) + 1 >= s.hi) continue;
    Block k = open_block(l, block);
    decode_docs(k, lane, doc);
    decode_freqs(k, lane, tf);
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      if (4 * lane + j >= k.n || doc[j] < s.lo || doc[j] >= s.hi) continue;
      added.marked |= add_posting(scores, marks, doc[j] - s.lo, contribution(weight, impact_of(l, doc[j], tf[j])), list);
    }
    added.postings += k.n;
  }
  return make_uint2(added.marked, added.postings);
}

// Whether a block of the list that touches the strip is missing. A lane calls it alone.
__device__ __forceinline__ bool misses(const Batch &b, const Strip &s, const List &l) {
  Span blocks = blocks_of_tile(l, b.tile_shift, s.tile << b.tile_shift, (s.tile + 1) << b.tile_shift);
  for (uint32_t block = blocks.from; block < blocks.to; block++) {
    if (is_missing(l, block) && last_of(l, block) >= s.lo && before(l, block) + 1 < s.hi) return true;
  }
  return false;
}

// Finds the list of the lane in a part.
__device__ __forceinline__ Source find_source(const Batch &b, const Part &part) {
  uint32_t lane = threadIdx.x % 32;
  Source of{nullptr, nullptr, nullptr, nullptr, 0, 0};
  if (lane >= part.term_count) return of;
  const Term &term = part.terms[lane];
  const List &l = *term.list;
  of.list = &l;
  of.weight = term.weight;
  if (l.flat.address == 0) return of;
  of.flat = l.flat;
  of.first = l.flat_first;
  of.bounds = l.flat_bound;
  of.shift = l.flat_shift == b.tile_shift ? 5 : 0;
  return of;
}

// Finds it in a strip.
__device__ __forceinline__ Here find_here(const Batch &b, const Strip &s, const Source &of) {
  Here h{false, 0, {0, 0}};
  if (of.bounds) {
    uint32_t byte = __ldg(&of.bounds[s.strip]), entry = s.strip >> of.shift;
    h.postings = Interval{__ldg(&of.first[entry]), __ldg(&of.first[entry + 1])};
    h.listed = byte != 0;
    if (byte) h.bound = contribution(of.weight, strip_impact(byte));
  } else if (of.list) {
    h.listed = of.list->tile_bound[s.tile] != 0;
    if (h.listed) h.bound = contribution(of.weight, bound_of_tile(*of.list, b.tile_shift, s.lo));
  }
  return h;
}

// A list that a warp is about to add, the same for all lanes, and the first of its postings if it is flat.
struct Taken {
  const uint32_t *flat;  // null when it is not
  uint32_t weight;
  Interval postings;
  Words words;
};

// Takes the list of a lane, and asks for its first postings. A warp calls it together.
__device__ __forceinline__ Taken take_list(const Batch &b, const Strip &s, const Source &of, const Here &h, uint32_t at) {
  Taken t;
  t.flat = of_lane(of.flat, at);
  t.weight = __shfl_sync(all_lanes, of.weight, at);
  t.postings = Interval{__shfl_sync(all_lanes, h.postings.from, at), __shfl_sync(all_lanes, h.postings.to, at)};
  t.words = load_words(t.flat, t.postings.from, t.postings.to, ~(s.strip % strips) << (b.tile_shift - 5));
  return t;
}

// Adds a list that was taken of lane at. A warp calls it together.
__device__ __forceinline__ Added add_list(const Batch &b, const Strip &s, const Source &of, const Taken &t, uint32_t at, uint32_t list) {
  Added added;
  if (__shfl_sync(all_lanes, static_cast<uint32_t>(of.bounds != nullptr), at)) {
    added = add_flat(b, s, t.flat, t.postings, t.words, t.weight, list);
  } else {
    uint2 decoded = add_blocks(b, s, *of_lane(of.list, at), t.weight, list);
    added = Added{decoded.x != 0, decoded.y};
  }
  __syncwarp();
  return added;
}

// What a lane sees of the scores: the highest, and how many are not 0.
struct Scores {
  uint32_t highest, count;
};

__device__ __forceinline__ Scores look(const Batch &b) {
  const uint32_t *scores = scores_of(b);
  uint32_t lane = threadIdx.x % 32, docs = docs_of(b);
  Scores seen{0, 0};
  if (docs % 128 == 0) {
    for (uint32_t i = lane; 4 * i < docs; i += 32) {
      uint4 v = reinterpret_cast<const uint4 *>(scores)[i];
      seen.highest = max(seen.highest, max(max(v.x, v.y), max(v.z, v.w)));
      seen.count += min(v.x, 1u) + min(v.y, 1u) + min(v.z, 1u) + min(v.w, 1u);
    }
  } else {
    for (uint32_t i = lane; i < docs; i += 32) {
      seen.highest = max(seen.highest, scores[i]);
      seen.count += min(scores[i], 1u);
    }
  }
  __syncwarp();  // before others change them
  return seen;
}

// What a warp counts in a tile.
struct Counts {
  uint32_t matched, scored, postings, pruned;
};

// The lane whose list has the highest bound of those that wait; no_lane when none does.
const uint32_t no_lane = ~0u;

__device__ __forceinline__ uint32_t best_lane(bool waits, uint32_t bound) {
  uint32_t best = __reduce_max_sync(all_lanes, waits ? bound + 1 : 0);
  if (best == 0) return no_lane;
  return __ffs(__ballot_sync(all_lanes, waits && bound + 1 == best)) - 1;
}

// Goes through the lists of an OR; while one is added the next is on its way. It returns whether there are marks.
__device__ __forceinline__ bool unite(const Batch &b, const Part &part, const Query &q, const Strip &s, const Source &of, const Here &h,
                                      uint32_t rank, Key threshold, Counts *n) {
  uint32_t rest = __reduce_add_sync(all_lanes, h.bound), lane = threadIdx.x % 32;
  bool marked = false, waits = h.listed;
  uint32_t at = best_lane(waits, h.bound);
  Taken t = take_list(b, s, of, h, at);
  while (at != no_lane) {
    if (q.bounds != no_bounds && !can_win(rest + rank, part.base + s.lo, threshold)) {
      uint32_t seen = __reduce_max_sync(all_lanes, look(b).highest);
      if (!can_win(seen + rest + rank, part.base + s.lo, threshold)) {
        n->pruned = 1;
        break;
      }
    }
    waits &= lane != at;
    uint32_t after = best_lane(waits, h.bound);
    Taken next = t;
    if (after != no_lane) next = take_list(b, s, of, h, after);
    Added added = add_list(b, s, of, t, at, or_list);
    marked |= added.marked;
    n->postings += added.postings;
    rest -= __shfl_sync(all_lanes, h.bound, at);
    at = after;
    t = next;
  }
  return __any_sync(all_lanes, marked);
}

// Goes through the lists of an AND likewise. It returns whether a document has them all.
__device__ __forceinline__ bool intersect(const Batch &b, uint32_t lists, const Strip &s, const Source &of, const Here &h, Counts *n) {
  Taken t = take_list(b, s, of, h, 0);
  for (uint32_t list = 0; list < lists; list++) {
    Taken next = t;
    if (list + 1 < lists) next = take_list(b, s, of, h, list + 1);
    Added added = add_list(b, s, of, t, list, list);
    n->postings += added.postings;
    if (!__any_sync(all_lanes, added.marked)) return false;
    t = next;
  }
  return true;
}

// Clears scores and marks, of 128 documents or a multiple.
__device__ __forceinline__ void clear(const Batch &b, bool marks) {
  uint32_t lane = threadIdx.x % 32, docs = docs_of(b);
  uint4 *fours = reinterpret_cast<uint4 *>(scores_of(b)), *sixteens = reinterpret_cast<uint4 *>(marks_of(b));
  for (uint32_t i = lane; 4 * i < docs; i += 32) fours[i] = make_uint4(0, 0, 0, 0);
  if (!marks) return;
  for (uint32_t i = lane; 16 * i < docs; i += 32) sixteens[i] = make_uint4(0, 0, 0, 0);
}

// Hands in the documents of the strip that can enter, and clears scores and marks, if there are any. all is how many lists an AND
// has, 0 of an OR. It returns how many the lane has scored, and how many of them may be returned.
[[maybe_unused]] static __device__ __noinline__ uint2 collect(const Batch &b, uint32_t part_index, Strip s, bool marked, uint32_t all) {
  const Part &part = b.parts[part_index];
  const Query &q = b.queries[part.query];
  State &state = b.states[part.query];
  uint32_t lane = threadIdx.x % 32, docs = docs_of(b), held = 0, *scores = scores_of(b), scored = 0, matched = 0;
  uint8_t *marks = marks_of(b);
  Key threshold = common_threshold(state);
  for (uint32_t i = lane; i < docs + lane; i += 32) {  // as often for all lanes
    uint32_t score = 0, doc = s.lo + i;
    bool matches = false;
    if (i < docs) {
      score = scores[i];
      matches = all ? marks[i] == all : score != 0 || (marked && marks[i]);
      scores[i] = 0;
      if (marked) marks[i] = 0;
    }
    if (!__any_sync(all_lanes, matches)) continue;
    scored += matches;
    matches = matches && accepts(part, doc);
    matched += matches;
    Key key = matches ? key_of(score + rank_score(part, q.rank_weight, doc), part.base + doc) : 0;
    held = keep_key(q, state, keys_of(b), held, matches && key >= threshold && key < q.after, key);
  }
  if (held) insert(q, state, keys_of(b), held);
  return make_uint2(scored, matched);
}

// Clears the scores of a strip none of whose documents can enter, if that is so: of an OR without marks.
__device__ __forceinline__ bool passes_over(const Batch &b, const Part &part, Key threshold, uint32_t rank, Counts *n) {
  uint32_t docs = docs_of(b);
  if (part.accept.address || docs % 128) return false;
  Scores seen = look(b);
  uint32_t need = static_cast<uint32_t>(threshold >> 32);
  if (__any_sync(all_lanes, seen.highest && seen.highest + rank >= need)) return false;
  clear(b, false);
  n->scored += seen.count;
  n->matched += seen.count;
  return true;
}

__device__ __forceinline__ void report_strip(const Batch &b, uint32_t part, const Strip &s, uint32_t bound, State &state) {
  if (threadIdx.x % 32 != 0) return;
  uint32_t at = atomicAdd(b.unresolved_count.get(), 1u);
  if (at < b.unresolved_room) b.unresolved[at] = Range{part, s.lo, s.hi, bound};
  atomicAdd(&state.unresolved, 1u);
}

__device__ __forceinline__ void count(Counts *n, uint2 documents) {
  n->scored += documents.x;
  n->matched += documents.y;
}

// Takes care of one strip. A warp calls it together.
__device__ __forceinline__ void take_strip(const Batch &b, uint32_t part_index, const Strip &s, const Source &of, Key threshold, Counts *n) {
  const Part &part = b.parts[part_index];
  const Query &q = b.queries[part.query];
  bool all = part.way == by_and_tiles;
  Here h = find_here(b, s, of);
  uint32_t rank = rank_bound(part, q.rank_weight, s.lo, s.hi), lists = __popc(__ballot_sync(all_lanes, h.listed));
  if (lists == 0 || (all && lists < part.term_count)) return;
  uint32_t bound = min(__reduce_add_sync(all_lanes, h.bound) + rank, tail_bound(part, s.lo));
  if (q.bounds != no_bounds && !can_win(bound, part.base + s.lo, threshold)) {
    n->pruned = 1;
    return;
  }
  if (__any_sync(all_lanes, h.listed && !of.bounds && misses(b, s, *of.list))) {
    report_strip(b, part_index, s, bound, b.states[part.query]);
  } else if (all) {
    if (intersect(b, lists, s, of, h, n) || docs_of(b) % 128) {
      count(n, collect(b, part_index, s, true, lists));
    } else {
      clear(b, true);
    }
  } else if (bool marked = unite(b, part, q, s, of, h, rank, threshold, n); marked || !passes_over(b, part, threshold, rank, n)) {
    count(n, collect(b, part_index, s, marked, 0));
  }
}

// Adds what was counted in a tile to the query's state.
__device__ __forceinline__ void count_tile(const Counts &n, State &s) {
  uint32_t matched = __reduce_add_sync(all_lanes, n.matched), scored = __reduce_add_sync(all_lanes, n.scored);
  if (threadIdx.x % 32 != 0) return;
  if (matched) atomicAdd(&s.matched, static_cast<unsigned long long>(matched));
  if (scored) atomicAdd(&s.scored, static_cast<unsigned long long>(scored));
  if (n.postings) atomicAdd(&s.decoded, static_cast<unsigned long long>((n.postings + 127) / 128));
  if (n.pruned) s.pruned = 1;
}

extern "C" __global__ void __launch_bounds__(strip_threads, strip_blocks) score_strips(const Batch *batch) {
  const Batch &b = *batch;
  uint32_t lane = threadIdx.x % 32, docs = docs_of(b);
  for (uint32_t i = lane; i < docs; i += 32) scores_of(b)[i] = marks_of(b)[i] = 0;
  __syncwarp();
  Queue &queue = *b.strip_queue;
  uint32_t size = queue.size, known = ~0u;
  Source of{nullptr, nullptr, nullptr, nullptr, 0, 0};
  for (;;) {
    uint32_t at = lane == 0 ? atomicAdd(&queue.next, 1u) : 0;
    at = __shfl_sync(all_lanes, at, 0);
    if (at >= size) return;
    Item item = queue.items[at];
    const Part &part = b.parts[item.part];
    State &state = b.states[part.query];
    if (item.part != known) of = find_source(b, part);
    known = item.part;
    if (state.answered) continue;
    Key threshold = common_threshold(state);
    Counts n{0, 0, 0, 0};
    for (uint32_t alive = item.alive; alive; alive &= alive - 1) {
      uint32_t strip = item.tile * strips + __ffs(alive) - 1, lo = strip * docs;
      if (lo >= part.docs) break;
      take_strip(b, item.part, Strip{item.tile, strip, lo, min(part.docs, lo + docs)}, of, threshold, &n);
      __syncwarp();
    }
    count_tile(n, state);
  }
}
