// Boolean trees: whether a document matches one, which of its leaves count, and what it can score at most.
//
// A document has a bit for each leaf, a list of the query, that has it. From these follow the bits of the nodes, one after the other, since
// each stands behind those below it; and from the root back, which of the leaves count: those that no node without a match is above.
#pragma once
#include "cells.cuh"

// What the leaves of a document come to.
struct Match {
  bool matches;
  uint32_t constant;  // what nodes add to the score
  uint64_t counted;   // leaves that add to it, if the document has them
};

// Evaluates a tree on the leaves that a document has; with possible, on those that some documents have, which are no reason then to exclude
// all of them. A lane calls it alone.
template <bool possible>
__device__ __forceinline__ Match evaluate(const Query &q, uint64_t leaves) {
  const Node *nodes = q.nodes;
  uint32_t count = q.node_count;
  uint64_t matching = 0;
  for (uint32_t i = 0; i < count; i++) {
    const Node &n = nodes[i];
    bool matches = (n.required & ~leaves) == 0 && (n.required_nodes & ~matching) == 0;
    if (!possible) matches = matches && ((n.excluded & leaves) | (n.excluded_nodes & matching)) == 0;
    uint32_t some = __popcll(n.optional & leaves) + __popcll(n.optional_nodes & matching);
    matching |= static_cast<uint64_t>(matches && some >= n.least) << i;
  }
  Match m{(matching >> (count - 1) & 1) != 0, 0, 0};
  if (!m.matches) return m;
  uint64_t counted = 1ull << (count - 1);  // nodes
  for (uint32_t i = count; i-- > 0;) {
    if (!(counted >> i & 1)) continue;
    const Node &n = nodes[i];
    counted |= n.scoring_nodes & matching;
    m.counted |= n.scoring;
    m.constant += n.constant;
  }
  return m;
}

// The bound of a list of a tree in the strip of the lane, as bound_impact has it: of a list that is not flat that of the tile.
__device__ __forceinline__ uint32_t leaf_byte(const List &l, uint32_t tile) {
  if (l.flat_bound.address) return __ldg(&l.flat_bound[tile * strips + threadIdx.x % 32]);
  uint32_t bound = l.tile_bound[tile];
  return bound ? bound_byte(bound - 1) : 0;
}

// A bound on the scores in each strip of a tile, that of the lane: no_bound where nothing can match. A warp calls it together.
[[maybe_unused]] static __device__ __noinline__ uint32_t bound_tree(const Batch &b, const Part &part, uint32_t tile) {
  const Query &q = b.queries[part.query];
  uint32_t lo = tile << b.tile_shift, hi = min(part.docs, lo + (1u << b.tile_shift)), sum = 0;
  uint64_t there = 0;
  for (uint32_t base = 0; base < part.term_count; base += lists_at_once) {
    uint32_t bytes[lists_at_once];
#pragma unroll
    for (uint32_t g = 0; g < lists_at_once; g++) bytes[g] = leaf_byte(*part.terms[min(base + g, part.term_count - 1)].list, tile);
#pragma unroll
    for (uint32_t g = 0; g < lists_at_once; g++) {
      if (base + g >= part.term_count) continue;
      const Term &term = part.terms[base + g];
      there |= static_cast<uint64_t>(bytes[g] != 0) << term.leaf;
      sum += contribution(term.weight, bound_impact(bytes[g]));
    }
  }
  Match m = evaluate<true>(q, there);
  uint64_t wrong = m.matches ? there & q.scoring & ~m.counted : 0;
  if (__any_sync(all_lanes, wrong != 0)) {
    for (uint32_t i = 0; i < part.term_count; i++) {
      const Term &term = part.terms[i];
      if (wrong >> term.leaf & 1) sum -= contribution(term.weight, bound_impact(leaf_byte(*term.list, tile)));
    }
  }
  if (!m.matches) return no_bound;
  return min(sum + m.constant + rank_bound(part, q.rank_weight, lo, hi), tail_bound(part, lo));
}
