// OR of flat lists, tile by tile, where most of a tile has to be looked at. The warps of a block share out the postings of a tile,
// in chunks of 128 that are counted through all of its lists, and add in shared memory, without a barrier between lists. Whoever
// lifts a document over the threshold makes it a candidate: so nobody has to look through the scores, but to clear them.
//
// What an addition found there before also tells how many documents match: those found at 0.
//
// A tile has 64 KB of scores, so that three blocks are on an H200's multiprocessor, too few warps to hide every read. So each warp
// has several chunks on their way, of this tile and the next, and does nothing else than add: one warp more, the scout (scout.cuh),
// finds out what the tiles to come are about and leaves it in shared memory, a job for each (job.cuh).
//
// Instructions are what counts next. A chunk of which all words count takes 52 of sm_90's, its fetching included, that is 13 for a
// posting of each lane:
//   - What is rare, a candidate or a posting that adds nothing, is looked for once a chunk.
//   - The compiler knows of all branches there that no lanes part over them, since what they depend on stems from the number of the
//     warp and from shared memory. One that it did not know of, or a function that is called, would cost it that knowledge
//     for the whole loop: then there are points of reconvergence everywhere.
//   - Nothing touches the words of a chunk on its way, which would mean to wait for them: slots never move.
#include "add_shared.cuh"
#include "found.cuh"
#include "scout.cuh"

// A chunk on its way: four consecutive postings of each lane.
struct Slot {
  uint4 words;     // where none of them counts, anything
  uint32_t valid;  // bit j is set when word j counts
  uint32_t weight;
  uint32_t whole;  // not 0 when all words of all lanes count: the same for all, so that they do not part over it
};

// Where an adder is in its chunks. Those in which the same words count are a run.
struct Cursor {
  uint32_t warp, job;
  uint32_t run, more;  // chunks of the run, and behind it of the tile
  uint32_t list;
  Stretch left;        // of the list behind the run; words may be below 0
  uint64_t at;         // address of the lane's words
  uint32_t weight, valid, whole;  // of the run, as in Slot
};

// Goes on to the next run. Of each tile there is at least one, if only of an empty chunk.
__device__ __forceinline__ void next_run(Cursor &c) {
  const FlatDesk &d = flat_desk();
  if (c.more == 0) {
    c.job = job_after(c.job);
    const Share &s = d.jobs[c.job].shares[c.warp];
    c.left = s.first;
    c.list = s.list;
    c.more = s.chunks;
  } else if (static_cast<int>(c.left.words) <= 0) {
    c.left = d.jobs[c.job].lists[++c.list];
  }
  uint32_t lane = threadIdx.x % 32, before = c.left.base & 15;
  c.left.base -= before;
  c.run = 1;
  c.weight = c.left.weight;
  c.valid = 15;
  c.at = c.left.base + 16 * lane;
  c.whole = before == 0 && static_cast<int>(c.left.words) >= static_cast<int>(chunk);
  if (c.whole) {
    c.run = min(c.left.words / chunk, c.more);
  } else {
    int left = static_cast<int>(c.left.words - 4 * lane);
    c.valid = (1u << min(max(left, 0), 4)) - 1;
    if (lane == 0) c.valid &= ~0u << before;
    if (left <= 0) c.at = c.left.base;
  }
  c.more -= c.run;
  c.left.words -= chunk * c.run;
  c.left.base += 4 * chunk * c.run;
}

// Asks for the next chunk.
__device__ __forceinline__ void fetch(Cursor &c, Slot &s) {
  if (c.run == 0) next_run(c);
  c.run--;
  s.valid = c.valid;
  s.weight = c.weight;
  s.whole = c.whole;
  s.words = __ldg(GLOBAL(const uint4, c.at));
  c.at += 4 * chunk;
}

// The tile at hand, for an adder.
struct Tile {
  uint32_t job, turn;
  uint32_t chunks;  // of the warp, that are not added yet, if only an empty one
  uint32_t look;
  uint32_t base;  // address in shared memory where the score of document 0 modulo 65,536 would be
};

__device__ __forceinline__ Tile tile_of(uint32_t tile_shift, uint32_t job, uint32_t warp, uint32_t turn) {
  const Job &s = flat_desk().jobs[job];
  return Tile{job, turn, s.shares[warp].chunks, s.look, address_of(scores()) - 4 * ((s.tile << tile_shift) & 65535)};
}

