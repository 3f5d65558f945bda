// Huang et al. (2017): a thread block for each query, and for each of its P threads a range of documents,
// which it goes through on its own, document at a time, by AND, OR, WAND or block-max WAND, with its own
// k best in a heap; then the heaps are merged. It is here as the paper has it, to be measured against
// tiles: ranges have equal numbers of documents, not of postings, and all wait for the slowest; and
// neighbouring threads read far apart.
//
// P is the number of threads of a block. What a thread keeps of its lists (range_terms cursors) lies in
// local memory, its heap in Batch.heaps.
#include "../kernels/cursor.cuh"
#include "../kernels/pool.cuh"

const uint32_t range_terms = 16;
// Batch.range_algorithm: WAND is what is neither.
const uint32_t range_or = 0, range_bmw = 2;

// What a thread works on.
struct Worker {
  const Part *part;
  const Query *query;
  Cursor cursors[range_terms];
  uint8_t order[range_terms];  // of cursors, by document, for WAND
  uint32_t lo, hi;
  uint32_t rank;  // bound on what the rank adds in the range
  Key *heap;      // the worst key first
  uint32_t held;
  Key floor;      // keys below it are not wanted
  uint32_t matched, scored, decoded;
  bool pruned;
};

// Keeps the k best keys: a binary heap.
static __device__ void keep(Worker &w, Key key) {
  uint32_t k = w.query->k, i;
  if (w.held < k) {
    for (i = w.held++; i > 0 && w.heap[(i - 1) / 2] > key; i = (i - 1) / 2) w.heap[i] = w.heap[(i - 1) / 2];
  } else {
    for (i = 0; 2 * i + 1 < k;) {
      uint32_t child = 2 * i + 1;
      if (child + 1 < k && w.heap[child + 1] < w.heap[child]) child++;
      if (w.heap[child] >= key) break;
      w.heap[i] = w.heap[child];
      i = child;
    }
  }
  w.heap[i] = key;
  if (w.held == k) w.floor = max(w.floor, w.heap[0] + 1);
}

__device__ __forceinline__ void offer(Worker &w, uint32_t doc, uint32_t score) {
  w.scored++;
  if (!accepts(*w.part, doc)) return;
  w.matched++;
  Key key = key_of(score + rank_score(*w.part, w.query->rank_weight, doc), w.part->base + doc);
  if (key >= w.floor && key < w.query->after) keep(w, key);
}

__device__ __forceinline__ uint32_t score_at(const Worker &w, uint32_t t) {
  const Cursor &c = w.cursors[t];
  return score_of(w.part->terms[t], c.doc, freq_at(c.k, c.i));
}

__device__ __forceinline__ bool any_gone(const Worker &w) {
  bool gone = false;
  for (uint32_t t = 0; t < w.part->term_count; t++) gone |= w.cursors[t].gone;
  return gone;
}

// The next three go from document doc on and return where they stopped: w.hi, or before it where an
// extent is missing.

static __device__ uint32_t go_or(Worker &w, uint32_t doc) {
  for (;;) {
    uint32_t least = list_end, score = 0;
    for (uint32_t t = 0; t < w.part->term_count; t++) least = min(least, w.cursors[t].doc);
    if (least >= w.hi) return w.hi;
    if (any_gone(w)) return max(doc, least);
    for (uint32_t t = 0; t < w.part->term_count; t++) {
      if (w.cursors[t].doc != least) continue;
      score += score_at(w, t);
      next(w.cursors[t]);
    }
    offer(w, least, score);
    doc = least + 1;
  }
}

static __device__ uint32_t go_and(const Batch &b, Worker &w, uint32_t doc) {
  for (;;) {
    if (any_gone(w)) return doc;
    uint32_t furthest = 0;
    bool same = true;
    for (uint32_t t = 0; t < w.part->term_count; t++) {
      furthest = max(furthest, w.cursors[t].doc);
      same &= w.cursors[t].doc == w.cursors[0].doc;
    }
    if (furthest >= w.hi) return w.hi;
    if (same) {
      uint32_t score = 0;
      for (uint32_t t = 0; t < w.part->term_count; t++) score += score_at(w, t);
      offer(w, furthest, score);
      doc = ++furthest;
    }
    for (uint32_t t = 0; t < w.part->term_count; t++) seek_doc(b, w.cursors[t], furthest);
  }
}

// Puts the cursors in the order of their documents.
__device__ __forceinline__ void sort_cursors(Worker &w) {
  for (uint32_t i = 1; i < w.part->term_count; i++) {
    uint8_t moving = w.order[i];
    uint32_t at = i;
    for (; at > 0 && w.cursors[w.order[at - 1]].doc > w.cursors[moving].doc; at--) w.order[at] = w.order[at - 1];
    w.order[at] = moving;
  }
}

// With bounds of blocks: whether those that can hold doc suffice, and if not, where the first ends.
__device__ __forceinline__ bool blocks_suffice(const Batch &b, const Worker &w, uint32_t lists, uint32_t doc, uint32_t *behind) {
  uint32_t sum = w.rank;
  *behind = w.hi;
  for (uint32_t o = 0; o < lists; o++) {
    const Cursor &c = w.cursors[w.order[o]];
    uint32_t block = max(c.block, seek_block(*c.list, b.tile_shift, doc));
    if (block >= c.list->blocks) continue;
    sum += contribution(w.part->terms[w.order[o]].weight, bound_of(*c.list, block));
    *behind = min(*behind, last_of(*c.list, block) + 1);
  }
  return can_win(sum, w.part->base + doc, w.floor);
}

