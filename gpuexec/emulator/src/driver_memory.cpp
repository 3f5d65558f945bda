// Device memory, pinned host memory, copies and fills.
#include <stdlib.h>
#include <string.h>

#include "driver.h"

using namespace driver;

namespace {

constexpr size_t garbage_limit = 64 << 20; // larger allocations are not filled, so that their pages stay untouched
constexpr int garbage = 0xa5;

void *bytes(CUdeviceptr p) { return reinterpret_cast<void *>(p); }

void *allocate(size_t size) {
  void *p = nullptr;
  if (posix_memalign(&p, 256, size)) return nullptr;
  if (size <= garbage_limit) memset(p, garbage, size);
  return p;
}

// A copy or fill: checked now, done when the stream gets there. host is nullptr when both sides are on the device.
CUresult put(CUctx_st &context, CUstream stream, CUdeviceptr device, const void *host, size_t size,
             std::function<void()> work) {
  if (!valid(context, stream)) return CUDA_ERROR_INVALID_HANDLE;
  if (!context.on_device(device, size)) {
    complain("a copy or fill of " + std::to_string(size) + " bytes is not within one allocation");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (host && !context.in_pinned(host, size)) {
    complain("an asynchronous copy of " + std::to_string(size) + " bytes from or to memory that is not pinned");
    return CUDA_ERROR_INVALID_VALUE;
  }
  enqueue(context, stream, {std::move(work), nullptr});
  return CUDA_SUCCESS;
}

} // namespace

bool CUctx_st::on_device(CUdeviceptr p, size_t size) const {
  auto it = allocations.upper_bound(p);
  if (it == allocations.begin()) return false;
  --it;
  return p - it->first <= it->second && size <= it->second - (p - it->first);
}

bool CUctx_st::in_pinned(const void *host, size_t size) const {
  char *p = static_cast<char *>(const_cast<void *>(host));
  auto it = pinned.upper_bound(p);
  if (it == pinned.begin()) return false;
  --it;
  size_t offset = p - it->first;
  return offset <= it->second && size <= it->second - offset;
}

extern "C" {

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  WITH_CONTEXT
  *free = context.total - context.used;
  *total = context.total;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *to, size_t size) {
  WITH_CONTEXT
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (size > context.total - context.used) return CUDA_ERROR_OUT_OF_MEMORY;
  void *p = allocate(size);
  if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
  context.used += size;
  *to = reinterpret_cast<CUdeviceptr>(p);
  context.allocations[*to] = size;
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr p) {
  WITH_CONTEXT
  auto it = context.allocations.find(p);
  if (it == context.allocations.end()) return CUDA_ERROR_INVALID_VALUE;
  context.drain();
  context.used -= it->second;
  free(bytes(p));
  context.allocations.erase(it);
  return context.lost;
}

CUresult cuMemHostAlloc(void **to, size_t size, unsigned) {
  WITH_CONTEXT
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  *to = allocate(size);
  if (!*to) return CUDA_ERROR_OUT_OF_MEMORY;
  context.pinned[static_cast<char *>(*to)] = size;
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *p) {
  WITH_CONTEXT
  auto it = context.pinned.find(static_cast<char *>(p));
  if (it == context.pinned.end()) return CUDA_ERROR_INVALID_VALUE;
  context.drain();
  free(p);
  context.pinned.erase(it);
  return context.lost;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
  WITH_CONTEXT
  return put(context, stream, to, from, size, [=] { memcpy(bytes(to), from, size); });
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream) {
  WITH_CONTEXT
  return put(context, stream, from, to, size, [=] { memcpy(to, bytes(from), size); });
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  WITH_CONTEXT
  if (!context.on_device(from, size)) return CUDA_ERROR_INVALID_VALUE;
  return put(context, stream, to, nullptr, size, [=] { memmove(bytes(to), bytes(from), size); });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream stream) {
  WITH_CONTEXT
  return put(context, stream, to, nullptr, n, [=] { memset(bytes(to), value, n); });
}

}
