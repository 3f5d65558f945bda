package dispatch

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Model estimates what queries cost, and learns from those that have run. A cost is a sum of
// features, each times a nonnegative price. Least squares of the relative error (fit.go) fit the
// prices. A Model is safe for concurrent use: estimates read what was last published.
type Model struct {
	mu sync.Mutex // of what learns

	cpu    [paths]fit // time on one core
	helped [paths]fit // time when other cores help, if they are idle and the query is long enough
	gpu    [2]fit     // of Or and trees, and of And

	answers // how long until an answer, beside these costs

	known atomic.Pointer[knowledge]
}

// knowledge is what a model estimates with. It does not change.
type knowledge struct {
	cpu, helped [paths]vector
	gpu         [2]vector
	answers
}

// publish makes estimates use what was learned.
func (m *Model) publish() {
	k := &knowledge{answers: m.answers}
	for p := range m.cpu {
		k.cpu[p], k.helped[p] = m.cpu[p].prices, m.helped[p].prices
	}
	for kind := range m.gpu {
		k.gpu[kind] = m.gpu[kind].prices
	}
	m.known.Store(k)
}

// DefaultModel returns a model that has not learned from this machine.
func DefaultModel() *Model {
	m := new(Model)
	m.reset()
	return m
}

func (m *Model) reset() {
	for p := range m.cpu {
		m.cpu[p].begin(cpuPrices[p], onCore)
		m.helped[p].begin(helpedPrices[p], onCore)
	}
	for kind := range m.gpu {
		m.gpu[kind].begin(gpuPrices[kind], onDevice)
	}
	m.answers = usualAnswers
	m.publish()
}

// nothing is the cost of a query that no document can match, because a list is empty.
const nothing = 200 * time.Nanosecond

// empty reports whether no document can match.
func (f *Features) empty() bool { return f.All && f.Shortest == 0 || f.Postings == 0 }

// CPU estimates what a query costs one core.
func (m *Model) CPU(f *Features) time.Duration {
	if f.empty() {
		return nothing
	}
	return time.Duration(m.known.Load().cpu[f.path()].times(f.onCPU()))
}

// GPU estimates what a query in a batch of many costs a device, when missing bytes of its lists
// must be copied there.
func (m *Model) GPU(f *Features, missing int64) time.Duration {
	v := f.vector()
	v[perByte] = float64(missing)
	return time.Duration(m.known.Load().gpu[f.kind()].times(v))
}

// BatchCost estimates what a batch of n such queries costs in addition to them.
func (m *Model) BatchCost(f *Features, n int) time.Duration {
	p := &m.known.Load().gpu[f.kind()]
	return time.Duration(p[perBatch] + float64(p[perLog]*math.Log1p(float64(n))))
}

// A run is what it took to compute a query on the CPU.
type run struct {
	took   time.Duration
	core   time.Duration // the goroutine's time on a core, or 0 if that is not known
	helped bool          // other cores had nothing to do, before and after: they might have helped
	shared bool          // they have

	expected, response time.Duration // of Auto: from arrival to answer
}

// noteCPU notes a query that ran on the CPU, unless another goroutine is noting or solving. If it
// reports true, the caller must call solve: on a goroutine for which nobody waits, since that takes up
// to some hundred microseconds.
func (m *Model) noteCPU(f *Features, r run, done time.Time) (due bool) {
	if f.empty() || !m.mu.TryLock() {
		return false
	}
	prices := &m.cpu[f.path()].prices
	if r.helped {
		prices = &m.helped[f.path()].prices
	}
	m.answers.learnCPU(&r, prices.times(f.onCPU()))
	if r.helped {
		m.helped[f.path()].note(f.onCPU(), max(1, float64(r.took)), done)
	}
	if !r.shared && r.core > 0 {
		m.cpu[f.path()].note(f.onCPU(), float64(r.core), done)
	}
	return m.noted()
}

