// The arithmetic of package blockmax, bit for bit: impacts, contributions, and which scores can win.
#pragma once
#include "layout.cuh"

__device__ __forceinline__ uint32_t contribution(uint32_t weight, uint32_t impact) {
  return static_cast<uint32_t>(static_cast<unsigned long long>(weight) * impact >> 16);
}

// Two divisions, each rounded by itself, as in blockmax.Table: so the bits are those of the CPU.
__device__ __forceinline__ uint32_t impact(const Table &t, uint32_t tf, uint32_t code) {
  if (tf < 16) return __ldg(&t.small[tf][code]);
  float ratio = __fdiv_rn(__ldg(&t.k[code]), __uint2float_rn(tf));
  return min(65535u, __float2uint_rn(__fdiv_rn(65536.0f, __fadd_rn(1.0f, ratio))));
}

// The impact of a posting of a list.
__device__ __forceinline__ uint32_t impact_of(const List &l, uint32_t doc, uint32_t tf) {
  return impact(*l.table, tf, l.norms.address ? __ldg(&l.norms[doc]) : 1);
}

// What a posting of the term adds to the score of doc.
__device__ __forceinline__ uint32_t score_of(const Term &t, uint32_t doc, uint32_t tf) {
  return contribution(t.weight, impact_of(*t.list, doc, tf));
}

__device__ __forceinline__ Key key_of(uint32_t score, uint32_t doc) {
  return static_cast<Key>(score) << 32 | static_cast<uint32_t>(~doc);
}

// Whether a document from doc on that scores no more than bound can still enter. doc is a global number.
__device__ __forceinline__ bool can_win(uint32_t bound, uint32_t doc, Key threshold) {
  return key_of(bound, doc) >= threshold;
}

// The query's threshold, as other blocks have raised it by now.
__device__ __forceinline__ Key threshold_of(State &s) { return *const_cast<volatile Key *>(&s.threshold); }

// The same, for all lanes of a warp: they must not part over it when another block raises it between their reads. A warp calls
// it together.
__device__ __forceinline__ Key common_threshold(const State &s) {
  return __shfl_sync(~0u, *const_cast<const volatile Key *>(&s.threshold), 0);
}

// Whether document doc of the part may be returned.
__device__ __forceinline__ bool accepts(const Part &p, uint32_t doc) {
  return p.accept.address == 0 || (__ldg(&p.accept[doc / 32]) >> doc % 32 & 1);
}

// What the static rank adds to the score of doc.
__device__ __forceinline__ uint32_t rank_score(const Part &p, uint32_t weight, uint32_t doc) {
  return p.rank.address ? contribution(weight, __ldg(&p.rank[doc])) : 0;
}

// A bound on rank_score for documents from to to-1.
__device__ __forceinline__ uint32_t rank_bound(const Part &p, uint32_t weight, uint32_t from, uint32_t to) {
  if (p.rank.address == 0) return 0;
  uint32_t highest = 0;
  for (uint32_t t = from >> rank_tile_shift; t <= (to - 1) >> rank_tile_shift; t++) {
    highest = max(highest, static_cast<uint32_t>(__ldg(&p.rank_tile[t])));
  }
  return contribution(weight, highest);
}

// A bound on the whole score of every document from from on, where the order of documents promises one.
__device__ __forceinline__ uint32_t tail_bound(const Part &p, uint32_t from) {
  return p.tail.address ? __ldg(&p.tail[from >> rank_tile_shift]) : ~0u;
}
