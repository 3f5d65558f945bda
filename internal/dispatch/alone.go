package dispatch

import (
	"slices"
	"sync"
	"time"
)

// A query that meets an idle device runs on the goroutine of its caller, if that waits (Query.Prompt):
// to wake a worker, and to be woken by it, would take two thread switches, as long as half of the
// query's kernels.

var batches = sync.Pool{New: func() any { return new(batch) }}

// mayRunAlone reports whether a job should wait for its caller to run it.
func (d *Dispatcher) mayRunAlone(j *job) bool {
	return j.query.Prompt && d.options.Policy != Groups && d.begun.Load()+d.queued.Load() == 0
}

// runAlone runs a batch with the job on this goroutine, if a device is still idle and the job still
// waits. Otherwise a worker sees to the job.
func (d *Dispatcher) runAlone(j *job) {
	d.lock()
	dev := d.idleDevice()
	if waits := slices.Contains(d.queue.jobs[forDevices], j); dev == nil || !waits || d.closed {
		if waits {
			d.wakeFirst(time.Now(), false)
		}
		d.unlock()
		return
	}
	b := batches.Get().(*batch)
	d.form(dev, b)
	some := len(b.jobs) > 0 // not if the job would be late
	if some {
		dev.line.begin(b, time.Now())
		d.workers.Add(1) // Close waits for it
	}
	d.letIn()
	d.gauge(time.Now())
	if d.queue.len() > 0 {
		d.wakeFirst(time.Now(), true)
	}
	d.unlock()
	if some {
		d.run(dev, b)
		d.workers.Done()
	}
	batches.Put(b) // which form resets
}

// idleDevice returns a device that has no batch, or nil.
func (d *Dispatcher) idleDevice() *deviceState {
	for _, dev := range d.devices {
		if !dev.lost.Load() && len(dev.line.batches) == 0 {
			return dev
		}
	}
	return nil
}
