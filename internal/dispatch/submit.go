package dispatch

import (
	"context"
	"slices"
	"time"

	"github.com/riffle-search/riffle/gpuexec/device"
)

// Submit starts a query on the processor that the policy chooses, unless the query demands one. Its
// plan must not change until Wait has returned. If the query demands a device and there is none,
// the error is device.ErrNoDevice.
func (d *Dispatcher) Submit(q Query) (Ticket, error) {
	j := newJob(d, q)
	d.estimate(j)
	usable := d.usable.Load()
	d.observe(j, usable)
	switch {
	case q.On == OnGPU && !usable:
		j.release()
		return Ticket{}, device.ErrNoDevice
	case q.On == OnCPU || !usable || d.refuses(&q):
		j.forced = true
		d.given.Add(1)
		j.tell(toCPU)
		return Ticket{j}, nil
	case q.On == Any && d.options.Policy == Auto && d.autoInTime(j):
		d.give(j)
		return Ticket{j}, nil
	}
	d.submit(j)
	return Ticket{j}, nil
}

// give gives a query to the CPU. It counts from here on. Otherwise all queries that arrive before
// it begins would see idle cores.
func (d *Dispatcher) give(j *job) {
	d.take(j)
	d.given.Add(1)
	j.tell(toCPU)
}

// refuses reports whether the devices cannot answer a query, unless it demands one: then it goes there,
// and comes back without an answer. All devices are alike.
func (d *Dispatcher) refuses(q *Query) bool {
	if q.On != Any {
		return false
	}
	r, ok := d.devices[0].Device.(Refuser)
	if !ok || r.Refuses(q.Plan) == nil {
		return false
	}
	if d.options.Policy != Processors {
		d.refusals.Add(1)
	}
	return true
}

// withdraw removes a job whose caller no longer waits. It reports false when it is too late.
func (d *Dispatcher) withdraw(j *job) bool {
	d.lock()
	defer d.unlock()
	// (The state would say it, too, but only the waiter of a job that was told may read it.)
	if i := slices.Index(d.waiting, j); i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
	} else if !d.queue.remove(j) {
		return false
	}
	d.stats.Withdrawn++
	d.letIn() // no batch may come that would
	now := time.Now()
	d.gauge(now)
	if d.queue.len() > 0 {
		d.wakeFirst(now, true)
	}
	return true
}

// grant gives idle cores the next queries. Only under policy Groups do queries wait for cores.
func (d *Dispatcher) grant(now time.Time) {
	for d.running.Load() < int64(d.options.Cores) {
		j := d.queue.takeForCPU(now, d.options.Deadline/2, d.idle == 0)
		if j == nil {
			return
		}
		d.give(j)
	}
}

// begin counts a query that the CPU computes, and waits for a core: hundreds of concurrent queries
// would keep the goroutines that feed the devices from running. Without devices only queries with a
// deadline wait.
func (d *Dispatcher) begin(ctx context.Context, j *job) error {
	if !j.granted {
		d.take(j)
	}
	j.busy = !d.quiet()
	if j.ungated = len(d.devices) == 0 && !j.hasDeadline(); j.ungated {
		return nil
	}
	d.gate.enter(j, !j.busy || j.forced, time.Now())
	if err := j.stand(ctx); err != nil {
		d.leave(j)
		return err
	}
	j.busy = j.busy || j.tardy
	if j.state == late {
		d.leave(j)
		return j.tooLate(time.Now())
	}
	return nil
}

// stand waits until the gate has told a job. It returns an error if the job has left before.
func (j *job) stand(ctx context.Context) (err error) {
	select {
	case <-j.ready:
		return nil
	default:
	}
	j.atGate = true
	return j.wait(ctx, j.due.Add(-min(j.cpu, j.helped)))
}

// end counts a query that the CPU answered, alone or after a device.
func (d *Dispatcher) end(j *job, by Side) {
	if !j.ungated {
		d.gate.leave(j, time.Now())
	}
	d.leave(j)
	if by == OnBoth {
		d.completed.Add(1)
	} else {
		d.computed.Add(1)
	}
	if d.options.Policy == Groups {
		now := time.Now()
		d.lock()
		d.grant(now)
		d.gauge(now)
		d.unlock()
	}
}
