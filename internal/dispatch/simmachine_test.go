package dispatch

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle/blockmax"
)

// A machine is simulated cores and a simulated device, in a bubble of package synctest: its clock
// moves when everything waits. Costs are like those of an H200 with 16 cores
// (bench/results/2026-11-23-gpu-auto.md).
type machine struct {
	cores chan struct{}   // one element for each that works; who waits for one gets it in turn
	asked map[*Plan]*work // what queries cost

	batch time.Duration // what the device takes for any batch, and again by the logarithm of its queries

	slowCPU, slowGPU atomic.Int64 // times the usual, in hundredths

	start time.Time

	mu             sync.Mutex
	lead           time.Duration // of the host, before the device can begin with a batch
	leadPlans      float64       // of such a batch
	free           time.Time     // when the device will have done what it has
	rng            *rand.Rand
	stall, stalled time.Duration // when the next stall begins and ends, after start
	stalls         *rand.Rand
}

// work is what a query costs one core, and a device in a batch.
type work struct {
	cpu, gpu time.Duration
	spent    atomic.Int64 // by the goroutine that computes it, on a core, in nanoseconds
}

// What the host takes for queries and batches is what a profile of 4.5 µs a query says of an idle
// dispatcher, with a client that reads the answer and a device that is fed.
const (
	simCores  = 16                     // of most machines
	simSlice  = 10 * time.Millisecond  // of a core, as goroutines take turns in Go
	simWake   = 60 * time.Microsecond  // until a goroutine that is to run does on an idle core, on average
	simSend   = 2 * time.Microsecond   // of a core, for a query to arrive: of the goroutine that all come from
	simAsk    = 4 * time.Microsecond   // of a core, for a client to ask
	simRead   = 3 * time.Microsecond   // of a core, to read the answer
	simHost   = 100 * time.Microsecond // of a core, for any batch
	simPerJob = 1200 * time.Nanosecond // of a core, for each query of a batch, before the device gets it
	simTell   = 400 * time.Nanosecond  // of a core, to wake its client
	simNotice = 100 * time.Microsecond // until it is seen that a batch is done, on average
	simStall  = 2 * time.Millisecond   // the same, while the process or its machine stands still: a mean stall
	simStalls = 200 * time.Millisecond // between these, on average
	simBatch  = 350 * time.Microsecond // of the device, as with GOV2's lists: see machine.batch
	simCrowd  = 0.8                    // by how much longer work takes when all cores are busy
)

// newMachine makes a machine of the usual cores and device.
func newMachine() *machine { return newMachineOf(simCores, simBatch) }

func newMachineOf(cores int, batch time.Duration) *machine {
	m := &machine{cores: make(chan struct{}, cores), batch: batch, asked: map[*Plan]*work{}, rng: rand.New(rand.NewPCG(6, 6)), stalls: rand.New(rand.NewPCG(5, 5)), start: time.Now()}
	m.slowCPU.Store(100)
	m.slowGPU.Store(100)
	return m
}

// compute takes time on a core, in slices. It returns how long it was on it.
func (m *machine) compute(took time.Duration) (onCore time.Duration) {
	for took > 0 {
		slice := min(took, simSlice)
		m.cores <- struct{}{}
		longer := time.Duration(float64(slice) * (1 + simCrowd*float64(len(m.cores))/float64(cap(m.cores))))
		time.Sleep(longer)
		<-m.cores
		onCore += longer
		took -= slice
	}
	return onCore
}

// wake waits until a goroutine runs. An idle core must first wake up; a busy one takes the next at once.
func (m *machine) wake() {
	m.mu.Lock()
	late := m.rng.ExpFloat64()
	m.mu.Unlock()
	idle := 1 - float64(len(m.cores))/float64(cap(m.cores))
	time.Sleep(time.Duration(float64(simWake) * idle * idle * late))
}

// wholly is the machine's cores, but only one for a query.
type wholly struct{ *machine }

func (w wholly) TopK(_ context.Context, p *Plan) (top blockmax.TopK, err error) {
	w.alone(p)
	return top, nil
}

// alone computes a query on one core.
func (m *machine) alone(p *Plan) {
	w := m.asked[p]
	w.spent.Add(int64(m.compute(w.cpu * time.Duration(m.slowCPU.Load()) / 100)))
}

// TopK computes a query. Idle cores help with a long one.
func (m *machine) TopK(_ context.Context, p *Plan) (top blockmax.TopK, err error) {
	took := m.asked[p].cpu * time.Duration(m.slowCPU.Load()) / 100
	helpers := min(cap(m.cores)-1-len(m.cores), int(took/(200*time.Microsecond)), 7)
	if helpers <= 0 {
		m.alone(p)
		return top, nil
	}
	took = time.Duration(float64(took) / (1 + 0.7*float64(helpers)))
	top.Work.Tasks = 1
	var all sync.WaitGroup
	for range helpers + 1 {
		all.Go(func() {
			m.wake()
			m.compute(took)
		})
	}
	all.Wait()
	return top, nil
}

func (m *machine) Finish(ctx context.Context, p *Plan, _ *blockmax.Partial) (blockmax.TopK, error) {
	return m.TopK(ctx, p)
}

// Lead is what the host has taken for batches lately, by their size, as package gpuexec says it.
func (m *machine) Lead(n int) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leadPlans == 0 {
		return 0
	}
	return time.Duration(float64(m.lead) * max(0.5, min(2, float64(n)/m.leadPlans)))
}

func (m *machine) noteLead(took time.Duration, plans int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leadPlans == 0 {
		m.lead, m.leadPlans = took, float64(plans)
	}
	m.lead += (took - m.lead) / 8
	m.leadPlans += (float64(plans) - m.leadPlans) / 8
}

// unseen is how long nobody sees that a batch is done. In a stall, the ends of several are seen together.
func (m *machine) unseen() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Since(m.start)
	for m.stalled <= now {
		m.stall = m.stalled + time.Duration(m.stalls.ExpFloat64()*float64(simStalls))
		m.stalled = m.stall + time.Duration(m.stalls.ExpFloat64()*float64(simStall))
	}
	wait := time.Duration(m.rng.ExpFloat64() * float64(simNotice))
	if m.stall <= now+wait {
		wait = max(wait, m.stalled-now)
	}
	return wait
}

// calm ends all stalls, for what is measured in less time than lies between two of them.
func (m *machine) calm() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stall, m.stalled = math.MaxInt64, math.MaxInt64
}

func (m *machine) Partials(_ context.Context, plans []*Plan) ([]blockmax.Partial, error) {
	m.wake()
	began := time.Now()
	m.compute(simHost + time.Duration(len(plans))*simPerJob)
	m.noteLead(time.Since(began), len(plans))
	took := m.batch + time.Duration(float64(m.batch)*math.Log1p(float64(len(plans))))
	for _, p := range plans {
		took += m.asked[p].gpu
	}
	took = took * time.Duration(m.slowGPU.Load()) / 100
	m.mu.Lock()
	if now := time.Now(); m.free.Before(now) {
		m.free = now
	}
	m.free = m.free.Add(took)
	wait := time.Until(m.free)
	m.mu.Unlock()
	time.Sleep(wait)
	if len(plans) > 4 { // others look at the event without sleep
		time.Sleep(m.unseen())
	}
	m.compute(time.Duration(len(plans)) * simTell)
	return make([]blockmax.Partial, len(plans)), nil
}

func (*machine) Resident(uint64) int64 { return math.MaxInt64 }
func (*machine) Lost() error           { return nil }
