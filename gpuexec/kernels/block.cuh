// Blocks of postings as the arena has them: where one lies, and its documents and frequencies, decoded
// by a warp. Lane t has postings 4t to 4t+3 of the block: of packed values, those are what the four
// 32-bit lanes of a row have at bit t*width, so two loads of 16 bytes at most and four funnel shifts
// make four values, for every width from 0 to 32.
//
// All lanes of the warp call these functions together. What they give for postings that the block does
// not have is undefined.
#pragma once
#include "layout.cuh"
#include "warp.cuh"

// postings.Encoding.
const uint32_t packed = 0, bitset = 1, run = 2, pfor = 3, rice = 4;

__device__ __forceinline__ uint32_t doc_kind(uint32_t e) {
  uint32_t kind = e >> 6 & 3;
  return kind < 3 ? kind : 3 + (e >> 5 & 1);
}
__device__ __forceinline__ uint32_t doc_width(uint32_t e) { return (e >> 6 & 3) == 3 ? e & 31 : e & 63; }
__device__ __forceinline__ uint32_t freq_kind(uint32_t e) { return e >> 14 ? 2 + (e >> 14) : packed; }
__device__ __forceinline__ uint32_t freq_width(uint32_t e) { return e >> 8 & 63; }
__device__ __forceinline__ uint32_t packed_rows(uint32_t n, uint32_t width) { return ((n + 3) / 4 * width + 31) / 32; }

// A block of a list, found in the arena.
struct Block {
  const uint4 *docs;   // rows of documents
  const uint4 *freqs;  // rows of frequencies
  uint32_t encoding;
  uint32_t n;     // postings
  uint32_t prev;  // last document of the block before, -1 for none
  uint32_t last;
};

__device__ __forceinline__ Extent extent_of(const List &l, uint32_t block) {
  uint4 e = __ldg(reinterpret_cast<const uint4 *>(&l.extents[block / extent_blocks]));
  return Extent{e.x, e.y, e.z, e.w};
}

__device__ __forceinline__ const Head &head_of(const List &l, const Extent &e) {
  return *reinterpret_cast<const Head *>(&l.arena[e.head]);
}

// The last document of a block.
__device__ __forceinline__ uint32_t last_of(const List &l, uint32_t block) {
  return __ldg(&head_of(l, extent_of(l, block)).last[block % extent_blocks]);
}

// The last document of the block before, -1 for none.
__device__ __forceinline__ uint32_t before(const List &l, uint32_t block) {
  if (block == 0) return ~0u;
  return block % extent_blocks == 0 ? __ldg(&l.extents[block / extent_blocks - 1].last) : last_of(l, block - 1);
}

// The highest impact of a block.
__device__ __forceinline__ uint32_t bound_of(const List &l, uint32_t block) {
  return __ldg(&head_of(l, extent_of(l, block)).bound[block % extent_blocks]);
}

// Whether the extent of the block is missing.
__device__ __forceinline__ bool is_missing(const List &l, uint32_t block) {
  return __ldg(&l.extents[block / extent_blocks].rows) == missing;
}

// Whether the extent of the block is not needed: what is there may be taken for lost.
__device__ __forceinline__ bool is_unneeded(const List &l, uint32_t block) {
  return __ldg(&l.extents[block / extent_blocks].rows) == unneeded;
}

// The block, of an extent that is there.
__device__ __forceinline__ Block open_block(const List &l, uint32_t block) {
  Extent e = extent_of(l, block);
  const Head &h = head_of(l, e);
  uint32_t i = block % extent_blocks;
  Block k;
  k.encoding = __ldg(&h.encoding[i]);
  k.n = min(l.block_size, l.count - block * l.block_size);
  k.prev = i > 0 ? __ldg(&h.last[i - 1]) : block > 0 ? __ldg(&l.extents[block / extent_blocks - 1].last) : ~0u;
  k.last = __ldg(&h.last[i]);
  k.docs = &l.arena[e.rows + __ldg(&h.off[i])];
  uint32_t kind = doc_kind(k.encoding), width = doc_width(k.encoding);
  k.freqs = k.docs + (kind == packed ? packed_rows(k.n, width) : kind == run ? 0 : width);
  return k;
}

