// What a batch lacks comes from the host's memory window by window, and what can matter of it is made flat (flat.cuh): the host gathers nothing.
//
//	fetch_rows      reads records from the host's memory, which is mapped, 4 KB a warp at a time, beside the kernels of the window before
//	open_slices     puts bounds of strips where kernels look for them
//	mark            marks the strips of lists that queries may look at, by the queues of a pass
//	flatten_slices  makes those blocks flat that touch a marked strip; with all that is known of bounds they are few
//	bound_slices    finds the bounds of the cells of marked strips
//
// Of a strip that is marked, everything is there: all of its postings, the entries of the directory before and behind them, and bounds. Of others
// only the bounds of strips are. A tile that may go as a whole has all strips marked.
//
// fetch_rows has two warps a multiprocessor, which find room beside any other kernel: 8 KB a multiprocessor are on their way, many times what
// keeps the link full.
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

extern "C" __global__ void __launch_bounds__(64) fetch_rows(const Window *window) {
  const Window w = *window;
  const uint32_t each = fetch_unit / 32;
  uint32_t lane = threadIdx.x % 32;
  for (uint32_t unit; (unit = take_units(w, take_fetch, 1)) < w.fetch_units;) {
    const Fetch f = w.fetches[with_unit(w.fetches.get(), w.fetch_count, &Fetch::first_unit, unit)];
    uint32_t from = (unit - f.first_unit) * fetch_unit + lane;
    const uint4 *rows = f.from;
    uint4 *to = f.to;
    uint4 row[each];
#pragma unroll
    for (uint32_t j = 0; j < each; j++) row[j] = rows[min(from + 32 * j, f.rows - 1)];
#pragma unroll
    for (uint32_t j = 0; j < each; j++) {
      if (from + 32 * j < f.rows) to[from + 32 * j] = row[j];
    }
  }
}

// The group of documents of a directory that a document of the segment is in: -1 before the window, entries behind it.
__device__ __forceinline__ int group_of(const Slice &s, uint32_t doc) {
  return doc == ~0u || doc < s.from ? -1 : static_cast<int>(min((doc - s.from) >> s.shift, s.entries));
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
  const uint4 *at = s.record + s.tiles * strips / 16;
  r.last = reinterpret_cast<const uint32_t *>(at);
  at += rows_of(4 * (s.blocks + 1));
  r.row = reinterpret_cast<const uint32_t *>(at);
  at += rows_of(4 * ((s.blocks + slice_unit - 1) / slice_unit));
  r.encoding = reinterpret_cast<const uint16_t *>(at);
  r.rows = at + rows_of(2 * s.blocks);
  return r;
}

// A warp for each slice.
extern "C" __global__ void __launch_bounds__(256) open_slices(const Window *window) {
  const Window w = *window;
  uint32_t lane = threadIdx.x % 32, warps = blockDim.x / 32 * gridDim.x;
  for (uint32_t i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < w.slice_count; i += warps) {
    const Slice &s = w.slices[i];
    for (uint32_t row = lane; row < s.tiles * strips / 16; row += 32) reinterpret_cast<uint4 *>(s.bound.get())[row] = s.record[row];
  }
}

// Marks the strips of an item in all lists of its part: all of the tile when it goes as a whole, or may. A thread calls it alone.
__device__ __forceinline__ void mark_item(const Batch &b, const Item &item, bool whole) {
  const Part &part = b.parts[item.part];
  whole |= part.way == by_or_tiles && static_cast<uint32_t>(__popc(item.alive)) >= many_strips;
  uint32_t alive = whole ? ~0u : item.alive;
  for (uint32_t i = 0; i < part.term_count; i++) {
    const List &l = *part.terms[i].list;
    if (l.tile_first.address) atomicOr(&l.tile_first[item.tile & ~strips_only], alive);
  }
}

