package dispatch

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// A workload is a machine, and queries.
type workload struct {
	name  string
	cores int
	batch time.Duration // see machine
	time  time.Duration // of a saturated run
	draw  func(m *machine, rng *rand.Rand) Query
}

// ask makes a query of some postings. Costs differ from what the postings say, as bounds spare more
// or less.
func (m *machine) ask(rng *rand.Rand, n float64) Query { return m.askAt(rng, n, 0.6, 0.001*n) }

// askAt does so where a posting costs a core some nanoseconds, and the query the device.
func (m *machine) askAt(rng *rand.Rand, n, core, device float64) Query {
	lists := make([]postings.List, 1+rng.IntN(5))
	p := &Plan{K: 10, Segments: []blockmax.Segment{{Terms: make([]blockmax.Term, len(lists))}}}
	for i := range lists {
		lists[i].Count = max(1, int(n)/len(lists))
		p.Segments[0].Terms[i] = blockmax.Term{List: &lists[i], Bounds: new(blockmax.Bounds)}
	}
	m.asked[p] = &work{
		cpu: time.Duration((5000 + core*n) * math.Exp(0.5*rng.NormFloat64())),
		gpu: time.Duration((400 + device) * math.Exp(0.4*rng.NormFloat64())),
	}
	return Query{Plan: p, CPU: m, Whole: wholly{m}}
}

func drawGOV2(m *machine, rng *rand.Rand) Query { return drawShortest(m, rng, math.Inf(1)) }

// drawShortest draws one of GOV2's shortest queries: of the shortest tenth where most is -1.2816, of the shortest third
// where it is -0.4307 (quantiles of the normal distribution). The numbers are a fit to 1,000 queries of package gov2 on
// one core. Their lengths spread more below the median than above it. The CPU skips more of the postings of a longer
// query, so the shortest third takes as much as a quarter of the time of a mean query (0.85 of 3.45 ms). An estimate
// knows most of that: here, a plan has only the postings that are not skipped.
func drawShortest(m *machine, rng *rand.Rand, most float64) Query {
	z := rng.NormFloat64()
	for z > most {
		z = rng.NormFloat64()
	}
	n := 1.4e6 * math.Exp(1.4*max(z, 0)+2.7*min(z, 0))
	left := 4100 * math.Pow(n, 0.47) * math.Exp(0.8*rng.NormFloat64())
	return m.askAt(rng, left, 0.6, 0.001*n)
}

func drawGutenberg(m *machine, rng *rand.Rand) Query {
	n := 40e3 * math.Exp(0.8*rng.NormFloat64())
	return m.askAt(rng, n, 0.5, 0.001*n)
}

// workloads are those of bench/results/2026-11-26-gpu-auto.md, with the costs of 2026-11-27-auto-cores.md. On a
// machine of 32 cores, with an older and slower device, the CPU answers a small collection as fast as the device.
var workloads = []workload{
	{"gov2", simCores, simBatch, 400 * time.Millisecond, drawGOV2},
	{"gutenberg", simCores, 60 * time.Microsecond, 60 * time.Millisecond, drawGutenberg},
	{"mix", simCores, simBatch, 1500 * time.Millisecond, func(m *machine, rng *rand.Rand) Query {
		switch i := rng.IntN(30); {
		case i < 10:
			return drawShortest(m, rng, -1.2816)
		case i < 13:
			q := drawShortest(m, rng, -0.4307)
			q.On = OnCPU
			return q
		}
		return drawGOV2(m, rng)
	}},
	{"even", 32, 60 * time.Microsecond, 80 * time.Millisecond, func(m *machine, rng *rand.Rand) Query {
		n := 40e3 * math.Exp(0.8*rng.NormFloat64())
		return m.askAt(rng, n, 0.5, 0.025*n)
	}},
}

// A trial is a run of a policy.
type trial struct {
	rate     float64 // queries a second
	p50, p99 time.Duration
	onCPU    float64 // share of the queries
	batch    float64 // queries of a mean batch
}

