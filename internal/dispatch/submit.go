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
	d.mu.Lock()
	defer d.mu.Unlock()
	noDevice := d.alive == 0 || d.closed
	if q.On == OnGPU && noDevice {
		j.release()
		return Ticket{}, device.ErrNoDevice
	}
	if q.On == OnCPU || noDevice || q.On == Any && d.refused(q.Plan) {
		d.stats.ToCPU++
		j.tell(toCPU)
		return Ticket{j}, nil
	}
	g, onCPU := d.choose(j)
	switch full := d.queue.len() >= d.options.MaxQueued; {
	case q.On == OnGPU && full:
		d.waiting = append(d.waiting, j)
	case q.On == OnGPU:
		d.enter(j, forDevices)
	case onCPU || full:
		// The query counts from here on. Otherwise all queries that arrive before it begins would
		// see idle cores.
		d.grantTo(j)
		if full {
			d.stats.TurnedAway++
		}
		j.tell(toCPU)
	default:
		d.enter(j, g)
	}
	return Ticket{j}, nil
}

// enter puts a job into the queue, and wakes a worker or a core that may take it.
func (d *Dispatcher) enter(j *job, g group) {
	d.queue.put(j, g)
	if d.options.Policy == Groups {
		d.grant(j.arrived)
	}
	n := d.queue.len()
	d.wakeFirst(j.arrived, n > 1 && n < d.options.MaxCount && d.queue.bytes < d.options.MaxBytes)
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
	return true
}

// grant gives idle cores the next queries. Only under policy Groups do queries wait for cores.
func (d *Dispatcher) grant(now time.Time) {
	for d.running < d.options.Cores {
		j := d.queue.takeForCPU(now, d.options.Deadline/2, d.idle == 0)
		if j == nil {
			return
		}
		d.grantTo(j)
		j.tell(toCPU)
	}
}

// grantTo counts a query that the CPU will compute.
func (d *Dispatcher) grantTo(j *job) {
	j.granted = true
	d.running++
	d.load += j.cpu
	d.stats.ToCPU++
}

// begin counts a query that the CPU computes, and waits for a core: hundreds of concurrent queries
// would keep the goroutines that feed the devices from running.
func (d *Dispatcher) begin(ctx context.Context, j *job) error {
	d.mu.Lock()
	if !j.granted {
		d.running++
		d.load += j.cpu
	}
	spare := d.spare
	if j.busy = !d.quiet(); j.busy {
		spare = nil
	}
	d.mu.Unlock()
	select {
	case d.cores <- struct{}{}:
		return nil
	case spare <- struct{}{}:
		j.onSpare = true
		return nil
	case <-ctx.Done():
		d.mu.Lock()
		d.running--
		d.load -= j.cpu
		d.mu.Unlock()
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
	d.mu.Lock()
	d.running--
	d.load -= j.cpu
	if by == OnBoth {
		d.stats.OnBoth++
	} else {
		d.stats.OnCPU++
		d.cpuTrial.use(time.Now())
	}
	if d.options.Policy == Groups {
		d.grant(time.Now())
	}
	d.mu.Unlock()
}
