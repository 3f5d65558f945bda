// What a batch lacks comes from the host's memory window by window, and what can matter of it is made flat (flat.cuh): the host gathers nothing.
//
//	fetch_rows      reads the first parts of records from the host's memory, which is mapped: bounds of strips, levels of cells and directories of
//	                blocks; and all of those records that come to stay
//	open_slices     spreads out bounds of strips of packed records, and makes levels of which cells have postings: 0 or 3 (levels.cuh)
//	queue_and_mark  marks the strips of lists that queries may look at, by bounds of strips and levels of cells (plan.cu)
//	choose_blocks   finds the blocks that touch what is marked; with all that is known of bounds they are few
//	fetch_pieces    reads them, in pieces of 1 KB
//	flatten_slices  makes them flat
//
// Of a strip that is marked, everything is there: all of its postings, the entries of the directory before and behind them. Bounds and levels are
// there of all strips. A tile that may go as a whole has all strips marked.
//
// Those who read have two warps a multiprocessor with 32 registers a thread, which find room beside any other kernel: 4 KB a multiprocessor are on
// their way, several times what keeps the link full. A quarter of a multiprocessor has 16,384 registers, of which or_strips and or_flat leave 1,024.
#include "block.cuh"
#include "flat.cuh"
#include "score.cuh"

// The last of n elements whose first unit is not beyond a unit.
template <class T>
__device__ __forceinline__ uint32_t with_unit(const T *all, uint32_t n, uint32_t T::*first, uint32_t unit) {
  uint32_t from = 0, to = n;
  while (to - from > 1) {
    uint32_t middle = (from + to) / 2;
    if (all[middle].*first <= unit) {
      from = middle;
    } else {
      to = middle;
    }
  }
  return from;
}

// Takes the next units, run of them. A warp calls it together.
__device__ __forceinline__ uint32_t take_units(const Window &w, uint32_t what, uint32_t run) {
  uint32_t unit = threadIdx.x % 32 == 0 ? atomicAdd(&w.counters[what], run) : 0;
  return __shfl_sync(all_lanes, unit, 0);
}

// Reads sixteen bytes into registers. In arrays of uint4 they would be in memory, and each read would wait for the one before.
__device__ __forceinline__ void read_row(const uint4 *from, uint32_t *x, uint32_t *y, uint32_t *z, uint32_t *w) {
  uint4 v = *from;
  *x = v.x, *y = v.y, *z = v.z, *w = v.w;
}

extern "C" __global__ void __launch_bounds__(64, 32) fetch_rows(const Window *window) {
  const Window w = *window;
  const uint32_t each = 4;
  uint32_t lane = threadIdx.x % 32;
  for (uint32_t unit; (unit = take_units(w, take_fetch, 1)) < w.fetch_units;) {
    const Fetch &f = w.fetches[with_unit(w.fetches.get(), w.fetch_count, &Fetch::first_unit, unit)];
    uint32_t begin = (unit - f.first_unit) * fetch_unit + lane, rows = f.rows, end = min(rows, begin + fetch_unit);
    const uint4 *source = f.from;
    uint4 *to = f.to;
    for (uint32_t from = begin; from < end; from += 32 * each) {
      uint32_t a[each], b[each], c[each], d[each];
#pragma unroll
      for (uint32_t j = 0; j < each; j++) read_row(source + min(from + 32 * j, rows - 1), &a[j], &b[j], &c[j], &d[j]);
#pragma unroll
      for (uint32_t j = 0; j < each; j++) {
        if (from + 32 * j < rows) to[from + 32 * j] = make_uint4(a[j], b[j], c[j], d[j]);
      }
    }
  }
}

// The groups of documents that a directory has an entry for.
struct Groups {
  uint32_t from, shift, count;
};

// The group that a document of the segment is in: -1 before the window, count behind it.
__device__ __forceinline__ int group_of(const Groups &g, uint32_t doc) {
  return doc == ~0u || doc < g.from ? -1 : static_cast<int>(min((doc - g.from) >> g.shift, g.count));
}

// Where the parts of a record are.
struct Record {
  const uint32_t *last, *row;
  const uint16_t *encoding;
  const uint4 *rows;
};

