package device

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
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

	doing sync.Mutex // held while a closure runs

	held    sync.RWMutex // by Hold for reading, and by Close, before mu
	mu      sync.RWMutex // held by all users of the context; Close holds it for writing
	closed  bool         // written under both
	context driverContext

	lostMu sync.Mutex
	lost   error // the first error that lost it

	// What was made and must be freed. doing guards it until Close, which excludes closures by mu.
	pinned  []Pinned
	streams []Stream
	events  []Event
	modules []Module
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
	d := &Device{info: info}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := d.open(o); err != nil {
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

// Do runs f and returns the first error of its calls. Closures of one device run one at a time. f must
// not call Do or Close, nor start goroutines that use its Queue.
func (d *Device) Do(f func(*Queue)) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return ErrClosed
	}
	d.doing.Lock()
	defer d.doing.Unlock()
	q := Queue{d: d}
	defer func() { q.d = nil }() // makes a Queue useless to callers that keep it
	return d.current(func() error {
		f(&q)
		return q.err
	})
}

// current calls f on a thread of the operating system on which the device's context is current. On a
// lost device it does not call f.
func (d *Device) current(f func() error) error {
	if err := d.Lost(); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := driverSetCurrent(d.info.Number, d.context); err != nil {
		return d.seen(err)
	}
	return f()
}

// Wait returns when the work before the last Record of e is done. It blocks the goroutine, while other
// goroutines start further work. An error of that work, such as a kernel's illegal access, may appear
// here.
//
// For the time spin it looks at the event again and again, which takes a core. After that the thread
// sleeps, and is woken some 50 µs late.
func (d *Device) Wait(e Event, spin time.Duration) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return ErrClosed
	}
	return d.current(func() error {
		if spin > 0 {
			if reached, err := driverSpin(d.info.Number, e.event, spin); reached || err != nil {
				return d.seen(err)
			}
		}
		return d.seen(driverEventSynchronize(d.info.Number, e.event))
	})
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

// Hold lets the caller use pinned memory outside closures until it calls Release, for which Close
// waits. A goroutine that holds the device must not hold it again, nor call Close. The error is
// ErrClosed.
func (d *Device) Hold() error {
	d.held.RLock()
	if d.closed {
		d.held.RUnlock()
		return ErrClosed
	}
	return nil
}

// Release ends a Hold.
func (d *Device) Release() { d.held.RUnlock() }

// Abandon makes the device lost: after why, it is unknown what it still does. All later calls return
// an error that matches ErrLost.
func (d *Device) Abandon(why error) { _ = d.seen(fmt.Errorf("%w: %w", ErrLost, why)) }

// Close waits for holders and pending work, frees everything that was made on the device, and
// releases it. If the device is lost, it frees what the driver allows. A second Close does nothing.
func (d *Device) Close() error {
	d.held.Lock()
	defer d.held.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	if d.Lost() != nil {
		d.freeLost()
		return nil
	}
	return d.current(func() error { return errors.Join(driverSynchronize(d.info.Number), d.free()) })
}

// freeLost frees what the driver allows, whose errors are known. Memory that the device may be working
// on stays, except as it goes with the context.
func (d *Device) freeLost() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	n := d.info.Number
	if driverSetCurrent(n, d.context) == nil && driverSynchronize(n) == nil {
		_ = d.free()
	} else {
		_ = driverRelease(n)
	}
}

// free undoes everything that was made, in reverse order.
func (d *Device) free() (err error) {
	n := d.info.Number
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