// Values 4*lane to 4*lane+3 of n packed ones. A row is read only where it has some of them.
__device__ __forceinline__ void unpack(const uint4 *rows, uint32_t width, uint32_t n, uint32_t lane, uint32_t v[4]) {
  v[0] = v[1] = v[2] = v[3] = 0;
  if (width == 0 || 4 * lane >= n) return;
  uint32_t bit = lane * width, shift = bit & 31;
  uint4 low = __ldg(&rows[bit / 32]), high = low;
  if (shift + width > 32) high = __ldg(&rows[bit / 32 + 1]);
  uint32_t mask = ~0u >> (32 - width);
  v[0] = __funnelshift_r(low.x, high.x, shift) & mask;
  v[1] = __funnelshift_r(low.y, high.y, shift) & mask;
  v[2] = __funnelshift_r(low.z, high.z, shift) & mask;
  v[3] = __funnelshift_r(low.w, high.w, shift) & mask;
}

// Where the set bits number 4*lane to 4*lane+3 of a string stand, of n that it has in up to 32 rows.
// last_word is and-ed to the last word of the string.
//
// Each lane counts the ones of a row; a scan and a binary search over the lanes find the row of the
// first of the four, popcounts the word and the bit. So no lane has more to do than another, however
// the bits are strewn.
__device__ __forceinline__ void set_bits(const uint4 *rows, uint32_t row_count, uint32_t last_word, uint32_t n, uint32_t lane,
                                         uint32_t p[4]) {
  uint4 r = make_uint4(0, 0, 0, 0);
  if (lane < row_count) r = __ldg(&rows[lane]);
  if (lane == row_count - 1) r.w &= last_word;
  uint32_t ones = __popc(r.x) + __popc(r.y) + __popc(r.z) + __popc(r.w);
  uint32_t earlier = sum_before(ones, lane);

  uint32_t rank = 4 * lane, row = 0;
#pragma unroll
  for (uint32_t step = 16; step > 0; step /= 2) {
    uint32_t probe = __shfl_sync(all_lanes, earlier, row + step);
    if (probe <= rank) row += step;
  }
  rank -= __shfl_sync(all_lanes, earlier, row);
  if (4 * lane >= n) return;

  const uint32_t *words = reinterpret_cast<const uint32_t *>(rows);
  uint32_t at = 4 * row, last = 4 * row_count - 1;
  uint32_t w = __ldg(&words[at]) & (at == last ? last_word : ~0u);
  for (uint32_t here = __popc(w); rank >= here; here = __popc(w)) {
    rank -= here;
    at++;
    w = __ldg(&words[at]) & (at == last ? last_word : ~0u);
  }
  w &= ~0u << nth_bit(w, rank);
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    while (w == 0 && 4 * lane + j < n) {
      at++;
      w = __ldg(&words[at]) & (at == last ? last_word : ~0u);
    }
    p[j] = 32 * at + __ffs(w) - 1;
    w &= w - 1;
  }
}

// The parts of 128 values by pfor in so many rows, as in postings/pfor.go.
struct PFor {
  const uint8_t *bytes;
  const uint4 *lows;
  uint32_t low, high_width, exceptions;
};

__device__ __forceinline__ PFor open_pfor(const uint4 *rows, uint32_t row_count) {
  PFor p;
  p.bytes = reinterpret_cast<const uint8_t *>(rows);
  uint32_t head = __ldg(&p.bytes[0]) | __ldg(&p.bytes[1]) << 8;
  p.low = head & 31;
  p.high_width = head >> 5 & 31;
  p.exceptions = (head >> 10) + 1;
  p.lows = rows + row_count - p.low;
  return p;
}

