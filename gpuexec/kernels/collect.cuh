// The end of a tile: which of its documents can enter the answer.
#pragma once
#include "tile.cuh"

// Looks at document i of the tile, which matches: it goes into the pool if it may enter. False when there
// it found no room.
__device__ __forceinline__ bool settle(const Desk &d, const Tile &t, uint32_t i, uint32_t score, Key threshold) {
  uint32_t doc = t.lo + i;
  Key key = key_of(score + rank_score(*t.part, t.query->rank_weight, doc), t.part->base + doc);
  if (key < threshold || key >= t.query->after || !accepts(*t.part, doc)) return true;
  return add(d.pool, key);
}

// Counts documents that match, of 32 at i the bits. Those that may not be returned count as scored only.
struct Count {
  uint32_t matched, scored;
  __device__ __forceinline__ void add(const Part &p, uint32_t first, uint32_t bits) {
    scored += __popc(bits);
    if (p.accept.address) bits &= __ldg(&p.accept[first / 32]) >> first % 32;
    matched += __popc(bits);
  }
};

// Settles the documents whose bit is set, and clears those bits; of with_scores those of score 0 only, else
// all, with what they score.
__device__ __forceinline__ void settle_bits(const Desk &d, const Tile &t, uint32_t *bits, bool with_scores, Key threshold, Count *count) {
  for (uint32_t w = threadIdx.x; w < d.words; w += blockDim.x) {
    uint32_t word = bits[w], left = 0, of = 0;
    for (; word; word &= word - 1) {
      uint32_t bit = __ffs(word) - 1, i = 32 * w + bit;
      if (with_scores && d.scores[i]) continue;
      of |= 1u << bit;
      if (!settle(d, t, i, d.scores[i], threshold)) left |= 1u << bit;
    }
    if (count && of) count->add(*t.part, t.lo + 32 * w, of);
    bits[w] = left;
  }
}

// Settles the documents with a score, and clears the scores: four at a look, of which hardly any can enter.
__device__ __forceinline__ void settle_scores(const Desk &d, const Tile &t, Key threshold, Count *count) {
  uint4 *fours = reinterpret_cast<uint4 *>(d.scores);
  uint32_t need = static_cast<uint32_t>(threshold >> 32), docs = t.hi - t.lo;
  for (uint32_t i = threadIdx.x; 4 * i < docs; i += blockDim.x) {
    uint4 v = fours[i];
    if ((v.x | v.y | v.z | v.w) == 0) continue;
    if (count) count->add(*t.part, t.lo + 4 * i, (v.x != 0) | (v.y != 0) << 1 | (v.z != 0) << 2 | (v.w != 0) << 3);
    if (max(max(v.x, v.y), max(v.z, v.w)) + t.rank >= need) {
      if (v.x && settle(d, t, 4 * i, v.x, threshold)) v.x = 0;
      if (v.y && settle(d, t, 4 * i + 1, v.y, threshold)) v.y = 0;
      if (v.z && settle(d, t, 4 * i + 2, v.z, threshold)) v.z = 0;
      if (v.w && settle(d, t, 4 * i + 3, v.w, threshold)) v.w = 0;
      fours[i] = v;
    } else {
      fours[i] = make_uint4(0, 0, 0, 0);
    }
  }
}

// Makes room in the pool where it was too small; false when it was not. Documents that found no room have
// been left where they were.
__device__ __forceinline__ bool make_room(const Desk &d, const Tile &t, Key *threshold) {
  __syncthreads();
  bool full = *d.pool.count > d.pool.room;
  __syncthreads();
  if (!full) return false;
  cut(d.pool, d.pool.room, t.query->k);
  *threshold = max(*threshold, *d.pool.worst);
  __syncthreads();
  return true;
}

__device__ __forceinline__ void count_documents(Tally &n, const Count &count) {
  uint32_t matched = __reduce_add_sync(all_lanes, count.matched), scored = __reduce_add_sync(all_lanes, count.scored);
  if (threadIdx.x % 32 == 0 && scored) {
    atomicAdd(&n.matched, matched);
    atomicAdd(&n.scored, scored);
  }
}

// Adds what was counted in a tile to the query's state. All threads call it together.
__device__ __forceinline__ void leave_tile(const Tile &t, const Tally &n) {
  __syncthreads();
  if (threadIdx.x == 0) {
    if (n.matched) atomicAdd(&t.state->matched, static_cast<unsigned long long>(n.matched));
    if (n.scored) atomicAdd(&t.state->scored, static_cast<unsigned long long>(n.scored));
    if (n.decoded) atomicAdd(&t.state->decoded, static_cast<unsigned long long>(n.decoded));
    if (n.pruned) t.state->pruned = 1;
  }
}

// The end of a tile of OR: hands in the candidates, and leaves scores and the first bit set cleared. All
// threads call it together, after a barrier.
[[maybe_unused]] static __device__ __noinline__ void collect_or(const Batch &b, uint32_t turn) {
  Desk d = desk_of(b, turn);
  const Tile &t = *d.tile;
  Tally &n = *d.tally;
  Key threshold = threshold_of(*t.state);
  Count count{0, 0}, *first = &count;
  do {
    if (n.zeros) {
      settle_bits(d, t, d.bits, true, threshold, first);
      __syncthreads();
    }
    settle_scores(d, t, threshold, first);
    first = nullptr;
  } while (make_room(d, t, &threshold));
  count_documents(n, count);
  hand_in(d.pool, *t.query, *t.state);
  leave_tile(t, n);
}

// The end of a tile of AND: hands in the candidates among the documents of a bit set, which is cleared.
[[maybe_unused]] static __device__ __noinline__ void collect_and(const Batch &b, uint32_t turn, uint32_t set) {
  Desk d = desk_of(b, turn);
  const Tile &t = *d.tile;
  Tally &n = *d.tally;
  uint32_t *bits = d.bits + set * d.words;
  Key threshold = threshold_of(*t.state);
  Count count{0, 0}, *first = &count;
  do {
    settle_bits(d, t, bits, false, threshold, first);
    first = nullptr;
  } while (make_room(d, t, &threshold));
  count_documents(n, count);
  hand_in(d.pool, *t.query, *t.state);
  leave_tile(t, n);
}
