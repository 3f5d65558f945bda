// Puts rows that came with a batch, in one copy, to where they stay: extents into their slots of the
// arena. A warp for each move, 512 bytes at a step.
#include "layout.cuh"

extern "C" __global__ void __launch_bounds__(256) scatter(const Batch *batch) {
  const Batch b = *batch;
  uint32_t lane = threadIdx.x % 32, warps = blockDim.x / 32 * gridDim.x;
  for (uint32_t i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < b.move_count; i += warps) {
    Move m = b.moves[i];
    for (uint32_t row = lane; row < m.rows; row += 32) {
      b.rows[m.to + row] = m.from == missing ? make_uint4(0, 0, 0, 0) : b.rows[m.from + row];
    }
  }
}
