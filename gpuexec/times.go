package gpuexec

import (
	"maps"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle/gpuexec/device"
)

// Times sum up where batches spent their time. Batches overlap: on the device with one another's
// copies, and on the host on as many cores as there are callers of Run, except for about half of
// Host.
type Times struct {
	Batches int64
	Host    time.Duration // to make batches and to hand them to the device
	Driver  time.Duration // of Host, to hand them to it; when its queues are full, that waits for it
	Answers time.Duration // to read the results
	// On the device, by its own clock, from the first kernel of each batch to its last; with
	// Options.Timed.
	Kernels time.Duration

	// With Options.Stream, the bytes that batches requested of lists that the host keeps, and those
	// of them that were not resident.
	WantedBytes, FetchedBytes int64

	// ColumnBytes are the bytes of length codes, accepted documents and ranks that were copied in parts.
	ColumnBytes int64

	ByKernel map[string]time.Duration // with Options.Traced
}

// Times returns current figures.
func (x *Executor) Times() Times {
	x.timesMu.Lock()
	defer x.timesMu.Unlock()
	t := x.times
	t.ByKernel = maps.Clone(t.ByKernel)
	return t
}

func (x *Executor) note(t Times) {
	x.timesMu.Lock()
	defer x.timesMu.Unlock()
	x.times.Batches += t.Batches
	x.times.Host += t.Host
	x.times.Driver += t.Driver
	x.times.Answers += t.Answers
	x.times.Kernels += t.Kernels
	x.times.WantedBytes += t.WantedBytes
	x.times.FetchedBytes += t.FetchedBytes
	x.times.ColumnBytes += t.ColumnBytes
	if x.times.ByKernel == nil && t.ByKernel != nil {
		x.times.ByKernel = map[string]time.Duration{}
	}
	for name, took := range t.ByKernel {
		x.times.ByKernel[name] += took
	}
}

// timeKernels adds the time of the kernels of a finished batch.
func (x *Executor) timeKernels(s *slot) error {
	return x.dev.Do(func(q *device.Queue) {
		x.note(Times{Kernels: q.Elapsed(s.began, s.ready), ByKernel: s.trace.times(q)})
	})
}

// A trace records when the kernels of a batch began and ended.
type trace struct {
	on     bool
	events []device.Event // two of each launch
	names  []string       // one of each launch of this batch
}

// around records when launch's kernel begins and ends.
func (t *trace) around(q *device.Queue, stream device.Stream, name string, launch func()) {
	if !t.on {
		launch()
		return
	}
	at := 2 * len(t.names)
	for len(t.events) < at+2 {
		t.events = append(t.events, q.Event())
	}
	q.Record(t.events[at], stream)
	launch()
	q.Record(t.events[at+1], stream)
	t.names = append(t.names, name)
}

// times returns the times of all launches by the kernel's name, and forgets the launches.
func (t *trace) times(q *device.Queue) map[string]time.Duration {
	if !t.on {
		return nil
	}
	sums := map[string]time.Duration{}
	for i, name := range t.names {
		sums[name] += q.Elapsed(t.events[2*i], t.events[2*i+1])
	}
	t.names = t.names[:0]
	return sums
}

// A lead is what the host takes for batches before the device can begin with them: the mean of the
// latest ones, where the last counts an eighth.
type lead struct {
	took, plans atomic.Int64 // nanoseconds; plans in units of 1/1024
}

func (l *lead) note(took time.Duration, plans int) {
	toward := func(mean *atomic.Int64, to int64) {
		old := mean.Load()
		if old == 0 {
			old = to
		}
		mean.Store(old + (to-old)/8) // a lost update does no harm
	}
	toward(&l.took, int64(took))
	toward(&l.plans, int64(plans)<<10)
}

// of is about what a batch of n plans takes. A batch of half as many takes more than half.
func (l *lead) of(n int) time.Duration {
	took, plans := l.took.Load(), l.plans.Load()
	if plans == 0 {
		return 0
	}
	return time.Duration(float64(took) * max(0.5, min(2, float64(n)*1024/float64(plans))))
}

// Lead is how long the host takes for a batch of n plans, lately, before the device can begin with
// it; 0 before the first one.
func (x *Executor) Lead(n int) time.Duration { return x.lead.of(n) }
