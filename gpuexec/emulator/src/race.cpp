// A race detector: which accesses to memory no barrier, and nothing else, puts in an order.
//
// Kernels are compiled with -fsanitize=thread, which calls __tsan_read4 and the like before each
// access; those functions are here, not in libtsan, since the threads are fibers and the rules CUDA's:
//
//   __syncthreads    orders all of a block
//   __syncwarp       orders its lanes. Shuffles, votes and reductions order no memory
//   __threadfence    what a thread, and its block, did before a fence is ordered before what another does after an
//                    atomic on the word that the thread then touched by one, and a fence or barrier of its own
//   the launch       orders everything before it and after it
//
// Two accesses to a byte that are in no order, not of one thread, at least one of them a write and not both
// atomic (or volatile, or __ldcg), are a race; but not two writes that leave the same value, as
// of a flag that many raise. Shared memory is another one in each block.
//
// Each word of 4 bytes remembers four accesses, as in ThreadSanitizer (Serebryany and others, 2009); so a race can
// be missed when many threads touch a word in between, but what is reported is one. What is told of fences is
// kept for each thread of the same block, and of other blocks as a whole.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "block.h"
#include "watch.h"

namespace emulator {

namespace {

struct Access {
  uint32_t block = 0; // serial number, over all launches; 0: none
  uint32_t phase = 0; // barriers of the block before it
  uint32_t step = 0;  // releases of the thread before it
  uint32_t time = 0;  // releases of the launch before it
  uint32_t from = 0;  // offset in the library
  uint16_t thread = 0;
  uint8_t bytes = 0; // of the word, one bit each
  bool write = false, atomic = false;
};

struct Word {
  Access accesses[4];
};

constexpr size_t page_words = 1024;

// Two writes, of which the second has yet to happen: a race unless it writes what is there.
struct Doubt {
  Access first, second;
  const char *at; // of the first byte that both write
  unsigned bytes;
  char value[4];
};

// What a thread, or a word that has been released through, knows: the steps of the threads of one block (the latest:
// blocks run one after another), and the times of releases of blocks.
struct Knowledge {
  uint32_t block = 0;
  std::vector<uint32_t> steps;
  std::unordered_map<uint32_t, uint32_t> times;

  void learn(const Knowledge &of) {
    if (block < of.block) {
      block = of.block;
      steps = of.steps;
    } else if (block == of.block) {
      for (size_t i = 0; i < steps.size(); i++) steps[i] = std::max(steps[i], of.steps[i]);
    }
    for (auto &[b, t] : of.times) times[b] = std::max(times[b], t);
  }
};

struct Clock {
  uint32_t step = 1;
  Knowledge known, pending, released;
  bool has_pending = false, has_released = false;
};

class Race final : public Watch {
public:
  void launch_begins(const char *kernel) override {
    kernel_ = kernel;
    first_block_ = block_ + 1;
    releases_.clear();
    time_ = 1;
    doubts_.clear();
    found_.clear();
    report_.clear();
  }

  std::string launch_ends() override {
    settle();
    return report_;
  }

  void block_begins(uint3, unsigned threads, const char *shared, size_t shared_bytes) override {
    block_++;
    phase_ = 0;
    dynamic_ = shared;
    dynamic_bytes_ = shared_bytes;
    clocks_.assign(threads, Clock());
    for (Clock &t : clocks_) {
      t.known.block = block_;
      t.known.steps.assign(threads, 0);
    }
    all_times_.clear();
  }

  void barrier() override {
    phase_++;
    for (Clock &t : clocks_)
      if (t.has_pending) {
        for (auto &[b, time] : t.pending.times) all_times_[b] = std::max(all_times_[b], time);
        t.has_pending = false;
      }
  }

  void warp(unsigned first, unsigned lanes) override {
    unsigned last = std::min<size_t>(first + 32, clocks_.size());
    std::vector<uint32_t> most(last - first);
    for (unsigned i = first; i < last; i++) {
      if (!(lanes >> (i - first) & 1)) continue;
      Clock &t = clocks_[i];
      for (unsigned j = first; j < last; j++) most[j - first] = std::max(most[j - first], t.known.steps[j]);
      most[i - first] = t.step++;
    }
    for (unsigned i = first; i < last; i++)
      if (lanes >> (i - first) & 1) std::copy(most.begin(), most.end(), clocks_[i].known.steps.begin() + first);
  }

