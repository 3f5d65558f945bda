// Package device runs work on a GPU: memory, copies, kernel launches and events of one
// device, as little of the CUDA driver as riffle needs.
//
//	dev, err := device.Open(0, device.Options{MemoryBytes: 1 << 30})
//	err = dev.Do(func(q *device.Queue) {           // once: what is made stays
//		module = q.Load(ptx)
//		kernel = q.Kernel(module, "scan")
//		stream, done = q.Stream(), q.Event()
//		staging = q.Pin(1 << 20)
//	})
//	err = dev.Do(func(q *device.Queue) {           // once a batch: all that belongs to it
//		q.ToDevice(stream, args, staging.Slice(0, args.Bytes))
//		q.Launch(stream, kernel, device.Grid{Blocks: 128, Threads: 256}, args)
//		q.ToHost(stream, staging.Slice(4096, 4096+results.Bytes), results)
//		q.Record(done, stream)
//	})
//	err = dev.Wait(done)                           // from any goroutine
//
// # Why it looks like this
//
// One thread a device. CUDA keeps the current context per thread of the operating system. A
// Device has one goroutine, locked to a thread on which the device's primary context is current,
// and what drives the device happens there. To hop to it costs several times what a driver call
// does, so the unit is not the call but the closure: a batch hands over all its calls at once.
// Driver calls are methods of Queue, and only closures get a Queue: a call from the wrong
// thread does not compile. Wait is the exception, so that a batch can be waited for while the
// device's thread starts the next.
//
// One error a closure. A batch is a straight line of some twenty calls, none of which is
// sensible after one before it has failed. So a Queue keeps the first error, does nothing from
// then on, and Do returns it; what made something gives its zero value.
//
// One allocation. Device memory is taken when the device is opened, and is carved up
// with Slice, without the driver. Nothing is allocated while queries run, and asking for
// more than there is fails at the beginning, with figures.
//
// Memory and Pinned are values, an address and a length, that are sliced as Go's slices are, and
// panic where those do. Asynchronous copies take a Pinned on the host's side: memory of the
// driver, not of Go, which a copy may touch after the call has returned. The bytes must be left alone until
// an event behind the copy has been waited for.
//
// One pointer a launch. A kernel's one parameter is the address of a struct in device memory, which is
// written once for a whole batch.
//
// # Errors
//
// What the driver refuses is an *Error: the device, the driver's call and its code. Codes after
// which a context is of no use (an illegal address, a failed launch, a memory error) make
// the device lost: errors.Is(err, ErrLost), every later call returns that first error at
// once, and only Close makes sense. A program goes on without the device. Without a driver, a device
// or the build tag cuda, Open and List give ErrNoDevice with the reason.
//
// # The build tag
//
// With the tag cuda the package calls the driver through cgo (driver_linux.go; cuda_abi.h declares what of it).
// It looks for the driver's library when Open or List is first called: $RIFFLE_LIBCUDA, or libcuda.so.1, also
// where containers and WSL have it. So a program links without a driver, and runs on machines that have none.
// Without the tag, without cgo and elsewhere than on Linux the package compiles, and Open fails
// (driver_none.go), so that its importers need no tag.
//
// gpuexec/emulator/README.md tells how the emulated driver replaces a GPU in tests.
package device
