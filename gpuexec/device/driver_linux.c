//go:build cuda && linux

// The driver is looked for when a program first asks for devices. So a program built with the tag cuda
// links without a driver, and runs on a machine that has none.
#include "driver_linux.h"

#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

#define POINTER(name, params, args) static CUresult(*at_##name) params;
RIFFLE_CUDA_FUNCTIONS(POINTER)

// A driver that is older than a function is without it.
#define CALL(name, params, args) \
  CUresult riffle_##name params { return at_##name ? at_##name args : CUDA_ERROR_NOT_SUPPORTED; }
RIFFLE_CUDA_FUNCTIONS(CALL)

static char reason[512];

// The library; without one, the reason is that of the first place looked at.
static void *find(const char *path) {
  const char *const given[] = {path, NULL};
  // The last two are where containers and WSL have it.
  static const char *const usual[] = {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                                      "/usr/lib/wsl/lib/libcuda.so.1", NULL};
  for (const char *const *at = *path ? given : usual; *at; at++) {
    void *library = dlopen(*at, RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
    const char *why = dlerror();
    if (!reason[0]) snprintf(reason, sizeof reason, "%s", why ? why : *at);
  }
  return NULL;
}

const char *riffle_cuda_open(const char *path) {
  void *library = find(path);
  if (!library) return reason;
#define LOOK_UP(name, params, args) at_##name = (CUresult(*) params)dlsym(library, #name);
  RIFFLE_CUDA_FUNCTIONS(LOOK_UP)
  if (!at_cuInit || !at_cuDeviceGetCount) return "the library that was found is no CUDA driver";
  CUresult code = at_cuInit(0);
  if (code == CUDA_SUCCESS) return NULL;
  snprintf(reason, sizeof reason, "cuInit gave error %d", code);
  return reason;
}

CUresult riffle_launch(CUfunction f, unsigned blocks, unsigned threads, unsigned shared, CUstream s, CUdeviceptr args) {
  void *parameters[] = {&args};
  return riffle_cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, shared, s, parameters, NULL);
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

// The driver's lock is left to others for a microsecond between two queries.
CUresult riffle_spin(CUevent e, int64_t ns) {
  int64_t t = now(), end = t + ns;
  for (;;) {
    CUresult code = riffle_cuEventQuery(e);
    if (code != CUDA_ERROR_NOT_READY || t >= end) return code;
    for (int64_t next = t + 1000; (t = now()) < next;) continue;
  }
}
