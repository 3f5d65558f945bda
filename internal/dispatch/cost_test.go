package dispatch

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestModelLearns: whatever a machine's prices are, a model that has seen some thousand queries
// predicts what others cost.
func TestModelLearns(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var truth vector
		for i := range truth {
			truth[i] = cpuPrices[anyOf][i] * rng.Float64() * 10
		}
		truth[perPosting], truth[perByte], truth[perBatch] = rng.Float64(), 0, 0
		m := DefaultModel()
		sample := func() (f Features, cost float64) {
			n := int64(math.Exp(rng.Float64() * 16))
			f = Features{Terms: 1 + rng.IntN(8), Postings: n, Shortest: 1 + n/int64(3+rng.IntN(50)), K: 10}
			f.Second = 2 * f.Shortest
			var v vector
			f.set(&v)
			for i, p := range truth {
				cost += p * v[i]
			}
			return f, cost * (0.9 + 0.2*rng.Float64())
		}
		for range 4000 {
			f, cost := sample()
			learn(m, m.noteCPU(&f, run{took: time.Duration(cost), core: time.Duration(cost)}, time.Time{}))
		}
		sum, n := 0.0, 1000
		for range n {
			f, cost := sample()
			sum += math.Abs(float64(m.CPU(&f))-cost) / cost
		}
		if mean := sum / float64(n); mean > 0.15 {
			t.Errorf("seed %d: the mean relative error is %.2f, of costs that differ by 0.1 from any estimate", seed, mean)
		}
	}
}

// TestModelBatches: a batch teaches what its queries cost together, and its own fixed cost.
func TestModelBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	m := DefaultModel()
	for range 3000 {
		var jobs []*job
		cost, moved := 1e6, int64(rng.IntN(1<<24))
		for range 1 + rng.IntN(200) {
			j := &job{features: Features{Terms: 3, Postings: int64(math.Exp(rng.Float64() * 15)), K: 10}}
			cost += 1000 + 0.01*float64(j.features.Postings)
			jobs = append(jobs, j)
		}
		learn(m, m.noteGPU(jobs, moved, time.Duration(cost+0.1*float64(moved)), true, time.Time{}))
	}
	if c := m.BatchCost(&Features{}, 100); c < 800*time.Microsecond || c > 1200*time.Microsecond {
		t.Errorf("a batch costs %v, want about 1 ms", c)
	}
	f := Features{Terms: 3, Postings: 1e6, K: 10}
	if c := m.GPU(&f, 1e6); c < 90*time.Microsecond || c > 130*time.Microsecond {
		t.Errorf("a query of a million postings, of which a megabyte is missing, costs %v; want about 111 µs", c)
	}
}

