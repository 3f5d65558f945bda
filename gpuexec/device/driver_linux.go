//go:build cuda

package device

/*
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "driver_linux.h"
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
	"time"
	"unsafe"
)

// The calls of the driver. They run on a thread on which the device's context is current.

type (
	driverContext  = C.CUcontext
	driverStream   = C.CUstream
	driverEvent    = C.CUevent
	driverModule   = C.CUmodule
	driverFunction = C.CUfunction
)

// failed is the error of a call that returned code, or nil.
func failed(n int, call string, code C.CUresult) error {
	if code == C.CUDA_SUCCESS {
		return nil
	}
	name := "unknown error"
	var s *C.char
	if C.riffle_cuGetErrorName(code, &s) == C.CUDA_SUCCESS && s != nil {
		name = C.GoString(s)
	}
	return &Error{n, call, int(code), name}
}

// openDriver loads the driver, once: RIFFLE_LIBCUDA, or the system's. It returns the reason for a
// failure, or "".
var openDriver = sync.OnceValue(func() string {
	path := C.CString(os.Getenv("RIFFLE_LIBCUDA"))
	defer C.free(unsafe.Pointer(path))
	return C.GoString(C.riffle_cuda_open(path)) // "" for NULL
})

func driverDevices() (int, error) {
	why := openDriver()
	if why == "" {
		var n C.int
		err := failed(0, "cuDeviceGetCount", C.riffle_cuDeviceGetCount(&n))
		if err == nil && n > 0 {
			return int(n), nil
		}
		why = "the driver counts none"
		if err != nil {
			why = err.Error()
		}
	}
	return 0, fmt.Errorf("%w: %s", ErrNoDevice, why)
}

func driverDevice(n int) (dev C.CUdevice, err error) {
	err = failed(n, "cuDeviceGet", C.riffle_cuDeviceGet(&dev, C.int(n)))
	return dev, err
}

func driverInfo(n int) (Info, error) {
	dev, err := driverDevice(n)
	if err != nil {
		return Info{}, err
	}
	var name [256]C.char
	if err := failed(n, "cuDeviceGetName", C.riffle_cuDeviceGetName(&name[0], C.int(len(name)), dev)); err != nil {
		return Info{}, err
	}
	var memory C.size_t
	if err := failed(n, "cuDeviceTotalMem", C.riffle_cuDeviceTotalMem_v2(&memory, dev)); err != nil {
		return Info{}, err
	}
	info := Info{Number: n, Name: C.GoString(&name[0]), Memory: int64(memory)}
	for _, a := range []struct {
		to        *int
		attribute C.CUdevice_attribute
	}{
		{&info.Multiprocessors, C.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
		{&info.SharedPerBlock, C.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
		{&info.SharedPerProcessor, C.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
		{&info.L2, C.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
		{&info.Major, C.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
		{&info.Minor, C.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
	} {
		var value C.int
		if err := failed(n, "cuDeviceGetAttribute", C.riffle_cuDeviceGetAttribute(&value, a.attribute, dev)); err != nil {
			return Info{}, err
		}
		*a.to = int(value)
	}
	return info, nil
}

func driverRetain(n int) (driverContext, error) {
	var c driverContext
	dev, err := driverDevice(n)
	if err != nil {
		return c, err
	}
	if err := failed(n, "cuDevicePrimaryCtxRetain", C.riffle_cuDevicePrimaryCtxRetain(&c, dev)); err != nil {
		return c, err
	}
	return c, driverSetCurrent(n, c)
}

func driverRelease(n int) error {
	dev, err := driverDevice(n)
	if err != nil {
		return err
	}
	return failed(n, "cuDevicePrimaryCtxRelease", C.riffle_cuDevicePrimaryCtxRelease_v2(dev))
}

func driverSetCurrent(n int, c driverContext) error {
	return failed(n, "cuCtxSetCurrent", C.riffle_cuCtxSetCurrent(c))
}

func driverSynchronize(n int) error {
	return failed(n, "cuCtxSynchronize", C.riffle_cuCtxSynchronize())
}

func driverMemory(n int) (free, total int64, err error) {
	var f, t C.size_t
	err = failed(n, "cuMemGetInfo", C.riffle_cuMemGetInfo_v2(&f, &t))
	return int64(f), int64(t), err
}

func driverAlloc(n int, bytes int64) (Memory, error) {
	var p C.CUdeviceptr
	err := failed(n, "cuMemAlloc", C.riffle_cuMemAlloc_v2(&p, C.size_t(bytes)))
	return Memory{uint64(p), bytes}, err
}

func driverFree(n int, m Memory) error {
	return failed(n, "cuMemFree", C.riffle_cuMemFree_v2(C.CUdeviceptr(m.Address)))
}

func driverPin(n int, bytes int64) (Pinned, error) {
	var p unsafe.Pointer
	err := failed(n, "cuMemHostAlloc", C.riffle_cuMemHostAlloc(&p, C.size_t(bytes), C.CU_MEMHOSTALLOC_PORTABLE))
	return Pinned{p, bytes}, err
}

func driverUnpin(n int, p Pinned) error {
	return failed(n, "cuMemFreeHost", C.riffle_cuMemFreeHost(p.base))
}

// The driver clamps a priority to its range; 0 is the lowest.
func driverStreamCreate(n, priority int) (s driverStream, err error) {
	err = failed(n, "cuStreamCreateWithPriority",
		C.riffle_cuStreamCreateWithPriority(&s, C.CU_STREAM_NON_BLOCKING, C.int(-priority)))
	return s, err
}

func driverStreamDestroy(n int, s driverStream) error {
	return failed(n, "cuStreamDestroy", C.riffle_cuStreamDestroy_v2(s))
}

func driverStreamSynchronize(n int, s driverStream) error {
	return failed(n, "cuStreamSynchronize", C.riffle_cuStreamSynchronize(s))
}

// Waiting for an event sleeps instead of spinning, because queries need the cores.
func driverEventCreate(n int) (e driverEvent, err error) {
	err = failed(n, "cuEventCreate", C.riffle_cuEventCreate(&e, C.CU_EVENT_BLOCKING_SYNC))
	return e, err
}

func driverEventDestroy(n int, e driverEvent) error {
	return failed(n, "cuEventDestroy", C.riffle_cuEventDestroy_v2(e))
}

func driverEventSynchronize(n int, e driverEvent) error {
	return failed(n, "cuEventSynchronize", C.riffle_cuEventSynchronize(e))
}

func driverReached(n int, e driverEvent) (bool, error) {
	code := C.riffle_cuEventQuery(e)
	if code == C.CUDA_ERROR_NOT_READY {
		return false, nil
	}
	return code == C.CUDA_SUCCESS, failed(n, "cuEventQuery", code)
}

// driverSpin looks at an event for a time. It reports whether the event was reached.
func driverSpin(n int, e driverEvent, d time.Duration) (bool, error) {
	code := C.riffle_spin(e, C.int64_t(d))
	if code == C.CUDA_ERROR_NOT_READY {
		return false, nil
	}
	return code == C.CUDA_SUCCESS, failed(n, "cuEventQuery", code)
}

func driverElapsed(n int, from, to driverEvent) (float64, error) {
	var ms C.float
	err := failed(n, "cuEventElapsedTime", C.riffle_cuEventElapsedTime(&ms, from, to))
	return float64(ms), err
}

func driverRecord(n int, e driverEvent, s driverStream) error {
	return failed(n, "cuEventRecord", C.riffle_cuEventRecord(e, s))
}

func driverAfter(n int, s driverStream, e driverEvent) error {
	return failed(n, "cuStreamWaitEvent", C.riffle_cuStreamWaitEvent(s, e, 0))
}

func driverLoad(n int, ptx string) (m driverModule, err error) {
	text := C.CString(ptx)
	defer C.free(unsafe.Pointer(text))
	err = failed(n, "cuModuleLoadData", C.riffle_cuModuleLoadData(&m, unsafe.Pointer(text)))
	return m, err
}

func driverUnload(n int, m driverModule) error {
	return failed(n, "cuModuleUnload", C.riffle_cuModuleUnload(m))
}

func driverFind(n int, m driverModule, name string) (f driverFunction, err error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	err = failed(n, "cuModuleGetFunction("+name+")", C.riffle_cuModuleGetFunction(&f, m, text))
	return f, err
}

func driverAllowShared(n int, f driverFunction, bytes int) error {
	return failed(n, "cuFuncSetAttribute",
		C.riffle_cuFuncSetAttribute(f, C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(bytes)))
}

func driverPreferShared(n int, f driverFunction, percent int) error {
	return failed(n, "cuFuncSetAttribute",
		C.riffle_cuFuncSetAttribute(f, C.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, C.int(percent)))
}

func driverOccupancy(n int, f driverFunction, threads, shared int) (int, error) {
	var blocks C.int
	err := failed(n, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
		C.riffle_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, C.int(threads), C.size_t(shared)))
	return int(blocks), err
}

func driverKernelInfo(n int, f driverFunction) (info KernelInfo, err error) {
	for _, a := range []struct {
		to        *int
		attribute C.CUfunction_attribute
	}{
		{&info.Registers, C.CU_FUNC_ATTRIBUTE_NUM_REGS},
		{&info.Local, C.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
		{&info.Shared, C.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
		{&info.Threads, C.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
	} {
		var value C.int
		if err := failed(n, "cuFuncGetAttribute", C.riffle_cuFuncGetAttribute(&value, a.attribute, f)); err != nil {
			return KernelInfo{}, err
		}
		*a.to = int(value)
	}
	return info, nil
}

func driverToDevice(n int, s driverStream, to Memory, from Pinned) error {
	return failed(n, "cuMemcpyHtoDAsync",
		C.riffle_cuMemcpyHtoDAsync_v2(C.CUdeviceptr(to.Address), from.base, C.size_t(to.Bytes), s))
}

func driverToHost(n int, s driverStream, to Pinned, from Memory) error {
	return failed(n, "cuMemcpyDtoHAsync",
		C.riffle_cuMemcpyDtoHAsync_v2(to.base, C.CUdeviceptr(from.Address), C.size_t(from.Bytes), s))
}

func driverMove(n int, s driverStream, to, from Memory) error {
	return failed(n, "cuMemcpyDtoDAsync",
		C.riffle_cuMemcpyDtoDAsync_v2(C.CUdeviceptr(to.Address), C.CUdeviceptr(from.Address), C.size_t(from.Bytes), s))
}

func driverFill(n int, s driverStream, m Memory, value byte) error {
	return failed(n, "cuMemsetD8Async",
		C.riffle_cuMemsetD8Async(C.CUdeviceptr(m.Address), C.uchar(value), C.size_t(m.Bytes), s))
}

func driverLaunch(n int, s driverStream, f driverFunction, g Grid, args uint64) error {
	return failed(n, "cuLaunchKernel",
		C.riffle_launch(f, C.uint(g.Blocks), C.uint(g.Threads), C.uint(g.Shared), s, C.CUdeviceptr(args)))
}