// noted ends the noting of a sample: it reports whether there is something to solve, and otherwise
// publishes answers if they differ.
func (m *Model) noted() (due bool) {
	for _, f := range m.fits() {
		due = due || f.due
	}
	if due {
		return true // solve unlocks
	}
	if m.answers.differ(&m.known.Load().answers) {
		m.publish()
	}
	m.mu.Unlock()
	return false
}

// solve finds new prices and publishes them. The goroutine that calls it, or another one for it, has
// locked mu.
func (m *Model) solve() {
	defer m.mu.Unlock()
	for _, f := range m.fits() {
		if f.due {
			f.solve()
		}
	}
	m.publish()
}

// noteGPU notes a batch: the sum of its queries' features cost took. A batch of both kinds teaches the
// kind of most of its queries. The rest is as with noteCPU.
func (m *Model) noteGPU(jobs []*job, moved int64, took time.Duration, done time.Time) (due bool) {
	if !m.mu.TryLock() {
		return false
	}
	var sum vector
	all := 0
	for _, j := range jobs {
		for i, x := range j.features.vector() {
			sum[i] += x
		}
		all += j.features.kind()
	}
	sum[perByte], sum[perBatch], sum[perLog] = float64(moved), 1, math.Log1p(float64(len(jobs)))
	kind := 0
	if 2*all > len(jobs) {
		kind = 1
	}
	m.answers.learnDevice(jobs, done)
	m.gpu[kind].note(sum, float64(took), done)
	return m.noted()
}

// modelVersion is that of the features: a model saved with other ones says nothing about these.
//
//	1  without bounds (these have no version)
//	2  with a sample of the bounds, and prices by path
const modelVersion = 2

// A savedModel is a model in JSON.
type savedModel struct {
	Version int                           `json:"version"`
	Prices  map[string]map[string]float64 `json:"prices"` // in nanoseconds, by fit and feature; 0 if missing
}

// MarshalJSON writes the prices, so that another process can start from them.
func (m *Model) MarshalJSON() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := savedModel{modelVersion, map[string]map[string]float64{}}
	for i, f := range m.fits() {
		prices := map[string]float64{}
		for i, p := range f.prices {
			if p > 0 {
				prices[priceNames[i]] = p
			}
		}
		out.Prices[fitNames[i]] = prices
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote. What a version with other features wrote leaves the
// model as DefaultModel makes it. Prices must be finite and not negative.
func (m *Model) UnmarshalJSON(data []byte) error {
	var in savedModel
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("dispatch: model: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reset()
	if in.Version != modelVersion {
		return nil
	}
	for n, f := range m.fits() {
		name := fitNames[n]
		named, ok := in.Prices[name]
		if !ok {
			continue
		}
		var v vector
		for i := range v {
			if v[i] = named[priceNames[i]]; !(v[i] >= 0 && v[i] <= math.MaxFloat32) {
				return fmt.Errorf("dispatch: model: price %s of %s is %v", priceNames[i], name, v[i])
			}
		}
		f.begin(v, sideOf(name))
	}
	m.publish()
	return nil
}

// fitNames are the names of fits in a saved model.
var fitNames = func() (names [2*paths + 2]string) {
	for p, name := range pathNames {
		names[2*p], names[2*p+1] = "cpu_"+name, "cpu_helped_"+name
	}
	names[2*paths], names[2*paths+1] = "gpu_or", "gpu_and"
	return names
}()

// fits returns the fits in the order of fitNames.
func (m *Model) fits() (all [len(fitNames)]*fit) {
	for p := range m.cpu {
		all[2*p], all[2*p+1] = &m.cpu[p], &m.helped[p]
	}
	all[2*paths], all[2*paths+1] = &m.gpu[0], &m.gpu[1]
	return all
}

func sideOf(fit string) processor {
	if strings.HasPrefix(fit, "cpu") {
		return onCore
	}
	return onDevice
}
