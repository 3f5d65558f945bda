// A libcuda whose devices are emulated: the calls of the driver API that riffle makes
// (gpuexec/device/cuda_abi.h).
//
// What is put on a stream waits there until something synchronises with it: so a result that is
// read too early, or a stream that does not wait for another's event, shows every time and not
// once in a while. Memory comes filled with garbage. Asynchronous copies must be from or to
// pinned memory, all ranges must lie within one allocation, and the last release of a primary context
// fails when something in it has not been freed.
//
// Kernels are those linked into the library, found by the names of .entry in the PTX that is loaded;
// the PTX also says how many parameters (one), how many threads and how much static shared memory.
//
// The environment, read when a primary context is made:
//
//   RIFFLE_EMULATOR_DEVICES          devices, 1
//   RIFFLE_EMULATOR_MEMORY           bytes of memory each, 256 MiB
//   RIFFLE_EMULATOR_MULTIPROCESSORS  of each, 4
//   RIFFLE_EMULATOR_SEED             order of blocks and threads, see emulator.h
//   RIFFLE_EMULATOR_FAIL             n or n@d: the launch after n good ones (on device d) fails as a device
//                                    does that is lost: every call since gives CUDA_ERROR_LAUNCH_FAILED
//   RIFFLE_EMULATOR_REFUSE           n or *n: the n-th call since this was set, or every n-th, gives
//                                    CUDA_ERROR_OUT_OF_MEMORY; read at every call
//   RIFFLE_EMULATOR_INIT             what cuInit returns, 0
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../../device/cuda_abi.h"

#pragma GCC visibility push(default)
extern "C" {
#define DECLARE(name, params, args) CUresult name params;
RIFFLE_CUDA_FUNCTIONS(DECLARE)
#undef DECLARE
}
#pragma GCC visibility pop

namespace driver {

struct Stream;

// A record of an event: where in a stream it stands. Those who wait for it do not see later records of the event, perhaps on another stream.
struct Record {
  bool reached = false; // its stream has come to it
  double at = 0;        // when, in milliseconds
  std::weak_ptr<Stream> stream;
};

struct Event {
  bool timed = true;
  std::shared_ptr<Record> last; // null before the first
};

// A step of a stream: work, or until a record has been reached.
struct Step {
  std::function<void()> work;
  std::shared_ptr<Record> until;
};

struct Stream {
  bool blocking = true; // with respect to the null stream
  std::deque<Step> steps;
  void step();  // carries out the first
  void drain(); // carries out all
};

struct Kernel {
  std::string name;
  void (*code)(const void *);
  unsigned parameters = 0, max_threads = 1024, static_shared = 0;
};

} // namespace driver

// The opaque types of the driver API.

struct CUstream_st {
  std::shared_ptr<driver::Stream> state;
};

struct CUevent_st {
  std::shared_ptr<driver::Event> state;
};

struct CUfunc_st {
  driver::Kernel kernel;
  unsigned dynamic_shared = 48 << 10; // the most that a launch may ask for
};

struct CUmod_st {
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};

struct CUctx_st {
  int device = 0;
  int retained = 0;
  CUresult lost = CUDA_SUCCESS; // sticky
  size_t total = 0, used = 0;
  uint64_t launches = 0, fail_after = UINT64_MAX;
  std::map<CUdeviceptr, size_t> allocations;
  std::map<char *, size_t> pinned;
  std::map<CUstream, std::unique_ptr<CUstream_st>> streams;
  std::map<CUevent, std::unique_ptr<CUevent_st>> events;
  std::map<CUmodule, std::unique_ptr<CUmod_st>> modules;
  CUstream_st null_stream;

  void drain(); // all streams
  bool on_device(CUdeviceptr, size_t) const;
  bool in_pinned(const void *, size_t) const;
};

namespace driver {

extern std::recursive_mutex mutex; // around every call
extern thread_local CUcontext current;

uint64_t setting(const char *name, uint64_t otherwise);
unsigned shared_of_block();         // the most that a block may have, by request
unsigned shared_of_multiprocessor();
void complain(const std::string &); // on standard error

// Whether this call is one that RIFFLE_EMULATOR_REFUSE names.
bool refuses();

// A call that needs a current context begins with this.
#define WITH_CONTEXT                                                       \
  std::lock_guard<std::recursive_mutex> lock(driver::mutex);               \
  if (!driver::current) return CUDA_ERROR_INVALID_CONTEXT;                 \
  CUctx_st &context = *driver::current;                                    \
  if (context.lost != CUDA_SUCCESS) return context.lost;                   \
  if (driver::refuses()) return CUDA_ERROR_OUT_OF_MEMORY;

// Puts work on a stream; the null stream waits for all blocking ones and is done at once.
void enqueue(CUctx_st &, CUstream, Step);
bool valid(CUctx_st &, CUstream);

} // namespace driver
