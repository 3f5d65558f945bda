// Between AND and OR, for queries of both: where fewer than k documents have all terms, what AND found
// is dropped and OR begins anew, else OR has nothing to do. Bounds pass nothing over before
// k documents are found, so the number of matches decides. A thread for each query.
#include "layout.cuh"

extern "C" __global__ void __launch_bounds__(256) settle(const Batch *batch) {
  const Batch b = *batch;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < b.query_count; i += blockDim.x * gridDim.x) {
    const Query &q = b.queries[i];
    State &s = b.states[i];
    if (q.mode != mode_and_or) continue;
    if (s.matched >= q.k) {
      s.answered = 1;
      continue;
    }
    s.matched = 0;
    s.held = 0;
    s.pruned = 0;
    s.threshold = q.seed;
  }
}