// What exception i has above the low bits.
__device__ __forceinline__ uint32_t high_part(const PFor &p, uint32_t i) {
  if (p.high_width == 0) return 1;
  const uint8_t *bits = p.bytes + 2 + p.exceptions;
  uint32_t at = i * p.high_width, first = at / 8, end = (at + p.high_width + 7) / 8;
  unsigned long long v = 0;
  for (uint32_t j = first; j < end; j++) v |= static_cast<unsigned long long>(__ldg(&bits[j])) << 8 * (j - first);
  return (static_cast<uint32_t>(v >> at % 8) & (~0u >> (32 - p.high_width))) + 1;
}

// Values by pfor. Every lane knows from a mask of 128 bits which of its four are exceptions, and from
// the number of bits below which ones: so all are patched at once, as Ding et al. (2009) do with arrays.
__device__ __forceinline__ void unpack_pfor(const uint4 *rows, uint32_t row_count, uint32_t lane, uint32_t v[4]) {
  PFor p = open_pfor(rows, row_count);
  unpack(p.lows, p.low, 128, lane, v);
  uint32_t words[4] = {0, 0, 0, 0};
  for (uint32_t i = lane; i < p.exceptions; i += 32) {
    uint32_t at = __ldg(&p.bytes[2 + i]);
#pragma unroll
    for (uint32_t w = 0; w < 4; w++) words[w] |= at / 32 == w ? 1u << at % 32 : 0;
  }
  uint32_t mine = 0, rank = 0;
#pragma unroll
  for (uint32_t w = 0; w < 4; w++) {
    uint32_t word = __reduce_or_sync(all_lanes, words[w]);
    if (w < lane / 8) rank += __popc(word);
    if (w == lane / 8) {
      rank += __popc(word & ((1u << 4 * lane % 32) - 1));
      mine = word >> 4 * lane % 32 & 15;
    }
  }
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    if (mine >> j & 1) v[j] += high_part(p, rank++) << p.low;
  }
}

// Turns gaps minus one into documents behind prev: a serial sum of four, and a scan over the warp.
__device__ __forceinline__ void sum_gaps(uint32_t prev, uint32_t lane, uint32_t v[4]) {
  v[0] += 1;
  v[1] += v[0] + 1;
  v[2] += v[1] + 1;
  v[3] += v[2] + 1;
  uint32_t first = prev + sum_before(v[3], lane);
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) v[j] += first;
}

// The width of remainders of values by rice, which stands in the last byte of the rows.
__device__ __forceinline__ uint32_t rice_width(const uint4 *rows, uint32_t row_count) {
  return __ldg(reinterpret_cast<const uint8_t *>(rows + row_count) - 1);
}

// Documents of a block that is not packed. Such blocks are fewer, and need more registers: so this is a call.
[[maybe_unused]] static __device__ __noinline__ uint4 other_docs(const uint4 *rows, uint32_t encoding, uint32_t n, uint32_t prev, uint32_t last, uint32_t lane) {
  uint32_t width = doc_width(encoding), d[4], ends[4];
  switch (doc_kind(encoding)) {
    case bitset:
      set_bits(rows, width, ~0u, n, lane, d);
#pragma unroll
      for (uint32_t j = 0; j < 4; j++) d[j] += prev + 1;
      break;
    case pfor:
      unpack_pfor(rows, width, lane, d);
      sum_gaps(prev, lane, d);
      break;
    case rice: {
      // Bit p being the one of value i, the quotients up to it sum up to p - i.
      uint32_t low = rice_width(rows, width);
      unpack(rows, low, 128, lane, d);
      sum_gaps(prev, lane, d);
      set_bits(rows + low, width - low, 0x00ffffff, 128, lane, ends);
#pragma unroll
      for (uint32_t j = 0; j < 4; j++) d[j] += (ends[j] - (4 * lane + j)) << low;
      break;
    }
    default:  // run
#pragma unroll
      for (uint32_t j = 0; j < 4; j++) d[j] = last - (n - 1) + 4 * lane + j;
  }
  return make_uint4(d[0], d[1], d[2], d[3]);
}

