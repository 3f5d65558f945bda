// OR of flat lists, tile by tile, where most of a tile has to be looked at. The warps of a block share out the postings of a tile,
// in chunks of 128 that are numbered through all of its lists, and add in shared memory, without a barrier between lists. Whoever
// lifts a document over the threshold makes it a candidate: so nobody has to look through the scores, but to clear them.
//
// What an addition found there before also tells how many documents match: those found at 0.
//
// A tile has 64 KB of scores, so that three blocks are on an H200's multiprocessor, too few warps to hide every read. So each warp
// has several chunks on their way, of this tile and the next, and does nothing else than add: one warp more, the scout,
// finds out what the tiles to come are about and leaves it in shared memory, a sheet for each.
//
// Instructions are what counts next. A row of a chunk, that is one posting of each lane, takes eight and a half, and no
// branch: what is rare, a candidate or a posting that adds nothing, is looked for once a chunk, and only then row by row.
#include "add_shared.cuh"
#include "flat.cuh"
#include "insert.cuh"

// Warps that add, and how many chunks each has on its way. With eight, clearing a tile of 16,384 documents is 16 stores.
const uint32_t adders = 8, slots = 3;

// Threads of a block: the last warp is the scout.
const uint32_t flat_threads = 32 * (adders + 1), flat_blocks = 3;

// Postings of a chunk, four of each lane.
const uint32_t chunk = 128;

// Candidates of a tile that are told apart; if there are more, all of its documents are looked at.
const uint32_t candidates_most = 1024;

// The postings of a list in a tile, or the rest of them. Chunks begin where 16 bytes do, so that the first may have up to three words
// before the list's.
struct __align__(16) Stretch {
  uint64_t base;   // address of the first chunk, plus how many of its words are not the list's
  uint32_t words;  // from there to the end
  uint32_t weight;
};

// The chunks that an adder has of a tile, consecutive ones; an empty one when there are too few.
struct __align__(16) Share {
  Stretch first;
  uint32_t list;  // that of the first
  uint32_t chunks;
  uint32_t unused[2];
};

// What a tile is about.
struct __align__(16) Sheet {
  uint32_t part;  // no_part when there is no further tile
  uint32_t tile;
  uint32_t need;  // the score from which on a document is a candidate, not 0
  uint32_t look;  // a chunk is looked at row by row when it lifted a document to this score: need, or 0 for always
  uint32_t rank;  // what the rank adds at most
  uint32_t careful;  // not 0 when some documents may not be returned, or contributions may be 0 though impacts are not
  Pointer<State> state;
  Share shares[adders];
  Stretch lists[32];
};

const uint32_t no_part = ~0u;

// Sheets in use: that of the tile at hand, those of the chunks on their way, of as many tiles at most; and one that the scout fills.
const uint32_t sheet_count = slots + 1;

// What has to be handed in of a tile.
struct __align__(8) Seen {
  uint32_t count;  // of candidates
  uint32_t zeros;  // not 0 when a posting added nothing
};

// What lies first in the shared memory of a block.
struct FlatDesk {
  Key keys[insert_room];
  Sheet sheets[sheet_count];
  Seen seen[2];        // in this tile and the next
  uint32_t aside[32];  // stays 0
  uint16_t candidates[candidates_most];
};

static_assert(sizeof(FlatDesk) == 5904, "differs from options.go");

__device__ __forceinline__ FlatDesk &flat_desk() {
  DYNAMIC_SHARED(FlatDesk, t);
  return *t;
}
__device__ __forceinline__ uint32_t *scores() { return reinterpret_cast<uint32_t *>(&flat_desk() + 1); }
// Documents that match with a score of 0, a bit each.
__device__ __forceinline__ uint32_t *zeros_of(uint32_t tile_shift) { return scores() + (1u << tile_shift); }

__device__ __forceinline__ uint32_t sheet_after(uint32_t i) { return i + 1 == sheet_count ? 0 : i + 1; }

// A barrier of all threads, those of the scout too, who come to it from elsewhere.
__device__ __forceinline__ void meet() { __syncthreads(); }

// Consecutive tiles of the queue, which are of one part mostly, so that what is to be known of it is asked once.
const uint32_t flat_run = 8;

// Where in the queue the block's tile number n is.
__device__ __forceinline__ uint32_t place_of(uint32_t n) { return (n / flat_run * gridDim.x + blockIdx.x) * flat_run + n % flat_run; }

__device__ __forceinline__ Item item_of(const Item *items, uint32_t size, uint32_t n) {
  uint32_t at = place_of(n);
  return at < size ? items[at] : Item{no_part, 0, 0};
}

