#include "launch.h"

#include <stdlib.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <random>
#include <vector>

#include "block.h"
#include "watch.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

// All static shared memory of the kernels, which the linker has gathered; absent under the
// address sanitizer, and without any.
extern "C" {
extern char __start_riffle_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_riffle_shared[] __attribute__((weak, visibility("hidden")));
}

namespace emulator {

void *dynamic_shared;

namespace {

constexpr int garbage = 0xa5;

Block &block() {
  static Block *const it = new Block;
  return *it;
}

std::vector<uint64_t> order(uint64_t blocks, uint64_t seed) {
  std::vector<uint64_t> numbers(blocks);
  std::iota(numbers.begin(), numbers.end(), 0);
  if (seed) {
    std::mt19937_64 random(seed);
    std::shuffle(numbers.begin(), numbers.end(), random);
  }
  return numbers;
}

std::string refused(const Grid &g) {
  uint64_t threads = uint64_t(g.block.x) * g.block.y * g.block.z;
  if (threads < 1 || threads > 1024) return "blocks of " + std::to_string(threads) + " threads";
  if (uint64_t(g.grid.x) * g.grid.y * g.grid.z < 1) return "a grid without blocks";
  return "";
}

} // namespace

bool static_shared(const char *p) {
  return __start_riffle_shared && p >= __start_riffle_shared && p < __stop_riffle_shared;
}

std::string launch(const Grid &g) {
  static std::mutex one;
  std::lock_guard<std::mutex> alone(one);
  if (std::string why = refused(g); !why.empty()) return std::string("kernel ") + g.name + ": " + why;
  blockDim = g.block;
  gridDim = g.grid;
  if (posix_memalign(&dynamic_shared, 16, g.shared_bytes ? g.shared_bytes : 1)) return "no memory for shared memory";
  if (watch) watch->launch_begins(g.name);
  std::string report;
  for (uint64_t i : order(uint64_t(g.grid.x) * g.grid.y * g.grid.z, g.seed)) {
    blockIdx = {unsigned(i % g.grid.x), unsigned(i / g.grid.x % g.grid.y), unsigned(i / g.grid.x / g.grid.y)};
    memset(dynamic_shared, garbage, g.shared_bytes);
    if (__start_riffle_shared) memset(__start_riffle_shared, garbage, __stop_riffle_shared - __start_riffle_shared);
    if (watch)
      watch->block_begins(blockIdx, g.block.x * g.block.y * g.block.z, static_cast<char *>(dynamic_shared), g.shared_bytes);
    block().run(g, blockIdx, g.seed);
    if (block().failed()) {
      report = block().report();
      break;
    }
  }
  if (watch && report.empty()) report = watch->launch_ends();
  free(dynamic_shared);
  dynamic_shared = nullptr;
  return report;
}

} // namespace emulator