__device__ __forceinline__ uint32_t rows_of(uint32_t bytes) { return (bytes + 15) / 16; }

__device__ __forceinline__ Record record_of(const Slice &s) {
  Record r;
  const uint4 *at = s.record + s.head;
  r.last = reinterpret_cast<const uint32_t *>(at);
  at += rows_of(4 * (s.blocks + 1));
  r.row = reinterpret_cast<const uint32_t *>(at);
  at += rows_of(4 * ((s.blocks + slice_unit - 1) / slice_unit));
  r.encoding = reinterpret_cast<const uint16_t *>(at);
  r.rows = at + rows_of(2 * s.blocks);
  return r;
}

// The levels of the cells of a strip, two bits each, of which a packed record says only whether they have postings, a bit each: 3 or 0.
__device__ __forceinline__ uint32_t full_levels(uint32_t there) {
  there = (there | there << 4) & 0x0f0f;
  there = (there | there << 2) & 0x3333;
  return ((there | there << 1) & 0x5555) * 3;
}

// Spreads out the bounds of strips of a packed record, and the levels of their cells. A lane has a tile at a time. A warp calls it together.
__device__ __forceinline__ void unpack(const Slice &s, uint32_t lane) {
  const uint32_t *there = reinterpret_cast<const uint32_t *>(s.record.get());
  const uint16_t *of_strip = reinterpret_cast<const uint16_t *>(s.record + (s.tiles + 3) / 4);
  uint32_t *bounds = reinterpret_cast<uint32_t *>(s.bound.get());  // strips by fours
  uint2 *levels = reinterpret_cast<uint2 *>(bounds + s.tiles * strips / 4);
  uint32_t before = 0;
  for (uint32_t base = 0; base < s.tiles; base += 32) {
    uint32_t tile = base + lane, bits = tile < s.tiles ? there[tile] : 0, count = __popc(bits);
    const uint16_t *from = of_strip + before + sum_before(count, lane);
    before += __reduce_add_sync(all_lanes, count);
    if (tile >= s.tiles) continue;
    for (uint32_t four = 0; four < strips / 4; four++, bits >>= 4) {
      uint32_t of_bounds = 0, of_cells[2] = {0, 0};
#pragma unroll
      for (uint32_t j = 0; j < 4; j++) {
        if (!(bits >> j & 1)) continue;
        uint32_t both = *from++;
        of_bounds |= (both & 255) << 8 * j;
        of_cells[j / 2] |= full_levels(both >> 8) << 16 * (j % 2);
      }
      bounds[tile * (strips / 4) + four] = of_bounds;
      levels[tile * (strips / 4) + four] = make_uint2(of_cells[0], of_cells[1]);
    }
  }
}

// A warp for each slice.
extern "C" __global__ void __launch_bounds__(256) open_slices(const Window *window) {
  const Window w = *window;
  uint32_t lane = threadIdx.x % 32, warps = blockDim.x / 32 * gridDim.x;
  for (uint32_t i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < w.slice_count; i += warps) {
    const Slice &s = w.slices[i];
    if (s.packed) unpack(s, lane);
  }
}

// Whether documents from from to to, of the segment, touch a strip that is marked; where the directory is by tiles, a tile that has one. A lane calls it alone.
__device__ __forceinline__ bool is_marked(const Slice &s, uint32_t tile_shift, uint32_t from, uint32_t to) {
  uint32_t shift = tile_shift - 5, end = s.tiles * strips - 1;
  uint32_t a = from <= s.from ? 0 : min((from - s.from) >> shift, end), b = to <= s.from ? 0 : min((to - s.from) >> shift, end);
  for (uint32_t tile = a / strips; tile <= b / strips; tile++) {
    uint32_t bits = s.marks[tile];
    if (s.shift != tile_shift) {
      if (tile == a / strips) bits &= ~0u << a % strips;
      if (tile == b / strips) bits &= ~0u >> (strips - 1 - b % strips);
    }
    if (bits) return true;
  }
  return false;
}

// An impact that the table does not have. It is a call, since it is rare.
[[maybe_unused]] static __device__ __noinline__ uint32_t high_impact(const Table *table, uint32_t tf, uint32_t code) { return impact(*table, tf, code); }

