// Looking a document up in a flat list, by one lane alone. In a strip the postings of a list are spread evenly, so the lane reads sixteen of them about where
// the document should be, and goes on to those next to them when it is beyond.
//
// It reads whole rows, up to 60 bytes behind the last posting of a list: behind flat memory there are spare rows (windows.go).
#pragma once
#include "flat.cuh"

// Postings that a lane looks at in one step, at least four.
const uint32_t probe_words = 16;

// Looks for document x, modulo that of a tile as mask has it, among postings in.from to in.to of a list, which are in one tile. about is the number, from
// in.from on, that its posting should have. It returns the posting, and sets found, or returns 0. A lane calls it alone.
__device__ __forceinline__ uint32_t probe(const uint32_t *flat, const Interval &in, uint32_t about, uint32_t x, uint32_t mask, bool *found) {
  const int words = static_cast<int>(probe_words);
  int from = static_cast<int>(in.from), to = static_cast<int>(in.to);
  int at = max(from, min(from + static_cast<int>(about) - words / 2, to - words));
  while (from < to) {
    at -= static_cast<int>((reinterpret_cast<uintptr_t>(flat + at) & 15) / 4);  // to a row: perhaps below from, but not before the list, which begins with one
    const uint4 *rows = reinterpret_cast<const uint4 *>(flat + at);
    uint32_t word[probe_words];
#pragma unroll
    for (uint32_t j = 0; j < probe_words / 4; j++) {
      uint4 row = __ldg(rows + j);
      word[4 * j] = row.x, word[4 * j + 1] = row.y, word[4 * j + 2] = row.z, word[4 * j + 3] = row.w;
    }
    // Words before from and from to on are of other strips, or none at all. So there may be the document of a tile further on.
    uint32_t inside = ~0u << max(0, from - at);
    if (to - at < words) inside &= (1u << (to - at)) - 1;
    uint32_t here = 0;
#pragma unroll
    for (uint32_t j = 0; j < probe_words; j++) {
      if (((word[j] ^ x) & mask) == 0 && (inside >> j & 1)) here = word[j], *found = true;
    }
    if (*found) return here;
    int behind = at + words;
    if (behind < to && (word[probe_words - 1] & mask) < x) {
      at = from = behind;
    } else if (at > from && (word[0] & mask) > x) {
      to = at;
      at = max(from, to - words);
    } else {
      break;
    }
  }
  return 0;
}
