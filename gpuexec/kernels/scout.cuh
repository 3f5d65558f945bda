// The scout: a warp of a thread block of or_flat.cu or or_rounded.cu that finds out what the tiles to come are about, while the others add, and hands
// in what they have found. Most of finding out is waiting for memory, one read after the other.
#pragma once
#include "flat.cuh"
#include "insert.cuh"
#include "job.cuh"

// Consecutive tiles of the queue, which are of one part mostly, so that what is to be known of it is asked once.
const uint32_t flat_run = 8;

// The block's item number n, of size.
__device__ __forceinline__ Item item_of(const Item *items, uint32_t size, uint32_t n) {
  uint32_t run = n / flat_run * gridDim.x + blockIdx.x, runs = (size + flat_run - 1) / flat_run;
  uint32_t at = shuffled(run, runs) * flat_run + n % flat_run;
  return run < runs && at < size ? items[at] : Item{no_part, 0, 0};
}

// What a warp that fills jobs knows of a part, the same for all lanes, and of the lane's list.
struct Scout {
  uint32_t part;
  const Part *of;
  State *state;
  const uint32_t *postings, *first;  // null when the lane has no list, or it is not flat: then it has no posting in these tiles
  uint32_t each;                     // entries of first that a tile has
  uint32_t weight;
  uint32_t words, decoded;  // postings in the tiles so far, and blocks of 128
};

// Counts documents of the part as if no two postings were of one; adders take off those that were.
__device__ __forceinline__ void account(Scout &s) {
  if (threadIdx.x % 32 == 0 && s.words) {
    State *state = GLOBAL(State, reinterpret_cast<uintptr_t>(s.state));
    atomicAdd(&state->decoded, static_cast<unsigned long long>(s.decoded));
    atomicAdd(&state->scored, static_cast<unsigned long long>(s.words));
    if (s.of->accept.address == 0) atomicAdd(&state->matched, static_cast<unsigned long long>(s.words));
  }
  s.words = s.decoded = 0;
}

// Finds out about another part.
__device__ __forceinline__ void turn_to(const Batch &b, Scout &s, uint32_t part) {
  account(s);
  s.part = part;
  s.of = &b.parts[part];
  s.state = &b.states[s.of->query];
  s.postings = nullptr;
  uint32_t lane = threadIdx.x % 32;
  if (lane >= s.of->term_count || s.state->answered) return;
  const Term &term = s.of->terms[lane];
  const List &l = *term.list;
  s.postings = l.flat;
  s.first = l.flat_first;
  s.each = l.flat_shift == b.tile_shift ? 1 : strips;
  s.weight = term.weight;
}

// A share of one empty chunk, somewhere that can be read.
__device__ __forceinline__ Share empty_share(const Batch &b) {
  return Share{Stretch{(reinterpret_cast<uintptr_t>(&b) + 15) & ~uint64_t(15), 0, 0}, 0, 1, {0, 0}};
}

// Deals chunks out, of a list of each lane, or none; list is its number among those that are there. A lane makes a share. A warp calls it
// together.
__device__ __forceinline__ void deal(const Batch &b, Job &to, const Stretch &s, uint32_t list) {
  uint32_t lane = threadIdx.x % 32, chunks = (s.words + chunk - 1) / chunk, first = sum_before(chunks, lane);
  uint32_t all = __reduce_add_sync(all_lanes, chunks), each = (all + adders - 1) / adders, at = lane * each, owner = 0;
  for (uint32_t rest = __ballot_sync(all_lanes, chunks != 0); rest; rest &= rest - 1) {
    uint32_t i = __ffs(rest) - 1;
    if (at >= __shfl_sync(all_lanes, first, i)) owner = i;  // the last that begins there or before
  }
  uint32_t skip = at - __shfl_sync(all_lanes, first, owner);
  Stretch of{__shfl_sync(all_lanes, s.base, owner), __shfl_sync(all_lanes, s.words, owner), __shfl_sync(all_lanes, s.weight, owner)};
  list = __shfl_sync(all_lanes, list, owner);
  if (lane >= adders) return;
  if (at >= all) {
    to.shares[lane] = empty_share(b);
    return;
  }
  if (skip) of.base = (of.base & ~uint64_t(15)) + 4 * chunk * skip;
  of.words -= chunk * skip;
  to.shares[lane] = Share{of, list, min(each, all - at), {0, 0}};
}

// The postings of the lane's list in a tile of the scout's part.
__device__ __forceinline__ Interval postings_in(const Scout &s, uint32_t tile) {
  if (s.postings == nullptr) return Interval{0, 0};
  return Interval{__ldg(&s.first[tile * s.each]), __ldg(&s.first[(tile + 1) * s.each])};
}

