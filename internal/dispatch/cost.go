package dispatch

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Model estimates what queries cost, and learns from those that have run. A cost is a sum of
// features, each times a nonnegative price. Least squares of the relative error (fit.go) fit the
// prices. On a core, the sum for a query with a sample has fixed prices, and a factor that is learned
// (shape.go). A Model is safe for concurrent use: estimates read what was last published.
type Model struct {
	mu sync.Mutex // of what learns

	cpu    [paths]fit           // time on one core; of paths with a shape it is fixed
	helped [paths]fit           // time when other cores help, if they are idle and the query is long enough
	shapes [paths - union]shape // correct both, from union on
	gpu    [2]fit               // of Or and trees, and of And

	answers // how long until an answer, beside these costs

	known atomic.Pointer[knowledge]
}

// knowledge is what a model estimates with. It does not change.
type knowledge struct {
	*costs
	answers // these differ after every few queries, and costs are 12 KB
}

// costs are the prices and the shapes.
type costs struct {
	cpu, helped [paths]vector
	shapes      [paths - union]polynomial
	gpu         [2]vector
}

// onCore estimates what a query costs a core, in nanoseconds, and what it costs when others help.
func (k *costs) onCore(f *Features) (alone, helped float64) {
	var v vector
	f.setOnCPU(&v)
	p := f.path()
	alone, helped = k.cpu[p].times(&v), k.helped[p].times(&v)
	if p < union {
		return alone, helped
	}
	var t polynomial
	f.termsOf(&t, p, &v, alone)
	times := k.shapes[p-union].times(&t)
	return alone * times, helped * times
}

// publish makes estimates use what was learned.
func (m *Model) publish() {
	k := new(costs)
	for p := range m.cpu {
		k.cpu[p], k.helped[p] = m.cpu[p].prices, m.helped[p].prices
	}
	for i := range m.shapes {
		k.shapes[i] = m.shapes[i].known
	}
	for kind := range m.gpu {
		k.gpu[kind] = m.gpu[kind].prices
	}
	m.known.Store(&knowledge{k, m.answers})
}

// publishAnswers makes them use the answers if these differ noticeably.
func (m *Model) publishAnswers() {
	if known := m.known.Load(); m.answers.differ(&known.answers) {
		m.known.Store(&knowledge{known.costs, m.answers})
	}
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
	for i := range m.shapes {
		m.shapes[i].begin(&firstShapes[i])
	}
	for kind := range m.gpu {
		m.gpu[kind].begin(gpuPrices[kind], onDevice)
	}
	m.answers = usualAnswers
	m.publish()
}

// nothing is the cost of a query that no document can match, because a list is empty.
const nothing = 200 * time.Nanosecond

// nanoseconds is an estimate as a duration, of a day at most: saved prices may be so high that it would have no
// room in one, and what has none may be negative.
func nanoseconds(estimate float64) time.Duration {
	if estimate < float64(24*time.Hour) {
		return time.Duration(estimate)
	}
	return 24 * time.Hour
}

// empty reports whether no document can match.
func (f *Features) empty() bool { return f.All && f.Shortest == 0 || f.Postings == 0 }

// CPU estimates what a query costs one core.
func (m *Model) CPU(f *Features) time.Duration {
	if f.empty() {
		return nothing
	}
	alone, _ := m.known.Load().onCore(f)
	return nanoseconds(alone)
}

// GPU estimates what a query in a batch of many costs a device, when missing bytes of its lists
// must be copied there.
func (m *Model) GPU(f *Features, missing int64) time.Duration {
	var v vector
	f.set(&v)
	v[perByte] = float64(missing)
	return nanoseconds(m.known.Load().gpu[f.kind()].times(&v))
}

