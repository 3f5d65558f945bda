package dispatch

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
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
	Blocks   int
	Bytes    int64 // of payload
	K        int
	All      bool // documents must have all terms, at least in the first pass
}

// FeaturesOf returns the features of a plan. It takes some nanoseconds a list.
func FeaturesOf(p *Plan) (f Features) {
	f.K, f.All = p.K, p.Tree == nil && p.Mode != blockmax.Or
	for s := range p.Segments {
		first, second := int64(math.MaxInt64), int64(math.MaxInt64)
		for t := range p.Segments[s].Terms {
			term, n := &p.Segments[s].Terms[t], int64(0)
			if term.Bounds != nil {
				n = int64(term.List.Count)
				f.Terms++
				f.Blocks += term.List.Blocks()
				f.Bytes += listBytes(term.List)
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
// prices. A Model is safe for concurrent use.
type Model struct {
	mu     sync.Mutex
	cpu    [2]fit // of Or and trees, and of And: time on one core
	helped [2]fit // time when other cores help, if they are idle and the query is long enough
	gpu    [2]fit

	// The mean by which recent queries took longer than estimated on one core, and with the help of
	// others, as a share of the estimate.
	over, overHelped float64
}

// The features of a query as a vector, in this order. The work that remains with bounds grows more
// slowly than the lists: hence the square root.
const (
	perQuery = iota
	perTerm
	perRoot // of the postings
	perDeep // of the postings times k
	perPosting
	perShortest
	perSecond
	perByte  // copied to the device
	perBatch // shared by the batch's queries
	prices
)

// priceNames are the names of prices, in nanoseconds, in a saved model.
var priceNames = [prices]string{"query", "term", "root_posting", "root_posting_k", "posting", "shortest", "second", "byte", "batch"}

type vector [prices]float64

func (f *Features) vector() vector {
	return vector{
		perQuery: 1, perTerm: float64(f.Terms), perRoot: math.Sqrt(float64(f.Postings)),
		perDeep: math.Sqrt(float64(f.Postings) * float64(f.K)), perPosting: float64(f.Postings), perShortest: float64(f.Shortest), perSecond: float64(f.Second),
	}
}

func (f *Features) kind() int {
	if f.All {
		return 1
	}
	return 0
}

// defaultPrices are the initial prices of a model. Those of the CPU were fitted to one core of a
// Zen 5 (BenchmarkCostModel of package riffle). Those of devices are derived from an H200's
// figures: 60,000 queries a second of 3.7 million postings, a host link of 55 GB/s, eight launches
// a batch.
var defaultPrices = map[string][2]vector{
	"cpu": {
		{perQuery: 500, perTerm: 1000, perRoot: 40, perDeep: 2, perPosting: 0.5},
		{perQuery: 300, perTerm: 180, perShortest: 4, perSecond: 0.01},
	},
	"helped": {
		{perQuery: 500, perTerm: 1000, perRoot: 80, perDeep: 2, perPosting: 0.08},
		{perQuery: 300, perTerm: 180, perRoot: 10, perShortest: 0.8},
	},
	"gpu": {
		{perQuery: 1500, perTerm: 200, perPosting: 0.0012, perByte: 0.02, perBatch: 900_000},
		{perQuery: 1000, perTerm: 200, perPosting: 0.0005, perShortest: 0.004, perByte: 0.02, perBatch: 700_000},
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
	m.over, m.overHelped = 0.3, 0.3
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
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Duration(m.cpu[f.kind()].cost(f.vector()))
}

// GPU estimates what a query in a batch of many costs a device, when missing bytes of its lists
// must be copied there.
func (m *Model) GPU(f *Features, missing int64) time.Duration {
	v := f.vector()
	v[perByte] = float64(missing)
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Duration(m.gpu[f.kind()].cost(v))
}

// BatchCost estimates the fixed cost of a batch of such queries.
func (m *Model) BatchCost(f *Features) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Duration(m.gpu[f.kind()].prices[perBatch])
}

// slowest is what a query takes on one core, or with the help of others, when the estimate falls
// short by more than is usual.
func (m *Model) slowest(f *Features, helped bool) time.Duration {
	if f.empty() {
		return nothing
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if helped {
		return time.Duration(m.helped[f.kind()].cost(f.vector()) * (1 + 4*m.overHelped))
	}
	return time.Duration(m.cpu[f.kind()].cost(f.vector()) * (1 + 4*m.over))
}

// learnCPU learns from a query that ran on the CPU. Other cores may have helped, and have if it was
// shared.
func (m *Model) learnCPU(f *Features, took time.Duration, helped, shared bool) {
	if f.empty() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if helped {
		m.helped[f.kind()].learnFrom(f, took, &m.overHelped)
	}
	if !shared {
		m.cpu[f.kind()].learnFrom(f, took, &m.over)
	}
}

// learnFrom learns from a query, and updates the mean by which estimates are exceeded.
func (f *fit) learnFrom(q *Features, took time.Duration, over *float64) {
	const most = 8 // that one query may exceed its estimate by
	v, cost := q.vector(), max(1, float64(took))
	*over += (min(max(0, cost/max(1, f.cost(v))-1), most) - *over) / 256
	f.learn(v, cost)
}

// learnGPU learns from a batch: the sum of its queries' features cost took. A batch of both kinds
// teaches the kind of most of its queries.
func (m *Model) learnGPU(jobs []*job, moved int64, took time.Duration) {
	var sum vector
	all := 0
	for _, j := range jobs {
		for i, x := range j.features.vector() {
			sum[i] += x
		}
		all += j.features.kind()
	}
	sum[perByte], sum[perBatch] = float64(moved), 1
	kind := 0
	if 2*all > len(jobs) {
		kind = 1
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gpu[kind].learn(sum, float64(took))
}

// MarshalJSON writes the prices, so that another process can start from them.
func (m *Model) MarshalJSON() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]map[string]float64{}
	for name, f := range m.fits() {
		prices := map[string]float64{}
		for i, p := range f.prices {
			if p > 0 {
				prices[priceNames[i]] = p
			}
		}
		out[name] = prices
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote. Prices must be finite and not negative; missing ones
// are zero.
func (m *Model) UnmarshalJSON(data []byte) error {
	var in map[string]map[string]float64
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("dispatch: model: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reset(defaultPrices)
	for name, f := range m.fits() {
		named, ok := in[name]
		if !ok {
			continue
		}
		var v vector
		for i := range v {
			v[i] = named[priceNames[i]]
			if !(v[i] >= 0 && v[i] <= math.MaxFloat32) {
				return fmt.Errorf("dispatch: model: price %s of %s is %v", priceNames[i], name, v[i])
			}
		}
		f.begin(v, strings.HasPrefix(name, "cpu"))
	}
	return nil
}

func (m *Model) fits() map[string]*fit {
	return map[string]*fit{
		"cpu_or": &m.cpu[0], "cpu_and": &m.cpu[1], "cpu_helped_or": &m.helped[0], "cpu_helped_and": &m.helped[1],
		"gpu_or": &m.gpu[0], "gpu_and": &m.gpu[1],
	}
}
