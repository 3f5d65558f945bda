package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riffle-search/riffle/blockmax"
)

// limits say by when an answer is wanted, from its arrival.
var limits = []struct {
	name string
	draw func(rng *rand.Rand) time.Duration
}{
	{"20 ms", func(*rand.Rand) time.Duration { return 20 * time.Millisecond }},
	{"5 or 50 ms", func(rng *rand.Rand) time.Duration {
		if rng.IntN(2) == 0 {
			return 5 * time.Millisecond
		}
		return 50 * time.Millisecond
	}},
}

// inTime sends queries at random times and returns the share that is answered within its limit. The
// first three in ten do not count. With told, the dispatcher knows the limits; with failing, late
// queries fail.
func (w *workload) inTime(t *testing.T, m *machine, d *Dispatcher, rate float64, n int, limit func(*rand.Rand) time.Duration, told, failing bool) float64 {
	rng := rand.New(rand.NewPCG(9, 9))
	queries := make([]Query, n)
	for i := range queries {
		queries[i] = w.draw(m, rng)
	}
	var met, counted atomic.Int64
	var all sync.WaitGroup
	due, start := 0.0, time.Now()
	for i, q := range queries {
		within := limit(rng)
		due += rng.ExpFloat64() / rate
		time.Sleep(time.Until(start.Add(time.Duration(due * 1e9))))
		arrived := time.Now()
		if told {
			q.Due, q.FailLate = arrived.Add(within), failing
		}
		all.Go(func() {
			_, err := d.TopK(context.Background(), q)
			took := time.Since(arrived)
			if err != nil && (!failing || !errors.Is(err, ErrLate)) {
				t.Error(err)
			}
			if errors.Is(err, ErrLate) && took > within {
				t.Errorf("a query of %v fails after %v", within, took)
			}
			if i < 3*n/10 {
				return
			}
			counted.Add(1)
			if err == nil && took <= within {
				met.Add(1)
			}
		})
	}
	all.Wait()
	return float64(met.Load()) / float64(counted.Load())
}