// WAND (Broder et al. 2003), and with bounds of blocks BMW (Ding and Suel 2011): the pivot is the first
// document that the lists up to it, by their bounds, can bring in.
static __device__ uint32_t go_wand(const Batch &b, Worker &w, uint32_t doc, bool by_blocks) {
  uint32_t n = w.part->term_count;
  for (uint32_t t = 0; t < n; t++) w.order[t] = t;
  for (;;) {
    if (any_gone(w)) return doc;
    sort_cursors(w);
    uint32_t sum = w.rank, p = 0;
    for (; p < n; p++) {
      const Term &term = w.part->terms[w.order[p]];
      if (w.cursors[w.order[p]].doc >= w.hi) break;
      sum += contribution(term.weight, term.list.get()->highest);
      if (can_win(sum, w.part->base + w.cursors[w.order[p]].doc, w.floor)) break;
      w.pruned = true;
    }
    if (p == n || w.cursors[w.order[p]].doc >= w.hi) return w.hi;
    uint32_t pivot = w.cursors[w.order[p]].doc, behind;
    while (p + 1 < n && w.cursors[w.order[p + 1]].doc == pivot) p++;
    doc = w.cursors[w.order[0]].doc;  // nothing before it is left
    if (by_blocks && !blocks_suffice(b, w, p + 1, pivot, &behind)) {
      if (p + 1 < n) behind = min(behind, w.cursors[w.order[p + 1]].doc);
      w.pruned = true;
      behind = max(behind, pivot + 1);
      for (uint32_t o = 0; o <= p; o++) seek_doc(b, w.cursors[w.order[o]], behind);
    } else if (doc < pivot) {
      for (uint32_t o = 0; o <= p; o++) seek_doc(b, w.cursors[w.order[o]], pivot);
    } else {
      uint32_t score = 0;
      for (uint32_t o = 0; o <= p; o++) {
        score += score_at(w, w.order[o]);
        next(w.cursors[w.order[o]]);
      }
      offer(w, pivot, score);
    }
  }
}

// Goes through the thread's range of a part.
static __device__ void go(const Batch &b, Worker &w, const Part &part, uint32_t part_index, bool all) {
  w.part = &part;
  uint32_t share = (part.docs + blockDim.x - 1) / blockDim.x;
  w.lo = min(part.docs, threadIdx.x * share);
  w.hi = min(part.docs, w.lo + share);
  if (w.lo == w.hi) return;
  w.rank = rank_bound(part, w.query->rank_weight, w.lo, w.hi);
  for (uint32_t t = 0; t < part.term_count; t++) open(b, w.cursors[t], part.terms[t].list, w.lo);
  uint32_t stopped;
  if (all) {
    stopped = go_and(b, w, w.lo);
  } else if (b.range_algorithm == range_or || w.query->bounds == no_bounds) {
    stopped = go_or(w, w.lo);
  } else {
    stopped = go_wand(b, w, w.lo, b.range_algorithm == range_bmw);
  }
  for (uint32_t t = 0; t < part.term_count; t++) w.decoded += w.cursors[t].opened;
  if (stopped < w.hi) {
    uint32_t at = atomicAdd(b.unresolved_count.get(), 1u);
    if (at < b.unresolved_room) b.unresolved[at] = Range{part_index, stopped, w.hi, ~0u >> 1};
    atomicAdd(&b.states[part.query].unresolved, 1u);
  }
}

// Merges the heaps of all threads.
__device__ __forceinline__ void merge(const Pool &pool, const Worker &w, State &s) {
  for (uint32_t i = 0; __syncthreads_or(i < w.held); i++) {
    uint32_t n = *pool.count;
    __syncthreads();
    if (n + blockDim.x > pool.room) {
      cut(pool, n, w.query->k);
    }
    if (i < w.held) add(pool, w.heap[i]);
    __syncthreads();
  }
  hand_in(pool, *w.query, s);
}

extern "C" __global__ void __launch_bounds__(512) ranges(const Batch *batch) {
  const Batch b = *batch;
  DYNAMIC_SHARED(Key, keys);
  __shared__ uint32_t count, bins[pool_bins], taken;
  __shared__ Key worst;
  changed_by_others(count, bins, taken, worst);
  Pool pool{keys, b.pool_room, &count, bins, &worst};
  Worker w;
  w.heap = &b.heaps[static_cast<uint64_t>(blockIdx.x * blockDim.x + threadIdx.x) * b.heap_room];
  if (threadIdx.x == 0) count = 0;
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) taken = atomicAdd(&b.counters[take_query], 1u);
    __syncthreads();
    if (taken >= b.query_count) return;
    const Query &q = b.queries[taken];
    State &s = b.states[taken];
    w.query = &q;
    w.held = 0;
    w.floor = s.threshold;
    w.matched = w.scored = w.decoded = 0;
    w.pruned = false;
    if (!s.answered) {
      for (uint32_t p = 0; p < q.part_count; p++) {
        bool all = q.parts[p].way != by_or_tiles;
        if (all == (b.and_pass != 0)) go(b, w, q.parts[p], &q.parts[p] - b.parts.get(), all);
      }
    }
    if (w.matched) atomicAdd(&s.matched, static_cast<unsigned long long>(w.matched));
    if (w.scored) atomicAdd(&s.scored, static_cast<unsigned long long>(w.scored));
    if (w.decoded) atomicAdd(&s.decoded, static_cast<unsigned long long>(w.decoded));
    if (w.pruned) s.pruned = 1;
    merge(pool, w, s);
  }
}
