// Puts records in the order of cell and term, and those of one term in the order in which they came.
//
// Terms are strings: seven bytes a round are looked at, as a key that radix sort takes eight bits at a time
// (LSD, stable). Records that are alike so far are a group, and sorted on within it. A record
// whose term has ended, or that is alone in its group, is where it belongs; the others go into the next round.
#include "layout.cuh"

// Seven bytes of a term in the order of strings, and how many there are, which orders what is filled up with zeros.
__device__ __forceinline__ uint64_t key_of(const uint8_t *bytes, const Record &r, uint32_t depth) {
  uint32_t left = r.term_bytes - depth;
  uint64_t key = 0;
#pragma unroll
  for (uint32_t i = 0; i < key_bytes; i++) key = key << 8 | (i < left ? bytes[r.term + depth + i] : 0);
  return key << 8 | min(left, more_follows);
}

extern "C" __global__ void __launch_bounds__(256) make_keys(const Args *args) {
  const Args a = *args;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += blockDim.x * gridDim.x) {
    Entry &e = a.from[i];
    e.key = key_of(a.bytes, a.records[e.record], a.depth);
  }
}

__device__ __forceinline__ uint32_t digit_of(const Entry &e, uint32_t pass) {
  return (pass < 8 ? static_cast<uint32_t>(e.key >> 8 * pass) : e.group >> 8 * (pass - 8)) % digits;
}

// values[d * tiles + t] = how often digit d comes in tile t. A block for each tile.
extern "C" __global__ void __launch_bounds__(256) count_digits(const Args *args) {
  const Args a = *args;
  __shared__ uint32_t counts[digits];
  counts[threadIdx.x] = 0;
  __syncthreads();
  uint32_t first = blockIdx.x * tile, end = min(first + tile, a.count);
  for (uint32_t i = first + threadIdx.x; i < end; i += blockDim.x) atomicAdd(&counts[digit_of(a.from[i], a.pass)], 1u);
  __syncthreads();
  a.values[threadIdx.x * gridDim.x + blockIdx.x] = counts[threadIdx.x];
}

// Moves each entry behind all of lower digits and all of its own that stand before it. values, scanned, say where
// those of each tile begin; within the tile every warp has a part of its own, so that no order is lost.
extern "C" __global__ void __launch_bounds__(256) move_entries(const Args *args) {
  const Args a = *args;
  __shared__ uint32_t place[8][digits];  // where the next entry of each warp and digit goes
  uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (uint32_t w = 0; w < 8; w++) place[w][threadIdx.x] = 0;
  __syncthreads();
  uint32_t first = blockIdx.x * tile + warp * (tile / 8);
  for (uint32_t i = first + lane; i < min(first + tile / 8, a.count); i += 32) {
    atomicAdd(&place[warp][digit_of(a.from[i], a.pass)], 1u);
  }
  __syncthreads();
  uint32_t next = a.values[threadIdx.x * gridDim.x + blockIdx.x];
  for (uint32_t w = 0; w < 8; w++) {
    uint32_t n = place[w][threadIdx.x];
    place[w][threadIdx.x] = next;
    next += n;
  }
  __syncthreads();
  for (uint32_t row = first; row < min(first + tile / 8, a.count); row += 32) {
    bool some = row + lane < a.count;
    Entry e = a.from[some ? row + lane : row];
    uint32_t digit = some ? digit_of(e, a.pass) : digits;
    uint32_t same = __match_any_sync(all_lanes, digit), before = __popc(same & ((1u << lane) - 1));
    uint32_t to = some ? place[warp][digit] + before : 0;
    __syncwarp();
    if (some && before == 0) place[warp][digit] = to + __popc(same);
    __syncwarp();
    if (some) a.to[to] = e;
  }
}

__device__ __forceinline__ bool unlike(const Entry &x, const Entry &y) { return x.key != y.key || x.group != y.group; }

// Says where entries belong that have been sorted, and which of them are still to be told apart.
extern "C" __global__ void __launch_bounds__(256) mark_groups(const Args *args) {
  const Args a = *args;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += blockDim.x * gridDim.x) {
    const Entry e = a.from[i];
    bool begins = i == 0 || unlike(e, a.from[i - 1]), ends = i + 1 == a.count || unlike(e, a.from[i + 1]);
    a.differs[i] = begins;
    a.keep[i] = e.key % digits == more_follows && !(begins && ends);
    a.order[a.slots[i]] = e.record;
    if (begins) a.head[a.slots[i]] = 1;
  }
}

// Takes those into the next round. differs and keep have been scanned.
extern "C" __global__ void __launch_bounds__(256) keep_entries(const Args *args) {
  const Args a = *args;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += blockDim.x * gridDim.x) {
    uint32_t to = a.keep[i];
    if (a.keep[i + 1] == to) continue;
    a.to[to] = Entry{0, a.differs[i + 1] - 1, a.from[i].record};
    a.next_slots[to] = a.slots[i];
  }
}
