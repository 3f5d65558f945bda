// A libcuda for the linker (libcuda.a) that looks for the driver's when the program starts, so that a program
// built with the tag cuda links without a driver and starts on a machine that has none.
//
// Every function of cuda.h is here and jumps to the driver's function of that name. The library is
// $RIFFLE_LIBCUDA, or libcuda.so.1. Without one, or when its cuInit fails, there are no devices: cuInit and
// cuDeviceGetCount succeed (package gorgonia.org/cu ends the process when cuInit does not), and every
// other function answers CUDA_ERROR_NO_DEVICE. riffle_cuda_reason says why.
//
// names.h, made by setup.sh, has a line NAME(f) for every function f.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { success = 0, no_device = 100, not_supported = 801 }; // of CUresult

static char reason[512];

// Why there are no devices; empty when the driver has been found and cuInit did not fail.
const char *riffle_cuda_reason(void) { return reason; }

static int refuse(void) { return no_device; }
static int lack(void) { return not_supported; }

// Where each function jumps to.
#define NAME(f) __attribute__((visibility("hidden"))) void *riffle_slot_##f = (void *)refuse;
#include "names.h"
#undef NAME

#if defined(__x86_64__)
#define NAME(f)                 \
  asm(".text\n"                 \
      ".globl " #f "\n"         \
      ".type " #f ", @function\n" \
      #f ":\n"                  \
      "  jmp *riffle_slot_" #f "(%rip)\n" \
      ".size " #f ", .-" #f "\n");
#elif defined(__aarch64__)
#define NAME(f)                 \
  asm(".text\n"                 \
      ".globl " #f "\n"         \
      ".type " #f ", %function\n" \
      #f ":\n"                  \
      "  adrp x16, riffle_slot_" #f "\n" \
      "  ldr x16, [x16, :lo12:riffle_slot_" #f "]\n" \
      "  br x16\n"              \
      ".size " #f ", .-" #f "\n");
#else
#error "there are trampolines for amd64 and arm64 only"
#endif
#include "names.h"
#undef NAME

static const struct {
  const char *name;
  void **slot;
} functions[] = {
#define NAME(f) {#f, &riffle_slot_##f},
#include "names.h"
#undef NAME
};
enum { count = sizeof functions / sizeof functions[0] };

static int (*driver_init)(unsigned);
static int (*driver_count)(int *);

static int counts_none(int *n) {
  *n = 0;
  return success;
}

static int counts(int *n) {
  if (driver_count && !reason[0]) return driver_count(n);
  return counts_none(n);
}

static int init(unsigned flags) {
  if (reason[0]) return success;
  int code = driver_init(flags);
  if (code == success) return success;
  snprintf(reason, sizeof reason, "cuInit gave error %d", code);
  for (int i = 0; i < count; i++) *functions[i].slot = (void *)refuse;
  riffle_slot_cuInit = (void *)init;
  riffle_slot_cuDeviceGetCount = (void *)counts_none;
  return success;
}

// Before main, and so before any init function of Go calls cuInit.
__attribute__((constructor)) static void load(void) {
  const char *path = getenv("RIFFLE_LIBCUDA");
  if (!path || !*path) path = "libcuda.so.1";
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library) {
    for (int i = 0; i < count; i++) {
      void *f = dlsym(library, functions[i].name);
      *functions[i].slot = f ? f : (void *)lack;
    }
    driver_init = (int (*)(unsigned))dlsym(library, "cuInit");
    driver_count = (int (*)(int *))dlsym(library, "cuDeviceGetCount");
  }
  if (!driver_init || !driver_count) {
    const char *why = dlerror();
    snprintf(reason, sizeof reason, "%s", why ? why : "the library has no cuInit");
  }
  riffle_slot_cuInit = (void *)init;
  riffle_slot_cuDeviceGetCount = (void *)counts;
}
