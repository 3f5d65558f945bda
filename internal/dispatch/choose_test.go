package dispatch

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestChoose: each policy in one line.
func TestChoose(t *testing.T) {
	short := Features{Terms: 2, Postings: 2000, Shortest: 900, Second: 1100, Blocks: 17, K: 10}
	long := Features{Terms: 4, Postings: 4_000_000, Shortest: 300_000, Second: 700_000, Visits: 90_000, Blocks: 31_250, K: 10}
	for _, test := range []struct {
		options Options
		running int
		want    [4]bool // short, long, short, long: whether each is for a device
	}{
		{Options{Policy: Long}, 0, [4]bool{false, true, false, true}},
		{Options{Policy: LBD}, 0, [4]bool{true, false, true, false}},
		{Options{Policy: LBD, Threshold: 10}, 0, [4]bool{}},
		{Options{Policy: Halves}, 0, [4]bool{true, false, true, false}},
		{Options{Policy: Devices}, 0, [4]bool{true, true, true, true}},
		{Options{Policy: Processors}, 0, [4]bool{}},
		// The device ends long queries sooner. When many queries wait for cores, it gets all.
		{Options{Policy: Auto, Cores: 16}, 0, [4]bool{false, true, false, true}},
		{Options{Policy: Auto, Cores: 16}, 6000, [4]bool{true, true, true, true}},
	} {
		d := New([]Device{quickDevice{}}, test.options)
		d.running.Store(int64(test.running))
		d.load.Store(int64(test.running) * int64(time.Millisecond))
		for i, f := range []Features{short, long, short, long} {
			j := &job{features: f, arrived: time.Now(), query: Query{Plan: new(Plan)}}
			d.estimate(j)
			_, onCPU := d.choose(j)
			if test.options.Policy == Auto {
				onCPU = d.auto(j)
			}
			if onCPU == test.want[i] {
				t.Errorf("%v, %d queries on the CPU: query %d (CPU %v, device %v) is for the CPU: %v",
					test.options.Policy, test.running, i, j.cpu, j.gpu, onCPU)
			}
		}
		d.Close()
	}
}

// TestTooDear: a long query is not sampled while cores are scarce, and goes to the device as it would with a
// sample.
func TestTooDear(t *testing.T) {
	var plan *Plan
	exectest.Plans(6, 0, func(_ *exectest.Index, p *Plan) bool {
		f := FeaturesOf(p)
		if f.Sample(p); f.sampled && f.path() == union {
			plan = p
		}
		return plan == nil
	})
	for _, test := range []struct {
		price    float64
		postings int64
		deadline bool
		sampled  bool
	}{
		{300, 40_000_000, false, false},
		{300, 40_000_000, true, true},
		{300, 1000, false, true}, // it may be short enough
		{leastPrice, 40_000_000, false, true},
	} {
		d := New([]Device{quickDevice{}}, Options{Policy: Auto, Cores: 16})
		d.prices.short.Store(math.Float64bits(test.price))
		d.prices.long.Store(math.Float64bits(test.price))
		d.prices.moved.Store(math.MaxInt64) // they stay
		j := &job{features: FeaturesOf(plan), d: d, arrived: time.Now(), query: Query{Plan: plan}}
		j.features.Postings = test.postings
		if test.deadline {
			j.query.Due = j.arrived.Add(time.Second)
			j.due = j.query.Due
		}
		d.estimate(j)
		if j.features.sampled != test.sampled || j.cpu == 0 || j.gpu == 0 {
			t.Errorf("%+v: sampled %v, estimates %v and %v", test, j.features.sampled, j.cpu, j.gpu)
		}
		if !test.sampled {
			if d.auto(j) {
				t.Error("a query that is too dear is for the CPU")
			}
			j.features.Sample(plan)
			if j.cpu = d.model.CPU(&j.features); d.auto(j) {
				t.Error("with a sample it is for the CPU")
			}
		}
		d.Close()
	}
}

// TestAutoTries: a model that never favors one side is corrected by trial queries.
func TestAutoTries(t *testing.T) {
	for _, favored := range []Side{OnCPU, OnGPU} {
		d := New([]Device{quickDevice{}}, Options{Policy: Auto, Cores: 16})
		defer d.Close()
		j := &job{features: Features{Terms: 2, Postings: 2000, K: 10}, arrived: time.Now(), query: Query{Plan: new(Plan)}}
		j.cpu, j.gpu = time.Microsecond, time.Hour
		if favored == OnGPU {
			j.features.Postings, j.cpu, j.gpu = 40_000_000, 10*time.Millisecond, time.Microsecond
		}
		tried := 0
		for range 10 * trialEvery {
			j.arrived = j.arrived.Add(trialPause)
			if d.auto(j) != (favored == OnCPU) {
				tried++
			}
		}
		if tried != 10 {
			t.Errorf("side %d is favored: %d of %d queries tried the other, want 10", favored, tried, 10*trialEvery)
		}
	}
}

// TestAtOnce: how many queries the CPU computes at a time, by policy, cores and devices.
func TestAtOnce(t *testing.T) {
	for _, test := range []struct {
		policy               Policy
		cores, devices, want int
	}{{Auto, 16, 1, 8}, {Auto, 16, 12, 4}, {Auto, 2, 1, 1}, {Auto, 1, 1, 1}, {Long, 16, 1, 15}, {Groups, 16, 1, 16}, {Auto, 16, 0, 16}} {
		o := Options{Policy: test.policy, Cores: test.cores}
		got, more := o.atOnce(test.devices)
		if got != test.want || test.policy == Auto && test.devices > 0 && got+more != max(1, test.cores-test.devices) {
			t.Errorf("%v, %d cores, %d devices: %d and %d more at a time, want %d", test.policy, test.cores, test.devices, got, more, test.want)
		}
	}
}

