// Devices, their primary contexts, and errors.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

namespace driver {

std::recursive_mutex mutex;
thread_local CUcontext current;

uint64_t setting(const char *name, uint64_t otherwise) {
  const char *value = getenv(name);
  return value && *value ? strtoull(value, nullptr, 10) : otherwise;
}

unsigned shared_of_block() { return 227 << 10; } // as an H100 or H200
unsigned shared_of_multiprocessor() { return 228 << 10; }

void complain(const std::string &text) { fprintf(stderr, "riffle emulator: %s\n", text.c_str()); }

static int devices() { return static_cast<int>(setting("RIFFLE_EMULATOR_DEVICES", 1)); }

static std::map<int, std::unique_ptr<CUctx_st>> &contexts() {
  static auto *it = new std::map<int, std::unique_ptr<CUctx_st>>;
  return *it;
}

static CUctx_st &make_context(int device) {
  auto &made = contexts()[device] = std::make_unique<CUctx_st>();
  made->device = device;
  made->total = setting("RIFFLE_EMULATOR_MEMORY", 256 << 20);
  made->null_stream.state = std::make_shared<Stream>();
  if (const char *fail = getenv("RIFFLE_EMULATOR_FAIL"); fail && *fail) {
    const char *at = strchr(fail, '@');
    if (!at || atoi(at + 1) == device) made->fail_after = strtoull(fail, nullptr, 10);
  }
  return *made;
}

bool refuses() {
  static std::string last;
  static uint64_t calls;
  const char *which = getenv("RIFFLE_EMULATOR_REFUSE");
  if (!which || last != which) {
    last = which ? which : "";
    calls = 0;
  }
  if (last.empty()) return false;
  bool each = last[0] == '*';
  uint64_t n = strtoull(last.c_str() + each, nullptr, 10);
  calls++;
  return each ? n && calls % n == 0 : calls == n;
}

static std::string left_behind(const CUctx_st &c) {
  if (c.allocations.empty() && c.pinned.empty() && c.streams.empty() && c.events.empty()) return "";
  return "device " + std::to_string(c.device) + " was released with " + std::to_string(c.allocations.size()) +
         " allocations, " + std::to_string(c.pinned.size()) + " pinned buffers, " + std::to_string(c.streams.size()) +
         " streams and " + std::to_string(c.events.size()) + " events in use";
}

static void destroy(CUctx_st &c) {
  if (c.lost == CUDA_SUCCESS) c.drain();
  for (auto &[address, size] : c.allocations) free(reinterpret_cast<void *>(address));
  for (auto &[address, size] : c.pinned) free(address);
  contexts().erase(c.device);
}

} // namespace driver

using namespace driver;

#define WITH_DEVICE(dev)                               \
  std::lock_guard<std::recursive_mutex> lock(mutex);   \
  if (dev < 0 || dev >= devices()) return CUDA_ERROR_INVALID_DEVICE;

extern "C" {

CUresult cuInit(unsigned flags) {
  return flags ? CUDA_ERROR_INVALID_VALUE : static_cast<CUresult>(setting("RIFFLE_EMULATOR_INIT", 0));
}

CUresult cuDeviceGetCount(int *count) {
  *count = devices();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  WITH_DEVICE(ordinal)
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  WITH_DEVICE(device)
  snprintf(name, size, "riffle emulator %d", device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  WITH_DEVICE(device)
  *bytes = setting("RIFFLE_EMULATOR_MEMORY", 256 << 20);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  WITH_DEVICE(device)
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = static_cast<int>(setting("RIFFLE_EMULATOR_MULTIPROCESSORS", 4));
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = shared_of_block();
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    *value = shared_of_multiprocessor();
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = 9;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = 0;
    break;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    *value = 50 << 20;
    break;
  default:
    complain("device attribute " + std::to_string(attribute) + " is not emulated");
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  WITH_DEVICE(device)
  auto it = contexts().find(device);
  CUctx_st &c = it == contexts().end() ? make_context(device) : *it->second;
  c.retained++;
  *context = &c;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  WITH_DEVICE(device)
  auto it = contexts().find(device);
  if (it == contexts().end()) return CUDA_ERROR_INVALID_CONTEXT;
  CUctx_st &c = *it->second;
  if (--c.retained > 0) return CUDA_SUCCESS;
  std::string left = c.lost == CUDA_SUCCESS ? left_behind(c) : "";
  destroy(c);
  if (left.empty()) return CUDA_SUCCESS;
  complain(left);
  return CUDA_ERROR_ILLEGAL_STATE;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  WITH_CONTEXT
  context.drain();
  return context.lost;
}

static const struct {
  CUresult code;
  const char *name;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
    {CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
};

CUresult cuGetErrorName(CUresult code, const char **name) {
  for (const auto &e : errors)
    if (e.code == code) return *name = e.name, CUDA_SUCCESS;
  *name = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

}
