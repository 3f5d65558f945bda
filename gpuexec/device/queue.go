package device

import (
	"slices"
	"time"
)

// A Queue makes the driver's calls for one closure (Device.Do). After the
// first call that fails, the others do nothing. A Queue must not be used after its closure ends.
type Queue struct {
	d   *Device
	err error
}

// A Stream is a sequence of work that the device does in order. Only events order the work of two
// streams.
type Stream struct{ stream driverStream }

// An Event is a mark in a stream.
type Event struct{ event driverEvent }

// A Module is PTX that has been translated for the device.
type Module struct{ module driverModule }

// A Kernel is a function of a Module.
type Kernel struct {
	Name     string
	function driverFunction
}

// A Grid is the number of threads that run a kernel.
type Grid struct {
	Blocks, Threads int // threads of each block, 1..1024
	Shared          int // bytes of dynamic shared memory of each block
}

// KernelInfo is what a kernel uses on this device.
type KernelInfo struct {
	Registers int // per thread
	Local     int // bytes per thread in device memory: above zero when registers were spilled
	Shared    int // bytes of static shared memory per block
	Threads   int // the most that a block may have
}

// Err is the first error so far.
func (q *Queue) Err() error { return q.err }

// Info describes the device.
func (q *Queue) Info() Info { return q.d.info }

// note keeps err if it is the first.
func (q *Queue) note(err error) {
	if q.err == nil {
		q.err = q.d.seen(err)
	}
}

// try makes a call unless an earlier one has failed.
func try[T any](q *Queue, call func(n int) (T, error)) (made T, ok bool) {
	if q.err != nil {
		return made, false
	}
	made, err := call(q.d.info.Number)
	q.note(err)
	return made, err == nil
}

// Constructors. What they make lives until the device is closed, but for what Unpin gives back.

// Stream makes a stream.
func (q *Queue) Stream() Stream { return q.Urgent(0) }

// Urgent makes a stream whose kernels get room before those of streams with a lower priority, as
// far as the device distinguishes priorities.
func (q *Queue) Urgent(priority int) Stream {
	s, ok := try(q, func(n int) (driverStream, error) { return driverStreamCreate(n, priority) })
	if !ok {
		return Stream{}
	}
	q.d.streams = append(q.d.streams, Stream{s})
	return Stream{s}
}

// Event makes an event. Until it has been recorded, nothing waits for it.
func (q *Queue) Event() Event {
	e, ok := try(q, driverEventCreate)
	if !ok {
		return Event{}
	}
	q.d.events = append(q.d.events, Event{e})
	return Event{e}
}

// Pin allocates host memory that copies can use.
func (q *Queue) Pin(bytes int64) Pinned {
	p, ok := try(q, func(n int) (Pinned, error) { return driverPin(n, bytes) })
	if !ok {
		return Pinned{}
	}
	q.d.pinned = append(q.d.pinned, p)
	return p
}

// Unpin gives memory back that Pin has allocated. Nobody may use it any longer. The driver may wait for all
// work on the device.
func (q *Queue) Unpin(p Pinned) {
	_, ok := try(q, func(n int) (struct{}, error) { return struct{}{}, driverUnpin(n, p) })
	if ok {
		q.d.pinned = slices.DeleteFunc(q.d.pinned, func(o Pinned) bool { return o.base == p.base })
	}
}

// Load translates PTX for the device.
func (q *Queue) Load(ptx string) Module {
	m, ok := try(q, func(n int) (driverModule, error) { return driverLoad(n, ptx) })
	if !ok {
		return Module{}
	}
	q.d.modules = append(q.d.modules, Module{m})
	return Module{m}
}

// Kernel finds a kernel by its name in the PTX.
func (q *Queue) Kernel(m Module, name string) Kernel {
	f, _ := try(q, func(n int) (driverFunction, error) { return driverFind(n, m.module, name) })
	return Kernel{name, f}
}

// AllowShared lets launches of k use that many bytes of dynamic shared memory. The limit, static
// memory included, is then Info.SharedPerBlock; without AllowShared it is 48 KiB.
func (q *Queue) AllowShared(k Kernel, bytes int) {
	if q.err == nil {
		q.note(driverAllowShared(q.d.info.Number, k.function, bytes))
	}
}

