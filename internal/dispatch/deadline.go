package dispatch

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrLate: a query with Query.FailLate cannot be answered by its deadline.
var ErrLate = errors.New("riffle: the search cannot be answered in time")

// hasDeadline reports whether the caller has set one.
func (j *job) hasDeadline() bool { return !j.query.Due.IsZero() }

// misses reports whether a job misses its deadline if it is answered at a time.
func (j *job) misses(end time.Time) bool { return j.hasDeadline() && end.After(j.due) }

// tooLate is the error of a job that will not be in time.
func (j *job) tooLate(now time.Time) error {
	left := j.due.Sub(now)
	if left <= 0 {
		return fmt.Errorf("%w: %v late", ErrLate, (-left).Round(time.Microsecond))
	}
	return fmt.Errorf("%w: %v left, an estimated %v of work and others before it", ErrLate, left.Round(time.Microsecond), j.cpu.Round(time.Microsecond))
}

// autoInTime is auto for queries that may have a deadline: if one is not in time where it would be
// answered first, but is on the other side, it goes there. If it is on neither, the gate decides
// which queries are late.
func (d *Dispatcher) autoInTime(j *job) (onCPU bool) {
	first := d.auto(j)
	if !j.hasDeadline() {
		return first
	}
	j.expected = 0 // it waits by its deadline
	onCPU = true
	if !j.misses(d.onDeviceBy(j)) {
		onCPU = first && d.gate.inTime(j, j.arrived)
	}
	if onCPU != first {
		j.rescued = onCPU
		j.because("only there the answer is estimated to be in time")
	}
	return onCPU
}

// miss decides about a query that a device would answer too late. Under Auto the CPU gets it.
func (d *Dispatcher) miss(j *job) {
	switch {
	case j.query.On == Any && d.options.Policy == Auto:
		j.because("the GPU would have answered too late")
		j.rescued = true
		d.give(j)
	case j.query.FailLate:
		j.tell(late)
	default:
		d.queue.put(j, forLate)
	}
}

// onDeviceBy is when a device would answer a job: after the batches that it has begun, and after
// the waiting queries that are due before it.
func (d *Dispatcher) onDeviceBy(j *job) time.Time {
	if !d.usable.Load() {
		return j.due.Add(time.Hour)
	}
	begun := max(0, d.start.Add(time.Duration(d.free.Load())).Sub(j.arrived))
	ahead, most := d.dues.before(j.due, j.arrived), d.options.MaxCount
	count := int(float64(d.queued.Load()) * float64(ahead) / float64(max(1, d.gpu.Load(), int64(ahead))))
	own := d.model.BatchCost(&j.features, min(count, most-1)+1) + j.gpu
	others := ahead + time.Duration(count/most)*d.model.BatchCost(&j.features, most)
	took := begun + own + others/time.Duration(max(1, len(d.devices)))
	return j.arrived.Add(time.Duration(float64(took) * d.slowness()))
}

// slowness is how many times as long as estimated batches have taken lately, at least 1.
func (d *Dispatcher) slowness() float64 { return max(1, math.Float64frombits(d.slower.Load())) }

// learnSlowness learns from a batch of an estimated cost. Dispatcher.mu is held.
func (d *Dispatcher) learnSlowness(cost, took time.Duration) {
	s := math.Float64frombits(d.slower.Load())
	s += (min(mostLate, float64(took)/float64(max(1, cost))) - s) / 16
	d.slower.Store(math.Float64bits(s))
}
