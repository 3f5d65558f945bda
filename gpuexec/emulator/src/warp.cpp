// Warp collectives: the lanes of a mask meet, and each gets its result.
#include <algorithm>

#include "block.h"
#include "watch.h"

namespace emulator {

uint64_t Block::meet_warp(Meeting meeting, unsigned mask, uint64_t value, int shift, int width, Site site) {
  Thread &self = *self_;
  Warp &warp = warps_[self.warp];
  self.meeting = meeting;
  self.mask = mask;
  self.value = value;
  self.shift = shift;
  self.width = width;
  self.site = site;
  if (!self.polled) idle_ = 0; // else it may be of the loop that polls
  self.polled = false;
  if (!(mask >> self.lane & 1)) {
    blame("a thread is not in the mask that it passes");
    leave();
  }
  if (width < 1 || width > 32 || (width & (width - 1))) {
    blame("the width of a shuffle is not a power of two up to 32");
    leave();
  }
  warp.runnable &= ~(1u << self.lane);
  if (complete(warp, self))
    exchange(warp, self, mask & warp.live);
  else
    hand_over();
  return self.result;
}

// Whether all lanes of t's mask that live have come to where t waits. __syncwarp may be called from
// several places; the others must be one instruction.
bool Block::complete(const Warp &warp, const Thread &t) const {
  unsigned lanes = t.mask & warp.live;
  if (lanes & warp.runnable) return false;
  for (; lanes; lanes &= lanes - 1) {
    const Thread &u = threads_[t.warp * 32 + __builtin_ctz(lanes)];
    if (u.meeting != t.meeting || u.mask != t.mask) return false;
    if (t.meeting == Meeting::syncwarp) continue;
    if (u.site.line != t.site.line || (u.site.file != t.site.file && strcmp(u.site.file, t.site.file) != 0)) return false;
  }
  return true;
}

// The lane that a shuffle reads, of all those in 0..31.
static int source(const Thread &t) {
  int lane = t.lane, first = lane & ~(t.width - 1), last = lane | (t.width - 1);
  int from;
  switch (t.meeting) {
  case Meeting::shfl:
    return first | (t.shift & (t.width - 1));
  case Meeting::shfl_up:
    from = lane - t.shift;
    return from < first ? lane : from;
  case Meeting::shfl_down:
    from = lane + t.shift;
    return from > last ? lane : from;
  default: // shfl_xor
    from = lane ^ t.shift;
    return from > last ? lane : from;
  }
}

uint64_t Block::shuffled(const Thread &t, unsigned lanes) {
  int from = source(t);
  if (from < 0 || from > 31 || !(lanes >> from & 1)) {
    blame("lane " + std::to_string(t.lane) + " of warp " + std::to_string(t.warp) + " reads lane " +
          std::to_string(from) + ", which does not take part");
    leave();
  }
  return threads_[t.warp * 32 + from].value;
}

static uint64_t reduced(Meeting meeting, uint64_t a, uint64_t b) {
  uint32_t x = a, y = b;
  int32_t i = a, j = b;
  switch (meeting) {
  case Meeting::reduce_add:
    return x + y;
  case Meeting::reduce_min:
    return std::min(x, y);
  case Meeting::reduce_max:
    return std::max(x, y);
  case Meeting::reduce_min_signed:
    return static_cast<uint32_t>(std::min(i, j));
  case Meeting::reduce_max_signed:
    return static_cast<uint32_t>(std::max(i, j));
  case Meeting::reduce_and:
    return x & y;
  case Meeting::reduce_or:
    return x | y;
  default: // reduce_xor
    return x ^ y;
  }
}

// Gives each of lanes its result, and all of them leave to go on.
void Block::exchange(Warp &warp, const Thread &t, unsigned lanes) {
  Thread *first = &threads_[t.warp * 32];
  Meeting meeting = t.meeting;
  if (watch && meeting == Meeting::syncwarp) watch->warp(t.warp * 32, lanes);
  unsigned ballot = 0;
  uint64_t sum = first[__builtin_ctz(lanes)].value;
  for (unsigned left = lanes; left; left &= left - 1) {
    int lane = __builtin_ctz(left);
    ballot |= static_cast<unsigned>(first[lane].value != 0) << lane;
    if (left != lanes) sum = reduced(meeting, sum, first[lane].value);
  }
  for (unsigned left = lanes; left; left &= left - 1) {
    Thread &u = first[__builtin_ctz(left)];
    switch (meeting) {
    case Meeting::syncwarp:
      u.result = 0;
      break;
    case Meeting::shfl:
    case Meeting::shfl_up:
    case Meeting::shfl_down:
    case Meeting::shfl_xor:
      u.result = shuffled(u, lanes);
      break;
    case Meeting::ballot:
    case Meeting::any:
      u.result = ballot;
      break;
    case Meeting::all:
      u.result = ballot == lanes;
      break;
    case Meeting::match_any:
      u.result = 0;
      for (unsigned others = lanes; others; others &= others - 1)
        u.result |= static_cast<uint64_t>(first[__builtin_ctz(others)].value == u.value) << __builtin_ctz(others);
      break;
    default:
      u.result = sum;
    }
  }
  for (unsigned left = lanes; left; left &= left - 1) first[__builtin_ctz(left)].meeting = Meeting::none;
  warp.runnable |= lanes;
}

} // namespace emulator