// Documents 4*lane to 4*lane+3 of the block.
__device__ __forceinline__ void decode_docs(const Block &k, uint32_t lane, uint32_t d[4]) {
  if (doc_kind(k.encoding) == packed) {
    unpack(k.docs, doc_width(k.encoding), k.n, lane, d);
    sum_gaps(k.prev, lane, d);
    return;
  }
  uint4 v = other_docs(k.docs, k.encoding, k.n, k.prev, k.last, lane);
  d[0] = v.x, d[1] = v.y, d[2] = v.z, d[3] = v.w;
}

// Frequencies of a block that are not packed, minus one.
[[maybe_unused]] static __device__ __noinline__ uint4 other_freqs(const uint4 *rows, uint32_t encoding, uint32_t lane) {
  uint32_t width = freq_width(encoding), f[4];
  if (freq_kind(encoding) == pfor) {
    unpack_pfor(rows, width, lane, f);
    return make_uint4(f[0], f[1], f[2], f[3]);
  }
  uint32_t low = rice_width(rows, width), ends[4];
  unpack(rows, low, 128, lane, f);
  set_bits(rows + low, width - low, 0x00ffffff, 128, lane, ends);
  uint32_t end = __shfl_up_sync(all_lanes, ends[3], 1);
  if (lane == 0) end = ~0u;
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    f[j] += (ends[j] - end - 1) << low;
    end = ends[j];
  }
  return make_uint4(f[0], f[1], f[2], f[3]);
}

// Frequencies 4*lane to 4*lane+3 of the block.
__device__ __forceinline__ void decode_freqs(const Block &k, uint32_t lane, uint32_t f[4]) {
  if (freq_kind(k.encoding) == packed) {
    unpack(k.freqs, freq_width(k.encoding), k.n, lane, f);
  } else {
    uint4 v = other_freqs(k.freqs, k.encoding, lane);
    f[0] = v.x, f[1] = v.y, f[2] = v.z, f[3] = v.w;
  }
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) f[j] += 1;
}

// The rows that have a lane's packed values.
struct Rows {
  uint4 low, high;
  uint32_t shift;
};

// Asks for the rows of packed values: of lanes that have none, for others. There is no branch, so that what is asked for next does not wait for it.
__device__ __forceinline__ Rows ask_rows(const uint4 *rows, uint32_t width, uint32_t n, uint32_t lane, const uint4 *anything) {
  uint32_t bit = min(lane, (n - 1) / 4) * width;
  const uint4 *from = width ? rows + bit / 32 : anything;
  Rows r;
  r.shift = bit & 31;
  r.low = __ldg(from);
  r.high = __ldg(from + (r.shift + width > 32));
  return r;
}

__device__ __forceinline__ void unpack_rows(const Rows &r, uint32_t width, uint32_t v[4]) {
  uint32_t mask = width ? ~0u >> (32 - width) : 0;
  v[0] = __funnelshift_r(r.low.x, r.high.x, r.shift) & mask;
  v[1] = __funnelshift_r(r.low.y, r.high.y, r.shift) & mask;
  v[2] = __funnelshift_r(r.low.z, r.high.z, r.shift) & mask;
  v[3] = __funnelshift_r(r.low.w, r.high.w, r.shift) & mask;
}

// Documents and frequencies 4*lane to 4*lane+3 of the block. Packed ones are all asked for before any is used. anything is a row that can be read.
__device__ __forceinline__ void decode_both(const Block &k, uint32_t lane, const uint4 *anything, uint32_t d[4], uint32_t f[4]) {
  if (doc_kind(k.encoding) != packed || freq_kind(k.encoding) != packed) {
    decode_docs(k, lane, d);
    decode_freqs(k, lane, f);
    return;
  }
  uint32_t of_docs = doc_width(k.encoding), of_freqs = freq_width(k.encoding);
  Rows docs = ask_rows(k.docs, of_docs, k.n, lane, anything), freqs = ask_rows(k.freqs, of_freqs, k.n, lane, anything);
  unpack_rows(docs, of_docs, d);
  sum_gaps(k.prev, lane, d);
  unpack_rows(freqs, of_freqs, f);
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) f[j] += 1;
}
