// Takes records apart. They have no index, and where one ends only it says: so a thread goes through all of a piece,
// once to count its records and once to note what they are. Of a run there are ten thousand pieces.
#include "layout.cuh"

// Reads a number of at most 32 bits.
__device__ __forceinline__ uint32_t varint(const uint8_t *bytes, uint32_t &at) {
  uint32_t v = 0;
  for (uint32_t shift = 0;; shift += 7) {
    uint32_t b = bytes[at++];
    v |= (b & 0x7f) << shift;
    if (b < 0x80) return v;
  }
}

__device__ __forceinline__ Record read_record(const uint8_t *bytes, uint32_t &at, bool positions) {
  Record r;
  r.term_bytes = varint(bytes, at);
  r.term = at;
  at += r.term_bytes;
  r.n = varint(bytes, at);
  r.first = varint(bytes, at);
  r.tf = varint(bytes, at);
  r.span = varint(bytes, at);
  r.rest_bytes = varint(bytes, at);
  r.rest = at;
  at += r.rest_bytes;
  r.place_bytes = positions ? varint(bytes, at) : 0;
  r.places = at;
  at += r.place_bytes;
  return r;
}

extern "C" __global__ void __launch_bounds__(256) count_records(const Args *args) {
  const Args a = *args;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.piece_count; i += blockDim.x * gridDim.x) {
    const Piece p = a.pieces[i];
    uint32_t n = 0;
    for (uint32_t at = p.from; at < p.from + p.bytes; n++) read_record(a.bytes, at, p.positions);
    a.piece_first[i] = n;
  }
}

extern "C" __global__ void __launch_bounds__(256) split_records(const Args *args) {
  const Args a = *args;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.piece_count; i += blockDim.x * gridDim.x) {
    const Piece p = a.pieces[i];
    uint32_t number = a.piece_first[i];
    for (uint32_t at = p.from; at < p.from + p.bytes; number++) {
      Record r = read_record(a.bytes, at, p.positions);
      r.first += p.base;
      r.cell = p.cell;
      a.records[number] = r;
      a.from[number] = Entry{0, p.cell, number};
      a.slots[number] = number;
    }
  }
}