// The impacts of four postings of each lane: all four are asked for before any is used. Only length codes of the window's documents may be there. A block
// that reaches beyond the window has other documents, too, whose impacts nobody reads: they take the code of the window's first document.
__device__ __forceinline__ void find_impacts(const Slice &s, const uint32_t doc[4], const uint32_t tf[4], uint32_t to[4]) {
  const Table *table = s.table.get();
  const uint8_t *norms = s.norms.get();
  uint32_t code[4] = {1, 1, 1, 1}, docs = s.entries << s.shift;
  if (norms) {
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) code[j] = __ldg(&norms[doc[j] - s.from < docs ? doc[j] : s.from]);
  }
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) to[j] = __ldg(&table->small[min(tf[j], 15u)][code[j]]);
  if (max(max(tf[0], tf[1]), max(tf[2], tf[3])) < 16) return;
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    if (tf[j] >= 16) to[j] = high_impact(table, tf[j], code[j]);
  }
}

// Makes a block flat. number is its number in the slice, alone says that the block behind is not made flat. A warp calls it together.
__device__ __forceinline__ void flatten_block(const Slice &s, const Block &k, uint32_t number, bool alone, uint32_t lane) {
  uint32_t doc[4], tf[4], word[4], at = number * s.block_size + 4 * lane;
  const Groups groups{s.from, s.shift, s.entries};
  decode_both(k, lane, s.record.get(), doc, tf);
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {  // behind the last posting, the last one again
    if (4 * lane + j >= k.n) doc[j] = k.last, tf[j] = 1;
  }
  uint32_t previous = __shfl_up_sync(all_lanes, doc[3], 1);
  if (lane == 0) previous = k.prev;
  find_impacts(s, doc, tf, word);
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) word[j] = flat_word(doc[j] - groups.from, word[j]);
  int before = group_of(groups, previous), group = group_of(groups, doc[3]);
  uint32_t *first = s.first, *flat = s.flat;
  if (before < group) {
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      for (int to = group_of(groups, doc[j]); before < to;) first[++before] = at + j;
    }
  }
  if (4 * lane + 3 < k.n && at % 4 == 0) {
    reinterpret_cast<uint4 *>(flat)[at / 4] = make_uint4(word[0], word[1], word[2], word[3]);
  } else {
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      if (4 * lane + j < k.n) flat[at + j] = word[j];
    }
  }
  if (4 * lane >= k.n || 4 * lane + 4 < k.n) return;
  int count = static_cast<int>(groups.count);
  uint32_t behind = number * s.block_size + k.n;
  if (number == s.blocks - 1) {
    while (group < count) first[++group] = behind;
  } else if (alone && group < count && group_of(groups, k.last + 1) > group) {
    first[group + 1] = behind;  // nobody else does, and the group that ends here may be marked
  }
}

// Rows of a block of n postings.
__device__ __forceinline__ uint32_t block_rows(uint32_t encoding, uint32_t n, uint32_t *doc_rows) {
  uint32_t kind = doc_kind(encoding), width = doc_width(encoding), of_freqs = freq_width(encoding);
  *doc_rows = kind == packed ? packed_rows(n, width) : kind == run ? 0 : width;
  return *doc_rows + (freq_kind(encoding) == packed ? packed_rows(n, of_freqs) : of_freqs);
}

// The blocks of a unit, one a lane, and behind them that which follows the unit.
struct Unit {
  uint32_t previous, last;  // documents
  uint32_t encoding, size;
  uint32_t row, rows, doc_rows;
  uint32_t n;  // blocks, the same for all lanes
};

__device__ __forceinline__ Unit open_unit(const Slice &s, const Record &r, uint32_t unit, uint32_t lane) {
  uint32_t first = unit * slice_unit, mine = first + lane;
  Unit u{0, 0, 0, 0, 0, 0, 0, min(slice_unit, s.blocks - first)};
  u.previous = r.last[min(mine, s.blocks)];
  if (lane <= u.n && mine < s.blocks) {
    u.last = r.last[mine + 1];
    u.encoding = r.encoding[mine];
    u.size = mine == s.blocks - 1 ? s.last_size : s.block_size;
    u.rows = block_rows(u.encoding, u.size, &u.doc_rows);
  }
  u.row = r.row[unit] + sum_before(u.rows, lane);
  return u;
}