  void fence(unsigned thread) override {
    Clock &t = clocks_[thread];
    if (t.has_pending) {
      t.known.learn(t.pending);
      t.has_pending = false;
    }
    t.known.steps[thread] = t.step++;
    t.known.times[block_] = time_++;
    t.released = t.known;
    t.has_released = true;
  }

  void atomic(const void *p, size_t size, bool write, const void *from) override {
    unsigned self = number();
    note(p, size, write, true, from);
    uintptr_t word = reinterpret_cast<uintptr_t>(p) / 4;
    Clock &t = clocks_[self];
    auto it = releases_.find(word);
    if (it != releases_.end() && (!shared(p) || it->second.block == block_)) {
      if (!t.has_pending) t.pending = Knowledge();
      t.has_pending = true;
      t.pending.learn(it->second);
    }
    if (write && t.has_released) releases_[word].learn(t.released);
  }

  void access(const void *p, size_t size, bool write, const void *from) override { note(p, size, write, false, from); }

private:
  static unsigned number() {
    const emulator::Thread &t = running->self();
    return t.warp * 32 + t.lane;
  }

  bool shared(const void *p) const {
    const char *c = static_cast<const char *>(p);
    return (c >= dynamic_ && c < dynamic_ + dynamic_bytes_) || static_shared(c);
  }

  void note(const void *p, size_t size, bool write, bool atomic, const void *from) {
    settle();
    if (running->on_stack(p)) return;
    Access a;
    a.thread = number();
    const Clock &t = clocks_[a.thread];
    a.block = block_;
    a.phase = phase_;
    a.step = t.step;
    a.time = time_;
    a.from = static_cast<const char *>(from) - base();
    a.write = write;
    a.atomic = atomic;
    uintptr_t begin = reinterpret_cast<uintptr_t>(p), end = begin + size;
    for (uintptr_t at = begin; at < end; at = at / 4 * 4 + 4) {
      unsigned low = at % 4, high = std::min<uintptr_t>(4, end - at / 4 * 4);
      a.bytes = ((1u << high) - 1) & ~((1u << low) - 1);
      visit(word_at(at), a, reinterpret_cast<const char *>(at / 4 * 4));
    }
  }

  Word &word_at(uintptr_t at) {
    uintptr_t page = at / (4 * page_words);
    if (page != last_page_ || !last_) {
      auto &made = pages_[page];
      if (!made) made.reset(new Word[page_words]);
      last_page_ = page;
      last_ = made.get();
    }
    return last_[at / 4 % page_words];
  }

  void visit(Word &w, const Access &a, const char *p) { // the word at p
    Access *slot = nullptr;
    for (Access &b : w.accesses) {
      if (b.block == a.block && b.thread == a.thread && b.write == a.write && b.atomic == a.atomic && b.bytes == a.bytes) {
        slot = &b;
        continue;
      }
      if (before(b, a, p)) {
        if (!slot) slot = &b;
        continue;
      }
      unsigned both = a.bytes & b.bytes;
      if (!both || (a.atomic && b.atomic) || !(a.write || b.write)) continue;
      if (a.write && b.write && !a.atomic && !b.atomic)
        doubt(b, a, p, both);
      else
        found(b, a, p);
    }
    random_ = random_ * 1664525 + 1013904223;
    if (!slot) slot = &w.accesses[random_ >> 30];
    *slot = a;
  }

  void doubt(const Access &b, const Access &a, const char *p, unsigned both) {
    Doubt d = {b, a, p + __builtin_ctz(both), unsigned(__builtin_popcount(both)), {}};
    memcpy(d.value, d.at, d.bytes);
    doubts_.push_back(d);
  }

  // By the next access the writes have happened.
  void settle() {
    for (const Doubt &d : doubts_)
      if (memcmp(d.value, d.at, d.bytes) != 0) found(d.first, d.second, d.at);
    doubts_.clear();
  }

  // Whether b is ordered before a, which is of the running thread.
  bool before(const Access &b, const Access &a, const void *p) {
    if (b.block < first_block_) return true; // of an earlier launch, or none at all
    const Clock &t = clocks_[a.thread];
    if (b.block == a.block)
      return b.thread == a.thread || b.phase < a.phase || b.step <= t.known.steps[b.thread];
    if (shared(p)) return true;
    auto it = t.known.times.find(b.block);
    if (it != t.known.times.end() && b.time <= it->second) return true;
    auto of_all = all_times_.find(b.block);
    return of_all != all_times_.end() && b.time <= of_all->second;
  }

