package dispatch

import (
	"context"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/riffle-search/riffle/blockmax"
)

// A Plan is a query over lists of package postings.
type Plan = blockmax.Plan

// A Device answers batches of plans: *gpuexec.Executor.
type Device interface {
	// Partials answers plans as far as it can; answers are parallel to plans. An error says that
	// none is answered. Options.Depth goroutines may call it at a time. It must not use the plans
	// after it returns.
	Partials(ctx context.Context, plans []*Plan) ([]blockmax.Partial, error)

	// Resident is how many bytes of the list with a key need not be copied to the device; it may
	// exceed the list's size.
	Resident(key uint64) int64

	// Lost is why the device can no longer be used, or nil.
	Lost() error
}

// A CPU answers single plans: cpuexec.Parallel.
type CPU interface {
	TopK(context.Context, *Plan) (blockmax.TopK, error)
	Finish(context.Context, *Plan, *blockmax.Partial) (blockmax.TopK, error)
}

// A Side is a kind of processor.
type Side uint8

const (
	Any    Side = iota // where the policy chooses
	OnCPU              // the CPU
	OnGPU              // a device; device.ErrNoDevice if there is none
	OnBoth             // of an answer: a device began, the CPU completed it
)

// A Refuser is a Device that knows which plans it cannot answer, whatever it has in its memory.
type Refuser interface {
	Refuses(*Plan) error
}

// A Leader is a Device that says how long the host takes for a batch of n plans, lately, before the
// device can begin with it; 0 if that is not known. The next batch is formed so long before the
// device is done with the last one.
type Leader interface {
	Lead(n int) time.Duration
}

// A Query is a plan and where it may run.
type Query struct {
	Plan *Plan
	CPU  CPU
	On   Side

	// Count says that only TopK.Total is wanted, of a plan with CountAll: CPU then counts and ranks
	// nothing.
	Count bool

	// Whole is CPU without the help of other cores: it answers while devices work, whose batches
	// need cores, too. Nil stands for CPU.
	Whole CPU

	// Due is when the answer is wanted; zero for no deadline. Queries that wait take turns by it;
	// without one, a query counts as due Options.Deadline after its arrival. One that cannot be in
	// time lets all others go first. With FailLate it fails with ErrLate instead, as soon as that is
	// estimated. An answer that has begun is finished, however late.
	Due      time.Time
	FailLate bool

	// Prompt says that the caller calls Wait at once. An idle device then runs the query on the
	// caller's goroutine.
	Prompt bool

	// Decision is filled in with where the query goes and why, unless it is nil.
	Decision *Decision
}

// An Answer is a TopK and the side that found it.
type Answer struct {
	blockmax.TopK
	By Side
}

// Options of a Dispatcher. Comments name the defaults, which zero values stand for.
type Options struct {
	Policy Policy

	// Threshold is how many blocks the lists of a query must have to be long, for Long and LBD. The
	// default is 400 for Long, some 50,000 postings, and for LBD the paper's best, 30,000.
	Threshold int

	// Margin is by how much a processor must be better for a query to be in its group, for Groups.
	// The default is 0.2, the paper's.
	Margin float64

	// MaxCount is the largest number of queries in a batch. The default is 1,024.
	MaxCount int

	// MaxBytes bounds the bytes of lists that a batch copies to its device. The default is 256 MiB.
	MaxBytes int64

	// Delay is the longest that a query waits for others to form a batch, while its device works on
	// another one. By default it waits until the device is about to be done.
	Delay time.Duration

	// Deadline is the time within which queries without one of their own should be answered. Under
	// Groups, those that have waited for half of it come first. The default is 500 ms, the paper's.
	Deadline time.Duration

	// MaxQueued is from how many queries that wait for devices further ones go to idle cores. Those
	// that demand a device wait for room. The default is 8 batches of MaxCount.
	MaxQueued int

	// Depth is how many batches a device has under way. The default is 2.
	Depth int

	// Cores is how many queries the CPU computes at a time; others wait. One of them for each device
	// is reserved for the goroutines that feed it, but never the last core. While devices work, Auto
	// also leaves the cores that the rest of the process needs, and half of them if queries are long
	// (price.go). Policy Groups reserves none. Without devices, only queries with a deadline wait for a core. The default is 1.
	Cores int

	// Model estimates what queries cost, and keeps learning. Nil is DefaultModel.
	Model *Model

	// Failed is called for every batch that a device failed to answer, and says whether the device
	// was lost. It may be nil.
	Failed func(device int, lost bool, err error)
}

