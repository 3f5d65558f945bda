// Running a grid on the emulator: what the fake driver (driver.cpp) and tests see of it.
#pragma once

#include <string>

#include "emulator.h"

namespace emulator {

using Kernel = void (*)(const void *args);

struct Grid {
  const char *name; // of the kernel, for the report
  Kernel kernel;
  const void *args;
  dim3 grid, block;
  size_t shared_bytes; // dynamic
  uint64_t seed;       // 0: blocks and threads in order
};

// Runs it to the end. Returns "" or the report of what went wrong, in which case threads have been
// left where they were. One grid runs at a time; others wait.
std::string launch(const Grid &);

// Whether p is in static shared memory (as far as the linker has gathered it).
bool static_shared(const char *p);

} // namespace emulator
