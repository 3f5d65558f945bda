// OR of flat lists, tile by tile, where most of a tile has to be looked at. The warps of a block share out the postings of one
// list after the other and add in shared memory, without a barrier between lists, and whoever lifts a document over
// the threshold makes it a candidate: so nobody has to look through the scores, but to clear them.
//
// What an addition found there before also tells how many documents match: those found at 0.
//
// A tile has 64 KB of scores, so that three blocks of 192 threads are on an H200's multiprocessor, too few to hide every read. So
// reads are asked for well before they are needed, those of the next tile during this one, and of the next postings during these.
#include "flat.cuh"
#include "insert.cuh"

const uint32_t flat_threads = 192, flat_blocks = 3;

// Candidates of a tile that are told apart; if there are more, all of its documents are looked at.
const uint32_t candidates_most = 1024;

// What lies first in the shared memory of a block.
struct FlatDesk {
  Key keys[flat_threads / 32][insert_room];
  uint32_t need[2];   // of this tile and the next: the score from which on a document is a candidate
  uint32_t count[2];  // of candidates
  uint32_t zeros[2];  // not 0 when a posting added nothing
  uint32_t matched, scored;
  uint16_t candidates[candidates_most];
};

static_assert(sizeof(FlatDesk) == 5152, "differs from options.go");

__device__ __forceinline__ FlatDesk &flat_desk() {
  DYNAMIC_SHARED(FlatDesk, t);
  return *t;
}
__device__ __forceinline__ uint32_t *scores() { return reinterpret_cast<uint32_t *>(&flat_desk() + 1); }
// Documents that match with a score of 0, a bit each.
__device__ __forceinline__ uint32_t *zeros_of(uint32_t tile_shift) { return scores() + (1u << tile_shift); }

// A tile, the same for all lanes of a warp, and what concerns the lane's list.
struct Flat {
  uint32_t part, tile;
  uint32_t lists;  // 0 when there is nothing to do
  const Part *of;
  State *state;
  const uint32_t *postings, *first;
  uint32_t each;    // entries of first that a tile has
  uint32_t weight;
  Interval within;  // the postings in the tile
};

const uint32_t no_part = ~0u;

// Consecutive tiles of the queue, which are of one part mostly, so that what is to be known of it is asked once.
const uint32_t flat_run = 8;

// Where in the queue the block's tile number n is.
__device__ __forceinline__ uint32_t place_of(uint32_t n) { return (n / flat_run * gridDim.x + blockIdx.x) * flat_run + n % flat_run; }

__device__ __forceinline__ Item item_of(const Item *items, uint32_t size, uint32_t n) {
  uint32_t at = place_of(n);
  return at < size ? items[at] : Item{no_part, 0, 0};
}

// Finds out about another part.
__device__ __forceinline__ void turn_to(const Batch &b, Flat &f, uint32_t part) {
  f.part = part;
  f.of = &b.parts[part];
  f.state = &b.states[f.of->query];
  f.lists = f.state->answered ? 0 : f.of->term_count;
  f.postings = nullptr;
  uint32_t lane = threadIdx.x % 32;
  if (lane >= f.lists) return;
  const Term &term = f.of->terms[lane];
  const List &l = *term.list;
  f.postings = l.flat;  // null when it is not flat: then it has no posting in the tile
  f.first = l.flat_first;
  f.each = l.flat_shift == b.tile_shift ? 1 : strips;
  f.weight = term.weight;
}

__device__ __forceinline__ void go_to(const Batch &b, Flat &f, const Item &item) {
  if (item.part == no_part) {
    f.part = no_part;
    return;
  }
  if (item.part != f.part) turn_to(b, f, item.part);
  f.tile = item.tile;
  f.within = Interval{0, 0};
  if (f.postings) f.within = Interval{__ldg(&f.first[f.tile * f.each]), __ldg(&f.first[(f.tile + 1) * f.each])};
}

// The score from which on a document of the tile may enter: at least 1, since those without one are looked at apart.
__device__ __forceinline__ uint32_t need_of(const Batch &b, const Flat &f) {
  uint32_t lo = f.tile << b.tile_shift, need = static_cast<uint32_t>(threshold_of(*f.state) >> 32), rank = 0;
  if (f.of->rank.address) rank = rank_bound(*f.of, b.queries[f.of->query].rank_weight, lo, min(f.of->docs, lo + (1u << b.tile_shift)));
  return max(1u, need > rank ? need - rank : 0);
}

// What a thread counts in a tile.
struct Found {
  uint32_t matched, scored;
};

// Four postings of each lane.
struct Words {
  uint32_t word[4], count;  // count is of all lanes
};

