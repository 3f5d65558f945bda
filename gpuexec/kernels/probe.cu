// AND of lists in windows, by probing. Of the shortest list a warp reads the postings in strips that are alive, one a lane, and keeps the documents in cells
// that are alive. It looks these up in the other lists, one list after the other, as long as some are left.
//
// A strip that is alive has a handful of postings of the shortest list, and a tile two such strips. strips.cu goes strip by strip through all lists, which
// leaves most lanes without a posting, and reads postings by the dozen for each that counts. Here lanes are filled up at every step, whatever tiles the work
// is of, since a warp takes a run of items, which are of one part mostly:
//
//	items     a run of the queue, one a lane
//	strips    those of the items, one a lane: their cells are bounded
//	postings  of the shortest list in strips with a cell alive, one a lane
//	pending   the documents in cells that are alive, in shared memory: when there are 32 they are looked up
//
// Each step reads what the one before has found: of a warp's time two thirds are waits for memory, spread over all of these steps. No scores are kept in shared
// memory, so that there are more warps to wait side by side.
#include "offer.cuh"
#include "probe.cuh"
#include "strip.cuh"

// Threads of a block, and blocks of a multiprocessor that the compiler shall leave registers for: 64 a thread.
const uint32_t probe_threads = 128, probe_blocks = 8;

// Consecutive items that a warp takes at most at a time (take_run), at most 32. Where a query has most strips of its tiles alive, an item takes a hundred
// times as long as others: so few items go one by one, though a run takes a third of the instructions (counted). With 4 runs of a warp instead of 32,
// AND in batches of 2,048 over 25 million documents had 109 thousand queries a second instead of 128 (an H100).
const uint32_t probe_run = 16, probe_runs_of_warp = 32;

// A document that all lists so far have.
struct __align__(8) Pending {
  uint32_t doc;  // of the window
  uint32_t score;
};

// Room for them: less than 32 that are left, and 32 more.
const uint32_t pending_room = 64;

// What a warp has in shared memory.
struct Probing {
  Key keys[insert_room];
  Pending pending[pending_room];
};

static_assert(sizeof(Probing) == 64 * (8 + 8), "differs from options.go");

__device__ __forceinline__ Probing &probing() {
  DYNAMIC_SHARED(Probing, all);
  return all[threadIdx.x / 32];
}

// The last lane whose number is not above k. first are sums of what lanes before have, so that it is the lane that has element k. A warp calls it together.
__device__ __forceinline__ uint32_t owner_of(uint32_t first, uint32_t k) {
  uint32_t owner = 0;
#pragma unroll
  for (uint32_t step = 16; step > 0; step /= 2) {
    if (__shfl_sync(all_lanes, first, owner + step) <= k) owner += step;
  }
  return owner;
}

// A part at hand, the same for all lanes but for of.
struct Leg {
  const Part *part;
  Source of;
  Key threshold;
  uint32_t held;  // keys
};

// Where the postings of a list are that may be of a document: of its strip, or where the directory is by tiles of its tile. A warp calls it together.
__device__ __forceinline__ Interval postings_near(const Source &of, uint32_t list, uint32_t strip) {
  const uint32_t *entry = of_lane(of.first, list) + (strip >> __shfl_sync(all_lanes, of.shift, list));
  return Interval{__ldg(entry), __ldg(entry + 1)};
}

// Looks up the last of those that are pending, 32 at most, which stay no longer. It returns how many are left. A warp calls it together.
__device__ __forceinline__ uint32_t look_up(const Batch &b, Leg &l, uint32_t tile_shift, uint32_t pending, Counts *n) {
  uint32_t lane = threadIdx.x % 32, left = pending > 32 ? pending - 32 : 0, lists = l.part->term_count, shift = tile_shift - 5, mask = (1u << tile_shift) - 1;
  bool there = left + lane < pending;
  __syncwarp();
  Pending p = probing().pending[there ? left + lane : left];
  __syncwarp();
  uint32_t x = p.doc & mask, strip = p.doc >> shift;
  Interval next = postings_near(l.of, min(1u, lists - 1), strip);
  for (uint32_t list = 1; list < lists; list++) {
    Interval in = next;
    next = postings_near(l.of, min(list + 1, lists - 1), strip);  // on its way meanwhile
    const uint32_t *flat = of_lane(l.of.flat, list);
    uint32_t weight = __shfl_sync(all_lanes, l.of.weight, list), wide = __shfl_sync(all_lanes, l.of.shift, list) ? tile_shift : shift;
    n->postings += __popc(__ballot_sync(all_lanes, there));
    if (there) {
      bool found = false;
      uint32_t about = (x & ((1u << wide) - 1)) * (in.to - in.from) >> wide;
      p.score += flat_contribution(weight, probe(flat, in, about, x, mask, &found));
      there = found;
    }
    if (!__any_sync(all_lanes, there)) return left;
  }
  l.held = offer_to(probing().keys, b, *l.part, &l.threshold, l.held, there, p.doc, p.score, n);
  return left;
}

// A strip of each lane.
struct Strips {
  uint32_t tile;
  uint32_t wanted;  // strips of the tile, a bit each
  int first;        // lane of the first of them, or where it would be
  uint32_t alive;   // cells that can win, a bit each; none of a lane without a strip
};

// Whether the lane is the first of those with a cell alive that are of its tile. A warp calls it together.
__device__ __forceinline__ bool leads_tile(const Strips &s) {
  uint32_t before = __ballot_sync(all_lanes, s.alive != 0) & ((1u << threadIdx.x % 32) - 1);
  uint32_t tile = __shfl_sync(all_lanes, s.tile, before ? 31 - __clz(before) : 0);
  return s.alive && (before == 0 || tile != s.tile);
}

