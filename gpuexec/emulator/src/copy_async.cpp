// copy_async_16: nothing arrives before its group has been waited for, as late as may be on a device.
#include "block.h"
#include "watch.h"

namespace emulator {

void copy_async(void *to, const void *from, Site) {
  Thread &self = running->self();
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % 16) {
    running->blame("copy_async_16 of addresses that are not multiples of 16");
    running->leave();
  }
  if (watch) watch->access(from, 16, false, __builtin_return_address(0));
  self.copies.push_back({to, from, self.groups});
}

void copy_async_commit() { running->self().groups++; }

void copy_async_wait(unsigned pending) {
  Thread &self = running->self();
  size_t kept = 0;
  for (const Copy &c : self.copies) {
    if (c.group + pending >= self.groups) {
      self.copies[kept++] = c;
      continue;
    }
    if (watch) watch->access(c.to, 16, true, __builtin_return_address(0));
    memcpy(c.to, c.from, 16);
  }
  self.copies.resize(kept);
}

} // namespace emulator
