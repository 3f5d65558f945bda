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
// answered first, but is on the other side, it goes there. If it is on neither, and the device would be
// late for certain, the gate decides which queries are late. A narrow miss may be the estimate's: it is
// left to auto. Otherwise, after a moment when a device stands still, cores would get all that is due
// soon, most of it in vain, and the device batches too small to catch up.
func (d *Dispatcher) autoInTime(j *job) (onCPU bool) {
	first := d.auto(j)
	if !j.hasDeadline() {
		return first
	}
	estimate, punctual := d.onDevice(j), d.model.known.Load().onDevice(j.quiet).late
	switch {
	case !j.misses(j.arrived.Add(time.Duration(float64(estimate) * punctual))):
		onCPU = first && d.gate.inTime(j, j.arrived)
	case j.misses(j.arrived.Add(estimate * 2 / 3)):
		onCPU = true
	default:
		onCPU = first || d.gate.inTime(j, j.arrived)
	}
	switch {
	case !onCPU:
		j.expected = estimate // it waits by its deadline
	case !first:
		j.expected = 0 // Auto has not estimated it there
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
		j.rescued, j.expected = true, 0
		d.give(j)
	case j.query.FailLate:
		j.tell(late)
	default:
		d.queue.put(j, forLate)
	}
}

// onDevice estimates how long a device would take to answer a job, from its arrival: after the batches
// that it has begun, and after full ones of the waiting queries that are due before it. The batch that
// it is in has others, too, as many as there are and have room: all are answered when it is done.
func (d *Dispatcher) onDevice(j *job) time.Duration {
	if !d.usable.Load() {
		return time.Hour
	}
	begun := max(0, d.start.Add(time.Duration(d.free.Load())).Sub(j.arrived))
	queued, cost, most := int(d.queued.Load()), time.Duration(d.gpu.Load()), d.options.MaxCount
	mean := cost / time.Duration(max(1, queued))
	with := min(queued, most-1)
	own := d.model.BatchCost(&j.features, with+1) + time.Duration(with)*mean + j.gpu
	before := min(queued, int(d.dues.before(j.due, j.arrived)/max(1, mean))) / most
	others := time.Duration(before) * (d.model.BatchCost(&j.features, most) + time.Duration(most)*mean)
	return begun + own + others/time.Duration(max(1, len(d.devices)))
}

// slowness is how many times as long as estimated it has taken lately from when a batch is formed until
// it is done.
func (d *Dispatcher) slowness() float64 { return math.Float64frombits(d.slower.Load()) }

// learnPace learns from a batch how batches keep to their estimates. Dispatcher.mu is held.
func (d *Dispatcher) learnPace(b *batch, done time.Time) {
	took, estimate := done.Sub(b.began), b.after+b.cost
	s := math.Float64frombits(d.slower.Load())
	s += (min(mostLate, float64(took)/float64(max(1, estimate))) - s) / 16
	d.slower.Store(math.Float64bits(s))
	d.unsure += (min(b.cost/2, max(took-estimate, estimate-took)) - d.unsure) / time.Duration(min(16, d.stats.Batches))
}