// TestDeadlines compares the share of queries that are answered in time, from a quarter of what the
// best policy can answer to twice as much. With deadlines Auto is at least as good as every policy
// without, and so is the CPU alone. Policy gpu may lose one in a hundred: of the mix at half of its load
// it loses 0.3 % on average, by rates from 42,000 to 44,200/s, and 0.8 at most. With RIFFLE_DEADLINES,
// which names a file for the figures, the test goes through all loads and workloads
// (bench/results/2026-11-26-deadlines.md). Shares of 20,000 queries vary by half a percent with
// their seed. With the race detector (-short) goroutines take turns at random, and they vary by more.
func TestDeadlines(t *testing.T) {
	slack := 0.005
	if testing.Short() {
		slack = 0.02
	}
	var table strings.Builder
	rates, most := []float64{0.5, 0.75, 1.1}, 20_000
	if testing.Short() {
		rates, most = []float64{0.5, 1.1}, 10_000
	}
	all := os.Getenv("RIFFLE_DEADLINES") != "" // some ten minutes
	if all {
		rates, most = []float64{0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2}, 120_000
	}
	for _, w := range workloads {
		for _, limit := range limits {
			for _, gpu := range []bool{true, false} {
				if !all && (w.name != "mix" || limit.name == "20 ms") {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/gpu=%v", w.name, limit.name, gpu), func(t *testing.T) {
					others, own := []Policy{Processors}, Processors
					if gpu {
						others, own = []Policy{Processors, Devices, Halves, LBD, Long, Groups, Auto}, Auto
					}
					best := w.most(t, own)
					for _, share := range rates {
						rate := share * best
						n := min(most, max(10_000, int(rate/4)))
						try := func(p Policy, told, failing bool) (inTime float64) {
							inBubble(t, p, func(m *machine, d *Dispatcher) {
								inTime = w.inTime(t, m, d, rate, n, limit.draw, told, failing)
							})
							name := p.String()
							if told {
								name += " with deadlines"
							}
							if failing {
								name += ", failing"
							}
							fmt.Fprintf(&table, "%s\t%s\t%v\t%s\t%v\t%.4f\n", w.name, limit.name, gpu, name, share, inTime)
							return inTime
						}
						highest, by, onGPU := 0.0, Processors, 0.0
						for _, p := range others {
							x := try(p, false, false)
							if x > highest {
								highest, by = x, p
							}
							if p == Devices {
								onGPU = x
							}
						}
						waiting, failing := try(own, true, false), try(own, true, true)
						if gpu {
							if with := try(Devices, true, false); with < onGPU-max(slack, 0.01) {
								t.Errorf("%.2f of the load: policy gpu has %.3f in time with deadlines, %.3f without", share, with, onGPU)
							}
						}
						t.Logf("%.2f of %.0f/s: with deadlines %.3f, failing %.3f; the best other, %v, %.3f", share, best, waiting, failing, by, highest)
						if min(waiting, failing) < highest-slack {
							t.Errorf("%.2f of the load: %.3f in time with deadlines, %.3f failing, %.3f by policy %v", share, waiting, failing, highest, by)
						}
					}
				})
			}
		}
	}
	if path := os.Getenv("RIFFLE_DEADLINES"); path != "" {
		if err := os.WriteFile(path, []byte("workload\tlimit\tgpu\tpolicy\tload\tin time\n"+table.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDeadlinesTeach: under a load of short queries whose lines grow at first, Auto learns how long these
// lines are, with deadlines as without, and then all queries are in time. Queries of the CPU once taught
// what a device would have taken for them, and 8 % were late.
func TestDeadlinesTeach(t *testing.T) {
	if testing.Short() {
		t.Skip("120,000 queries, which take a minute with the race detector")
	}
	for _, told := range []bool{false, true} {
		inBubble(t, Auto, func(m *machine, d *Dispatcher) {
			if x := workloads[1].inTime(t, m, d, 610_000, 60_000, limits[0].draw, told, false); x < 0.99 {
				t.Errorf("with deadlines: %v, %.3f are in time", told, x)
			}
		})
	}
}

// most is how many queries a second a policy answers.
func (w *workload) most(t *testing.T, p Policy) (rate float64) {
	inBubble(t, p, func(m *machine, d *Dispatcher) { rate = w.saturate(t, m, d, 4096, w.time).rate })
	return rate
}

// TestSortOutRefills: where more queries wait than a batch has, others take the places of those that are
// taken out as late, and the batch takes as long as before. None of its queries are late then.
func TestSortOutRefills(t *testing.T) {
	const each = 100 * time.Millisecond
	d := start(t, Options{Policy: Devices, MaxCount: 10, Depth: 2}, newFake())
	d.lock()
	defer d.unlock()
	now := time.Now()
	put := func(n int, within time.Duration) {
		for range n {
			j := newJob(d, Query{Plan: &Plan{K: 1, Segments: []blockmax.Segment{{}}}, CPU: newMachine(), Due: now.Add(within)})
			j.gpu = each
			d.queue.put(j, forDevices)
		}
	}
	put(30, 9*each) // in time in a batch of eight
	put(20, time.Hour)
	var b batch
	d.form(d.devices[0], &b)
	for _, j := range b.jobs {
		if j.misses(now.Add(b.cost)) {
			t.Errorf("of a batch of %d that takes %v, one is due in %v", len(b.jobs), b.cost, j.due.Sub(now))
		}
	}
	if len(b.jobs) == 0 {
		t.Error("the batch is empty")
	}
	d.queue.takeAll()
}

// TestLateWait: queries that will be late and wait until nobody else does are no work that others wait
// for. A device that works gets no batch because of them, and an idle one a small batch.
func TestLateWait(t *testing.T) {
	d := start(t, Options{Policy: Devices, MaxCount: 2 * lateBatch, Depth: 2}, newFake())
	d.lock()
	defer d.unlock()
	now := time.Now()
	for range 2 * lateBatch {
		q := Query{Plan: &Plan{K: 1, Segments: []blockmax.Segment{{}}}, CPU: newMachine(), Due: now}
		d.queue.put(newJob(d, q), forLate)
	}
	dev := d.devices[0]
	if begin, _ := d.ready(dev, now); !begin {
		t.Error("an idle device takes no late queries")
	}
	dev.line.begin(&batch{cost: time.Hour}, now)
	if begin, wait := d.ready(dev, now); begin || wait <= 0 {
		t.Errorf("late queries go to a device that works: %v, after %v", begin, wait)
	}
	var b batch
	if d.form(dev, &b); len(b.jobs) != 2 {
		t.Errorf("a batch of %d late queries, want 2", len(b.jobs))
	}
	if d.queue.gpu != 0 || d.queue.bytes != 0 {
		t.Errorf("late queries count: %v, %d bytes", d.queue.gpu, d.queue.bytes)
	}
	dev.line.batches = nil
	d.queue.takeAll()
}

// TestNarrowlyLate: a query that a device is estimated to answer a little too late goes to a core that would
// be in time. If there is none, the device gets it all the same, unless it is late for certain.
func TestNarrowlyLate(t *testing.T) {
	d := start(t, Options{Policy: Auto, Cores: 1}, newFake())
	decide := func(share float64) (onCPU bool) {
		q := Query{Plan: &Plan{K: 1, Segments: []blockmax.Segment{{}}}, CPU: newMachine(), Due: time.Now().Add(time.Hour)}
		j := newJob(d, q)
		j.gpu, j.cpu, j.helped = 10*time.Millisecond, time.Millisecond, time.Millisecond
		j.due = j.arrived.Add(time.Duration(share * float64(d.onDevice(j))))
		return d.autoInTime(j)
	}
	if !decide(0.8) {
		t.Error("an idle core does not get what a device would answer too late")
	}
	busy := &job{ready: make(chan struct{}, 1), cpu: time.Hour}
	d.running.Add(1)
	d.load.Add(int64(busy.cpu))
	d.gate.enter(busy, false, time.Now())
	if decide(0.8) {
		t.Error("what a device would answer a little too late waits for a core that is busy for an hour")
	}
	if !decide(0.5) {
		t.Error("a device gets what it would answer far too late")
	}
}

// TestOnDevice: a query waits for the whole batch that it is in, and for those before it.
func TestOnDevice(t *testing.T) {
	dev := newFake()
	d := start(t, Options{Policy: Auto, MaxCount: 10}, dev)
	q := Query{Plan: &Plan{K: 1, Segments: []blockmax.Segment{{}}}, CPU: newMachine(), Due: time.Now().Add(time.Second)}
	j := newJob(d, q)
	j.gpu = 1000
	alone := d.onDevice(j)
	d.queued.Store(5)
	d.gpu.Store(5000)
	batch := func(n int) time.Duration { return d.model.BatchCost(&j.features, n) }
	if got, want := d.onDevice(j)-alone, 5000+batch(6)-batch(1); got != want {
		t.Errorf("a batch with five others takes %v longer, want %v", got, want)
	}
	d.queued.Store(25)
	d.gpu.Store(25_000)
	d.dues.add(d.dues.slot(q.Due, j.arrived), 21_000)
	if got, want := d.onDevice(j)-alone, 2*(batch(10)+10_000)+9000+batch(10)-batch(1); got != want {
		t.Errorf("behind two full batches it takes %v longer, want %v", got, want)
	}
}
