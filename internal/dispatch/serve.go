package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// A deviceState is a device and its record. Dispatcher.mu guards why, failures and line.
type deviceState struct {
	Device
	number   int
	lost     atomic.Bool
	why      error         // it is lost
	failures int           // batches that failed in a row
	line     timeline      // of the batches under way
	kick     chan struct{} // to its workers: look at the queue
}

// patience is how many batches in a row may fail, without an error that loses the device, until it
// is given up.
const patience = 3

// serve is the body of a worker: it forms batches for its device and delivers their answers.
func (d *Dispatcher) serve(dev *deviceState) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var b batch
	for {
		wait, ok := d.next(dev, &b)
		switch {
		case !ok:
			d.wake() // possibly another device's worker, if a kick woke this one
			return
		case len(b.jobs) > 0:
			d.run(dev, &b)
			continue
		}
		timer.Reset(wait)
		select {
		case <-d.kick:
		case <-dev.kick:
		case <-timer.C:
		case <-d.stop:
		}
		d.lock()
		d.idle--
		d.unlock()
	}
}

// next forms a batch, or returns for how long there will be none. It reports false when the worker
// must end.
func (d *Dispatcher) next(dev *deviceState, b *batch) (wait time.Duration, ok bool) {
	d.lock()
	defer d.unlock()
	b.reset()
	if d.closed || dev.lost.Load() {
		return 0, false
	}
	start, wait := d.ready(dev, time.Now())
	if !start {
		d.idle++
		if wait < 0 {
			wait = time.Hour
		}
		return wait, true
	}
	d.form(dev, b)
	if len(b.jobs) > 0 {
		dev.line.begin(b, time.Now())
	}
	d.letIn()
	d.gauge(time.Now())
	if again, _ := d.ready(dev, time.Now()); again {
		d.wake()
	}
	if d.queue.len() > 0 {
		d.wakeFirst(time.Now(), false)
	}
	return 0, true
}

// firstFree returns the device that will first be done with what it has begun, or nil.
func (d *Dispatcher) firstFree(now time.Time) (first *deviceState, left time.Duration) {
	for _, dev := range d.devices {
		if dev.lost.Load() {
			continue
		}
		if l := dev.line.left(now); first == nil || l < left || l == left && len(dev.line.batches) < len(first.line.batches) {
			first, left = dev, l
		}
	}
	return first, left
}

// letIn admits jobs that have waited for room in the queue.
func (d *Dispatcher) letIn() {
	n := min(len(d.waiting), max(0, d.options.MaxQueued-d.queue.len()))
	for _, j := range d.waiting[:n] {
		d.queue.put(j, forDevices)
	}
	d.waiting = append(d.waiting[:0], d.waiting[n:]...)
}

// wake makes a worker look at the queue.
func (d *Dispatcher) wake() {
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// wakeFirst makes a worker of the device that will first be done look at the queue, or only if that
// device should have a batch now.
func (d *Dispatcher) wakeFirst(now time.Time, onlyReady bool) {
	dev, _ := d.firstFree(now)
	if dev == nil {
		return
	}
	if onlyReady {
		if ready, _ := d.ready(dev, now); !ready {
			return
		}
	}
	select {
	case dev.kick <- struct{}{}:
	default:
	}
}

// run runs a batch and delivers its answers.
func (d *Dispatcher) run(dev *deviceState, b *batch) {
	answers, err := dev.Partials(context.Background(), b.plans)
	done := time.Now()
	if err == nil && len(answers) != len(b.plans) {
		err = fmt.Errorf("dispatch: %d answers to %d plans", len(answers), len(b.plans))
	}
	if err != nil {
		d.fail(dev, b, err)
		return
	}
	moved := int64(0)
	for i := range answers {
		moved += answers[i].Top.Work.BytesMoved
	}
	d.lock()
	dev.failures = 0
	took, known := dev.line.end(b, done)
	d.stats.batch(b, moved, took)
	d.learnPace(b, done)
	for i := range answers {
		d.stats.answered(&answers[i])
	}
	d.gauge(done)
	if d.queue.len() > 0 {
		d.wakeFirst(done, true)
	}
	d.unlock()
	d.gpuTrial.use(done.Sub(d.start))
	due := d.model.noteGPU(b.jobs, moved, took, known, done)
	for i, j := range b.jobs {
		j.partial, j.took = answers[i], cmp.Or(took, done.Sub(b.began))
		j.tell(partial)
	}
	if due {
		go d.model.solve()
	}
}

// fail lets the CPU answer a batch, and gives the device up if it has become useless.
func (d *Dispatcher) fail(dev *deviceState, b *batch, err error) {
	d.lock()
	dev.failures++
	dev.line.fail(b, time.Now())
	lost := !dev.lost.Load() && (dev.Lost() != nil || dev.failures >= patience)
	d.stats.FailedBatches++
	d.stats.FailedOver += int64(len(b.jobs))
	for _, j := range b.jobs {
		j.because("the GPU failed to answer its batch")
	}
	d.toCPU(b.jobs)
	if lost {
		dev.lost.Store(true)
		dev.why = err
		d.alive--
		d.stats.LostDevices++
		if d.alive == 0 {
			d.giveUp()
		}
	}
	d.gauge(time.Now())
	if d.queue.len() > 0 {
		d.wakeFirst(time.Now(), true)
	}
	d.unlock()
	if d.options.Failed != nil {
		d.options.Failed(dev.number, lost, err)
	}
}

// giveUp empties the queue when no device is left.
func (d *Dispatcher) giveUp() {
	for _, j := range append(d.queue.takeAll(), d.waiting...) {
		if j.query.On == OnGPU {
			j.tell(refused)
		} else {
			j.because(noneLeft)
			j.expected = 0
			j.tell(toCPU)
		}
	}
	d.waiting = nil
}

// toCPU lets the callers of some queries compute them.
func (d *Dispatcher) toCPU(jobs []*job) {
	for _, j := range jobs {
		j.expected = 0 // it was of a device
		j.tell(toCPU)
	}
}
