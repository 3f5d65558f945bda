// OR of flat lists, tile by tile, where most of a tile has to be looked at. The warps of a block share out the postings of one
// list after the other and add in shared memory, without a barrier between lists, and whoever lifts a document over
// the threshold makes it a candidate: so nobody has to look through the scores, but to clear them.
//
// What an addition found there before also tells how many documents match: those found at 0.
//
// A tile has 64 KB of scores, so that three blocks of 256 threads are on an H200's multiprocessor. Each warp finds out about the next
// tile itself, which costs less than to be told.
#include "flat.cuh"
#include "insert.cuh"

const uint32_t flat_threads = 256, flat_blocks = 3;

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

__device__ __forceinline__ FlatDesk &flat_desk() {
  DYNAMIC_SHARED(FlatDesk, t);
  return *t;
}
__device__ __forceinline__ uint32_t *scores() { return reinterpret_cast<uint32_t *>(&flat_desk() + 1); }
// Documents that match with a score of 0, a bit each.
__device__ __forceinline__ uint32_t *zeros_of(uint32_t tile_shift) { return scores() + (1u << tile_shift); }

// A tile, the same for all lanes of a warp, and of the list of the lane its postings there.
struct Flat {
  bool there;
  uint32_t part, tile, lists;
  const uint32_t *postings;
  Interval of;
  uint32_t weight;
};

__device__ __forceinline__ Flat find_flat(const Batch &b, uint32_t at) {
  const Queue &queue = *b.flat_queue;
  Flat f{at < queue.size, 0, 0, 0, nullptr, {0, 0}, 0};
  if (!f.there) return f;
  Item item = queue.items[at];
  const Part &part = b.parts[item.part];
  uint32_t lane = threadIdx.x % 32;
  f.part = item.part, f.tile = item.tile, f.lists = part.term_count;
  if (lane >= f.lists) return f;
  const Term &term = part.terms[lane];
  const List &l = *term.list;
  if (l.flat.address == 0) return f;  // has no posting in the tile
  uint32_t each = l.flat_shift == b.tile_shift ? 1 : strips, entry = f.tile * each;
  f.postings = l.flat;
  f.weight = term.weight;
  f.of = Interval{__ldg(&l.flat_first[entry]), __ldg(&l.flat_first[entry + each])};
  return f;
}

// The score from which on a document of the tile may enter: at least 1, since those without one are looked at apart.
__device__ __forceinline__ uint32_t need_of(const Batch &b, const Flat &f) {
  const Part &part = b.parts[f.part];
  const Query &q = b.queries[part.query];
  uint32_t lo = f.tile << b.tile_shift, need = static_cast<uint32_t>(threshold_of(b.states[part.query]) >> 32);
  uint32_t rank = rank_bound(part, q.rank_weight, lo, min(part.docs, lo + (1u << b.tile_shift)));
  return max(1u, need > rank ? need - rank : 0);
}

// What a thread counts in a tile.
struct Found {
  uint32_t matched, scored;
};

// Adds four postings of a list, those of them that are there.
__device__ __forceinline__ void add_words(const Batch &b, const Part &part, uint32_t tile, uint32_t turn, const uint32_t word[4], uint32_t count,
                                          uint32_t weight, uint32_t need, Found *n) {
  uint32_t *sums = scores(), mask = (1u << b.tile_shift) - 1, lane = threadIdx.x % 32;
  FlatDesk &t = flat_desk();
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    if (32 * j + lane >= count) continue;
    uint32_t i = word[j] & mask, add = flat_contribution(weight, word[j]);
    if (add == 0) {
      atomicOr(&zeros_of(b.tile_shift)[i / 32], 1u << i % 32);
      t.zeros[turn] = 1;
      continue;
    }
    uint32_t old = atomicAdd(&sums[i], add);
    if (old == 0) {
      n->scored++;
      if (part.accept.address) n->matched += accepts(part, (tile << b.tile_shift) + i);
    }
    if (old < need && old + add >= need) {
      uint32_t at = atomicAdd(&t.count[turn], 1u);
      if (at < candidates_most) t.candidates[at] = static_cast<uint16_t>(i);
    }
  }
}