// What a warp that fills sheets knows of a part, the same for all lanes, and of the lane's list.
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

// Deals chunks out, of a list of each lane, or none. A warp calls it together.
__device__ __forceinline__ void deal(const Batch &b, Sheet &to, const Stretch &s, uint32_t list) {
  uint32_t lane = threadIdx.x % 32, chunks = (s.words + chunk - 1) / chunk, first = sum_before(chunks, lane);
  uint32_t all = __reduce_add_sync(all_lanes, chunks), each = (all + adders - 1) / adders;
  for (uint32_t i = 0; i < adders; i++) {
    uint32_t at = i * each, skip = at - first;
    if (skip < chunks) {
      uint64_t base = skip ? (s.base & ~uint64_t(15)) + 4 * chunk * skip : s.base;
      to.shares[i] = Share{Stretch{base, s.words - chunk * skip, s.weight}, list, min(each, all - at), {0, 0}};
    }
    if (at >= all && lane == i) to.shares[i] = empty_share(b);
  }
}

// Fills a sheet, but for need and look. A warp calls it together.
__device__ __forceinline__ void fill(const Batch &b, Scout &s, const Item &item, Sheet &to) {
  uint32_t lane = threadIdx.x % 32;
  if (item.part == no_part) {
    if (lane == 0) to.part = no_part;
    if (lane < adders) to.shares[lane] = empty_share(b);
    return;
  }
  if (item.part != s.part) turn_to(b, s, item.part);
  Interval in{0, 0};
  if (s.postings) in = Interval{__ldg(&s.first[item.tile * s.each]), __ldg(&s.first[(item.tile + 1) * s.each])};
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

// The threshold for the documents of a sheet.
__device__ __forceinline__ Key threshold_for(const Sheet &s) { return s.part == no_part ? 0 : threshold_of(*GLOBAL(State, s.state.address)); }

// Says on a sheet from which score on a document may enter: at least 1, since those without one are looked at apart. A thread calls
// it that has filled it, or met those who have.
__device__ __forceinline__ void set_need(Sheet &s, Key threshold) {
  uint32_t need = static_cast<uint32_t>(threshold >> 32);
  s.need = s.part == no_part ? 1 : max(1u, need > s.rank ? need - s.rank : 0);
  s.look = s.part == no_part || s.careful ? 0 : s.need;
}

// A chunk on its way: four consecutive postings of each lane.
struct Slot {
  uint4 words;     // where none of them counts, anything
  uint32_t valid;  // bit j is set when word j counts
  uint32_t weight;
  uint32_t whole;  // not 0 when all words of all lanes count: the same for all, so that they do not part over it
};

// Where an adder is in its chunks. Those in which the same words count are a run.
struct Cursor {
  uint32_t warp, sheet;
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
    c.sheet = sheet_after(c.sheet);
    const Share &s = d.sheets[c.sheet].shares[c.warp];
    c.left = s.first;
    c.list = s.list;
    c.more = s.chunks;
  } else if (static_cast<int>(c.left.words) <= 0) {
    c.left = d.sheets[c.sheet].lists[++c.list];
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
  uint32_t sheet, turn;
  uint32_t chunks;  // of the warp, that are not added yet, if only an empty one
  uint32_t look;
  uint32_t base;  // address in shared memory where the score of document 0 modulo 65,536 would be
};

__device__ __forceinline__ Tile tile_of(uint32_t tile_shift, uint32_t sheet, uint32_t warp, uint32_t turn) {
  const Sheet &s = flat_desk().sheets[sheet];
  return Tile{sheet, turn, s.shares[warp].chunks, s.look, address_of(scores()) - 4 * ((s.tile << tile_shift) & 65535)};
}

// What a thread counts in a part: postings whose document had a score, and, where that is not all others, documents that may
// be returned.
struct Found {
  uint32_t again, accepted;
};

// Looks closer at a posting that was added.
__device__ __forceinline__ void look_at(const Batch &b, const Tile &t, uint32_t word, uint32_t old, uint32_t add, Found *n) {
  FlatDesk &d = flat_desk();
  const Sheet &s = d.sheets[t.sheet];
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
  const Sheet &s = flat_desk().sheets[t.sheet];
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
  return add_shared(__dp2a_lo(word, on ? 4 : 0, on ? t.base : address_of(&flat_desk().aside[threadIdx.x % 32])), *add);
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

// Counts what was found in a part. A warp calls it together.
__device__ __forceinline__ void settle(const Part &part, State &s, Found n) {
  uint32_t again = __reduce_add_sync(all_lanes, n.again), accepted = __reduce_add_sync(all_lanes, n.accepted);
  if (threadIdx.x % 32 != 0) return;
  unsigned long long less = -static_cast<unsigned long long>(again), matched = part.accept.address ? accepted : less;
  State *state = GLOBAL(State, reinterpret_cast<uintptr_t>(&s));
  if (less) atomicAdd(&state->scored, less);
  if (matched) atomicAdd(&state->matched, matched);
}

// Leaves a tile, once all have added its postings, and goes on to the next; false when there is none. All adders call it together.
__device__ __forceinline__ bool leave(const Batch &b, uint32_t tile_shift, uint32_t warp, Tile &t, Found *n) {
  FlatDesk &d = flat_desk();
  const Sheet &s = d.sheets[t.sheet];
  uint32_t part = s.part;
  meet();
  Seen seen = d.seen[t.turn];
  if (seen.count | seen.zeros) {
    meet();  // the scout hands in
    if (seen.zeros) clear_zeros(tile_shift);
  }
  t = tile_of(tile_shift, sheet_after(t.sheet), warp, t.turn ^ 1);
  clear_scores(tile_shift);
  uint32_t next = d.sheets[t.sheet].part;
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
  c.sheet = sheet_count - 1;  // before the first
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

// Hands in a document of each lane, if it may enter. It returns how many keys there are then that were not handed in.
__device__ __forceinline__ uint32_t offer(const Part &part, const Query &q, State &s, uint32_t held, bool there, uint32_t doc, uint32_t score) {
  Key threshold = common_threshold(s), key = 0;
  bool wants = there && accepts(part, doc);
  if (wants) {
    key = key_of(score + rank_score(part, q.rank_weight, doc), part.base + doc);
    wants = key >= threshold && key < q.after;
  }
  return keep_key(q, s, flat_desk().keys, held, wants, key);
}

// Hands in the candidates of a tile: those told apart, or all documents that match. A warp calls it together.
[[maybe_unused]] static __device__ __noinline__ void hand_in_tile(const Batch &b, uint32_t sheet, uint32_t turn) {
  FlatDesk &d = flat_desk();
  const Part &part = b.parts[d.sheets[sheet].part];
  const Query &q = b.queries[part.query];
  State &s = b.states[part.query];
  uint32_t count = d.seen[turn].count, lane = threadIdx.x % 32, lo = d.sheets[sheet].tile << b.tile_shift, docs = 1u << b.tile_shift, held = 0;
  bool zeros = d.seen[turn].zeros != 0, all = zeros || count > candidates_most;
  uint32_t most = all ? docs : count, need = d.sheets[sheet].need, *zero = zeros_of(b.tile_shift);
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
    if (__any_sync(all_lanes, there)) held = offer(part, q, s, held, there, lo + i, score);
  }
  if (held) insert(q, s, d.keys, held);
}

// Fills the sheets of all tiles but the first, which are there, ahead of those who add, and hands in what they find. A warp calls
// it together.
__device__ __forceinline__ void scout_tiles(const Batch &b, Scout &s, const Item *items, uint32_t size) {
  FlatDesk &d = flat_desk();
  Item upcoming = item_of(items, size, sheet_count - 1);
  uint32_t lane = threadIdx.x % 32, empty = sheet_count - 1, here = 0, turn = 0;
  for (uint32_t number = sheet_count; d.sheets[here].part != no_part; number++) {
    uint32_t next = sheet_after(here);
    Key threshold = threshold_for(d.sheets[next]);  // as late as may be
    fill(b, s, upcoming, d.sheets[empty]);
    upcoming = item_of(items, size, number);
    if (lane == 0) {
      d.seen[turn ^ 1] = Seen{0, 0};
      set_need(d.sheets[next], threshold);
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

extern "C" __global__ void __launch_bounds__(flat_threads, flat_blocks) or_flat(const Batch *batch) {
  const Batch &b = *batch;
  const Item *items = b.flat_queue.get()->items;
  FlatDesk &d = flat_desk();
  // The compiler knows then that it is the same for all lanes, and so what depends on it.
  uint32_t warp = __reduce_max_sync(all_lanes, threadIdx.x / 32);
  uint32_t size = b.flat_queue.get()->size, lane = threadIdx.x % 32;
  if (place_of(0) >= size) return;
  Scout s{};
  s.part = no_part;
  // The last sheet that is there from the beginning is the scout's, since that part is what it goes on with.
  uint32_t sheet = warp == adders ? sheet_count - 2 : warp;
  if (sheet < sheet_count - 2 || warp == adders) {
    fill(b, s, item_of(items, size, sheet), d.sheets[sheet]);
    if (lane == 0 && sheet == 0) set_need(d.sheets[0], threshold_for(d.sheets[0]));
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
