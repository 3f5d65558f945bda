//go:build cuda

package device

/*
#include <cuda.h>

// Why there are no devices, when it is our loader (../toolchain/loader.c) that says so; absent when the
// program has been linked with NVIDIA's library.
__attribute__((weak)) const char *riffle_cuda_reason(void);

static const char *reason(void) { return riffle_cuda_reason ? riffle_cuda_reason() : ""; }

static const char *name_of(int code) {
	const char *name = 0;
	return cuGetErrorName((CUresult)code, &name) == CUDA_SUCCESS ? name : 0;
}

// What gorgonia.org/cu lacks.

static int pin(void **p, size_t bytes) { return cuMemHostAlloc(p, bytes, CU_MEMHOSTALLOC_PORTABLE); }

static int allow_shared(void *function, int bytes) {
	return cuFuncSetAttribute((CUfunction)function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
}

static int prefer_shared(void *function, int percent) {
	return cuFuncSetAttribute((CUfunction)function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, percent);
}
*/
import "C"

import (
	"fmt"
	"reflect"
	"unsafe"

	"gorgonia.org/cu"
)

// The calls of the driver: through gorgonia.org/cu's package-level functions, which return their
// errors, and through cgo where it has none. They are made on a thread on which the device's
// context is current.

type (
	driverContext  = cu.CUContext
	driverStream   = cu.Stream
	driverEvent    = cu.Event
	driverModule   = cu.Module
	driverFunction = cu.Function
)

// failed turns an error of cu, whose type is an unexported int of the driver's code, into ours.
func failed(n int, call string, err error) error {
	if err == nil {
		return nil
	}
	return refused(n, call, int(reflect.ValueOf(err).Int()))
}

func refused(n int, call string, code int) error {
	if code == 0 {
		return nil
	}
	name := "unknown error"
	if s := C.name_of(C.int(code)); s != nil {
		name = C.GoString(s)
	}
	return &Error{n, call, code, name}
}

func driverDevices() (int, error) {
	n, err := cu.NumDevices()
	if err == nil && n > 0 {
		return n, nil
	}
	why := C.GoString(C.reason())
	switch {
	case err != nil:
		why = failed(0, "cuDeviceGetCount", err).Error()
	case why == "":
		why = "the driver counts none"
	}
	return 0, fmt.Errorf("%w: %s", ErrNoDevice, why)
}