// Fills a job, but for need and look. in are the postings of the tile if it is of the scout's part. A warp calls it together.
__device__ __forceinline__ void fill(const Batch &b, Scout &s, const Item &item, Interval in, Job &to) {
  uint32_t lane = threadIdx.x % 32;
  if (item.part == no_part) {
    if (lane == 0) to.part = no_part;
    if (lane < adders) to.shares[lane] = empty_share(b);
    return;
  }
  if (item.part != s.part) {
    turn_to(b, s, item.part);
    in = postings_in(s, item.tile);
  }
  uint32_t count = in.to - in.from, all = __reduce_add_sync(all_lanes, count);
  uint32_t votes = __ballot_sync(all_lanes, count != 0), light = __ballot_sync(all_lanes, count != 0 && s.weight <= 65535);
  uint32_t list = __popc(votes & ((1u << lane) - 1));
  uint64_t first = reinterpret_cast<uintptr_t>(s.postings) + 4 * static_cast<uint64_t>(in.from);
  uint32_t before = static_cast<uint32_t>(first) / 4 % 4;
  Stretch stretch{(first & ~uint64_t(15)) + before, count ? count + before : 0, s.weight};
  if (count) to.lists[list] = stretch;
  deal(b, to, stretch, list);
  s.words += all;
  s.decoded += (all + 127) / 128;
  if (lane != 0) return;
  uint32_t lo = item.tile << b.tile_shift;
  to.part = item.part;
  to.tile = item.tile;
  to.rank = 0;
  if (s.of->rank.address) to.rank = rank_bound(*s.of, b.queries[s.of->query].rank_weight, lo, min(s.of->docs, lo + (1u << b.tile_shift)));
  to.state.address = reinterpret_cast<uintptr_t>(s.state);
  to.careful = light || s.of->accept.address;
}

// The threshold for the documents of a job.
__device__ __forceinline__ Key threshold_for(const Job &s) { return s.part == no_part ? 0 : threshold_of(*GLOBAL(State, s.state.address)); }

// Says on a job from which score on a document may enter: at least 1, since those without one are looked at apart. A thread calls
// it that has filled it, or met those who have.
__device__ __forceinline__ void set_need(Job &s, Key threshold) {
  uint32_t need = static_cast<uint32_t>(threshold >> 32);
  s.need = s.part == no_part ? 1 : max(1u, need > s.rank ? need - s.rank : 0);
  s.look = s.part == no_part || s.careful ? 0 : s.need;
}

// Hands in a document of each lane, if it may enter. keys is where they are gathered. It returns how many keys there are then that were not handed in. threshold is
// the query's, and read again when it has risen for these: a read takes longer than all else here.
__device__ __forceinline__ uint32_t offer(Key *keys, const Part &part, const Query &q, State &s, Key *threshold, uint32_t held, bool there, uint32_t doc, uint32_t score) {
  Key key = 0;
  bool wants = there && accepts(part, doc);
  if (wants) {
    key = key_of(score + rank_score(part, q.rank_weight, doc), part.base + doc);
    wants = key >= *threshold && key < q.after;
  }
  if (!__any_sync(all_lanes, wants)) return held;
  held = keep_key(q, s, keys, held, wants, key);
  if (held == 0) *threshold = common_threshold(s);
  return held;
}

// Hands in the candidates of a tile: those told apart, or all documents that match. A warp calls it together.
[[maybe_unused]] static __device__ __noinline__ void hand_in_tile(const Batch &b, uint32_t job, uint32_t turn) {
  FlatDesk &d = flat_desk();
  const Part &part = b.parts[d.jobs[job].part];
  const Query &q = b.queries[part.query];
  State &s = b.states[part.query];
  uint32_t count = d.seen[turn].count, lane = threadIdx.x % 32, lo = d.jobs[job].tile << b.tile_shift, docs = 1u << b.tile_shift, held = 0;
  bool zeros = d.seen[turn].zeros != 0, all = zeros || count > candidates_most;
  uint32_t most = all ? docs : count, need = d.jobs[job].need, *zero = zeros_of(b.tile_shift);
  Key threshold = common_threshold(s);
  for (uint32_t base = 0; base < most; base += 32) {
    uint32_t at = base + lane, i = at, score = 0;
    bool there = at < most;
    if (there && !all) i = d.candidates[at];
    if (there) score = scores()[i];
    if (there && zeros && score == 0 && (zero[i / 32] >> i % 32 & 1)) {
      atomicAdd(&s.scored, 1ull);
      if (accepts(part, lo + i)) atomicAdd(&s.matched, 1ull);
    } else {
      there = score >= need;
    }
    if (__any_sync(all_lanes, there)) held = offer(d.keys, part, q, s, &threshold, held, there, lo + i, score);
  }
  if (held) insert(q, s, d.keys, held);
}

// Fills the jobs of all tiles but the first, which are there, ahead of those who add, and hands in what they find. A warp calls
// it together.
__device__ __forceinline__ void scout_tiles(const Batch &b, Scout &s, const Item *items, uint32_t size) {
  FlatDesk &d = flat_desk();
  Item upcoming = item_of(items, size, job_count - 1), after = item_of(items, size, job_count);
  Interval in{0, 0};
  if (upcoming.part == s.part && s.part != no_part) in = postings_in(s, upcoming.tile);
  uint32_t lane = threadIdx.x % 32, empty = job_count - 1, here = 0, turn = 0;
  for (uint32_t number = job_count + 1; d.jobs[here].part != no_part; number++) {
    uint32_t next = job_after(here);
    Key threshold = threshold_for(d.jobs[next]);  // as late as may be
    fill(b, s, upcoming, in, d.jobs[empty]);
    if (after.part == s.part) in = postings_in(s, after.tile);  // on its way until the next turn
    upcoming = after;
    after = item_of(items, size, number);
    if (lane == 0) {
      d.seen[turn ^ 1] = Seen{0, 0};
      set_need(d.jobs[next], threshold);
    }
    meet();
    if (d.seen[turn].count | d.seen[turn].zeros) {
      hand_in_tile(b, here, turn);
      meet();
    }
    meet();
    empty = here;
    here = next;
    turn ^= 1;
  }
  account(s);
}
