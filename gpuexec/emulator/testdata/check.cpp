// Runs a kernel of meetings.cu or wrong.cu by name and prints what came of it, for emulator_test.go:
//   check kernel blocks threads shared seed n out < n words
// prints the report, or the words of out.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "../src/launch.h"

#define KERNELS(X)                                                                                            \
  X(scan) X(histogram) X(collectives) X(lock) X(copies) X(divergent_barrier) X(missing_lane) X(forever)       \
  X(closed_gate) X(absent_source) X(trapped) X(not_waited) X(out_of_bounds)                                   \
  X(misaligned) X(far_shift) X(no_barrier) X(no_order) X(two_blocks) X(no_fence)
#define DECLARE(name) extern "C" void name(const void *);
KERNELS(DECLARE)

static emulator::Kernel find(const char *name) {
#define FIND(kernel) if (strcmp(name, #kernel) == 0) return kernel;
  KERNELS(FIND)
  fprintf(stderr, "no kernel %s\n", name);
  exit(2);
}

int main(int, char **argv) {
  unsigned n = atoi(argv[6]), results = atoi(argv[7]);
  std::vector<uint32_t> in(n), out(results);
  for (uint32_t &v : in)
    if (scanf("%u", &v) != 1) return 2;
  struct {
    uint64_t in, out;
    uint32_t n, pad;
  } args = {reinterpret_cast<uint64_t>(in.data()), reinterpret_cast<uint64_t>(out.data()), n, 0};
  std::string report = emulator::launch({argv[1], find(argv[1]), &args, {unsigned(atoi(argv[2])), 1, 1},
                                         {unsigned(atoi(argv[3])), 1, 1}, size_t(atoi(argv[4])), uint64_t(atoi(argv[5]))});
  if (!report.empty())
    puts(report.c_str());
  else
    for (uint32_t v : out) printf("%u\n", v);
}
