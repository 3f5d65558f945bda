// Package device runs work on a GPU: memory, copies, kernel launches and events of one device, with
// as little of the CUDA driver as riffle needs.
//
//	dev, err := device.Open(0, device.Options{MemoryBytes: 1 << 30})
//	err = dev.Do(func(q *device.Queue) {           // once: what is made stays
//		module = q.Load(ptx)
//		kernel = q.Kernel(module, "scan")
//		stream, done = q.Stream(), q.Event()
//		staging = q.Pin(1 << 20)
//	})
//	err = dev.Do(func(q *device.Queue) {           // once a batch: all its calls
//		q.ToDevice(stream, args, staging.Slice(0, args.Bytes))
//		q.Launch(stream, kernel, device.Grid{Blocks: 128, Threads: 256}, args)
//		q.ToHost(stream, staging.Slice(4096, 4096+results.Bytes), results)
//		q.Record(done, stream)
//	})
//	err = dev.Wait(done, 0)                        // from any goroutine
//
// # Design
//
// One closure at a time. CUDA keeps the current context per thread of the operating system. Do makes
// the device's primary context current on the caller's thread, which takes less than a microsecond,
// and holds a lock while the closure runs. To switch to a thread of the device's own and back would
// cost more than all driver calls of a small batch. Driver calls are methods of Queue, and only
// closures get a Queue, so a call without the context does not compile. Wait takes no lock, so that
// goroutines wait for batches while another one starts the next.
//
// One error a closure. A batch is a straight line of some twenty calls, and none makes sense after
// an earlier one has failed. So a Queue keeps the first error and ignores all later calls, and Do
// returns the error. Calls that make something then return its zero value.
//
// One allocation. Device memory is taken when the device is opened, and is divided with Slice,
// without the driver. Queries allocate nothing, and a request for more than the device has fails at
// the start, with figures.
//
// Memory and Pinned are values, an address and a length. They are sliced as Go's slices are, and
// panic where those do. On the host's side, asynchronous copies take a Pinned: memory of the
// driver, not of Go, which a copy may touch after the call has returned. Its bytes must not change
// until the caller has waited for an event behind the copy.
//
// One pointer a launch. A kernel's one parameter is the address of a struct in device memory. The
// structs of a whole batch are written at once.
//
// # Errors
//
// When the driver refuses a call, the error is an *Error: the device, the call and the driver's
// code. Some codes leave a context unusable (an illegal address, a failed launch, a memory error).
// They lose the device: errors.Is(err, ErrLost), every later call returns that first error at once,
// and only Close makes sense. Abandon loses a device, too, for callers that cannot find out what it
// still does. The program continues without the device. Without a driver, a device
// or the build tag cuda, Open and List return ErrNoDevice with the reason.
//
// # The build tag
//
// With the tag cuda the package calls the driver through cgo (driver_linux.go; cuda_abi.h declares
// what it uses). The first Open or List looks for the driver's library: $RIFFLE_LIBCUDA, or
// libcuda.so.1, the name that containers and WSL also use. So a program links without a driver, and
// runs on machines that have none. Without the tag, without cgo, or on systems other than Linux,
// the package compiles but Open fails (driver_none.go), so that importers need no tag.
//
// gpuexec/emulator/README.md tells how the emulated driver replaces a GPU in tests.
package device