func (o Options) withDefaults() Options {
	def := func(v *int, to int) {
		if *v <= 0 {
			*v = to
		}
	}
	if o.Policy == LBD {
		def(&o.Threshold, 30_000)
	}
	def(&o.Threshold, 400)
	def(&o.MaxCount, 1024)
	def(&o.MaxQueued, 8*o.MaxCount)
	def(&o.Depth, 2)
	def(&o.Cores, 1)
	if o.Margin <= 0 {
		o.Margin = 0.2
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 256 << 20
	}
	if o.Deadline <= 0 {
		o.Deadline = 500 * time.Millisecond
	}
	if o.Model == nil {
		o.Model = DefaultModel()
	}
	return o
}

// atOnce is how many queries the CPU computes at a time, and how many more while devices have little
// to do or when no device can answer them. With 15 of 16 cores computing, an H200 answered only a third
// of the queries that it answers alone.
func (o *Options) atOnce(devices int) (always, more int) {
	switch {
	case devices == 0:
		return o.Cores, 0
	case o.Policy == Groups:
		return o.Cores, 0
	case o.Policy == Auto:
		always = max(1, min(o.Cores-devices, o.Cores/2))
		return always, max(0, o.Cores-devices-always)
	}
	return max(1, o.Cores-devices), 0
}

// A Dispatcher lets a CPU and any number of devices answer plans. It is safe for concurrent use.
type Dispatcher struct {
	options Options
	devices []*deviceState
	model   *Model
	start   time.Time

	mostCores int64 // that queries may have

	// Time on a core of the thread that computes a plan, which calls it; nil if the system does not say.
	threadTime func(*Plan) time.Duration

	working func() int // cores at work

	inbox   inbox
	mu      sync.Mutex // see lock and unlock
	queue   queue
	waiting []*job // that demand a device and do not yet fit in the queue
	alive   int    // devices that are not lost
	idle    int    // device workers that wait for a batch
	turn    int    // counter for Halves
	closed  bool
	stats   Stats
	unsure  time.Duration // how much sooner or later than estimated batches are done, lately

	gauges

	watchtower watchtower // of contexts

	gate    gate          // to the cores
	dues    dues          // of queries that wait for devices
	kick    chan struct{} // to device workers: look at the queue
	stop    chan struct{} // closed by Close
	workers sync.WaitGroup
}

// New starts the workers of the devices. There may be no devices.
func New(devices []Device, o Options) *Dispatcher {
	o = o.withDefaults()
	d := &Dispatcher{options: o, model: o.Model, alive: len(devices), start: time.Now(), threadTime: threadTime, working: coresAtWork}
	d.slower.Store(math.Float64bits(1))
	d.inbox.open(runtime.GOMAXPROCS(0))
	always, more := o.atOnce(len(devices))
	d.gate.open(always, more)
	d.cores.Store(int64(always))
	d.mostCores = int64(always + more)
	d.gate.counts = &d.gauges
	d.dues.start, d.queue.dues = d.start, &d.dues
	d.kick, d.stop = make(chan struct{}, max(1, len(devices)*o.Depth)), make(chan struct{})
	for i, dev := range devices {
		s := &deviceState{Device: dev, number: i, kick: make(chan struct{}, 1)}
		d.devices = append(d.devices, s)
	}
	d.gauge(d.start)
	for _, s := range d.devices {
		for range o.Depth {
			d.workers.Go(func() { d.serve(s) })
		}
	}
	return d
}

// Close waits for batches under way, ends the workers, and lets the CPU answer waiting queries.
// Later queries go to the CPU, unless they demand a device.
func (d *Dispatcher) Close() {
	d.lock()
	if d.closed {
		d.unlock()
		return
	}
	d.closed = true
	d.gauge(time.Now())
	close(d.stop)
	d.unlock()
	d.workers.Wait()
	d.lock()
	d.toCPU(d.queue.takeAll())
	d.toCPU(d.waiting)
	d.waiting = nil
	d.unlock()
}

// Model returns the model of costs, which keeps learning.
func (d *Dispatcher) Model() *Model { return d.model }

// Appetite is how many queries should be under way for all devices to have full batches.
func (d *Dispatcher) Appetite() int {
	return d.options.MaxCount * (len(d.devices)*d.options.Depth + 1)
}

// TopK is Submit and Wait.
func (d *Dispatcher) TopK(ctx context.Context, q Query) (Answer, error) {
	q.Prompt = true
	t, err := d.Submit(q)
	if err != nil {
		return Answer{}, err
	}
	return t.Wait(ctx)
}