// TestGroupOf: the three groups of Ding 2009, with a margin of 20 %.
func TestGroupOf(t *testing.T) {
	d := New(nil, Options{Policy: Groups})
	defer d.Close()
	for _, test := range []struct {
		cpu, gpu time.Duration
		want     group
	}{{100, 10, forDevices}, {100, 82, forDevices}, {100, 90, forEither}, {100, 110, forEither}, {100, 125, forCPU}} {
		if g := d.groupOf(&job{cpu: test.cpu, gpu: test.gpu}); g != test.want {
			t.Errorf("CPU %d, device %d: group %d, want %d", test.cpu, test.gpu, g, test.want)
		}
	}
}

// TestTakeForCPU: the order in which an idle core takes waiting queries.
func TestTakeForCPU(t *testing.T) {
	now := time.Now()
	aged := func(age, cost time.Duration) *job { return &job{arrived: now.Add(-age), cpu: cost} }
	oldest, small, large := aged(9, 50), aged(5, 10), aged(7, 40)
	either, forced, stolen := aged(8, 1), aged(30, 1), aged(20, 1)
	forced.query.On = OnGPU
	fill := func() (q queue) {
		q.put(oldest, forCPU)
		q.put(large, forCPU)
		q.put(small, forCPU)
		q.put(either, forEither)
		q.put(forced, forDevices)
		q.put(stolen, forDevices)
		return q
	}
	for _, test := range []struct {
		long time.Duration
		want []*job
	}{
		{100, []*job{small, large, oldest, either, stolen, nil}},
		{9, []*job{oldest, small, large, either, stolen, nil}}, // has waited for long
	} {
		q := fill()
		for i, want := range test.want {
			if got := q.takeForCPU(now, test.long, true); got != want {
				t.Errorf("long is %d, job %d: another job than expected", test.long, i)
			}
		}
	}
	q := fill()
	for range 4 {
		q.takeForCPU(now, 100, false)
	}
	if got := q.takeForCPU(now, 100, false); got != nil {
		t.Error("a job was stolen while a device had time")
	}
}

// blocked is a CPU that computes on command.
type blocked struct {
	began chan struct{}
	hold  chan struct{}
}

func (b blocked) TopK(ctx context.Context, p *Plan) (blockmax.TopK, error) {
	b.began <- struct{}{}
	<-b.hold
	return cpuexec.Executor{}.TopK(ctx, p)
}

func (b blocked) Finish(ctx context.Context, p *Plan, part *blockmax.Partial) (blockmax.TopK, error) {
	return cpuexec.Executor{}.Finish(ctx, p, part)
}

// TestGroupsKeepCores: under Groups no more queries are computed at a time than there are cores;
// the device takes a query that waits for one.
func TestGroupsKeepCores(t *testing.T) {
	f := newFake()
	m := new(Model)
	saved := savedModel{Version: modelVersion, Prices: map[string]map[string]float64{"gpu_or": {"query": 1000}, "gpu_and": {"query": 1000}}}
	for _, path := range pathNames {
		saved.Prices["cpu_"+path] = map[string]float64{"query": 1}
	}
	text, err := json.Marshal(saved)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, m); err != nil {
		t.Fatal(err)
	}
	d := start(t, Options{Policy: Groups, Cores: 2, Delay: time.Millisecond, Model: m}, f)
	cpu := blocked{make(chan struct{}, 8), make(chan struct{})}
	p := somePlan(t, 0)
	var by [5]Side
	done := make(chan struct{})
	for i := range by {
		tk, err := d.Submit(Query{Plan: p, CPU: cpu})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			a, err := tk.Wait(context.Background())
			if err != nil {
				t.Error(err)
			}
			by[i] = a.By
			done <- struct{}{}
		}()
		if i < 2 {
			<-cpu.began
		}
	}
	for range 3 {
		<-done
	}
	close(cpu.hold)
	for range 2 {
		<-done
	}
	if !slices.Equal(by[:], []Side{OnCPU, OnCPU, OnGPU, OnGPU, OnGPU}) {
		t.Errorf("two cores, five queries: answered by %v", by)
	}
}

// TestPolicyNames: parsing accepts the names that String returns.
func TestPolicyNames(t *testing.T) {
	for p := range policies {
		if got, err := ParsePolicy(p.String()); got != p || err != nil {
			t.Errorf("ParsePolicy(%q) = %v, %v", p.String(), got, err)
		}
	}
	if _, err := ParsePolicy("none"); err == nil {
		t.Error("there is a policy none")
	}
}

// TestCoresAtOnce: with a device, the CPU computes at most one query per core at a time, less one
// core. A query that waits for a core can be canceled.
func TestCoresAtOnce(t *testing.T) {
	d := start(t, Options{Policy: Processors, Cores: 3}, newFake())
	cpu := blocked{make(chan struct{}, 8), make(chan struct{})}
	p := somePlan(t, 0)
	ctx, giveUp := context.WithCancel(context.Background())
	errs := make(chan error)
	wait := func(ctx context.Context) {
		tk, err := d.Submit(Query{Plan: p, CPU: cpu})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := tk.Wait(ctx)
			errs <- err
		}()
	}
	wait(context.Background())
	wait(context.Background())
	<-cpu.began
	<-cpu.began
	wait(ctx)
	giveUp()
	if err := <-errs; err != context.Canceled {
		t.Errorf("a query that waited for a core and was given up: %v", err)
	}
	wait(context.Background())
	if s := d.Stats(); s.Running != 3 {
		t.Errorf("%d queries are for the CPU, want 3", s.Running)
	}
	select {
	case <-cpu.began:
		t.Error("a third query is computed on two cores")
	default:
	}
	close(cpu.hold)
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
