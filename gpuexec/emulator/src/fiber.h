// Fibers: stacks of their own that one thread of the operating system switches between.
#pragma once

#include <stddef.h>

namespace emulator {

// A context is what is needed to go on where a fiber, or the thread itself, left off.
struct Context {
  void *state = nullptr;      // stack pointer, or a ucontext_t
  void *fake_stack = nullptr; // the address sanitizer's
  const void *bottom = nullptr;
  size_t size = 0;
};

// Memory for the stacks of n fibers, a guard page under each; kept until the process ends.
class Stacks {
public:
  void reserve(size_t n);
  // Prepares a context that calls entry() on stack i, from its beginning. entry must not return. When the stack was
  // used before, ended says whether that call of entry came to its end.
  void prepare(size_t i, Context &to, void (*entry)(), bool ended);
  bool contain(const void *p) const;

private:
  char *memory_ = nullptr;
  size_t count_ = 0;
};

// Saves the running context in from and goes on with to. The first thing that a fiber does is
// arrive(); a fiber that ends passes last, and is never gone back to.
void switch_context(Context &from, Context &to, bool last = false);
void arrive(Context &self, Context *came_from);

} // namespace emulator