// BatchCost estimates what a batch of n such queries costs in addition to them.
func (m *Model) BatchCost(f *Features, n int) time.Duration {
	p := &m.known.Load().gpu[f.kind()]
	return nanoseconds(p[perBatch] + float64(p[perLog]*math.Log1p(float64(n))))
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
	var v vector
	f.setOnCPU(&v)
	p := f.path()
	alone, helped := m.cpu[p].prices.times(&v), m.helped[p].prices.times(&v)
	times := 1.0
	switch onOne := !r.shared && r.core > 0; {
	case p < union && onOne:
		m.cpu[p].note(&v, float64(r.core), done)
	case p >= union:
		var t polynomial
		f.termsOf(&t, p, &v, alone)
		times = m.shapes[p-union].known.times(&t)
		if s := &m.shapes[p-union]; onOne && s.wants() {
			s.note(&t, float64(r.core)/max(1, alone), done)
		}
	}
	if r.helped {
		m.answers.learnCPU(&r, helped*times)
		m.helped[p].note(&v, max(1, float64(r.took))/times, done)
	} else {
		m.answers.learnCPU(&r, alone*times)
	}
	return m.noted()
}

// noted ends the noting of a sample: it reports whether there is something to solve, and otherwise
// publishes answers if they differ.
func (m *Model) noted() (due bool) {
	for _, f := range m.fits() {
		due = due || f.due
	}
	for i := range m.shapes {
		due = due || m.shapes[i].due
	}
	if due {
		return true // solve unlocks
	}
	m.publishAnswers()
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
	for i := range m.shapes {
		if s := &m.shapes[i]; s.due {
			s.solve()
		}
	}
	m.publish()
}

// noteGPU notes a batch: the sum of its queries' features cost took, if that is known. A batch of both
// kinds teaches the kind of most of its queries. The rest is as with noteCPU.
func (m *Model) noteGPU(jobs []*job, moved int64, took time.Duration, known bool, done time.Time) (due bool) {
	if !m.mu.TryLock() {
		return false
	}
	var sum vector
	all := 0
	for _, j := range jobs {
		var v vector
		j.features.set(&v)
		for i, x := range v {
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
	if known {
		m.gpu[kind].note(&sum, float64(took), done)
	}
	return m.noted()
}

// modelVersion is that of the features: a model saved with other ones says nothing about these.
//
//	1  without bounds (these have no version)
//	2  with a sample of the bounds, and prices by path
//	3  with shapes
const modelVersion = 3

// A savedModel is a model in JSON.
type savedModel struct {
	Version int                           `json:"version"`
	Prices  map[string]map[string]float64 `json:"prices"` // in nanoseconds, by fit and feature; 0 if missing
	Shapes  map[string][]float64          `json:"shapes"` // by path: the terms of its polynomial
}

// MarshalJSON writes the prices, so that another process can start from them.
func (m *Model) MarshalJSON() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := savedModel{modelVersion, map[string]map[string]float64{}, map[string][]float64{}}
	for i, f := range m.fits() {
		prices := map[string]float64{}
		for i, p := range f.prices {
			if p > 0 {
				prices[priceNames[i]] = p
			}
		}
		out.Prices[fitNames[i]] = prices
	}
	for i := range m.shapes {
		out.Shapes[pathNames[union+path(i)]] = slices.Clone(m.shapes[i].known[:])
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
	if err := m.beginShapes(in.Shapes); err != nil {
		return err
	}
	m.publish()
	return nil
}

// beginShapes starts from polynomials by path. Paths without one keep theirs.
func (m *Model) beginShapes(saved map[string][]float64) error {
	for i := range m.shapes {
		name := pathNames[union+path(i)]
		terms, ok := saved[name]
		if !ok {
			continue
		}
		var p polynomial
		if copy(p[:], terms) != shapeTerms || len(terms) != shapeTerms {
			return fmt.Errorf("dispatch: model: the shape of %s has %d terms, want %d", name, len(terms), shapeTerms)
		}
		for _, x := range p {
			if !(math.Abs(x) <= math.MaxFloat32) {
				return fmt.Errorf("dispatch: model: the shape of %s has a term of %v", name, x)
			}
		}
		m.shapes[i].begin(&p)
	}
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