// TestModelIsKept: a saved and restored model estimates the same.
func TestModelIsKept(t *testing.T) {
	m := DefaultModel()
	f := Features{Terms: 2, Postings: 5000, Shortest: 100, Second: 4900, K: 10}
	for range 1000 {
		learn(m, m.noteCPU(&f, run{took: 123 * time.Microsecond, core: 123 * time.Microsecond}, time.Time{}))
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var again Model
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if a, b := m.CPU(&f), again.CPU(&f); a != b || a < 100*time.Microsecond {
		t.Errorf("estimates are %v and, read again, %v", a, b)
	}
	for _, bad := range []string{`{"version":3,"prices":{"cpu_or":{"query":-1}}}`, `{"version":3,"prices":{"gpu_and":{"byte":1e300}}}`, `[]`, `{`} {
		if err := json.Unmarshal([]byte(bad), new(Model)); err == nil {
			t.Errorf("%s was taken for a model", bad)
		}
	}
}

// TestCountsCost compares the default prices of counts with measured ones: the time of an H100's kernels
// for a query of 3.72 million postings in four lists, in batches of 2,048
// (bench/results/2026-11-25-gpu.md).
func TestCountsCost(t *testing.T) {
	or := Features{Terms: 4, Postings: 3_720_000, Count: true, Total: true, K: 1}
	and, tree := or, or
	and.All, and.Shortest, and.Second = true, 200_000, 500_000
	tree.Tree = true
	for name, test := range map[string]struct {
		f    Features
		want time.Duration
	}{"or": {or, 7550}, "and": {and, 8180}, "tree": {tree, 10_100}} {
		if got := DefaultModel().GPU(&test.f, 0); got < test.want*8/10 || got > test.want*12/10 {
			t.Errorf("%s: a count costs %v, measured %v", name, got, test.want)
		}
	}
}

// FuzzModel: no text makes a model that panics or estimates a negative cost.
func FuzzModel(f *testing.F) {
	f.Add([]byte(`{"version":3,"prices":{"cpu_or":{"query":1},"gpu_and":{"batch":3e5}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var m Model
		if json.Unmarshal(text, &m) != nil {
			return
		}
		q := Features{Terms: 2, Postings: 5000, Shortest: 100, K: 10}
		if took, latest := m.response(&q, true); took < 0 || latest < took || m.CPU(&q) < 0 || m.GPU(&q, 1000) < 0 || m.BatchCost(&q, 9) < 0 {
			t.Errorf("%s estimates less than nothing", text)
		}
	})
}

// TestOtherModelsAreDropped reads models with other features: those of earlier versions, and of a later
// one. The model is then as if there were none.
func TestOtherModelsAreDropped(t *testing.T) {
	f := Features{Terms: 3, Postings: 10_000_000, K: 10}
	for _, text := range []string{`{"cpu_or": {"query": 1e6}, "gpu_or": {"query": 1e6}}`, `{"version": 2, "prices": {"cpu_or": {"query": 1e6}}}`, `{"version": 4, "prices": {"cpu_or": {"query": 1e6}}}`} {
		m := DefaultModel()
		for range 100 {
			learn(m, m.noteCPU(&f, run{took: time.Second, core: time.Second}, time.Time{}))
		}
		if err := m.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, want := m.CPU(&f), DefaultModel().CPU(&f); got != want {
			t.Errorf("after %s a query is estimated to cost %v, want %v", text, got, want)
		}
	}
	m := DefaultModel()
	if err := m.UnmarshalJSON([]byte(`{"version": 3, "prices": {"cpu_or": {"query": 1e6}}}`)); err != nil {
		t.Fatal(err)
	}
	if got := m.CPU(&f); got != time.Millisecond {
		t.Errorf("a query of which only the beginning costs something is estimated to cost %v, want 1ms", got)
	}
}

// TestModelFirstBatches: what a few batches of one query take says little about batches of a hundred. A
// fresh model once took all of it for the price of a query, and estimated a hundredfold.
func TestModelFirstBatches(t *testing.T) {
	m := DefaultModel()
	f := Features{Terms: 3, Postings: 1e6, K: 10}
	estimate := func() time.Duration { return m.BatchCost(&f, 100) + 100*m.GPU(&f, 0) }
	before := estimate()
	for range 5 {
		learn(m, m.noteGPU([]*job{{features: f}}, 0, 900*time.Microsecond, true, time.Time{}))
	}
	if after := estimate(); after > 3*before {
		t.Errorf("a batch of 100 is estimated at %v, after some of one query at %v", before, after)
	}
}

// TestModelLateEnds: now and then the ends of two batches are seen together, so that the second one seems
// to have taken nothing. What batches are estimated to cost stays what they take on average. With the
// weights of queries on cores it fell to a fortieth, and stayed low for seconds.
func TestModelLateEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	m := DefaultModel()
	var jobs []*job
	for range 100 {
		jobs = append(jobs, &job{features: Features{Terms: 3, Postings: 1e6, K: 10}})
	}
	estimate := func() time.Duration {
		f := &jobs[0].features
		return m.BatchCost(f, len(jobs)) + time.Duration(len(jobs))*m.GPU(f, 0)
	}
	const cost = 2500 * time.Microsecond
	owed := time.Duration(0)
	for i := range 2000 {
		took := cost + owed
		owed = 0
		if i%100 == 50 { // seen late, with the next one
			took += cost
			owed = -cost
		}
		took += time.Duration(float64(max(0, took)) * 0.3 * (rng.Float64() - 0.5))
		learn(m, m.noteGPU(jobs, 0, max(0, took), true, time.Time{}))
		if e := estimate(); i > 200 && (e < cost*3/4 || e > cost*5/4) {
			t.Fatalf("after %d batches that take %v, the estimate is %v", i, cost, e)
		}
	}
}

// learn solves if it is time.
func learn(m *Model, due bool) {
	if due {
		m.solve()
	}
}