// Units that a warp takes at a time: consecutive ones, which are of one slice mostly.
const uint32_t unit_run = 4;

// The slice that a warp is at.
struct Place {
  uint32_t slice;
  Slice s;
  Record r;
  uint32_t end;  // the first unit behind it
};

// Goes on to the slice with a unit. Units that a warp takes ascend.
__device__ __forceinline__ void go_to(Place *p, const Window &w, uint32_t unit) {
  if (unit < p->end) return;
  p->slice = with_unit(w.slices.get(), w.slice_count, &Slice::first_unit, unit);
  p->s = w.slices[p->slice];
  p->r = record_of(p->s);
  p->end = p->slice + 1 < w.slice_count ? w.slices[p->slice + 1].first_unit : w.units;
}

// Half a unit, of which some blocks are marked: half is a mask of its blocks. A warp calls it together.
__device__ __forceinline__ Piece piece_of(const Place &p, const Unit &u, uint32_t unit, uint32_t marked, uint32_t half) {
  uint32_t here = marked & half, from = __shfl_sync(all_lanes, u.row, __ffs(here) - 1), to = __shfl_sync(all_lanes, u.row + u.rows, 31 - __clz(here));
  uint32_t before = static_cast<uint32_t>(p.r.rows - p.s.record.get());
  Piece piece{{p.s.source.address + 16ull * (before + from)}, {p.s.record.address + 16ull * (before + from)}, to - from, p.slice, unit, marked};
  if (p.s.source.address == 0) piece.rows = 0;
  if (!(half & 1)) piece.marks |= upper_half;
  return piece;
}

const uint32_t half_unit = slice_unit / 2, lower_blocks = (1u << half_unit) - 1, upper_blocks = lower_blocks << half_unit;

// How many pieces there may be.
__device__ __forceinline__ uint32_t piece_room(const Window &w) { return 2 * w.units; }

// A warp for each unit finds its blocks that touch what is marked, and the last one of the slice, which tells where the directory ends. Each half of a unit
// that has some is a piece. A lane gathers those of a run of units. Pieces that have to be read come first; those that are there are at the end of the
// array, so that fetch_pieces need not look at them.
extern "C" __global__ void __launch_bounds__(256) choose_blocks(const Window *window) {
  const Window w = *window;
  uint32_t lane = threadIdx.x % 32;
  Place p{};
  for (uint32_t next; (next = take_units(w, take_unit, unit_run)) < w.units;) {
    Piece mine{};
    uint32_t held = 0;
    for (uint32_t unit = next; unit < min(next + unit_run, w.units); unit++) {
      go_to(&p, w, unit);
      uint32_t in_slice = unit - p.s.first_unit, block = in_slice * slice_unit + lane;
      Unit u = open_unit(p.s, p.r, in_slice, lane);
      bool there = lane <= u.n && (block + 1 == p.s.blocks || (block < p.s.blocks && is_marked(p.s, w.tile_shift, u.previous + 1, u.last)));
      uint32_t marked = __ballot_sync(all_lanes, there);
      if (marked & lower_blocks & ((1u << u.n) - 1)) {
        Piece piece = piece_of(p, u, in_slice, marked, lower_blocks & ((1u << u.n) - 1));
        if (lane == held++) mine = piece;
      }
      if (marked & upper_blocks & ((1u << u.n) - 1)) {
        Piece piece = piece_of(p, u, in_slice, marked, upper_blocks & ((1u << u.n) - 1));
        if (lane == held++) mine = piece;
      }
    }
    if (held == 0) continue;
    uint32_t lacking = __ballot_sync(all_lanes, lane < held && mine.rows), there = ((1u << held) - 1) & ~lacking, at = 0;
    if (lane == 0 && lacking) at = atomicAdd(&w.counters[piece_count], static_cast<uint32_t>(__popc(lacking)));
    if (lane == 1 && there) at = atomicAdd(&w.counters[there_count], static_cast<uint32_t>(__popc(there)));
    uint32_t first = __shfl_sync(all_lanes, at, 0), last = piece_room(w) - 1 - __shfl_sync(all_lanes, at, 1), before = (1u << lane) - 1;
    if (lacking >> lane & 1) w.pieces[first + __popc(lacking & before)] = mine;
    if (there >> lane & 1) w.pieces[last - __popc(there & before)] = mine;
    uint32_t rows = __reduce_add_sync(all_lanes, lane < held ? mine.rows : 0);
    if (lane == 0 && rows) atomicAdd(w.rows_read.get(), static_cast<unsigned long long>(rows));
  }
}