func (t trial) String() string {
	return fmt.Sprintf("%7.0f/s, p50 %5.2f ms, p99 %5.2f ms, %3.0f %% on the CPU, batches of %.0f", t.rate, ms(t.p50), ms(t.p99), 100*t.onCPU, t.batch)
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// inBubble runs f with a machine of the usual cores and device, and a dispatcher of a policy.
func inBubble(t *testing.T, p Policy, f func(m *machine, d *Dispatcher)) {
	workloads[0].inBubble(t, p, f)
}

// inBubble runs f with the workload's machine and a dispatcher of a policy. Goroutines that are due at
// the same simulated moment run on one thread, so that they take turns in nearly the same order in every
// run. The scheduler still interrupts one now and then: p99 then differs by up to 12 %, a rate by 1.
func (w *workload) inBubble(t *testing.T, p Policy, f func(m *machine, d *Dispatcher)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	outside := jobs // channels made inside a bubble are of no use outside, nor vice versa
	jobs = newJobs()
	defer func() { jobs = outside }()
	synctest.Test(t, func(t *testing.T) {
		m := newMachineOf(w.cores, w.batch)
		var devices []Device
		if p != Processors {
			devices = append(devices, m)
		}
		d := New(devices, Options{Policy: p, Cores: w.cores, Depth: 3})
		d.threadTime = func(p *Plan) time.Duration { return time.Duration(m.asked[p].spent.Load()) }
		d.working = func() int { return len(m.cores) }
		f(m, d)
		d.Close()
	})
}

// arrive sends queries at random times. The first ones do not count.
func (w *workload) arrive(t *testing.T, m *machine, d *Dispatcher, rate float64, n, warm int) trial {
	rng := rand.New(rand.NewPCG(7, 7))
	queries, arrivals := make([]Query, n), make([]time.Duration, n)
	due := 0.0
	for i := range queries {
		queries[i] = w.draw(m, rng)
		due += rng.ExpFloat64() / rate
		arrivals[i] = time.Duration(due * 1e9)
	}
	times := make([]time.Duration, n)
	var all sync.WaitGroup
	var before Stats
	senders, start := 1+int(rate/60_000), time.Now()
	for sender := range senders {
		all.Go(func() {
			owed := time.Duration(0) // for queries that arrived together
			for i := sender; i < n; i += senders {
				if i == warm {
					before = d.Stats()
				}
				arrival := start.Add(arrivals[i])
				if time.Until(arrival) > 0 || owed >= 16*simSend {
					m.compute(owed)
					owed = 0
					time.Sleep(time.Until(arrival))
				}
				owed += simSend
				all.Go(func() {
					m.wake()
					m.compute(simAsk)
					if _, err := d.TopK(context.Background(), queries[i]); err != nil {
						t.Error(err)
					}
					m.wake()
					m.compute(simRead)
					times[i] = time.Since(arrival)
				})
			}
		})
	}
	all.Wait()
	took := time.Since(start)
	s := d.Stats()
	times = times[warm:]
	slices.Sort(times)
	at := func(share float64) time.Duration { return times[int(share*float64(len(times)-1))] }
	cpu := float64(s.OnCPU - before.OnCPU)
	return trial{
		float64(n) / took.Seconds(), at(0.5), at(0.99), cpu / float64(len(times)),
		float64(s.Queries-before.Queries) / float64(max(1, s.Batches-before.Batches)),
	}
}

// saturate has many clients wait for answers, so many that devices have full batches. Of the CPU alone,
// few: clients that read an answer wait for a core behind those that ask, and thousands of queries before the
// first answer would take longer than the run.
func (w *workload) saturate(t *testing.T, m *machine, d *Dispatcher, clients int, length time.Duration) trial {
	if d.options.Policy == Processors {
		clients = 8 * w.cores
	}
	rng := rand.New(rand.NewPCG(8, 8))
	queries := make([]Query, 4096)
	for i := range queries {
		queries[i] = w.draw(m, rng)
	}
	var next, done atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	warm := start.Add(length / 2)
	var before Stats
	all.Go(func() {
		time.Sleep(length / 2)
		before = d.Stats()
	})
	for range clients {
		all.Go(func() {
			for time.Since(start) < length {
				m.compute(simAsk)
				if _, err := d.TopK(context.Background(), queries[int(next.Add(1))%len(queries)]); err != nil {
					t.Error(err)
				}
				m.compute(simRead)
				if now := time.Now(); now.After(warm) && now.Sub(start) < length {
					done.Add(1)
				}
			}
		})
	}
	all.Wait()
	s := d.Stats()
	cpu, gpu := float64(s.OnCPU-before.OnCPU), float64(s.OnGPU-before.OnGPU)
	return trial{
		rate: 2 * float64(done.Load()) / length.Seconds(), onCPU: cpu / (cpu + gpu),
		batch: float64(s.Queries-before.Queries) / float64(max(1, s.Batches-before.Batches)),
	}
}