// A thread for each item.
extern "C" __global__ void __launch_bounds__(256) mark(const Batch *batch) {
  const Batch b = *batch;
  const Queue &by_strips = *b.strip_queue, &whole = *b.flat_queue;
  uint32_t most = by_strips.size + whole.size;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < most; i += blockDim.x * gridDim.x) {
    bool in_strips = i < by_strips.size;
    mark_item(b, in_strips ? by_strips.items[i] : whole.items[i - by_strips.size], !in_strips);
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

// Makes a block flat. number is its number in the slice, alone says that the block behind is not made flat. A warp calls it together.
__device__ __forceinline__ void flatten_block(const Slice &s, const Block &k, uint32_t number, bool alone, uint32_t lane) {
  uint32_t doc[4], tf[4], word[4], at = number * s.block_size + 4 * lane;
  decode_docs(k, lane, doc);
  decode_freqs(k, lane, tf);
  uint32_t previous = __shfl_up_sync(all_lanes, doc[3], 1);
  if (lane == 0) previous = k.prev;
  if (4 * lane >= k.n) return;
  const Table &table = *s.table;
  int before = group_of(s, previous), entries = static_cast<int>(s.entries);
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    if (4 * lane + j >= k.n) continue;
    word[j] = flat_word(doc[j] - s.from, impact(table, tf[j], s.norms.address ? __ldg(&s.norms[doc[j]]) : 1));
    int group = group_of(s, doc[j]);
    for (int e = before + 1; e <= group; e++) s.first[e] = at + j;
    before = group;
  }
  if (4 * lane + 3 < k.n && at % 4 == 0) {
    reinterpret_cast<uint4 *>(s.flat.get())[at / 4] = make_uint4(word[0], word[1], word[2], word[3]);
  } else {
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      if (4 * lane + j < k.n) s.flat[at + j] = word[j];
    }
  }
  if (4 * lane + 4 < k.n) return;
  uint32_t behind = number * s.block_size + k.n;
  if (number == s.blocks - 1) {
    for (int e = before + 1; e <= entries; e++) s.first[e] = behind;
  } else if (alone && before < entries && group_of(s, k.last + 1) > before) {
    s.first[before + 1] = behind;  // nobody else does, and the group that ends here may be marked
  }
}

// Rows of a block of n postings.
__device__ __forceinline__ uint32_t block_rows(uint32_t encoding, uint32_t n, uint32_t *doc_rows) {
  uint32_t kind = doc_kind(encoding), width = doc_width(encoding), of_freqs = freq_width(encoding);
  *doc_rows = kind == packed ? packed_rows(n, width) : kind == run ? 0 : width;
  return *doc_rows + (freq_kind(encoding) == packed ? packed_rows(n, of_freqs) : of_freqs);
}

// Makes those blocks of a unit flat that touch what is marked, and the last one of the slice, which tells where the directory ends. A warp calls it together.
__device__ __forceinline__ void flatten_unit(const Slice &s, const Record &r, uint32_t tile_shift, uint32_t unit, uint32_t lane) {
  uint32_t first = unit * slice_unit, n = min(slice_unit, s.blocks - first), mine = first + lane;
  // Lane i has block i of the unit, one more that which is behind the unit.
  uint32_t last = 0, encoding = 0, size = 0;
  bool there = false;
  uint32_t previous = r.last[min(mine, s.blocks)];
  if (lane <= n && mine < s.blocks) {
    last = r.last[mine + 1];
    encoding = r.encoding[mine];
    size = mine == s.blocks - 1 ? s.last_size : s.block_size;
    there = mine == s.blocks - 1 || is_marked(s, tile_shift, previous + 1, last);
  }
  uint32_t marked = __ballot_sync(all_lanes, there), todo = marked & ((1u << n) - 1);
  if (todo == 0) return;
  uint32_t doc_rows, rows = block_rows(encoding, size, &doc_rows), row = r.row[unit] + sum_before(rows, lane);
  for (; todo; todo &= todo - 1) {
    uint32_t j = __ffs(todo) - 1;
    Block k;
    k.prev = __shfl_sync(all_lanes, previous, j);
    k.last = __shfl_sync(all_lanes, last, j);
    k.encoding = __shfl_sync(all_lanes, encoding, j);
    k.n = __shfl_sync(all_lanes, size, j);
    k.docs = r.rows + __shfl_sync(all_lanes, row, j);
    k.freqs = k.docs + __shfl_sync(all_lanes, doc_rows, j);
    flatten_block(s, k, first + j, !(marked >> (j + 1) & 1), lane);
    __syncwarp();
  }
}

