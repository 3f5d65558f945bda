package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/device"
)

// A Ticket is a submitted query. Callers must call Wait, once.
type Ticket struct{ job *job }

// A job is a query in progress. Dispatcher.mu guards all fields but ready until ready receives a
// value. From then on the job belongs to the goroutine that waits.
type job struct {
	d        *Dispatcher
	query    Query
	features Features
	cpu, gpu time.Duration // estimated cost
	helped   time.Duration // on the CPU, with the help of idle cores
	expected time.Duration // of Auto: from arrival to answer, where it goes; 0 if that is not known
	arrived  time.Time
	due      time.Time // Query.Due, or Options.Deadline after arrival
	slot     int64     // of dues, if counted
	counted  bool
	lacks    []lackedList // that a device may lack
	small    int64        // bytes of lists of one block, which come with every batch
	group    group
	state    state // read by the waiter alone, after ready: see tell

	granted  bool // the CPU has reserved a core for it
	quiet    bool // devices had little to do when it arrived
	busy     bool // they had much to do when a core took it
	onSpare  bool // that core is reserved while they work
	reserved bool // it may have such a core
	tardy    bool // it has a core of the gate though it will be late
	rescued  bool // a device would have answered it too late, so the CPU got it
	ungated  bool // it needs no core of the gate
	forced   bool // no device can answer it
	below    *job // in its part of the inbox
	partial  blockmax.Partial
	took     time.Duration // of a device for its batch, or since that began where it is not known
	ready    chan struct{} // one slot

	alone  bool // its caller will run it (alone.go)
	atGate bool // it waits for a core, not for a device
	place  int  // in a watchPart
}

type state uint8

const (
	queued   state = iota // not yet in a batch
	taken                 // in a batch, or given to the CPU
	partial               // a device has answered it, at least in part
	toCPU                 // the caller is to compute it
	refused               // no device is left, and it demands one
	admitted              // it has a core
	late                  // it would miss its deadline, and is to fail then
	left                  // its context has ended, and it waits nowhere
)

var jobs = newJobs()

func newJobs() *sync.Pool {
	return &sync.Pool{New: func() any { return &job{ready: make(chan struct{}, 1)} }}
}

func newJob(d *Dispatcher, q Query) *job {
	j := jobs.Get().(*job) // which release has emptied
	j.d, j.query, j.arrived, j.due = d, q, time.Now(), q.Due
	j.features.read(q.Plan)
	j.features.Count = q.Count
	if j.due.IsZero() {
		j.due = j.arrived.Add(d.options.Deadline)
	}
	return j
}

// tell sets what becomes of a job and wakes its waiter.
//
// It may be called with Dispatcher.mu, with gate.mu or with neither, and needs none: whoever calls it
// has taken the job out of the queue or the line that it was in, so nobody else tells it or takes it
// into a batch, and only the waiter reads the state, after it has received from ready. (The waiter
// reads it again behind the gate, which has then told the job a second time.)
func (j *job) tell(s state) {
	j.state = s
	j.ready <- struct{}{}
}

// Wait waits for the answer, and does the CPU's share of the work. When the context ends, it
// withdraws the query or, if a device already has it, waits for the batch.
func (t Ticket) Wait(ctx context.Context) (Answer, error) {
	j := t.job
	defer j.release()
	if err := j.await(ctx); err != nil {
		return Answer{}, err
	}
	switch j.state {
	case refused:
		return Answer{}, device.ErrNoDevice
	case late:
		return Answer{}, j.tooLate(time.Now())
	case partial:
		return j.complete(ctx)
	}
	return j.compute(ctx)
}

// await waits until the job has been told. It returns an error if the job has been withdrawn: the
// context has ended, or the query is to fail when it is late, and is.
func (j *job) await(ctx context.Context) (err error) {
	select {
	case <-j.ready:
		return nil
	default:
	}
	if j.alone {
		j.d.runAlone(j)
	}
	return j.wait(ctx, j.due)
}

// takeOut takes a job out of what it waits in. It reports false when it is too late.
func (j *job) takeOut() bool {
	if j.atGate {
		return j.d.gate.withdraw(j)
	}
	return j.d.withdraw(j)
}

