// Makes one record of those of a term: its head, from the first of them, then the postings of all, then the positions of
// all. The first posting of each record behind the first becomes one like others; what stands behind it is copied as it
// is, and so are positions, which count from nothing before them.
//
// So a place gets two pieces of the output. Those of a term without positions stand in the order of places, and those with
// positions behind them: sums of both sizes over all places before say where each begins.
#include "layout.cuh"

__device__ __forceinline__ uint32_t varint_bytes(uint64_t v) {
  uint32_t n = 1;
  for (; v >= 0x80; v >>= 7) n++;
  return n;
}

// A posting as part of a run: segment.appendRun. The gap counts the documents between.
__device__ __forceinline__ uint64_t run_gap(uint32_t gap, uint32_t tf) { return static_cast<uint64_t>(gap) << 1 | (tf == 1); }
__device__ __forceinline__ uint32_t run_bytes(uint32_t gap, uint32_t tf) {
  return varint_bytes(run_gap(gap, tf)) + (tf == 1 ? 0 : varint_bytes(tf - 2));
}

__device__ __forceinline__ const Record &at_place(const Args &a, uint32_t place) { return a.records[a.order[place]]; }

// Documents between the record at a place and the one before it, of the same term.
__device__ __forceinline__ uint32_t gap_before(const Args &a, uint32_t place) {
  const Record &before = at_place(a, place - 1);
  return at_place(a, place).first - (before.first + before.span) - 1;
}

__device__ __forceinline__ uint32_t tail_bytes(const Args &a, uint32_t place) {
  const Record &r = at_place(a, place);
  return run_bytes(gap_before(a, place), r.tf) + r.rest_bytes;
}

__device__ __forceinline__ uint32_t head_bytes(const Record &r, const Whole &w) {
  return varint_bytes(r.term_bytes) + r.term_bytes + varint_bytes(w.n) + varint_bytes(r.first) + varint_bytes(r.tf) +
         varint_bytes(w.span) + varint_bytes(w.rest_bytes);
}

// How many bytes each place gets.
extern "C" __global__ void __launch_bounds__(256) measure_records(const Args *args) {
  const Args a = *args;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.record_count; i += blockDim.x * gridDim.x) {
    if (!a.head[i]) {
      a.size[i] = tail_bytes(a, i);
      continue;
    }
    const Record &r = at_place(a, i);
    Whole w = {r.n, r.rest_bytes, r.span, r.place_bytes};
    uint32_t end = i + 1;
    for (; end < a.record_count && !a.head[end]; end++) {
      const Record &other = at_place(a, end);
      w.n += other.n;
      w.rest_bytes += tail_bytes(a, end);
      w.span = other.first + other.span - r.first;
      w.place_bytes += other.place_bytes;
      a.begins[end] = i;
      a.place_size[end] = other.place_bytes;
    }
    for (uint32_t j = i; j < end; j++) a.ends[j] = end;
    a.begins[i] = i;
    a.whole[i] = w;
    a.size[i] = head_bytes(r, w) + r.rest_bytes;
    a.place_size[i] = w.place_bytes == 0 ? 0 : varint_bytes(w.place_bytes) + r.place_bytes;
  }
}

// Writes in one lane, while all count.
struct Writer {
  uint8_t *to;
  uint32_t at;
  bool writes;

  __device__ __forceinline__ void varint(uint64_t v) {
    for (; v >= 0x80; v >>= 7) byte(v | 0x80);
    byte(v);
  }
  __device__ __forceinline__ void byte(uint8_t b) {
    if (writes) to[at] = b;
    at++;
  }
  __device__ __forceinline__ void copy(const uint8_t *from, uint32_t bytes, uint32_t lane) {
    for (uint32_t i = lane; i < bytes; i += 32) to[at + i] = from[i];
    at += bytes;
  }
};

// Writes what each place gets. A warp for each. size and place_size have been scanned.
extern "C" __global__ void __launch_bounds__(256) gather_records(const Args *args) {
  const Args a = *args;
  const uint8_t *bytes = a.bytes;
  uint32_t lane = threadIdx.x % 32, warps = blockDim.x / 32 * gridDim.x;
  for (uint32_t i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < a.record_count; i += warps) {
    const Record r = at_place(a, i);
    uint32_t begin = a.begins[i];
    const Whole whole = a.whole[begin];
    Writer w{a.out.get() + a.size[i] + a.place_size[begin], 0, lane == 0};
    if (i == begin) {
      if (lane == 0 && (i == 0 || at_place(a, i - 1).cell != r.cell)) a.cell_start[r.cell] = a.size[i] + a.place_size[i];
      w.varint(r.term_bytes);
      w.copy(bytes + r.term, r.term_bytes, lane);
      w.varint(whole.n);
      w.varint(r.first);
      w.varint(r.tf);
      w.varint(whole.span);
      w.varint(whole.rest_bytes);
    } else {
      w.varint(run_gap(gap_before(a, i), r.tf));
      if (r.tf != 1) w.varint(r.tf - 2);
    }
    w.copy(bytes + r.rest, r.rest_bytes, lane);
    if (r.place_bytes == 0) continue;
    w = Writer{a.out.get() + a.size[a.ends[i]] + a.place_size[i], 0, lane == 0};
    if (i == begin) w.varint(whole.place_bytes);
    w.copy(bytes + r.places, r.place_bytes, lane);
  }
}