// Looks closer at a posting that was added.
__device__ __forceinline__ void look_at(const Batch &b, const Tile &t, uint32_t word, uint32_t old, uint32_t add, Found *n) {
  FlatDesk &d = flat_desk();
  const Job &s = d.jobs[t.job];
  uint32_t i = word & ((1u << b.tile_shift) - 1);
  if (s.need - 1 - old < add) {  // old < need <= old + add
    uint32_t at = atomicAdd(&d.seen[t.turn].count, 1u);
    if (at < candidates_most) d.candidates[at] = static_cast<uint16_t>(i);
  }
  if (old != 0) return;
  if (add == 0) {
    n->again++;  // hand_in_tile counts it, once, if nothing else is added
    atomicOr(&zeros_of(b.tile_shift)[i / 32], 1u << i % 32);
    d.seen[t.turn].zeros = 1;
  } else if (accepts(b.parts[s.part], (s.tile << b.tile_shift) + i)) {
    n->accepted++;
  }
}

// Looks closer at a chunk that was added, row by row where there is something to be seen. A warp calls it together.
__device__ __forceinline__ void look_closer(const Batch &b, const Tile &t, uint32_t valid, uint4 word, uint4 add, uint4 old, Found *n) {
  const Job &s = flat_desk().jobs[t.job];
  uint32_t mine = 0, need = s.need, careful = s.careful;
  mine |= (need - 1 - old.x < add.x || (old.x == 0 && (careful || add.x == 0))) << 0;
  mine |= (need - 1 - old.y < add.y || (old.y == 0 && (careful || add.y == 0))) << 1;
  mine |= (need - 1 - old.z < add.z || (old.z == 0 && (careful || add.z == 0))) << 2;
  mine |= (need - 1 - old.w < add.w || (old.w == 0 && (careful || add.w == 0))) << 3;
  mine &= valid;
  for (uint32_t rows = __reduce_or_sync(all_lanes, mine); rows; rows &= rows - 1) {
    uint32_t row = rows & -rows;
    if (!(mine & row)) continue;
    bool low = row < 4, even = row == 1 || row == 4;
    look_at(b, t, low ? (even ? word.x : word.y) : (even ? word.z : word.w), low ? (even ? old.x : old.y) : (even ? old.z : old.w),
            low ? (even ? add.x : add.y) : (even ? add.z : add.w), n);
  }
}

// Adds a posting, unless on is 0: then it adds nothing to a word of the lane's that nobody reads. It returns what was there before.
__device__ __forceinline__ uint32_t add_posting(const Tile &t, uint32_t weight, uint32_t word, uint32_t on, uint32_t *add) {
  *add = __umulhi(weight, on ? word & 0xffff0000 : 0);
  return add_shared(__dp2a_lo(word, on ? 4u : 0u, on ? t.base : address_of(&flat_desk().aside[threadIdx.x % 32])), *add);
}

// Adds the postings of a chunk.
__device__ __forceinline__ void add_chunk(const Batch &b, const Tile &t, const Slot &s, Found *n) {
  uint4 word = s.words, add, old;
  if (s.whole) {
    old.x = add_posting(t, s.weight, word.x, 1, &add.x);
    old.y = add_posting(t, s.weight, word.y, 1, &add.y);
    old.z = add_posting(t, s.weight, word.z, 1, &add.z);
    old.w = add_posting(t, s.weight, word.w, 1, &add.w);
  } else {
    old.x = add_posting(t, s.weight, word.x, s.valid & 1, &add.x);
    old.y = add_posting(t, s.weight, word.y, s.valid & 2, &add.y);
    old.z = add_posting(t, s.weight, word.z, s.valid & 4, &add.z);
    old.w = add_posting(t, s.weight, word.w, s.valid & 8, &add.w);
  }
  n->again += one_if(old.x) + one_if(old.y);
  n->again += one_if(old.z) + one_if(old.w);
  uint32_t highest = max(max(max(old.x + add.x, old.y + add.y), old.z + add.z), old.w + add.w);
  uint32_t lowest = min(min(word.x, word.y), min(word.z, word.w));  // below 65,536: an impact of 0
  if (__any_sync(all_lanes, highest >= t.look || lowest <= 65535)) look_closer(b, t, s.valid, word, add, old, n);
}

