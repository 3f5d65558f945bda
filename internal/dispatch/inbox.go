package dispatch

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// An inbox has the queries that have been submitted and are not yet in the queue. Submit puts them
// here and never waits for Dispatcher.mu: while a batch is formed, that would stop hundreds of
// goroutines, and a mutex with so many waiters is handed from one to the next, each of which must
// first get a core. Whoever holds Dispatcher.mu puts the queries into the queue.
//
// Nor does it wait for other submitters. With a mutex, thousands stood in line for the moment that one had
// allocated memory, or had lost its core: on 16 cores a GPU had a third of its throughput then, and the
// line did not end. So a query is put upon the others by one compare-and-swap, and all are taken off
// together (Treiber's stack). It goes into any of several parts, which are on cache lines of their own.
type inbox struct {
	parts []inboxPart
	jobs  []*job // what take returns; Dispatcher.mu guards it
	some  atomic.Bool
}

type inboxPart struct {
	top atomic.Pointer[job]
	_   [56]byte // the next part is on another cache line
}

// An inbox has a part for each so many cores, but at most partsMost: take looks at all.
const (
	partCores = 4
	partsMost = 16
)

func (in *inbox) open(cores int) {
	in.parts = make([]inboxPart, max(1, min(partsMost, cores/partCores)))
}

func (in *inbox) put(j *job) {
	p := &in.parts[rand.IntN(len(in.parts))]
	for {
		top := p.top.Load()
		j.below = top
		if p.top.CompareAndSwap(top, j) {
			break
		}
	}
	if !in.some.Load() { // otherwise all cores would wait for its cache line
		in.some.Store(true)
	}
}

// take empties the inbox. It returns the queries by arrival, valid until the next call.
func (in *inbox) take() []*job {
	clear(in.jobs)
	in.jobs = in.jobs[:0]
	in.some.Store(false) // before the first part: who comes later sets it again
	for i := range in.parts {
		from := len(in.jobs)
		for j := in.parts[i].top.Swap(nil); j != nil; {
			below := j.below
			j.below = nil
			in.jobs, j = append(in.jobs, j), below
		}
		slices.Reverse(in.jobs[from:])
	}
	slices.SortStableFunc(in.jobs, func(a, b *job) int { return a.arrived.Compare(b.arrived) })
	return in.jobs
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
	before, alone := d.queue.len(), 0
	for _, j := range d.inbox.take() {
		if j.alone {
			alone++
		}
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
	if d.queue.len() > before+alone || before > 0 {
		d.wakeFirst(now, before > 0)
	}
}

// admit puts a query into the queue, or tells its caller what else becomes of it.
func (d *Dispatcher) admit(j *job) {
	q := &j.query
	if d.alive == 0 || d.closed {
		if q.On == OnGPU {
			j.tell(refused)
		} else {
			j.because(noneLeft)
			j.expected = 0
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
	switch away := full && q.On == Any && d.running.Load() < d.cores.Load(); {
	case q.On == OnGPU && full:
		d.waiting = append(d.waiting, j)
	case onCPU || away:
		if away {
			d.turnedAway.Add(1)
			j.because("the queue for the GPU is full, and a core is idle")
			j.expected = 0
		}
		d.give(j)
	case q.FailLate && d.options.Policy != Groups && j.arrived.Add(time.Duration(float64(d.onDevice(j))*d.slowness())).After(j.due.Add(j.due.Sub(j.arrived)/2)):
		j.tell(late)
	default:
		d.queue.put(j, g)
	}
}

// submit puts a query into the inbox.
func (d *Dispatcher) submit(j *job) {
	missing := d.findLacks(j)
	if j.gpu == 0 { // the policy does not ask for it, but batches are formed by it
		j.gpu = d.model.GPU(&j.features, missing)
	}
	j.alone = d.mayRunAlone(j)
	d.queued.Add(1) // until the next gauge
	d.gpu.Add(int64(j.gpu))
	d.inbox.put(j)
	d.look()
}
