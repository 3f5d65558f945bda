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
	switch {
	case q.On == OnGPU && !usable:
		j.release()
		return Ticket{}, device.ErrNoDevice
	case q.On == OnCPU || !usable || q.On == Any && d.refused(q.Plan):
		j.forced = true
		d.given.Add(1)
		j.tell(toCPU)
		return Ticket{j}, nil
	case q.On == Any && d.options.Policy == Auto && d.auto(j):
		d.give(j)
		return Ticket{j}, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.alive == 0 || d.closed {
		if q.On == OnGPU {
			j.release()
			return Ticket{}, device.ErrNoDevice
		}
		d.give(j)
		return Ticket{j}, nil
	}
	g, onCPU := forDevices, false
	if q.On == Any {
		g, onCPU = d.choose(j)
	}
	// When all cores are busy, a full queue becomes longer. If the CPU took the queries, devices
	// would get no cores, and the queue would stay full.
	full := d.queue.len() >= d.options.MaxQueued
	switch away := full && q.On == Any && d.running.Load() < int64(cap(d.cores)); {
	case q.On == OnGPU && full:
		d.waiting = append(d.waiting, j)
	case onCPU || away:
		if away {
			d.turnedAway.Add(1)
		}
		d.give(j)
	default:
		d.enter(j, g)
	}
	return Ticket{j}, nil
}

// give gives a query to the CPU. It counts from here on. Otherwise all queries that arrive before
// it begins would see idle cores.
func (d *Dispatcher) give(j *job) {
	d.take(j)
	d.given.Add(1)
	j.tell(toCPU)
}

// enter puts a job into the queue, and wakes a worker or a core that may take it.
func (d *Dispatcher) enter(j *job, g group) {
	d.queue.put(j, g)
	if d.options.Policy == Groups {
		d.grant(j.arrived)
	}
	d.gauge(j.arrived)
	d.wakeFirst(j.arrived, d.queue.len() > 1)
}

// refused reports whether the devices cannot answer a plan. All are alike.
func (d *Dispatcher) refused(p *Plan) bool {
	r, ok := d.devices[0].Device.(Refuser)
	return ok && r.Refuses(p) != nil
}

// withdraw removes a job whose caller no longer waits. It reports false when it is too late.
func (d *Dispatcher) withdraw(j *job) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if j.state != queued {
		return false
	}
	if i := slices.Index(d.waiting, j); i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
	} else if !d.queue.remove(j) {
		return false
	}
	d.stats.Withdrawn++
	d.gauge(time.Now())
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
// would keep the goroutines that feed the devices from running.
func (d *Dispatcher) begin(ctx context.Context, j *job) error {
	if !j.granted {
		d.take(j)
	}
	spare := d.spare
	if j.busy = !d.quiet(); j.busy && !j.forced {
		spare = nil
	}
	select {
	case d.cores <- struct{}{}:
		return nil
	case spare <- struct{}{}:
		j.onSpare = true
		return nil
	case <-ctx.Done():
		d.leave(j)
		return ctx.Err()
	}
}

// end counts a query that the CPU answered, alone or after a device.
func (d *Dispatcher) end(j *job, by Side) {
	if j.onSpare {
		<-d.spare
	} else {
		<-d.cores
	}
	d.leave(j)
	if by == OnBoth {
		d.completed.Add(1)
	} else {
		d.computed.Add(1)
	}
	if d.options.Policy == Groups {
		now := time.Now()
		d.mu.Lock()
		d.grant(now)
		d.gauge(now)
		d.mu.Unlock()
	}
}
