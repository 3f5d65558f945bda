package dispatch

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle/blockmax"
)

// Features are what is known of a query before it runs: those of Ding 2009, and the bytes of its
// lists.
type Features struct {
	Terms    int   // lists, over all segments
	Postings int64 // in all of them
	Shortest int64 // of each segment's shortest list, summed
	Second   int64 // of each segment's second shortest
	Visits   int64 // of tiles by lists, at most, times the lists
	Blocks   int
	Bytes    int64 // of payload
	K        int
	All      bool // documents must have all terms, at least in the first pass
	Tree     bool
	Total    bool // all documents that match are counted
	Count    bool // and none is ranked
}

// FeaturesOf returns the features of a plan. It takes some nanoseconds a list.
func FeaturesOf(p *Plan) (f Features) {
	f.K, f.All = p.K, p.Tree == nil && p.Mode != blockmax.Or
	f.Tree, f.Total = p.Tree != nil, p.CountAll
	for s := range p.Segments {
		first, second := int64(math.MaxInt64), int64(math.MaxInt64)
		tiles := int64(p.Segments[s].Docs+blockmax.TileDocs-1) / blockmax.TileDocs
		for t := range p.Segments[s].Terms {
			term, n := &p.Segments[s].Terms[t], int64(0)
			if term.Bounds != nil {
				n = int64(term.List.Count)
				f.Terms++
				f.Blocks += term.List.Blocks()
				f.Bytes += listBytes(term.List)
				f.Visits += min(tiles, n) * int64(len(p.Segments[s].Terms))
			}
			f.Postings += n
			if n < first {
				first, second = n, first
			} else {
				second = min(second, n)
			}
		}
		if second == math.MaxInt64 {
			second = first
		}
		if first != math.MaxInt64 {
			f.Shortest, f.Second = f.Shortest+first, f.Second+second
		}
	}
	return f
}

// A Model estimates what queries cost, and learns from those that have run. A cost is a sum of
// features, each times a nonnegative price. Least squares of the relative error (fit.go) fit the
// prices. A Model is safe for concurrent use: estimates read what was last published.
type Model struct {
	mu sync.Mutex // of what learns

	cpu    [2]fit // of Or and trees, and of And: time on one core
	helped [2]fit // time when other cores help, if they are idle and the query is long enough
	gpu    [2]fit

	answers // how long until an answer, beside these costs

	known atomic.Pointer[knowledge]
}

// knowledge is what a model estimates with. It does not change.
type knowledge struct {
	cpu, helped, gpu [2]vector
	answers
}

// publish makes estimates use what was learned.
func (m *Model) publish() {
	k := &knowledge{answers: m.answers}
	for kind := range m.cpu {
		k.cpu[kind], k.helped[kind], k.gpu[kind] = m.cpu[kind].prices, m.helped[kind].prices, m.gpu[kind].prices
	}
	m.known.Store(k)
}

// The features of a query as a vector, in this order. The work that remains with bounds grows more
// slowly than the lists: hence the square roots.
const (
	perQuery = iota
	perTerm
	perRoot // of the postings
	perHit
	perVisit
	perPosting
	perRootShortest
	perShortest
	perSecond
	perByte    // copied to the device
	perBatch   // shared by the batch's queries
	perLog     // of the batch's queries: few do not fill the device
	perTree    // of the postings, for trees
	perTotal   // of the postings, to count all documents that match and rank some
	perBit     // of the postings, to count them and rank none
	perBitTree // the same for trees, besides
	prices
)

// priceNames are the names of prices, in nanoseconds, in a saved model.
var priceNames = [prices]string{
	"query", "term", "root_posting", "hit", "visit", "posting", "root_shortest", "shortest", "second", "byte", "batch", "log_batch", "tree_posting", "counted_posting", "bit_posting", "bit_tree_posting",
}

type vector [prices]float64

func (f *Features) vector() vector {
	hits := f.Postings
	if f.All {
		hits = f.Shortest
	}
	v := vector{
		perQuery: 1, perTerm: float64(f.Terms), perRoot: math.Sqrt(float64(f.Postings)), perHit: float64(min(hits, int64(f.K))),
		perVisit: float64(f.Visits), perPosting: float64(f.Postings), perRootShortest: math.Sqrt(float64(f.Shortest)),
		perShortest: float64(f.Shortest), perSecond: float64(f.Second),
	}
	if f.Count {
		v[perRoot], v[perHit], v[perVisit], v[perPosting], v[perRootShortest] = 0, 0, 0, 0, 0
	}
	switch {
	case f.Count: // both sides count bits
		v[perBit] = float64(f.Postings)
		if f.Tree {
			v[perBitTree] = float64(f.Postings)
		}
		return v
	case f.Total:
		v[perTotal] = float64(f.Postings)
	}
	if f.Tree {
		v[perTree] = float64(f.Postings)
	}
	return v
}

func (f *Features) kind() int {
	if f.All {
		return 1
	}
	return 0
}

