// One posting of a block without the others, as package postings has it in peek.go: a frequency by its
// position, and in bitsets and runs the position of a document. Any thread may call these alone.
#pragma once
#include "block.cuh"

// Value i of packed ones.
__device__ __forceinline__ uint32_t packed_value(const uint4 *rows, uint32_t width, uint32_t i) {
  if (width == 0) return 0;
  uint32_t bit = i / 4 * width, shift = bit & 31;
  const uint32_t *word = reinterpret_cast<const uint32_t *>(rows + bit / 32) + i % 4;
  uint32_t low = __ldg(word), high = shift + width > 32 ? __ldg(word + 4) : 0;
  return __funnelshift_r(low, high, shift) & (~0u >> (32 - width));
}

// Where set bit number i of a string stands, which has more.
__device__ __forceinline__ uint32_t find_bit(const uint32_t *words, uint32_t i) {
  uint32_t at = 0, w = __ldg(words);
  for (uint32_t ones = __popc(w); i >= ones; ones = __popc(w)) {
    i -= ones;
    w = __ldg(&words[++at]);
  }
  return 32 * at + nth_bit(w, i);
}

// Value i of 128 by pfor or rice in so many rows.
__device__ __forceinline__ uint32_t pfor_value(const uint4 *rows, uint32_t row_count, uint32_t i) {
  PFor p = open_pfor(rows, row_count);
  uint32_t v = packed_value(p.lows, p.low, i);
  for (uint32_t j = 0; j < p.exceptions; j++) {
    uint32_t at = __ldg(&p.bytes[2 + j]);
    if (at == i) v += high_part(p, j) << p.low;
    if (at >= i) break;
  }
  return v;
}

__device__ __forceinline__ uint32_t rice_value(const uint4 *rows, uint32_t row_count, uint32_t i) {
  uint32_t low = rice_width(rows, row_count);
  const uint32_t *ones = reinterpret_cast<const uint32_t *>(rows + low);
  uint32_t begin = i == 0 ? 0 : find_bit(ones, i - 1) + 1;
  return packed_value(rows, low, i) + ((find_bit(ones, i) - begin) << low);
}

// The frequency of posting i.
__device__ __forceinline__ uint32_t freq_at(const Block &k, uint32_t i) {
  uint32_t width = freq_width(k.encoding);
  switch (freq_kind(k.encoding)) {
    case pfor:
      return pfor_value(k.freqs, width, i) + 1;
    case rice:
      return rice_value(k.freqs, width, i) + 1;
  }
  return packed_value(k.freqs, width, i) + 1;
}

const uint32_t not_there = ~0u;

// Whether positions are found without decoding the documents.
__device__ __forceinline__ bool has_ranks(const Block &k) {
  return doc_kind(k.encoding) == bitset || doc_kind(k.encoding) == run;
}

// Which posting of a bitset or a run doc is, or not_there. doc is above k.prev and not above k.last.
__device__ __forceinline__ uint32_t rank_of(const Block &k, uint32_t doc) {
  if (doc_kind(k.encoding) == run) {
    uint32_t first = k.last - (k.n - 1);
    return doc < first ? not_there : doc - first;
  }
  uint32_t at = doc - (k.prev + 1), rank = 0;
  const uint32_t *words = reinterpret_cast<const uint32_t *>(k.docs);
  uint32_t w = __ldg(&words[at / 32]);
  if (!(w >> at % 32 & 1)) return not_there;
  for (uint32_t i = 0; i < at / 32; i++) rank += __popc(__ldg(&words[i]));
  return rank + __popc(w & ((1u << at % 32) - 1));
}

// Which of n rising documents doc is, or not_there.
__device__ __forceinline__ uint32_t find(const uint32_t *docs, uint32_t n, uint32_t doc) {
  uint32_t from = 0, to = n;
  while (from < to) {
    uint32_t middle = (from + to) / 2;
    if (docs[middle] < doc) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from < n && docs[from] == doc ? from : not_there;
}