__device__ __forceinline__ Words load_words(const uint32_t *postings, uint32_t from, uint32_t to) {
  Words w;
  w.count = from < to ? min(128u, to - from) : 0;
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) w.word[j] = 32 * j + threadIdx.x % 32 < w.count ? __ldg(&postings[from + 32 * j + threadIdx.x % 32]) : 0;
  return w;
}

// Says that a document of the tile had no score before.
__device__ __forceinline__ void meet(const Flat &f, uint32_t tile_shift, uint32_t turn, uint32_t i, uint32_t add, Found *n) {
  if (add == 0) {
    n->scored--;  // hand_in_tile counts it, once, if nothing else is added
    atomicOr(&zeros_of(tile_shift)[i / 32], 1u << i % 32);
    flat_desk().zeros[turn] = 1;
  } else if (accepts(*f.of, (f.tile << tile_shift) + i)) {
    n->matched++;
  }
}

__device__ __forceinline__ void be_candidate(uint32_t turn, uint32_t i) {
  uint32_t at = atomicAdd(&flat_desk().count[turn], 1u);
  if (at < candidates_most) flat_desk().candidates[at] = static_cast<uint16_t>(i);
}

// Adds postings of a list. filtered: some documents may not be returned.
__device__ __forceinline__ void add_words(const Flat &f, uint32_t tile_shift, uint32_t turn, const Words &w, uint32_t weight, uint32_t need,
                                          bool filtered, Found *n) {
  uint32_t *sums = scores(), mask = (1u << tile_shift) - 1;
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    if (32 * j + threadIdx.x % 32 >= w.count) continue;
    uint32_t i = w.word[j] & mask, add = flat_contribution(weight, w.word[j]), old = atomicAdd(&sums[i], add);
    n->scored += old == 0;
    if (old == 0 && (filtered || add == 0)) meet(f, tile_shift, turn, i, add, n);
    if (need - 1 - old < add) be_candidate(turn, i);  // old < need <= old + add
  }
}

// Adds the postings of all lists of a tile, 128 at a time for each warp, and meanwhile fetches the next; the first of a list go to
// another warp for each list.
__device__ __forceinline__ void add_lists(const Flat &f, uint32_t tile_shift, uint32_t turn, Found *n) {
  uint32_t warps = blockDim.x / 32, need = flat_desk().need[turn], list = 0, from = 0, to = 0, weight = 0;
  uint32_t warp = threadIdx.x / 32;
  const uint32_t *postings = nullptr;
  bool filtered = f.of->accept.address != 0;
  // Goes on to the next 128 postings of the warp.
  auto advance = [&]() {
    from += 128 * warps;
    while (from >= to && list < f.lists) {
      to = __shfl_sync(all_lanes, f.within.to, list);
      from = __shfl_sync(all_lanes, f.within.from, list) + 128 * warp;
      weight = __shfl_sync(all_lanes, f.weight, list);
      postings = of_lane(f.postings, list);
      warp = warp + 3 < warps ? warp + 3 : warp + 3 - warps;
      list++;
    }
    return load_words(postings, from, to);
  };
  for (Words w = advance(); w.count > 0;) {
    uint32_t its = weight;
    Words next = advance();
    add_words(f, tile_shift, turn, w, its, need, filtered, n);
    w = next;
  }
}

// Hands in a document of each lane, if it may enter. It returns how many keys the warp holds then.
__device__ __forceinline__ uint32_t offer(const Part &part, const Query &q, State &s, uint32_t held, bool there, uint32_t doc, uint32_t score) {
  Key threshold = common_threshold(s), key = 0;
  bool wants = there && accepts(part, doc);
  if (wants) {
    key = key_of(score + rank_score(part, q.rank_weight, doc), part.base + doc);
    wants = key >= threshold && key < q.after;
  }
  return keep_key(q, s, flat_desk().keys[threadIdx.x / 32], held, wants, key);
}

// Hands in the candidates of a tile: those told apart, or all documents that match. All threads call it together.
[[maybe_unused]] static __device__ __noinline__ void hand_in_tile(const Batch &b, uint32_t part_index, uint32_t tile, uint32_t turn) {
  FlatDesk &t = flat_desk();
  const Part &part = b.parts[part_index];
  const Query &q = b.queries[part.query];
  State &s = b.states[part.query];
  uint32_t count = t.count[turn], lane = threadIdx.x % 32, lo = tile << b.tile_shift, docs = 1u << b.tile_shift, held = 0;
  bool all = count > candidates_most, zeros = t.zeros[turn] != 0;
  uint32_t most = all || zeros ? docs : count, *zero = zeros_of(b.tile_shift);
  for (uint32_t base = threadIdx.x - lane; base < most; base += blockDim.x) {
    uint32_t at = base + lane, i = at, score = 0;
    bool there = at < most;
    if (there && !(all || zeros)) i = t.candidates[at];
    if (there) score = scores()[i];
    if (there && (all || zeros)) {
      bool matches_by_zero = zeros && score == 0 && (zero[i / 32] >> i % 32 & 1);
      there = score != 0 || matches_by_zero;
      if (matches_by_zero) {
        atomicAdd(&t.scored, 1u);
        if (accepts(part, lo + i)) atomicAdd(&t.matched, 1u);
      }
    }
    held = offer(part, q, s, held, there, lo + i, score);
  }
  if (held) insert(q, s, t.keys[threadIdx.x / 32], held);
}