func driverInfo(n int) (Info, error) {
	dev := cu.Device(n)
	info := Info{Number: n}
	var err error
	if info.Name, err = dev.Name(); err != nil {
		return Info{}, failed(n, "cuDeviceGetName", err)
	}
	if info.Memory, err = dev.TotalMem(); err != nil {
		return Info{}, failed(n, "cuDeviceTotalMem", err)
	}
	for _, a := range []struct {
		to        *int
		attribute cu.DeviceAttribute
	}{
		{&info.Multiprocessors, C.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
		{&info.SharedPerBlock, C.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
		{&info.SharedPerProcessor, C.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
		{&info.L2, C.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
		{&info.Major, C.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
		{&info.Minor, C.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
	} {
		if *a.to, err = dev.Attribute(a.attribute); err != nil {
			return Info{}, failed(n, "cuDeviceGetAttribute", err)
		}
	}
	return info, nil
}

func driverRetain(n int) (driverContext, error) {
	c, err := cu.Device(n).RetainPrimaryCtx()
	if err != nil {
		return c, failed(n, "cuDevicePrimaryCtxRetain", err)
	}
	return c, driverSetCurrent(n, c)
}

func driverRelease(n int) error {
	return failed(n, "cuDevicePrimaryCtxRelease", cu.Device(n).ReleasePrimaryCtx())
}

func driverSetCurrent(n int, c driverContext) error {
	return failed(n, "cuCtxSetCurrent", cu.SetCurrentContext(c))
}

func driverSynchronize(n int) error { return failed(n, "cuCtxSynchronize", cu.Synchronize()) }

func driverMemory(n int) (free, total int64, err error) {
	free, total, err = cu.MemInfo()
	return free, total, failed(n, "cuMemGetInfo", err)
}

func driverAlloc(n int, bytes int64) (Memory, error) {
	p, err := cu.MemAlloc(bytes)
	return Memory{uint64(p), bytes}, failed(n, "cuMemAlloc", err)
}

func driverFree(n int, m Memory) error {
	return failed(n, "cuMemFree", cu.MemFree(cu.DevicePtr(m.Address)))
}

func driverPin(n int, bytes int64) (Pinned, error) {
	var p unsafe.Pointer
	err := refused(n, "cuMemHostAlloc", int(C.pin(&p, C.size_t(bytes))))
	return Pinned{p, bytes}, err
}

func driverUnpin(n int, p Pinned) error { return failed(n, "cuMemFreeHost", cu.MemFreeHost(p.base)) }

// A driver takes a priority that it does not have for the nearest; 0 is the lowest.
func driverStreamCreate(n, priority int) (driverStream, error) {
	s, err := cu.MakeStreamWithPriority(-priority, cu.NonBlocking)
	return s, failed(n, "cuStreamCreateWithPriority", err)
}

func driverStreamDestroy(n int, s driverStream) error {
	return failed(n, "cuStreamDestroy", s.Destroy())
}

func driverStreamSynchronize(n int, s driverStream) error {
	return failed(n, "cuStreamSynchronize", s.Synchronize())
}

// Whoever waits for an event sleeps, rather than spin on one of the cores that queries are answered on.
func driverEventCreate(n int) (driverEvent, error) {
	e, err := cu.MakeEvent(C.CU_EVENT_BLOCKING_SYNC)
	return e, failed(n, "cuEventCreate", err)
}

func driverEventDestroy(n int, e driverEvent) error {
	return failed(n, "cuEventDestroy", cu.DestroyEvent(&e))
}

func driverEventSynchronize(n int, e driverEvent) error {
	return failed(n, "cuEventSynchronize", e.Synchronize())
}

func driverReached(n int, e driverEvent) (bool, error) {
	err := e.Query()
	if err == cu.NotReady {
		return false, nil
	}
	return err == nil, failed(n, "cuEventQuery", err)
}

func driverElapsed(n int, from, to driverEvent) (float64, error) {
	ms, err := from.Elapsed(to)
	return ms, failed(n, "cuEventElapsedTime", err)
}

func driverRecord(n int, e driverEvent, s driverStream) error {
	return failed(n, "cuEventRecord", e.Record(s))
}

func driverAfter(n int, s driverStream, e driverEvent) error {
	return failed(n, "cuStreamWaitEvent", s.Wait(e, 0))
}

func driverLoad(n int, ptx string) (driverModule, error) {
	m, err := cu.LoadData(ptx)
	return m, failed(n, "cuModuleLoadData", err)
}

func driverUnload(n int, m driverModule) error { return failed(n, "cuModuleUnload", m.Unload()) }

func driverFind(n int, m driverModule, name string) (driverFunction, error) {
	f, err := m.Function(name)
	return f, failed(n, "cuModuleGetFunction("+name+")", err)
}

func driverAllowShared(n int, f driverFunction, bytes int) error {
	// A cu.Function is the driver's handle and no more.
	handle := *(*unsafe.Pointer)(unsafe.Pointer(&f))
	return refused(n, "cuFuncSetAttribute", int(C.allow_shared(handle, C.int(bytes))))
}

func driverPreferShared(n int, f driverFunction, percent int) error {
	handle := *(*unsafe.Pointer)(unsafe.Pointer(&f))
	return refused(n, "cuFuncSetAttribute", int(C.prefer_shared(handle, C.int(percent))))
}

func driverOccupancy(n int, f driverFunction, threads, shared int) (int, error) {
	blocks, err := f.MaxActiveBlocksPerMultiProcessor(threads, int64(shared))
	return blocks, failed(n, "cuOccupancyMaxActiveBlocksPerMultiprocessor", err)
}

func driverKernelInfo(n int, f driverFunction) (info KernelInfo, err error) {
	for _, a := range []struct {
		to        *int
		attribute cu.FunctionAttribute
	}{
		{&info.Registers, C.CU_FUNC_ATTRIBUTE_NUM_REGS},
		{&info.Local, C.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
		{&info.Shared, C.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
		{&info.Threads, C.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
	} {
		if *a.to, err = f.Attribute(a.attribute); err != nil {
			return KernelInfo{}, failed(n, "cuFuncGetAttribute", err)
		}
	}
	return info, nil
}

func driverToDevice(n int, s driverStream, to Memory, from Pinned) error {
	return failed(n, "cuMemcpyHtoDAsync", cu.MemcpyHtoDAsync(cu.DevicePtr(to.Address), from.base, to.Bytes, s))
}

func driverToHost(n int, s driverStream, to Pinned, from Memory) error {
	return failed(n, "cuMemcpyDtoHAsync", cu.MemcpyDtoHAsync(to.base, cu.DevicePtr(from.Address), from.Bytes, s))
}

func driverMove(n int, s driverStream, to, from Memory) error {
	return failed(n, "cuMemcpyDtoDAsync",
		cu.MemcpyDtoDAsync(cu.DevicePtr(to.Address), cu.DevicePtr(from.Address), from.Bytes, s))
}

func driverFill(n int, s driverStream, m Memory, value byte) error {
	return failed(n, "cuMemsetD8Async", cu.MemsetD8Async(cu.DevicePtr(m.Address), value, m.Bytes, s))
}

func driverLaunch(n int, s driverStream, f driverFunction, g Grid, args uint64) error {
	return failed(n, "cuLaunchKernel",
		f.Launch(g.Blocks, 1, 1, g.Threads, 1, 1, g.Shared, s, []unsafe.Pointer{unsafe.Pointer(&args)}))
}
