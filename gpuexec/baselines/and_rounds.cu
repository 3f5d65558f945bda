// AND as Wang et al. (2017) have it: a thread block for each query goes through the shortest list in
// rounds, a block of it for each warp, looks the documents up in the other lists with the search ranges
// that hash segments leave (seek.cuh), and merges what it found into the best k. With documents in the
// order of their global scores, it stops where the k-th best beats the best that any later document can
// score.
#include "../kernels/lead.cuh"

// Goes through the lead of one part. All threads of the block call it together.
__device__ __forceinline__ void go_rounds(const Batch &b, uint32_t part_index, LeadDesk *desk, const Pool &pool, LeadTally *tally,
                                          Key *threshold) {
  const Part &part = b.parts[part_index];
  const List &lead = *part.terms[0].list;
  State &s = b.states[part.query];
  uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (uint32_t first = 0; first < lead.blocks; first += warps) {
    __syncthreads();
    if (threadIdx.x == 0) *threshold = threshold_of(s);
    __syncthreads();
    uint32_t from = before(lead, first) + 1;
    bool bounded = b.queries[part.query].bounds != no_bounds;
    if (bounded && !can_win(tail_bound(part, from), part.base + from, *threshold)) {
      if (threadIdx.x == 0) s.pruned = 1;
      return;
    }
    if (first + warp < lead.blocks) take_lead(b, part_index, first + warp, Sharer{0, 1}, desk, pool, tally, *threshold);
    hand_in(pool, b.queries[part.query], s);
  }
}

extern "C" __global__ void __launch_bounds__(512, 2) and_rounds(const Batch *batch) {
  const Batch b = *batch;
  DYNAMIC_SHARED(Key, keys);
  __shared__ uint32_t count, bins[pool_bins], taken;
  __shared__ LeadDesk desks[16];
  __shared__ Key worst, threshold;
  __shared__ LeadTally tally;
  changed_by_others(count, bins, desks, taken, worst, threshold, tally);
  Pool pool{keys, b.pool_room, &count, bins, &worst};
  if (threadIdx.x == 0) {
    count = 0;
    tally = LeadTally{0, 0, 0, 0};
  }
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) taken = atomicAdd(&b.counters[take_query], 1u);
    __syncthreads();
    if (taken >= b.query_count) return;
    const Query &q = b.queries[taken];
    for (uint32_t p = 0; p < q.part_count; p++) {
      if (q.parts[p].way != by_lead_blocks) continue;
      uint32_t index = &q.parts[p] - b.parts.get();
      go_rounds(b, index, &desks[threadIdx.x / 32], pool, &tally, &threshold);
    }
    count_leads(&tally, b.states[taken]);
  }
}