// Reads the postings of the shortest list, which are those of the lane's strip or tile, and looks up those in cells that are alive, by 32, or all if no more
// follow. It returns how many documents are pending then. A warp calls it together.
__device__ __forceinline__ uint32_t take_postings(const Batch &b, Leg &l, uint32_t tile_shift, const Strips &s, const Interval &in, bool more, uint32_t pending,
                                                  Counts *n) {
  uint32_t lane = threadIdx.x % 32, shift = tile_shift - 5, mask = (1u << tile_shift) - 1;
  bool takes = __shfl_sync(all_lanes, l.of.shift, 0) ? leads_tile(s) : s.alive != 0;
  uint32_t count = takes ? in.to - in.from : 0, first = sum_before(count, lane), all = __reduce_add_sync(all_lanes, count);
  const uint32_t *flat = of_lane(l.of.flat, 0);
  uint32_t weight = __shfl_sync(all_lanes, l.of.weight, 0), at = in.from - first;
  n->postings += all;
  uint32_t base = 0;
  do {
    if (base < all) {
      uint32_t k = min(base + lane, all - 1), owner = owner_of(first, k), word = __ldg(flat + (__shfl_sync(all_lanes, at, owner) + k));
      uint32_t x = word & mask, strip = x >> shift, tile = __shfl_sync(all_lanes, s.tile, owner), wanted = __shfl_sync(all_lanes, s.wanted, owner);
      int of_strip = __shfl_sync(all_lanes, s.first, owner) + __popc(wanted & ((1u << strip) - 1));
      bool there = base + lane < all && (wanted >> strip & 1) && static_cast<uint32_t>(of_strip) < 32;
      there = __shfl_sync(all_lanes, s.alive, of_strip & 31) >> (x >> (shift - 3) & (cells - 1)) & there;
      uint32_t votes = __ballot_sync(all_lanes, there);
      if (there) probing().pending[pending + __popc(votes & ((1u << lane) - 1))] = Pending{tile << tile_shift | x, flat_contribution(weight, word)};
      pending += __popc(votes);
      base += 32;
    }
    if (pending >= 32 || (!more && base >= all && pending)) pending = look_up(b, l, tile_shift, pending, n);
  } while (base < all || (!more && pending));
  return pending;
}

// Takes care of items of one part, those of lanes with strips alive. A warp calls it together.
__device__ __forceinline__ void take_items_of(const Batch &b, Leg &l, uint32_t tile_shift, uint32_t tile, uint32_t alive, Counts *n) {
  const Part &part = *l.part;
  const Query &q = b.queries[part.query];
  State &state = b.states[part.query];
  uint32_t lane = threadIdx.x % 32, shift = tile_shift - 5, count = __popc(alive), first = sum_before(count, lane), all = __reduce_add_sync(all_lanes, count);
  uint32_t pending = 0;
  l.threshold = common_threshold(state);
  l.held = 0;
  for (uint32_t base = 0; base < all; base += 32) {
    uint32_t k = min(base + lane, all - 1), owner = owner_of(first, k), begins = __shfl_sync(all_lanes, first, owner);
    Strips s{__shfl_sync(all_lanes, tile, owner), __shfl_sync(all_lanes, alive, owner), static_cast<int>(begins) - static_cast<int>(base), 0};
    bool there = base + lane < all;
    uint32_t strip = s.tile * strips + nth_bit(s.wanted, k - begins), lo = strip << shift;
    Interval in = postings_near(l.of, 0, strip);
    uint32_t rank = part.rank.address ? rank_bound(part, q.rank_weight, lo, min(part.docs, lo + (1u << shift))) : 0;
    Cells c = find_cells_by_levels<true>(part, l.of, strip, tile_shift, there, rank, q.bounds == no_bounds ? 0 : static_cast<uint32_t>(l.threshold >> 32));
    s.alive = c.alive;
    if (__any_sync(all_lanes, c.alive != c.matching) && lane == 0) state.pruned = 1;
    bool more = base + 32 < all;
    if (__any_sync(all_lanes, c.alive) || (!more && pending)) pending = take_postings(b, l, tile_shift, s, in, more, pending, n);
  }
  if (l.held) insert(q, state, probing().keys, l.held);
}

extern "C" __global__ void __launch_bounds__(probe_threads, probe_blocks) and_probe(const Batch *batch) {
  const Batch &b = *batch;
  uint32_t tile_shift = b.tile_shift, lane = threadIdx.x % 32, known = ~0u;
  Queue &queue = *b.strip_queue;
  Leg l{nullptr, {nullptr, nullptr, nullptr, nullptr, 0, 0}, 0, 0};
  Counts n{0, 0, 0};
  for (;;) {
    Run run = take_run(queue, probe_run, probe_runs_of_warp);
    if (run.count == 0) break;
    const Item &item = queue.items[run.from + min(lane, run.count - 1)];
    uint32_t index = item.part, tile = item.tile & ~strips_only, alive = item.alive;
    for (uint32_t rest = (2u << (run.count - 1)) - 1; rest;) {
      uint32_t its = __shfl_sync(all_lanes, index, __ffs(rest) - 1), group = __ballot_sync(all_lanes, index == its) & rest;
      rest &= ~group;
      const Part &part = b.parts[its];
      if (b.states[part.query].answered) continue;
      if (its != known) {
        if (known != ~0u) add_counts(b.states[b.parts[known].query], n.matched, n.scored, n.postings);
        n = Counts{0, 0, 0};
        known = its;
        l.part = &part;
        l.of = find_source(tile_shift, part);
      }
      take_items_of(b, l, tile_shift, tile, group >> lane & 1 ? alive : 0, &n);
    }
  }
  if (known != ~0u) add_counts(b.states[b.parts[known].query], n.matched, n.scored, n.postings);
}