// Clears the scores, and the bits of documents with a score of 0 if there are any.
__device__ __forceinline__ void clear(const Batch &b, uint32_t turn) {
  uint32_t docs = 1u << b.tile_shift;
  if (docs % (16 * flat_threads) < docs) {  // four at a time, as far as they go
    uint4 *fours = reinterpret_cast<uint4 *>(scores());
    uint32_t i = threadIdx.x;
    for (; i + 3 * flat_threads < docs / 4; i += 4 * flat_threads) {
#pragma unroll
      for (uint32_t j = 0; j < 4; j++) fours[i + j * flat_threads] = make_uint4(0, 0, 0, 0);
    }
    for (; i < docs / 4; i += flat_threads) fours[i] = make_uint4(0, 0, 0, 0);
  } else {
    for (uint32_t i = threadIdx.x; i < docs; i += blockDim.x) scores()[i] = 0;
  }
  if (flat_desk().zeros[turn] == 0) return;
  for (uint32_t i = threadIdx.x; i < max(1u, docs / 32); i += blockDim.x) zeros_of(b.tile_shift)[i] = 0;
}

// Counts, clears, and gets ready for the tile after the next. All threads call it together.
__device__ __forceinline__ void leave(const Batch &b, const Flat &f, uint32_t turn, Found n) {
  FlatDesk &t = flat_desk();
  uint32_t lane = threadIdx.x % 32, scored = __reduce_add_sync(all_lanes, n.scored);
  uint32_t matched = f.of->accept.address ? __reduce_add_sync(all_lanes, n.matched) : scored;
  if (lane == 0 && scored) atomicAdd(&t.scored, scored);
  if (lane == 0 && matched) atomicAdd(&t.matched, matched);
  clear(b, turn);
  __syncthreads();
  if (threadIdx.x >= 32) return;
  uint32_t postings = __reduce_add_sync(all_lanes, f.within.to - f.within.from);
  if (lane == 0 && f.lists) {
    atomicAdd(&f.state->decoded, static_cast<unsigned long long>((postings + 127) / 128));
    if (t.scored) atomicAdd(&f.state->scored, static_cast<unsigned long long>(t.scored));
    if (t.matched) atomicAdd(&f.state->matched, static_cast<unsigned long long>(t.matched));
  }
  if (lane == 0) t.scored = t.matched = t.count[turn] = t.zeros[turn] = 0;
}

extern "C" __global__ void __launch_bounds__(flat_threads, flat_blocks) or_flat(const Batch *batch) {
  const Batch &b = *batch;
  const Item *items = b.flat_queue.get()->items;
  FlatDesk &t = flat_desk();
  uint32_t tile_shift = b.tile_shift, docs = 1u << tile_shift, size = b.flat_queue.get()->size, number = 1;
  for (uint32_t i = threadIdx.x; i < docs + max(1u, docs / 32); i += blockDim.x) scores()[i] = 0;
  Flat f;
  f.part = no_part;
  go_to(b, f, item_of(items, size, 0));
  Item upcoming = item_of(items, size, 1);
  if (threadIdx.x < 2) t.count[threadIdx.x] = t.zeros[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    t.matched = t.scored = 0;
    if (f.part != no_part) t.need[0] = need_of(b, f);
  }
  __syncthreads();
  for (uint32_t turn = 0; f.part != no_part; turn ^= 1) {
    Flat next = f;
    go_to(b, next, upcoming);
    upcoming = item_of(items, size, ++number);
    if (threadIdx.x == 0 && next.part != no_part) t.need[turn ^ 1] = need_of(b, next);
    Found n{0, 0};
    add_lists(f, tile_shift, turn, &n);
    __syncthreads();
    if (t.count[turn] || t.zeros[turn]) {
      hand_in_tile(b, f.part, f.tile, turn);
      __syncthreads();
    }
    leave(b, f, turn, n);
    f = next;
  }
}