// Units that a warp takes at a time: consecutive ones, which are of one slice mostly.
const uint32_t unit_run = 4;

extern "C" __global__ void __launch_bounds__(256) flatten_slices(const Window *window) {
  const Window w = *window;
  uint32_t lane = threadIdx.x % 32, end = 0;
  Slice s{};
  Record r{};
  for (uint32_t next; (next = take_units(w, take_unit, unit_run)) < w.units;) {
    for (uint32_t unit = next; unit < min(next + unit_run, w.units); unit++) {
      if (unit >= end) {  // units that a warp takes ascend
        uint32_t i = with_unit(w.slices.get(), w.slice_count, &Slice::first_unit, unit);
        s = w.slices[i];
        r = record_of(s);
        end = i + 1 < w.slice_count ? w.slices[i + 1].first_unit : w.units;
      }
      flatten_unit(s, r, w.tile_shift, unit - s.first_unit, lane);
    }
  }
}

// The bounds of the cells of a strip, whose postings are in the order of documents. A thread calls it alone.
__device__ __forceinline__ void bound_cells(const Slice &s, uint8_t *of_cells, uint32_t shift, uint32_t strip) {
  uint32_t from = s.first[strip], to = s.first[strip + 1], best = 0, cell = 0;  // best is an impact and one, of the cell
  unsigned long long bytes = 0;
  auto leave = [&]() {
    if (best) bytes |= static_cast<unsigned long long>(bound_byte(best - 1)) << 8 * cell;
    best = 0;
  };
  auto add = [&](uint32_t at, uint32_t word) {
    if (at < from || at >= to) return;
    uint32_t of = word >> (shift - 3) & (cells - 1);
    if (of != cell) leave();
    cell = of;
    best = max(best, (word >> 16) + 1);
  };
  const uint4 *fours = reinterpret_cast<const uint4 *>(s.flat.get());
  for (uint32_t at = from & ~3u; at < to; at += 4) {
    uint4 four = fours[at / 4];
    add(at, four.x);
    add(at + 1, four.y);
    add(at + 2, four.z);
    add(at + 3, four.w);
  }
  leave();
  reinterpret_cast<uint2 *>(of_cells)[strip] = make_uint2(static_cast<uint32_t>(bytes), static_cast<uint32_t>(bytes >> 32));
}

// In which cells of the strips of a tile there are postings. A thread calls it alone.
__device__ __forceinline__ void find_cells_of_tile(const Slice &s, uint8_t *of_cells, uint32_t shift, uint32_t tile) {
  uint32_t *words = reinterpret_cast<uint32_t *>(of_cells + tile * strips), here = 0, there = 0;  // strips by fours
  auto go_to = [&](uint32_t four) {
    for (; here < four; here++) {
      words[here] = there;
      there = 0;
    }
  };
  for (uint32_t at = s.first[tile]; at < s.first[tile + 1]; at++) {
    uint32_t word = s.flat[at], strip = word >> shift & (strips - 1);
    go_to(strip / 4);
    there |= 1u << (word >> (shift - 3) & (cells - 1)) << 8 * (strip % 4);
  }
  go_to(strips / 4);
}

// A warp for each share of entries, a thread for each of those.
extern "C" __global__ void __launch_bounds__(256) bound_slices(const Window *window) {
  const Window w = *window;
  uint32_t lane = threadIdx.x % 32, shift = w.tile_shift - 5;
  for (uint32_t share; (share = take_units(w, take_share, 1)) < w.shares;) {
    const Slice &s = w.slices[with_unit(w.slices.get(), w.slice_count, &Slice::first_share, share)];
    uint32_t first = (share - s.first_share) * bound_share, end = min(first + bound_share, s.entries);
    uint8_t *of_cells = s.bound + s.tiles * strips;
    for (uint32_t e = first + lane; e < end; e += 32) {
      if (s.shift == shift) {
        if (s.marks[e / strips] >> e % strips & 1) bound_cells(s, of_cells, shift, e);
      } else {
        if (s.marks[e]) find_cells_of_tile(s, of_cells, shift, e);
      }
    }
  }
}