// Pieces that a warp reads at a time, and rows of each that a lane reads before it waits for any.
const uint32_t piece_run = 2, piece_rows = 2;

extern "C" __global__ void __launch_bounds__(64, 32) fetch_pieces(const Window *window) {
  const Window w = *window;
  uint32_t lane = threadIdx.x % 32, count = w.counters[piece_count];
  for (uint32_t next; (next = take_units(w, take_piece, piece_run)) < count;) {
    uint32_t a[piece_run * piece_rows], b[piece_run * piece_rows], c[piece_run * piece_rows], d[piece_run * piece_rows], rows[piece_run];
    const uint4 *from[piece_run], *anything = reinterpret_cast<const uint4 *>(w.slices.get());
    uint4 *to[piece_run];
#pragma unroll
    for (uint32_t i = 0; i < piece_run; i++) {
      const Piece &p = w.pieces[min(next + i, count - 1)];
      from[i] = p.from;
      to[i] = p.to;
      rows[i] = next + i < count ? p.rows : 0;
    }
#pragma unroll
    for (uint32_t i = 0; i < piece_run * piece_rows; i++) {
      uint32_t piece = i / piece_rows, row = lane + 32 * (i % piece_rows);
      read_row(row < rows[piece] ? from[piece] + row : anything, &a[i], &b[i], &c[i], &d[i]);
    }
#pragma unroll
    for (uint32_t i = 0; i < piece_run * piece_rows; i++) {
      uint32_t piece = i / piece_rows, row = lane + 32 * (i % piece_rows);
      if (row < rows[piece]) to[piece][row] = make_uint4(a[i], b[i], c[i], d[i]);
    }
#pragma unroll
    for (uint32_t i = 0; i < piece_run; i++) {
      for (uint32_t row = lane + 32 * piece_rows; row < rows[i]; row += 32) to[i][row] = from[i][row];
    }
  }
}

// A warp for each piece makes its blocks flat. It asks for the next piece before it begins with one.
extern "C" __global__ void __launch_bounds__(256, 4) flatten_slices(const Window *window) {
  const Window w = *window;
  uint32_t lane = threadIdx.x % 32, lacking = w.counters[piece_count], count = lacking + w.counters[there_count];
  for (uint32_t next = take_units(w, take_flat, 1), asked; next < count; next = __shfl_sync(all_lanes, asked, 0)) {
    asked = lane == 0 ? atomicAdd(&w.counters[take_flat], 1u) : 0;
    const Piece piece = w.pieces[next < lacking ? next : piece_room(w) - 1 - (next - lacking)];
    const Slice &s = w.slices[piece.slice];
    Record r = record_of(s);
    Unit u = open_unit(s, r, piece.unit, lane);
    uint32_t todo = piece.marks & (piece.marks & upper_half ? upper_blocks : lower_blocks) & ((1u << u.n) - 1);
    for (; todo; todo &= todo - 1) {
      uint32_t j = __ffs(todo) - 1;
      Block k;
      k.prev = __shfl_sync(all_lanes, u.previous, j);
      k.last = __shfl_sync(all_lanes, u.last, j);
      k.encoding = __shfl_sync(all_lanes, u.encoding, j);
      k.n = __shfl_sync(all_lanes, u.size, j);
      k.docs = r.rows + __shfl_sync(all_lanes, u.row, j);
      k.freqs = k.docs + __shfl_sync(all_lanes, u.doc_rows, j);
      flatten_block(s, k, piece.unit * slice_unit + j, !(piece.marks >> (j + 1) & 1), lane);
      __syncwarp();
    }
  }
}
