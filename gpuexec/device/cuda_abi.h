// What riffle calls of the CUDA driver: the types, constants and functions of libcuda.so, by NVIDIA's
// reference of the driver API. Their binary interface is the same in all drivers for CUDA 11 and later. A name with _v2 is
// what NVIDIA's cuda.h makes of the plain name by a macro, and what the library exports.
//
// abi.sh compares all of it with NVIDIA's own cuda.h.
#ifndef RIFFLE_CUDA_ABI_H
#define RIFFLE_CUDA_ABI_H

#include <stddef.h>

#ifndef CUDA_VERSION // abi.sh brings NVIDIA's types and constants

typedef int CUresult;
typedef int CUdevice;
typedef int CUdevice_attribute;
typedef int CUfunction_attribute;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;

#define CONSTANT(name, value) name = value,
enum {
#endif
#define RIFFLE_CUDA_CONSTANTS(X)                                  \
  X(CUDA_SUCCESS, 0)                                              \
  X(CUDA_ERROR_INVALID_VALUE, 1)                                  \
  X(CUDA_ERROR_OUT_OF_MEMORY, 2)                                  \
  X(CUDA_ERROR_NO_DEVICE, 100)                                    \
  X(CUDA_ERROR_INVALID_DEVICE, 101)                               \
  X(CUDA_ERROR_INVALID_IMAGE, 200)                                \
  X(CUDA_ERROR_INVALID_CONTEXT, 201)                              \
  X(CUDA_ERROR_INVALID_PTX, 218)                                  \
  X(CUDA_ERROR_INVALID_HANDLE, 400)                               \
  X(CUDA_ERROR_ILLEGAL_STATE, 401)                                \
  X(CUDA_ERROR_NOT_FOUND, 500)                                    \
  X(CUDA_ERROR_NOT_READY, 600)                                    \
  X(CUDA_ERROR_LAUNCH_FAILED, 719)                                \
  X(CUDA_ERROR_NOT_SUPPORTED, 801)                                \
  X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                 \
  X(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                        \
  X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)             \
  X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)             \
  X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81) \
  X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)    \
  X(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                   \
  X(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                       \
  X(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                        \
  X(CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                \
  X(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)           \
  X(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 9)        \
  X(CU_STREAM_NON_BLOCKING, 1)                                    \
  X(CU_EVENT_BLOCKING_SYNC, 1)                                    \
  X(CU_EVENT_DISABLE_TIMING, 2)                                   \
  X(CU_MEMHOSTALLOC_PORTABLE, 1)
#ifdef CONSTANT
  RIFFLE_CUDA_CONSTANTS(CONSTANT)
};
#undef CONSTANT
#endif

// X(name, (parameters), (arguments)) for each function; all return a CUresult.
#define RIFFLE_CUDA_FUNCTIONS(X)                                                                              \
  X(cuInit, (unsigned flags), (flags))                                                                        \
  X(cuGetErrorName, (CUresult code, const char **name), (code, name))                                         \
  X(cuDeviceGetCount, (int *n), (n))                                                                          \
  X(cuDeviceGet, (CUdevice *dev, int n), (dev, n))                                                            \
  X(cuDeviceGetName, (char *name, int size, CUdevice dev), (name, size, dev))                                 \
  X(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice dev), (bytes, dev))                                         \
  X(cuDeviceGetAttribute, (int *value, CUdevice_attribute a, CUdevice dev), (value, a, dev))                  \
  X(cuDevicePrimaryCtxRetain, (CUcontext *c, CUdevice dev), (c, dev))                                         \
  X(cuDevicePrimaryCtxRelease_v2, (CUdevice dev), (dev))                                                      \
  X(cuCtxSetCurrent, (CUcontext c), (c))                                                                      \
  X(cuCtxSynchronize, (void), ())                                                                             \
  X(cuMemGetInfo_v2, (size_t *free, size_t *total), (free, total))                                            \
  X(cuMemAlloc_v2, (CUdeviceptr *p, size_t bytes), (p, bytes))                                                \
  X(cuMemFree_v2, (CUdeviceptr p), (p))                                                                       \
  X(cuMemHostAlloc, (void **p, size_t bytes, unsigned flags), (p, bytes, flags))                              \
  X(cuMemFreeHost, (void *p), (p))                                                                            \
  X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t n, CUstream s), (to, from, n, s))         \
  X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t n, CUstream s), (to, from, n, s))               \
  X(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s), (to, from, n, s))         \
  X(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t n, CUstream s), (to, value, n, s))          \
  X(cuStreamCreateWithPriority, (CUstream *s, unsigned flags, int priority), (s, flags, priority))            \
  X(cuStreamDestroy_v2, (CUstream s), (s))                                                                    \
  X(cuStreamSynchronize, (CUstream s), (s))                                                                   \
  X(cuStreamWaitEvent, (CUstream s, CUevent e, unsigned flags), (s, e, flags))                                \
  X(cuEventCreate, (CUevent *e, unsigned flags), (e, flags))                                                  \
  X(cuEventDestroy_v2, (CUevent e), (e))                                                                      \
  X(cuEventRecord, (CUevent e, CUstream s), (e, s))                                                           \
  X(cuEventQuery, (CUevent e), (e))                                                                           \
  X(cuEventSynchronize, (CUevent e), (e))                                                                     \
  X(cuEventElapsedTime, (float *ms, CUevent from, CUevent to), (ms, from, to))                                \
  X(cuModuleLoadData, (CUmodule *m, const void *ptx), (m, ptx))                                               \
  X(cuModuleUnload, (CUmodule m), (m))                                                                        \
  X(cuModuleGetFunction, (CUfunction *f, CUmodule m, const char *name), (f, m, name))                         \
  X(cuFuncSetAttribute, (CUfunction f, CUfunction_attribute a, int value), (f, a, value))                     \
  X(cuFuncGetAttribute, (int *value, CUfunction_attribute a, CUfunction f), (value, a, f))                    \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, CUfunction f, int threads, size_t shared),     \
    (blocks, f, threads, shared))                                                                             \
  X(cuLaunchKernel,                                                                                           \
    (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, \
     CUstream s, void **args, void **extra),                                                                  \
    (f, gx, gy, gz, bx, by, bz, shared, s, args, extra))

#endif
