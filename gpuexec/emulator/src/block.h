// The threads of one block, and where they meet.
#pragma once

#include <string>
#include <vector>

#include "fiber.h"
#include "launch.h"

namespace emulator {

struct Copy { // a copy_async_16 that has not arrived
  void *to;
  const void *from;
  unsigned group;
};

struct Thread {
  Context context;
  uint3 index;
  unsigned warp, lane;
  bool done = false; // also: its stack is free

  // The meeting it waits at; none when it can run.
  Meeting meeting;
  Site site;
  unsigned mask;
  uint64_t value;
  int shift, width; // second and third argument of a shuffle
  uint64_t result;

  std::vector<Copy> copies;
  unsigned groups; // closed by copy_async_commit
  bool polled;     // and has done nothing since
};

struct Warp {
  unsigned live;     // lanes that have not ended
  unsigned runnable; // lanes that can go on
};

class Block {
public:
  void run(const Grid &, uint3 index, uint64_t seed);
  bool failed() const { return !report_.empty(); }
  const std::string &report() const { return report_; }

  // What threads call, through the functions of emulator.h.
  int meet_block(Meeting, int predicate, Site);
  uint64_t meet_warp(Meeting, unsigned mask, uint64_t value, int shift, int width, Site);
  void polls(Site);
  void touched();
  unsigned active() const { return warps_[self_->warp].runnable; }
  // What went wrong, and out of the block. Two calls: strings that make up the first's argument
  // are gone before the stack is left for good.
  void blame(const std::string &what);
  [[noreturn]] void leave();
  Thread &self() { return *self_; }
  std::string who() const; // "thread 7"
  bool on_stack(const void *p) const { return stacks_.contain(p); }

private:
  static void entry(); // of every fiber
  void prepare();
  void end();                // of the running thread. It does not return, and is not said not to: the sanitizer would unpoison all of the stack
  void hand_over();          // to another one that can run; the report when none can
  void turn(Thread &next);   // to that one
  Thread *pick();            // after the running one, nullptr when there is none
  Thread *pick_any();
  void release_barrier();
  bool complete(const Warp &, const Thread &) const;
  void exchange(Warp &, const Thread &, unsigned lanes);
  uint64_t shuffled(const Thread &, unsigned lanes);
  std::string describe(const std::string &what) const;
  bool same_meeting(const Thread &, const Thread &) const;

  const Grid *grid_ = nullptr;
  uint3 index_{};
  Stacks stacks_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  Context outside_;
  Thread *self_ = nullptr;
  unsigned live_ = 0;
  uint64_t random_ = 0; // 0: in order
  std::string report_;

  // __syncthreads
  unsigned arrived_ = 0;
  const Thread *first_ = nullptr; // of those that have arrived
  int count_ = 0;                 // predicates that hold
  // Waiting in loops
  unsigned touches_ = 0; // atomics since the last turn
  unsigned idle_ = 0;    // turns that ended with nothing but polling
};

extern Block *running; // the one block that threads now are of

} // namespace emulator
