// Decoding alone, to be measured as in table 1 and figure 4 of Ding et al. (2009), and to be tested
// against package postings: a warp for each block of a list, four postings a lane.
#include "../kernels/block.cuh"

// A list to decode, and room for what it holds, block_size entries a block.
struct Decoding {
  Pointer<const List> list;
  Pointer<uint32_t> docs;
  Pointer<uint32_t> freqs;
};

__device__ __forceinline__ void write(uint32_t *to, uint32_t n, uint32_t lane, const uint32_t v[4]) {
#pragma unroll
  for (uint32_t j = 0; j < 4; j++) {
    if (4 * lane + j < n) to[4 * lane + j] = v[j];
  }
}

extern "C" __global__ void __launch_bounds__(512, 3) decode_list(const Decoding *decoding) {
  const Decoding d = *decoding;
  const List &l = *d.list;
  uint32_t lane = threadIdx.x % 32, warps = blockDim.x / 32 * gridDim.x;
  for (uint32_t i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < l.blocks; i += warps) {
    Block k = open_block(l, i);
    uint32_t v[4];
    decode_docs(k, lane, v);
    write(&d.docs[static_cast<uint64_t>(i) * l.block_size], k.n, lane, v);
    if (d.freqs.address == 0) continue;
    decode_freqs(k, lane, v);
    write(&d.freqs[static_cast<uint64_t>(i) * l.block_size], k.n, lane, v);
  }
}