// PreferShared sets how much of a multiprocessor's combined cache and shared memory is shared while
// k runs, in per cent of the most. By default each kernel gets what its blocks need. A
// multiprocessor divides that memory anew only when it is idle: a kernel that needs more shared
// memory waits for all others there to end. Kernels that should run side by side should prefer the
// same share.
func (q *Queue) PreferShared(k Kernel, percent int) {
	if q.err == nil {
		q.note(driverPreferShared(q.d.info.Number, k.function, percent))
	}
}

// Occupancy is the number of blocks of k that fit on a multiprocessor at once.
func (q *Queue) Occupancy(k Kernel, threads, shared int) int {
	blocks, _ := try(q, func(n int) (int, error) { return driverOccupancy(n, k.function, threads, shared) })
	return blocks
}

// KernelInfo reports what k uses.
func (q *Queue) KernelInfo(k Kernel) KernelInfo {
	info, _ := try(q, func(n int) (KernelInfo, error) { return driverKernelInfo(n, k.function) })
	return info
}

// Work. Each call puts it on a stream, and the device does it in the order of the stream.

// ToDevice copies all of from, which must be as long as to.
func (q *Queue) ToDevice(s Stream, to Memory, from Pinned) {
	equal(to.Bytes, from.bytes)
	if q.err == nil && to.Bytes > 0 {
		q.note(driverToDevice(q.d.info.Number, s.stream, to, from))
	}
}

// ToHost copies all of from, which must be as long as to.
func (q *Queue) ToHost(s Stream, to Pinned, from Memory) {
	equal(to.bytes, from.Bytes)
	if q.err == nil && from.Bytes > 0 {
		q.note(driverToHost(q.d.info.Number, s.stream, to, from))
	}
}

// Move copies within the device, between two ranges of equal length that do not overlap.
func (q *Queue) Move(s Stream, to, from Memory) {
	equal(to.Bytes, from.Bytes)
	if q.err == nil && to.Bytes > 0 {
		q.note(driverMove(q.d.info.Number, s.stream, to, from))
	}
}

// Fill sets every byte of m.
func (q *Queue) Fill(s Stream, m Memory, value byte) {
	if q.err == nil && m.Bytes > 0 {
		q.note(driverFill(q.d.info.Number, s.stream, m, value))
	}
}

// Launch runs a kernel with the address of args, which must stay unchanged on the device until the
// kernel has ended. A grid without blocks does nothing.
func (q *Queue) Launch(s Stream, k Kernel, g Grid, args Memory) {
	if q.err == nil && g.Blocks > 0 {
		q.note(driverLaunch(q.d.info.Number, s.stream, k.function, g, args.Address))
	}
}

// Record puts e behind all work that s holds at the time of the call.
func (q *Queue) Record(e Event, s Stream) {
	if q.err == nil {
		q.note(driverRecord(q.d.info.Number, e.event, s.stream))
	}
}

// After makes later work on s wait for the last Record of e.
func (q *Queue) After(s Stream, e Event) {
	if q.err == nil {
		q.note(driverAfter(q.d.info.Number, s.stream, e.event))
	}
}

// Waiting. While these calls wait, no other closure runs; see Device.Wait.

// Synchronize returns when all work on s is done.
func (q *Queue) Synchronize(s Stream) {
	if q.err == nil {
		q.note(driverStreamSynchronize(q.d.info.Number, s.stream))
	}
}

// Reached reports whether the last Record of e has been reached, without waiting.
func (q *Queue) Reached(e Event) bool {
	reached, _ := try(q, func(n int) (bool, error) { return driverReached(n, e.event) })
	return reached
}

// Elapsed is the time on the device between two reached events, to about half a microsecond.
func (q *Queue) Elapsed(from, to Event) time.Duration {
	ms, _ := try(q, func(n int) (float64, error) { return driverElapsed(n, from.event, to.event) })
	return time.Duration(ms * float64(time.Millisecond))
}

func equal(to, from int64) {
	if to != from {
		panic("device: a copy between ranges of unequal length")
	}
}
