// The driver's functions for cgo, which calls no function by a pointer: each with riffle_ before its name.
#ifndef RIFFLE_DRIVER_LINUX_H
#define RIFFLE_DRIVER_LINUX_H

#include <stdint.h>

#include "cuda_abi.h"

#define DECLARE(name, params, args) CUresult riffle_##name params;
RIFFLE_CUDA_FUNCTIONS(DECLARE)
#undef DECLARE

// riffle_cuda_open finds the driver and initialises it: the library at path, or where drivers usually are when
// path is empty. It returns NULL, or why there are no devices. It must return NULL before anything else is called.
const char *riffle_cuda_open(const char *path);

// riffle_launch launches a kernel with one parameter, the address of a struct on the device.
CUresult riffle_launch(CUfunction f, unsigned blocks, unsigned threads, unsigned shared, CUstream s, CUdeviceptr args);

// riffle_spin queries an event until it is reached or fails, for some nanoseconds at most: then it returns
// CUDA_ERROR_NOT_READY.
CUresult riffle_spin(CUevent e, int64_t ns);

#endif
