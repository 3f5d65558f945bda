// AND led by the shortest list: a warp takes one of its blocks, four documents a lane, and looks them up
// in the other lists, one after the other (Ding et al. 2009, "parallel merge find"). The first and the
// last document of the block are the splitters: between the blocks of the other list where they fall,
// each lane searches those of its own documents. Only blocks that some document falls into are decoded,
// each once for all its documents; bitsets and runs not at all, since there a document has its
// position by counting bits. Frequencies are fetched by position, and only for documents that all lists have.
//
// Where the other lists are so much longer that each document falls into a block of its own, the warp
// decodes over a hundred blocks one after the other. Then the warps of a thread block share a block of the
// lead: each looks up a part of its documents, consecutive ones, so that few blocks are decoded twice.
#pragma once
#include "peek.cuh"
#include "pool.cuh"
#include "seek.cuh"

// Four documents of a lane that are still in, and their scores.
struct Four {
  uint32_t doc[4], score[4];
  uint32_t alive;  // a bit for each
};

// What became of a block of the lead.
const uint32_t lead_done = 0, lead_lost = 1, lead_missing = 2;

// Which warp this is of those that share a block of the lead: of one, two or four.
struct Sharer {
  uint32_t index, count;
};

// The documents of a block that are a sharer's, by position, and where a lane has them: each one has as many,
// from position first on, in the lower ones of its four places.
struct Mine {
  uint32_t from, to;
  uint32_t first, each;

  __device__ __forceinline__ bool has(uint32_t j) const { return j < each && first + j < to; }
};

__device__ __forceinline__ Mine share_of(const Sharer &s, uint32_t n, uint32_t lane) {
  uint32_t each = 4 / s.count, some = (n + s.count - 1) / s.count, from = min(n, s.index * some);
  return Mine{from, min(n, from + some), from + each * lane, each};
}

// Looks the documents up in another list: those it lacks are no longer alive, the others get what it adds.
// docs is room for 128 in shared memory, the warp's own. from and to are the blocks where the documents fall.
[[maybe_unused]] static __device__ __noinline__ uint32_t look_up(const Term &term, Span within, Four &f, uint32_t lane, uint32_t *docs,
                                            uint32_t *decoded) {
  const List &l = *term.list;
  uint32_t target[4], waiting = f.alive;
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    target[j] = f.alive >> j & 1 ? seek(l, within.from, within.to, f.doc[j]) : l.blocks;
    if (target[j] == l.blocks) f.alive &= ~(1u << j), waiting &= ~(1u << j);
  }
  for (;;) {
    uint32_t mine = l.blocks;
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) mine = waiting >> j & 1 ? min(mine, target[j]) : mine;
    uint32_t block = __reduce_min_sync(all_lanes, mine);
    if (block == l.blocks) return lead_done;
    if (is_missing(l, block)) return lead_missing;
    if (is_unneeded(l, block)) {
      for (uint32_t j = 0; j < 4; j++) {
        if (target[j] == block) f.alive &= ~(1u << j), waiting &= ~(1u << j);
      }
      continue;
    }
    Block k = open_block(l, block);
    bool ranks = has_ranks(k);
    if (!ranks) {
      uint32_t d[4];
      decode_docs(k, lane, d);
      __syncwarp();
#pragma unroll
      for (uint32_t j = 0; j < 4; j++) docs[4 * lane + j] = d[j];
      __syncwarp();
    }
    ++*decoded;
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      if (!(waiting >> j & 1) || target[j] != block) continue;
      uint32_t doc = f.doc[j], at = doc <= k.prev && block > 0 ? not_there : ranks ? rank_of(k, doc) : find(docs, k.n, doc);
      waiting &= ~(1u << j);
      if (at == not_there) {
        f.alive &= ~(1u << j);
      } else {
        f.score[j] += score_of(term, doc, freq_at(k, at));
      }
    }
  }
}

// A bound on what the list adds to documents that fall into these blocks: looked up where they are few.
__device__ __forceinline__ uint32_t bound_within(const Term &term, Span within, uint32_t lane, uint32_t bounds) {
  const List &l = *term.list;
  uint32_t blocks = min(within.to + 1, l.blocks) - within.from, highest = l.highest;
  if (bounds == block_bounds && blocks <= 64) {
    highest = 0;
    for (uint32_t i = lane; i < blocks; i += 32) highest = max(highest, bound_of(l, within.from + i));
    highest = __reduce_max_sync(all_lanes, highest);
  }
  return contribution(term.weight, highest);
}

// Counters of a thread block, as in tile.cuh.
struct LeadTally {
  uint32_t matched, scored, decoded, pruned;
};

// What a warp has in shared memory.
struct LeadDesk {
  uint32_t docs[128];
  Range range;  // the documents that it looks at; lane 0 has written it, for itself
};

