#include "fiber.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN 1
#endif
#endif
#ifdef ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace emulator {

namespace {

// A page is the guard. So stacks are an odd number of pages apart, and their hot ends
// fall into different sets of a cache.
#ifdef ASAN
constexpr size_t stack_size = 256 << 10;
#else
constexpr size_t stack_size = 64 << 10;
#endif
const size_t page = sysconf(_SC_PAGESIZE);
const size_t stride = stack_size + page;

} // namespace

void Stacks::reserve(size_t n) {
  if (n <= count_) return;
  if (memory_) munmap(memory_, count_ * stride);
  void *m = mmap(nullptr, n * stride, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (m == MAP_FAILED) {
    perror("emulator: stacks");
    abort();
  }
  memory_ = static_cast<char *>(m);
  count_ = n;
  for (size_t i = 0; i < n; i++) mprotect(memory_ + i * stride, page, PROT_NONE);
#ifdef ASAN
  __asan_unpoison_memory_region(memory_, n * stride); // what lay there before may have left frames
#endif
}

bool Stacks::contain(const void *p) const {
  const char *c = static_cast<const char *>(p);
  return c >= memory_ && c < memory_ + count_ * stride;
}

// unpoison makes a stack fit for a new call: of one that came to its end only the outermost frames, which never
// return, are marked as in use; one that was abandoned has left others. To unpoison all of it each time takes half of a run.
static void unpoison([[maybe_unused]] char *bottom, [[maybe_unused]] bool ended) {
#ifdef ASAN
  size_t size = ended ? 16 << 10 : stack_size;
  __asan_unpoison_memory_region(bottom + stack_size - size, size);
#endif
}

#ifdef __x86_64__

// The callee-saved registers of the System V ABI go onto the stack; the stack pointer is the state.
extern "C" void riffle_emulator_switch(void **from, void *to);
asm(R"(
  .text
  .globl riffle_emulator_switch
  .hidden riffle_emulator_switch
  .type riffle_emulator_switch, @function
riffle_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size riffle_emulator_switch, .-riffle_emulator_switch
)");

void Stacks::prepare(size_t i, Context &to, void (*entry)(), bool ended) {
  char *bottom = memory_ + i * stride + page;
  unpoison(bottom, ended);
  char *top = bottom + stack_size - 512 * (i % 8);
  void **frame = reinterpret_cast<void **>(top) - 2; // entry sees a stack as after a call
  frame[1] = nullptr;                                // the return address of entry
  frame[0] = reinterpret_cast<void *>(entry);
  for (int r = 0; r < 6; r++) *--frame = nullptr;
  to = {frame, nullptr, bottom, stack_size};
}

static void go(Context &from, Context &to) { riffle_emulator_switch(&from.state, to.state); }

#else

void Stacks::prepare(size_t i, Context &to, void (*entry)(), bool ended) {
  char *bottom = memory_ + i * stride + page;
  unpoison(bottom, ended);
  auto *state = to.state ? static_cast<ucontext_t *>(to.state) : new ucontext_t;
  getcontext(state);
  state->uc_stack.ss_sp = bottom;
  state->uc_stack.ss_size = stack_size;
  state->uc_link = nullptr;
  makecontext(state, entry, 0);
  to = {state, nullptr, bottom, stack_size};
}

static void go(Context &from, Context &to) {
  if (!from.state) from.state = new ucontext_t;
  swapcontext(static_cast<ucontext_t *>(from.state), static_cast<ucontext_t *>(to.state));
}

#endif

void switch_context(Context &from, Context &to, bool last) {
#ifdef ASAN
  __sanitizer_start_switch_fiber(last ? nullptr : &from.fake_stack, to.bottom, to.size);
#else
  (void)last;
#endif
  go(from, to);
#ifdef ASAN
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

void arrive(Context &self, Context *came_from) {
#ifdef ASAN
  __sanitizer_finish_switch_fiber(self.fake_stack, came_from ? &came_from->bottom : nullptr,
                                  came_from ? &came_from->size : nullptr);
#else
  (void)self, (void)came_from;
#endif
}

} // namespace emulator
