// Between AND and OR, for queries of both: where fewer than k documents have all terms, what AND found
// is dropped and OR begins anew, else OR has nothing to do. Bounds pass nothing over before
// k documents are found, so the number of matches decides. A warp for each query.
#include "layout.cuh"

extern "C" __global__ void __launch_bounds__(256) settle(const Batch *batch) {
  const Batch b = *batch;
  uint32_t lane = threadIdx.x % 32, warps = blockDim.x / 32 * gridDim.x;
  for (uint32_t i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < b.query_count; i += warps) {
    const Query &q = b.queries[i];
    State &s = b.states[i];
    if (q.mode != mode_and_or) continue;
    bool enough = s.matched >= q.k;
    if (!enough && q.counts.address) {  // as append.cuh needs it
      for (uint32_t j = lane; j < s.held; j += 32) q.best[j] = 0;
      for (uint32_t j = lane; j < count_ranges; j += 32) q.counts[j] = 0;
    }
    __syncwarp();
    if (lane != 0) continue;
    if (enough) {
      s.answered = 1;
      continue;
    }
    s.matched = 0;
    s.held = 0;
    s.pruned = 0;
    s.threshold = q.seed;
  }
}