// Goes through one block of the lead, or a share of it, and puts candidates into the pool. A warp calls it together.
__device__ __forceinline__ uint32_t search_lead(const Batch &b, const Part &part, uint32_t block, const Sharer &sharer, LeadDesk *desk,
                                                const Pool &pool, LeadTally *tally, Key threshold) {
  const Query &q = b.queries[part.query];
  const Term &first = part.terms[0];
  const List &lead = *first.list;
  uint32_t lane = threadIdx.x % 32, from = before(lead, block) + 1, to = last_of(lead, block);

  // Bounds first: of the block, and of the others where its documents can fall.
  uint32_t sum = contribution(first.weight, q.bounds == block_bounds ? bound_of(lead, block) : lead.highest);
  for (uint32_t t = 1; t < part.term_count; t++) {
    const Term &term = part.terms[t];
    const List &l = *term.list;
    Span within{seek_block(l, b.tile_shift, from), seek_block(l, b.tile_shift, to)};
    if (within.from == l.blocks) return lead_done;  // the list has ended: no document of the block matches
    sum += bound_within(term, within, lane, q.bounds);
  }
  uint32_t bound = min(sum + rank_bound(part, q.rank_weight, from, to + 1), tail_bound(part, from));
  if (q.bounds != no_bounds && !can_win(bound, part.base + from, threshold)) return lead_lost;
  if (lane == 0) desk->range = Range{0, from, to + 1, bound};

  if (is_unneeded(lead, block)) return lead_lost;
  if (is_missing(lead, block)) return sharer.index == 0 ? lead_missing : lead_done;
  uint32_t decoded = sharer.index == 0;
  Block k = open_block(lead, block);
  Four f;
  decode_docs(k, lane, f.doc);
  Mine mine = share_of(sharer, k.n, lane);
  if (sharer.count > 1) {
    if (mine.from == mine.to) return lead_done;
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) desk->docs[4 * lane + j] = f.doc[j];
    __syncwarp();
    if (lane == 0 && mine.from > 0) desk->range.from = desk->docs[mine.from - 1] + 1;
    if (lane == 0 && mine.to < k.n) desk->range.to = desk->docs[mine.to - 1] + 1;
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
      if (mine.has(j)) f.doc[j] = desk->docs[mine.first + j];
    }
  }
  f.alive = 0;
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    f.score[j] = 0;
    if (mine.has(j) && f.doc[j] >= part.skip && accepts(part, f.doc[j])) f.alive |= 1u << j;
  }
  for (uint32_t t = 1; t < part.term_count; t++) {
    const Term &term = part.terms[t];
    const List &l = *term.list;
    Span within{seek_block(l, b.tile_shift, from), seek_block(l, b.tile_shift, to)};
    if (look_up(term, within, f, lane, desk->docs, &decoded) == lead_missing) return lead_missing;
    if (!__any_sync(all_lanes, f.alive != 0)) break;
  }
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    if (!(f.alive >> j & 1)) continue;
    uint32_t doc = f.doc[j];
    uint32_t score = f.score[j] + score_of(first, doc, freq_at(k, mine.first + j)) + rank_score(part, q.rank_weight, doc);
    Key key = key_of(score, part.base + doc);
    if (key >= threshold && key < q.after) add(pool, key);
  }
  uint32_t matched = __reduce_add_sync(all_lanes, static_cast<uint32_t>(__popc(f.alive)));
  if (lane == 0) {
    atomicAdd(&tally->decoded, decoded);
    if (matched) atomicAdd(&tally->matched, matched);
    if (matched) atomicAdd(&tally->scored, matched);
  }
  return lead_done;
}

// Does search_lead and reports what became of the block, or the share of it. A warp calls it together.
__device__ __forceinline__ void take_lead(const Batch &b, uint32_t part_index, uint32_t block, const Sharer &sharer, LeadDesk *desk,
                                          const Pool &pool, LeadTally *tally, Key threshold) {
  const Part &part = b.parts[part_index];
  uint32_t outcome = search_lead(b, part, block, sharer, desk, pool, tally, threshold);
  if (threadIdx.x % 32 != 0) return;
  if (outcome == lead_lost) tally->pruned = 1;
  if (outcome == lead_missing) {
    uint32_t at = atomicAdd(b.unresolved_count.get(), 1u);
    if (at < b.unresolved_room) b.unresolved[at] = Range{part_index, desk->range.from, desk->range.to, desk->range.bound};
    atomicAdd(&b.states[part.query].unresolved, 1u);
  }
}

// Adds the counters to the query's state and clears them. All threads of the block call it together.
__device__ __forceinline__ void count_leads(LeadTally *n, State &s) {
  __syncthreads();
  if (threadIdx.x == 0) {
    if (n->matched) atomicAdd(&s.matched, static_cast<unsigned long long>(n->matched));
    if (n->scored) atomicAdd(&s.scored, static_cast<unsigned long long>(n->scored));
    if (n->decoded) atomicAdd(&s.decoded, static_cast<unsigned long long>(n->decoded));
    if (n->pruned) s.pruned = 1;
    *n = LeadTally{0, 0, 0, 0};
  }
  __syncthreads();
}
