// AND led by the shortest list, over all queries of a batch: thread blocks take groups of the lead's
// blocks, one for each warp or one that all warps share, and hand in what was found together. Blocks of
// threads are small, since the warps of one wait for the slowest; with 4 KB of documents and a pool each,
// 16 fit into a multiprocessor.
#include "lead.cuh"

// The part that group number i belongs to. Parts without groups come last in none of the searches.
__device__ __forceinline__ uint32_t part_of_group(const Batch &b, uint32_t group) {
  uint32_t from = 0, to = b.part_count;  // the last part whose first group is not beyond
  while (to - from > 1) {
    uint32_t middle = (from + to) / 2;
    if (b.parts[middle].first_group <= group) {
      from = middle;
    } else {
      to = middle;
    }
  }
  return from;
}

extern "C" __global__ void __launch_bounds__(128, 8) and_lead(const Batch *batch) {
  const Batch b = *batch;
  DYNAMIC_SHARED(Key, keys);
  __shared__ uint32_t count, bins[pool_bins], group, part_index;
  __shared__ LeadDesk desks[4];
  __shared__ Key worst, threshold;
  __shared__ LeadTally tally;
  changed_by_others(count, bins, desks, group, part_index, worst, threshold, tally);
  Pool pool{keys, b.pool_room, &count, bins, &worst};
  uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32;
  if (threadIdx.x == 0) {
    count = 0;
    tally = LeadTally{0, 0, 0, 0};
  }
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) {
      group = atomicAdd(&b.counters[take_group], 1u);
      part_index = part_of_group(b, group);
      threshold = threshold_of(b.states[b.parts[part_index].query]);
    }
    __syncthreads();
    if (group >= b.group_count) return;
    const Part &part = b.parts[part_index];
    State &s = b.states[part.query];
    uint32_t at = group - part.first_group, block = part.lead_shared ? at : at * warps + warp;
    Sharer sharer = part.lead_shared ? Sharer{warp, warps} : Sharer{0, 1};
    if (block < part.terms[0].list.get()->blocks) take_lead(b, part_index, block, sharer, &desks[warp], pool, &tally, threshold);
    hand_in(pool, b.queries[part.query], s);
    count_leads(&tally, s);
  }
}