  void found(const Access &b, const Access &a, const void *p) {
    if (!found_.insert({b.from, a.from}).second || found_.size() > 20) return;
    if (report_.empty()) report_ = std::string("kernel ") + kernel_ + ": races";
    report_ += std::string("\n\tin ") + (shared(p) ? "shared" : "global") + " memory: " + describe(b) + ", and in no order with it " +
               describe(a);
    if (b.block != a.block) report_ += ", of another block";
  }

  std::string describe(const Access &a) const {
    return "thread " + std::to_string(a.thread) + (a.atomic ? a.write ? " updates" : " reads atomically" : a.write ? " writes" : " reads") +
           " at " + place(a.from);
  }

  // The line of an offset in the library, by addr2line.
  static std::string place(uint32_t offset) {
    char command[1024], line[1024] = "";
    snprintf(command, sizeof command, "addr2line -e '%s' 0x%x 2>/dev/null", library().dli_fname, offset - 1);
    if (FILE *out = popen(command, "r")) {
      if (!fgets(line, sizeof line, out)) line[0] = 0;
      pclose(out);
    }
    std::string text = line;
    text = text.substr(0, text.find_first_of(" \n"));
    return text.substr(text.rfind('/') + 1);
  }

  static const Dl_info &library() {
    static const Dl_info info = [] {
      Dl_info i;
      dladdr(reinterpret_cast<void *>(&meet_block), &i);
      return i;
    }();
    return info;
  }
  static const char *base() {
    static const char *const it = static_cast<const char *>(library().dli_fbase);
    return it;
  }

  const char *kernel_ = "";
  uint32_t block_ = 0, first_block_ = 1, phase_ = 0, time_ = 1;
  uint32_t random_ = 1;
  const char *dynamic_ = nullptr;
  size_t dynamic_bytes_ = 0;
  std::vector<Clock> clocks_;
  std::unordered_map<uint32_t, uint32_t> all_times_;      // known to all of the block since a barrier
  std::unordered_map<uintptr_t, Knowledge> releases_;     // by word
  std::unordered_map<uintptr_t, std::unique_ptr<Word[]>> pages_;
  uintptr_t last_page_ = 0;
  Word *last_ = nullptr;
  std::vector<Doubt> doubts_;
  std::set<std::pair<uint32_t, uint32_t>> found_; // by the places of both
  std::string report_;
};

struct Install {
  Install() { watch = new Race; }
} install;

} // namespace
} // namespace emulator

// What -fsanitize=thread calls.

#define VISIBLE extern "C" __attribute__((visibility("hidden")))
#define SIZES(X) X(1) X(2) X(4) X(8) X(16)
#define CALLS(n)                                                                                                             \
  VISIBLE void __tsan_read##n(void *p) { emulator::watch->access(p, n, false, __builtin_return_address(0)); }               \
  VISIBLE void __tsan_write##n(void *p) { emulator::watch->access(p, n, true, __builtin_return_address(0)); }               \
  VISIBLE void __tsan_unaligned_read##n(void *p) { emulator::watch->access(p, n, false, __builtin_return_address(0)); }     \
  VISIBLE void __tsan_unaligned_write##n(void *p) { emulator::watch->access(p, n, true, __builtin_return_address(0)); }     \
  VISIBLE void __tsan_volatile_read##n(void *p) { emulator::watch->atomic(p, n, false, __builtin_return_address(0)); }      \
  VISIBLE void __tsan_volatile_write##n(void *p) { emulator::watch->atomic(p, n, true, __builtin_return_address(0)); }
SIZES(CALLS)
VISIBLE void __tsan_read_range(void *p, size_t n) { emulator::watch->access(p, n, false, __builtin_return_address(0)); }
VISIBLE void __tsan_write_range(void *p, size_t n) { emulator::watch->access(p, n, true, __builtin_return_address(0)); }
VISIBLE void __tsan_init() {}
VISIBLE void __tsan_func_entry(void *) {}
VISIBLE void __tsan_func_exit(void *) {}