// Clears the scores.
__device__ __forceinline__ void clear_scores(uint32_t tile_shift) {
  const uint32_t threads = 32 * adders, fours = 1 << 14 >> 2, each = fours / threads;
  if (tile_shift == 14) {
    uint4 *from = reinterpret_cast<uint4 *>(scores()) + threadIdx.x;
#pragma unroll
    for (uint32_t j = 0; j < each; j++) from[j * threads] = make_uint4(0, 0, 0, 0);
    if (fours % threads > threadIdx.x) from[each * threads] = make_uint4(0, 0, 0, 0);
  } else {
    for (uint32_t i = threadIdx.x; i < 1u << tile_shift; i += threads) scores()[i] = 0;
  }
}

__device__ __forceinline__ void clear_zeros(uint32_t tile_shift) {
  for (uint32_t i = threadIdx.x; i < max(1u, (1u << tile_shift) / 32); i += 32 * adders) zeros_of(tile_shift)[i] = 0;
}

// Leaves a tile, once all have added its postings, and goes on to the next; false when there is none. All adders call it together.
__device__ __forceinline__ bool leave(const Batch &b, uint32_t tile_shift, uint32_t warp, Tile &t, Found *n) {
  FlatDesk &d = flat_desk();
  const Job &s = d.jobs[t.job];
  uint32_t part = s.part;
  meet();
  Seen seen = d.seen[t.turn];
  if (seen.count | seen.zeros) {
    meet();  // the scout hands in
    if (seen.zeros) clear_zeros(tile_shift);
  }
  t = tile_of(tile_shift, job_after(t.job), warp, t.turn ^ 1);
  clear_scores(tile_shift);
  uint32_t next = d.jobs[t.job].part;
  if (next != part) {
    settle(b.parts[part], *s.state, *n);
    *n = Found{0, 0};
  }
  meet();
  return next != no_part;
}

// Adds the postings of all tiles, a chunk of each slot in turn, and asks meanwhile for those that follow. All adders call it together.
__device__ __forceinline__ void add_tiles(const Batch &b, uint32_t warp) {
  uint32_t tile_shift = b.tile_shift;
  Cursor c{};
  c.warp = warp;
  c.job = job_count - 1;  // before the first
  Slot s[slots];
#pragma unroll
  for (uint32_t i = 0; i < slots; i++) fetch(c, s[i]);
  Tile t = tile_of(tile_shift, 0, warp, 0);
  Found n{0, 0};
  while (t.chunks > 0) {
#pragma unroll
    for (uint32_t i = 0; i < slots; i++) {
      add_chunk(b, t, s[i], &n);
      if (--t.chunks == 0 && !leave(b, tile_shift, warp, t, &n)) return;
      fetch(c, s[i]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(flat_threads, flat_blocks) or_flat(const Batch *batch) {
  const Batch &b = *batch;
  const Item *items = b.flat_queue.get()->items;
  FlatDesk &d = flat_desk();
  // The compiler knows then that it is the same for all lanes, and so what depends on it.
  uint32_t warp = __reduce_max_sync(all_lanes, threadIdx.x / 32);
  uint32_t size = b.flat_queue.get()->size, lane = threadIdx.x % 32;
  if (flat_run * blockIdx.x >= size) return;
  Scout s{};
  s.part = no_part;
  // The last job that is there from the beginning is the scout's, since that part is what it goes on with.
  uint32_t job = warp == adders ? job_count - 2 : warp;
  if (job < job_count - 2 || warp == adders) {
    fill(b, s, item_of(items, size, job), Interval{0, 0}, d.jobs[job]);
    if (lane == 0 && job == 0) set_need(d.jobs[0], threshold_for(d.jobs[0]));
    if (warp != adders) account(s);
  }
  if (warp < adders) {
    clear_scores(b.tile_shift);
    clear_zeros(b.tile_shift);
  } else {
    d.aside[lane] = 0;
    if (lane == 0) d.seen[0] = d.seen[1] = Seen{0, 0};
  }
  meet();
  if (warp == adders) {
    scout_tiles(b, s, items, size);
  } else {
    add_tiles(b, warp);
  }
}
