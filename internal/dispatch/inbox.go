package dispatch

import (
	"sync"
	"sync/atomic"
	"time"
)

// An inbox has the queries that have been submitted and are not yet in the queue. Submit puts them
// here and never waits for Dispatcher.mu: while a batch is formed, that would stop hundreds of
// goroutines, and a mutex with so many waiters is handed from one to the next, each of which must
// first get a core. Whoever holds Dispatcher.mu puts the queries into the queue.
type inbox struct {
	mu    sync.Mutex // held for moments
	jobs  []*job
	spare []*job // memory; Dispatcher.mu guards it
	some  atomic.Bool
}

func (in *inbox) put(j *job) {
	in.mu.Lock()
	in.jobs = append(in.jobs, j)
	in.some.Store(true)
	in.mu.Unlock()
}

// take empties the inbox. What it returns is valid until the next call.
func (in *inbox) take() []*job {
	clear(in.spare)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.jobs, in.spare = in.spare[:0], in.jobs
	in.some.Store(false)
	return in.spare
}

// lock locks mu. The queue then has all queries that were submitted before.
func (d *Dispatcher) lock() {
	d.mu.Lock()
	d.receive()
}

// unlock unlocks mu. It also looks after queries whose submitters could not lock it meanwhile.
func (d *Dispatcher) unlock() {
	d.mu.Unlock()
	d.look()
}

// look lets the queries of the inbox in, unless somebody else holds mu, who will do it.
func (d *Dispatcher) look() {
	for d.inbox.some.Load() && d.mu.TryLock() {
		d.receive()
		d.mu.Unlock()
	}
}

// receive decides about the queries of the inbox, and wakes a worker or a core that may take some.
func (d *Dispatcher) receive() {
	if !d.inbox.some.Load() {
		return
	}
	before := d.queue.len()
	for _, j := range d.inbox.take() {
		d.admit(j)
	}
	if d.queue.len() == before {
		return
	}
	now := time.Now()
	if d.options.Policy == Groups {
		d.grant(now)
	}
	d.gauge(now)
	d.wakeFirst(now, before > 0)
}

// admit puts a query into the queue, or tells its caller what else becomes of it.
func (d *Dispatcher) admit(j *job) {
	q := &j.query
	if d.alive == 0 || d.closed {
		if q.On == OnGPU {
			j.tell(refused)
		} else {
			j.because(noneLeft)
			d.give(j)
		}
		return
	}
	g, onCPU := forDevices, false
	if q.On == Any {
		if g, onCPU = d.choose(j); d.options.Policy != Auto {
			j.because("the policy " + d.options.Policy.String() + " decides")
		}
	}
	// When all cores are busy, a full queue becomes longer. If the CPU took the queries, devices
	// would get no cores, and the queue would stay full.
	full := d.queue.len() >= d.options.MaxQueued
	switch away := full && q.On == Any && d.running.Load() < int64(d.gate.always); {
	case q.On == OnGPU && full:
		d.waiting = append(d.waiting, j)
	case onCPU || away:
		if away {
			d.turnedAway.Add(1)
			j.because("the queue for the GPU is full, and a core is idle")
		}
		d.give(j)
	case q.FailLate && d.options.Policy != Groups && d.onDeviceBy(j).After(j.due.Add(j.due.Sub(j.arrived)/2)):
		j.tell(late)
	default:
		d.queue.put(j, g)
	}
}

// submit puts a query into the inbox.
func (d *Dispatcher) submit(j *job) {
	d.queued.Add(1) // until the next gauge
	d.gpu.Add(int64(j.gpu))
	d.inbox.put(j)
	d.look()
}
