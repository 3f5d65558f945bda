// What a race detector (race.cpp) is told. There is one only in the library's variant that has it.
#pragma once

#include <stddef.h>

#include <string>

#include "emulator.h"

namespace emulator {

class Watch {
public:
  virtual void launch_begins(const char *kernel) = 0;
  virtual std::string launch_ends() = 0; // what was found
  virtual void block_begins(uint3 index, unsigned threads, const char *shared, size_t shared_bytes) = 0;
  virtual void barrier() = 0;                                // all threads of the block have met
  virtual void warp(unsigned first, unsigned lanes) = 0;     // lanes of the warp from thread first on: __syncwarp
  virtual void fence(unsigned thread) = 0;                   // __threadfence
  virtual void atomic(const void *, size_t, bool write, const void *from) = 0;
  virtual void access(const void *, size_t, bool write, const void *from) = 0;
};

extern Watch *watch; // nullptr: none

} // namespace emulator