// Adds the postings of all lists of a tile, 128 at a time for each warp; the first of them go to another warp for each list.
__device__ __forceinline__ void add_lists(const Batch &b, const Flat &f, uint32_t turn, Found *n) {
  const Part &part = b.parts[f.part];
  uint32_t lane = threadIdx.x % 32, warps = blockDim.x / 32, warp = threadIdx.x / 32, need = flat_desk().need[turn];
  for (uint32_t t = 0; t < f.lists; t++, warp = warp + 3 < warps ? warp + 3 : warp + 3 - warps) {
    uint32_t to = __shfl_sync(all_lanes, f.of.to, t), from = __shfl_sync(all_lanes, f.of.from, t) + 128 * warp;
    if (from >= to) continue;
    uint32_t weight = __shfl_sync(all_lanes, f.weight, t);
    const uint32_t *postings =
        GLOBAL(const uint32_t, __shfl_sync(all_lanes, static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(f.postings)), t));
    for (; from < to; from += 128 * warps) {
      uint32_t word[4], count = min(128u, to - from);
#pragma unroll
      for (uint32_t j = 0; j < 4; j++) word[j] = 32 * j + lane < count ? __ldg(&postings[from + 32 * j + lane]) : 0;
      add_words(b, part, f.tile, turn, word, count, weight, need, n);
    }
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

// Counts, clears, and gets ready for the tile after the next. All threads call it together.
__device__ __forceinline__ void leave(const Batch &b, const Flat &f, uint32_t turn, Found n) {
  FlatDesk &t = flat_desk();
  State &s = b.states[b.parts[f.part].query];
  uint32_t lane = threadIdx.x % 32, docs = 1u << b.tile_shift;
  uint32_t scored = __reduce_add_sync(all_lanes, n.scored), matched = __reduce_add_sync(all_lanes, n.matched);
  if (b.parts[f.part].accept.address == 0) matched = scored;
  if (lane == 0 && scored) atomicAdd(&t.scored, scored);
  if (lane == 0 && matched) atomicAdd(&t.matched, matched);
  if (docs % 4 == 0) {
    uint4 *fours = reinterpret_cast<uint4 *>(scores());
    for (uint32_t i = threadIdx.x; i < docs / 4; i += blockDim.x) fours[i] = make_uint4(0, 0, 0, 0);
  } else {
    for (uint32_t i = threadIdx.x; i < docs; i += blockDim.x) scores()[i] = 0;
  }
  if (t.zeros[turn]) {
    for (uint32_t i = threadIdx.x; i < max(1u, docs / 32); i += blockDim.x) zeros_of(b.tile_shift)[i] = 0;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    uint32_t postings = __reduce_add_sync(all_lanes, f.of.to - f.of.from);
    if (lane == 0) {
      atomicAdd(&s.decoded, static_cast<unsigned long long>((postings + 127) / 128));
      if (t.scored) atomicAdd(&s.scored, static_cast<unsigned long long>(t.scored));
      if (t.matched) atomicAdd(&s.matched, static_cast<unsigned long long>(t.matched));
      t.scored = t.matched = t.count[turn] = t.zeros[turn] = 0;
    }
  }
}

extern "C" __global__ void __launch_bounds__(flat_threads, flat_blocks) or_flat(const Batch *batch) {
  const Batch &b = *batch;
  FlatDesk &t = flat_desk();
  uint32_t docs = 1u << b.tile_shift;
  for (uint32_t i = threadIdx.x; i < docs + max(1u, docs / 32); i += blockDim.x) scores()[i] = 0;
  uint32_t at = blockIdx.x;
  Flat f = find_flat(b, at);
  if (threadIdx.x < 2) t.count[threadIdx.x] = t.zeros[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    t.matched = t.scored = 0;
    if (f.there) t.need[0] = need_of(b, f);
  }
  __syncthreads();
  for (uint32_t turn = 0; f.there; turn ^= 1) {
    at += gridDim.x;
    Flat next = find_flat(b, at);
    if (threadIdx.x == 0 && next.there) t.need[turn ^ 1] = need_of(b, next);
    Found n{0, 0};
    if (b.states[b.parts[f.part].query].answered) f.lists = f.of.to = f.of.from = 0;
    add_lists(b, f, turn, &n);
    __syncthreads();
    if (t.count[turn] || t.zeros[turn]) {
      hand_in_tile(b, f.part, f.tile, turn);
      __syncthreads();
    }
    leave(b, f, turn, n);
    f = next;
  }
}
