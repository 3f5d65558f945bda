package device

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// ArenaAlign divides the number of bytes taken of a device: it is the alignment of cuMemAlloc.
const ArenaAlign = 256

// Options of Open.
type Options struct {
	// MemoryBytes is how much of the device's memory to take, rounded up to a positive multiple of
	// ArenaAlign. Zero takes seven eighths of what is free.
	MemoryBytes int64

	// Most bounds what is taken, whatever MemoryBytes says. Zero is no bound.
	Most int64
}

// A Device is an opened GPU. Its methods may be called from any goroutine.
type Device struct {
	info   Info
	memory Memory

	work chan task // to the device's thread

	mu      sync.RWMutex // held by all users of the context; Close holds it for writing
	closed  bool
	context driverContext

	lostMu sync.Mutex
	lost   error // the first error that lost it

	// What was made and must be freed. Only the device's thread uses these fields.
	pinned  []Pinned
	streams []Stream
	events  []Event
	modules []Module
}

type task struct {
	do   func(*Queue)
	done chan outcome
}

type outcome struct {
	err      error
	panicked any
}

// Find describes device number n of the machine, from 0, without taking it. The error is
// ErrNoDevice if Open would refuse the device because it is missing or too old.
func Find(n int) (Info, error) {
	count, err := driverDevices()
	if err != nil {
		return Info{}, err
	}
	if n < 0 || n >= count {
		return Info{}, fmt.Errorf("%w %d: the machine has %d", ErrNoDevice, n, count)
	}
	info, err := driverInfo(n)
	if err != nil {
		return Info{}, err
	}
	if info.Major < leastMajor {
		return Info{}, fmt.Errorf("%w: %v; compute capability %d.0 is needed", ErrNoDevice, info, leastMajor)
	}
	return info, nil
}

// Open takes device number n of the machine, from 0, and some of its memory.
func Open(n int, o Options) (*Device, error) {
	info, err := Find(n)
	if err != nil {
		return nil, err
	}
	d := &Device{info: info, work: make(chan task)}
	opened := make(chan error)
	go d.thread(opened, o)
	if err := <-opened; err != nil {
		return nil, err
	}
	return d, nil
}

// Info describes the device.
func (d *Device) Info() Info { return d.info }

// Memory is all the memory that was taken. Its contents are undefined at first.
func (d *Device) Memory() Memory { return d.memory }

// Lost is the error that lost the device, or nil.
func (d *Device) Lost() error {
	d.lostMu.Lock()
	defer d.lostMu.Unlock()
	return d.lost
}

// thread is the body of the device's goroutine.
func (d *Device) thread(opened chan<- error, o Options) {
	runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
	if err := d.open(o); err != nil {
		opened <- err
		return
	}
	opened <- nil
	for t := range d.work {
		t.done <- d.run(t.do)
	}
}

func (d *Device) open(o Options) (err error) {
	n := d.info.Number
	if d.context, err = driverRetain(n); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, driverRelease(n))
		}
	}()
	free, total, err := driverMemory(n)
	if err != nil {
		return err
	}
	bytes := o.MemoryBytes
	if bytes == 0 {
		bytes = free / 8 * 7
	}
	if o.Most > 0 {
		bytes = min(bytes, o.Most)
	}
	bytes = (max(bytes, 1) + ArenaAlign - 1) / ArenaAlign * ArenaAlign
	if o.MemoryBytes < 0 || bytes > free {
		return fmt.Errorf("gpu %d: %d bytes of device memory were asked for; %d of %d are free", n, o.MemoryBytes, free, total)
	}
	d.memory, err = driverAlloc(n, bytes)
	return err
}

// Do runs f on the device's thread and returns the first error of its calls. Calls of Do run one at
// a time, in the order of their arrival. f must not call Do or Close. When f panics, Do panics with
// the same value.
func (d *Device) Do(f func(*Queue)) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return ErrClosed
	}
	if err := d.Lost(); err != nil {
		return err
	}
	t := task{f, make(chan outcome, 1)}
	d.work <- t
	o := <-t.done
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.err
}

func (d *Device) run(f func(*Queue)) (o outcome) {
	q := Queue{d: d}
	defer func() {
		o.panicked = recover()
		o.err = q.err
		q.d = nil // makes a Queue useless to callers that keep it
	}()
	if q.err = d.Lost(); q.err == nil {
		f(&q)
	}
	return o
}

// Wait returns when the work before the last Record of e is done. It blocks the goroutine, not the
// device's thread. An error of that work, such as a kernel's illegal access, may appear here.
func (d *Device) Wait(e Event) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return ErrClosed
	}
	if err := d.Lost(); err != nil {
		return err
	}
	runtime.LockOSThread() // for both calls
	defer runtime.UnlockOSThread()
	err := driverSetCurrent(d.info.Number, d.context)
	if err == nil {
		err = driverEventSynchronize(d.info.Number, e.event)
	}
	return d.seen(err)
}

// seen notes an error that loses the device, and returns the error for the caller.
func (d *Device) seen(err error) error {
	if err == nil || !errors.Is(err, ErrLost) {
		return err
	}
	d.lostMu.Lock()
	defer d.lostMu.Unlock()
	if d.lost == nil {
		d.lost = err
	}
	return d.lost
}

// Close waits for pending work, frees everything that was made on the device, and releases it. If
// the device is lost, it frees what the driver allows. A second Close does nothing.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	t := task{func(q *Queue) { q.err = d.free() }, make(chan outcome, 1)}
	lost := d.Lost()
	if lost != nil {
		t.do = func(*Queue) {}
	}
	d.work <- t
	o := <-t.done
	close(d.work)
	if lost != nil {
		_ = driverRelease(d.info.Number) // it repeats the known error
		return nil
	}
	return o.err
}

// free undoes everything that was made, in reverse order, on the device's thread.
func (d *Device) free() error {
	n := d.info.Number
	err := driverSynchronize(n)
	for _, e := range d.events {
		err = errors.Join(err, driverEventDestroy(n, e.event))
	}
	for _, s := range d.streams {
		err = errors.Join(err, driverStreamDestroy(n, s.stream))
	}
	for _, p := range d.pinned {
		err = errors.Join(err, driverUnpin(n, p))
	}
	for _, m := range d.modules {
		err = errors.Join(err, driverUnload(n, m.module))
	}
	return errors.Join(err, driverFree(n, d.memory), driverRelease(n))
}