// defaultPrices are the initial prices of a model. Those of the CPU were fitted to one core of a
// Zen 5 (BenchmarkCostModel of package riffle), those of devices to an H200
// (bench/results/2026-11-23-gpu-auto.md), those of counts without hits to an H100
// (bench/results/2026-11-25-gpu.md). Those of trees with hits on devices are estimates: a tree's postings
// take three times as long as a flat query's, and with a total, all of them are scored. On the CPU, trees
// with hits cost what flat queries do, and counts what bench/results/2026-11-20-counting.md has; those of
// trees take 2.6 times as long, as on the machine of the H100.
var defaultPrices = map[string][2]vector{
	"cpu": {
		{perQuery: 1400, perTerm: 300, perRoot: 26, perHit: 150, perVisit: 30, perPosting: 0.05, perTotal: 0.08, perBit: 0.08, perBitTree: 0.13},
		{perQuery: 1200, perTerm: 60, perRoot: 1.5, perHit: 4, perRootShortest: 200, perShortest: 3, perSecond: 0.03, perTotal: 0.02, perBit: 0.02},
	},
	"helped": {
		{perQuery: 1400, perTerm: 300, perRoot: 26, perHit: 150, perVisit: 6, perPosting: 0.01, perTotal: 0.016, perBit: 0.016, perBitTree: 0.026},
		{perQuery: 1200, perTerm: 60, perRoot: 1.5, perHit: 4, perRootShortest: 100, perShortest: 0.6, perSecond: 0.006, perTotal: 0.004, perBit: 0.004},
	},
	"gpu": {
		{perQuery: 1500, perTerm: 200, perPosting: 0.0009, perByte: 0.02, perBatch: 300_000, perLog: 200_000, perTree: 0.0018, perTotal: 0.0045, perBit: 0.0015, perBitTree: 0.0006},
		{perQuery: 1000, perTerm: 200, perPosting: 0.0005, perShortest: 0.004, perByte: 0.02, perBatch: 300_000, perLog: 150_000, perTotal: 0.002, perBit: 0.0017},
	},
}

// DefaultModel returns a model that has not learned from this machine.
func DefaultModel() *Model {
	m := new(Model)
	m.reset(defaultPrices)
	return m
}

func (m *Model) reset(p map[string][2]vector) {
	for kind := range m.cpu {
		m.cpu[kind].begin(p["cpu"][kind], true)
		m.helped[kind].begin(p["helped"][kind], true)
		m.gpu[kind].begin(p["gpu"][kind], false)
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
	return time.Duration(m.known.Load().cpu[f.kind()].times(f.vector()))
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
}

// noteCPU notes a query that ran on the CPU, unless another goroutine is noting or solving. If it
// reports true, the caller must call solve: on a goroutine for which nobody waits, since that takes up
// to some hundred microseconds.
func (m *Model) noteCPU(f *Features, r run, done time.Time) (due bool) {
	if f.empty() || !m.mu.TryLock() {
		return false
	}
	prices := &m.cpu[f.kind()].prices
	if r.helped {
		prices = &m.helped[f.kind()].prices
	}
	m.answers.learnCPU(&r, prices.times(f.vector()))
	if r.helped {
		m.helped[f.kind()].note(f.vector(), max(1, float64(r.took)), done)
	}
	if !r.shared && r.core > 0 {
		m.cpu[f.kind()].note(f.vector(), float64(r.core), done)
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

// MarshalJSON writes the prices, so that another process can start from them.
func (m *Model) MarshalJSON() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]map[string]float64{}
	for i, f := range m.fits() {
		prices := map[string]float64{}
		for i, p := range f.prices {
			if p > 0 {
				prices[priceNames[i]] = p
			}
		}
		out[fitNames[i]] = prices
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote. Prices must be finite and not negative; missing ones
// are zero, except for those of bits, which stay: models of before they had prices do not name them.
func (m *Model) UnmarshalJSON(data []byte) error {
	var in map[string]map[string]float64
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("dispatch: model: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reset(defaultPrices)
	for n, f := range m.fits() {
		name := fitNames[n]
		named, ok := in[name]
		if !ok {
			continue
		}
		var v vector
		for i := range v {
			price, ok := named[priceNames[i]]
			if v[i] = price; !ok && (i == perBit || i == perBitTree) {
				v[i] = f.prices[i]
			}
			if !(v[i] >= 0 && v[i] <= math.MaxFloat32) {
				return fmt.Errorf("dispatch: model: price %s of %s is %v", priceNames[i], name, v[i])
			}
		}
		f.begin(v, strings.HasPrefix(name, "cpu"))
	}
	m.publish()
	return nil
}

// fitNames are the names of fits in a saved model.
var fitNames = [...]string{"cpu_or", "cpu_and", "cpu_helped_or", "cpu_helped_and", "gpu_or", "gpu_and"}

// fits returns the fits in the order of fitNames.
func (m *Model) fits() [len(fitNames)]*fit {
	return [...]*fit{&m.cpu[0], &m.cpu[1], &m.helped[0], &m.helped[1], &m.gpu[0], &m.gpu[1]}
}