// wait waits until the job has been told. When the context ends, or at the time due if the job is to
// fail when it is late, it is taken out of what it waits in, and the error says why.
func (j *job) wait(ctx context.Context, due time.Time) (err error) {
	if !j.query.FailLate || !j.hasDeadline() {
		if j.d.hear(ctx, j) {
			if j.state == left {
				return ctx.Err()
			}
			return nil
		}
		err = ctx.Err()
	} else {
		timer := time.NewTimer(time.Until(due))
		defer timer.Stop()
		select {
		case <-j.ready:
			return nil
		case <-ctx.Done():
			err = ctx.Err()
		case <-timer.C:
			err = j.tooLate(time.Now())
		}
	}
	if j.takeOut() {
		return err
	}
	<-j.ready
	return nil
}

func (j *job) release() {
	clear(j.lacks)
	*j = job{ready: j.ready, lacks: j.lacks[:0]}
	jobs.Put(j)
}

// complete completes a device's answer.
func (j *job) complete(ctx context.Context) (Answer, error) {
	if x := j.query.Decision; x != nil {
		x.OnGPU, x.DeviceBlocks = j.took, j.partial.Top.Work.BlocksDecoded
		j.waited(time.Now())
	}
	if len(j.partial.Open) == 0 {
		return Answer{j.partial.Top, OnGPU}, nil
	}
	if j.fewOpen() { // done sooner than a core is waited for
		start := time.Now()
		top, err := j.query.CPU.Finish(ctx, j.query.Plan, &j.partial)
		j.worked(start, time.Now())
		j.d.completed.Add(1)
		return Answer{top, OnBoth}, err
	}
	by := OnBoth
	j.cpu = 0 // what remains of it is unknown
	if j.allOpen() {
		by = OnCPU
		j.d.refusals.Add(1)
	} else {
		j.query.FailLate = false // it has begun
	}
	if err := j.d.begin(ctx, j); err != nil {
		return Answer{}, err
	}
	start := time.Now()
	j.waited(start)
	top, err := j.query.CPU.Finish(ctx, j.query.Plan, &j.partial)
	j.worked(start, time.Now())
	j.d.end(j, by)
	return Answer{top, by}, err
}

// fewDocs is how many open documents are few.
const fewDocs = 1 << 16

// fewOpen reports whether a device has left few documents open, and few beside the others.
func (j *job) fewOpen() bool {
	open, all := uint64(0), uint64(0)
	for _, s := range j.partial.Open {
		open += uint64(s.To - s.From)
	}
	for i := range j.query.Plan.Segments {
		all += uint64(j.query.Plan.Segments[i].Docs)
	}
	return open <= fewDocs && 2*open <= all
}

// allOpen reports whether the device has not looked at any document.
func (j *job) allOpen() bool {
	open, all := uint64(0), uint64(0)
	for _, s := range j.partial.Open {
		open += uint64(s.To - s.From)
	}
	for i := range j.query.Plan.Segments {
		all += uint64(j.query.Plan.Segments[i].Docs)
	}
	return open == all
}

// compute answers on the CPU.
func (j *job) compute(ctx context.Context) (Answer, error) {
	if err := j.d.begin(ctx, j); err != nil {
		return Answer{}, err
	}
	cpu, helped := j.query.CPU, j.d.helped(1) && !j.busy
	if j.busy && j.query.Whole != nil {
		cpu = j.query.Whole
	}
	if j.rescued {
		j.d.rescuing.Add(1)
		defer j.d.rescuing.Add(-1)
	}
	core := j.d.onCore(j.query.Plan)
	start := time.Now()
	j.waited(start)
	top, err := cpu.TopK(ctx, j.query.Plan)
	end := time.Now()
	j.worked(start, end)
	r := run{took: end.Sub(start), core: j.d.onCore(j.query.Plan) - core, helped: helped && j.d.helped(1), shared: top.Work.Tasks > 0, expected: j.expected, response: end.Sub(j.arrived)}
	switch {
	case j.d.threadTime == nil:
		r.core = r.took
	case r.core < r.took/16 || r.core > r.took+clockTime: // the goroutine has changed threads
		r.core = 0
	default:
		r.core = min(r.core, r.took) // without what asking took
	}
	if err == nil {
		if j.d.model.noteCPU(&j.features, r, end) {
			go j.d.model.solve()
		}
		j.d.cpuTrial.use(start.Sub(j.d.start))
	}
	j.d.end(j, OnCPU)
	return Answer{top, OnCPU}, err
}

// clockTime is how long it may take to ask for the time of a thread, twice. It is a system call: of 0.6 µs
// in a virtual machine.
const clockTime = 10 * time.Microsecond

// onCore is how long the calling thread, which computes a plan, has been on a core, or 0.
func (d *Dispatcher) onCore(p *Plan) time.Duration {
	if d.threadTime == nil {
		return 0
	}
	return d.threadTime(p)
}
