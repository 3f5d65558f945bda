package dispatch

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/gov2"
)

// sampledQueries are the features of queries with samples.
var sampledQueries = sync.OnceValue(func() (all []Features) {
	c := gov2.Generate(gov2.Options{Docs: 60_000, Queries: 1000})
	for i := range c.Lists {
		if err := refine(&c.Lists[i], c.Docs); err != nil {
			panic(err)
		}
	}
	for q := range c.Queries {
		for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
			p := c.Plan(q, mode, 10)
			f := FeaturesOf(p)
			if f.Sample(p); f.sampled && !f.empty() {
				all = append(all, f)
			}
		}
	}
	return all
})

// teach has a model see what queries cost.
func teach(m *Model, queries []Features, cost func(*Features) float64) {
	for i := range queries {
		c := time.Duration(cost(&queries[i]))
		learn(m, m.noteCPU(&queries[i], run{took: c, core: c}, time.Time{}))
	}
}

// meanError is that of a model's estimates.
func meanError(m *Model, queries []Features, cost func(*Features) float64) (sum float64) {
	for i := range queries {
		c := cost(&queries[i])
		sum += math.Abs(float64(m.CPU(&queries[i]))/c-1) / float64(len(queries))
	}
	return sum
}

// TestModelLearnsSamples: a model learns what queries cost on a machine where a unit of each feature
// takes a third of what it is known to take, up to three times as long.
func TestModelLearnsSamples(t *testing.T) {
	queries := sampledQueries()
	half := len(queries) / 2
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 3))
		slower := [prices]float64{}
		for i := range slower {
			slower[i] = math.Pow(3, 2*rng.Float64()-1)
		}
		truth := func(f *Features) float64 {
			var v vector
			f.setOnCPU(&v)
			for i := range v {
				v[i] *= slower[i]
			}
			return 500 + cpuPrices[f.path()].times(&v)
		}
		m := DefaultModel()
		before := meanError(m, queries[half:], truth)
		for range 4 {
			teach(m, queries[:half], truth)
		}
		if after := meanError(m, queries[half:], truth); after > 0.1 || before < 0.2 {
			t.Errorf("seed %d: the mean relative error is %.3f, and without learning %.3f", seed, after, before)
		}
	}
}

// TestSlowRuns: when one run in five takes up to ten times as long, because the machine does something
// else, a model still learns what the others take.
func TestSlowRuns(t *testing.T) {
	queries := sampledQueries()
	half := len(queries) / 2
	first := DefaultModel()
	truth := func(f *Features) float64 { return 2 * float64(first.CPU(f)) }
	rng := rand.New(rand.NewPCG(5, 5))
	m := DefaultModel()
	for range 4 {
		teach(m, queries[:half], func(f *Features) float64 {
			if rng.IntN(5) == 0 {
				return truth(f) * (1 + 9*rng.Float64())
			}
			return truth(f)
		})
	}
	if err := meanError(m, queries[half:], truth); err > 0.06 {
		t.Errorf("the mean relative error is %.3f; the mean of all runs is 90 %% above what most take", err)
	}
}

// TestHelpedShape: with the help of other cores, a query has the same shape. So estimates change with
// what was learned of queries without help, and learning from those with help counts it once.
func TestHelpedShape(t *testing.T) {
	f := sampledQueries()[0]
	m := DefaultModel()
	alone, _ := m.response(&f, false)
	helped, _ := m.response(&f, true)
	for range 1000 {
		learn(m, m.noteCPU(&f, run{took: 3 * alone, core: 3 * alone}, time.Time{}))
	}
	if got, _ := m.response(&f, true); got < 2*helped || got > 4*helped {
		t.Errorf("after runs of three times the time, a query with help is estimated to take %v, and %v before", got, helped)
	}
	for range 1000 {
		learn(m, m.noteCPU(&f, run{took: helped, helped: true}, time.Time{}))
	}
	if got, _ := m.response(&f, true); got < helped*9/10 || got > helped*11/10 {
		t.Errorf("after runs with help of %v, a query with help is estimated to take %v", helped, got)
	}
}

// TestFarQueries: estimates of queries beyond all that the shapes were fitted to are those of the prices,
// times what holds at the border.
func TestFarQueries(t *testing.T) {
	m := DefaultModel()
	for _, f := range sampledQueries()[:500] {
		f.Bytes, f.Blocks, f.Shortest, f.Visits = 1<<50, 1<<30, 1<<35, 1<<35
		far := f
		far.Visits *= 4
		a, b := m.CPU(&f), m.CPU(&far)
		var v, w vector
		f.setOnCPU(&v)
		far.setOnCPU(&w)
		price := &cpuPrices[f.path()]
		if want := price.times(&w) / price.times(&v); math.Abs(float64(b)/float64(a)/want-1) > 1e-6 {
			t.Fatalf("path %s: a cost grows %v times, the prices %v times", pathNames[f.path()], float64(b)/float64(a), want)
		}
	}
}

// TestShapesAreKept: a model that is saved and read again has its shapes.
func TestShapesAreKept(t *testing.T) {
	queries := sampledQueries()
	m := DefaultModel()
	teach(m, queries, func(f *Features) float64 { return 100_000 + float64(f.Postings) })
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var again Model
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	first, differ := DefaultModel(), 0
	for i := range queries {
		f := &queries[i]
		if a, b := m.CPU(f), again.CPU(f); a != b {
			t.Fatalf("query %d: estimates are %v and, read again, %v", i, a, b)
		}
		if m.CPU(f) != first.CPU(f) {
			differ++
		}
	}
	if differ < len(queries)*9/10 {
		t.Errorf("the estimates of %d of %d queries differ from those of a new model", differ, len(queries))
	}
	for _, bad := range []string{`{"version":3,"shapes":{"union":[1,2]}}`, `{"version":3,"shapes":{"union":[` + manyTerms("1e300") + `]}}`} {
		if err := json.Unmarshal([]byte(bad), new(Model)); err == nil {
			t.Errorf("%s was taken for a model", bad)
		}
	}
}

func manyTerms(x string) (list string) {
	for range shapeTerms - 1 {
		list += x + ","
	}
	return list + x
}

// TestLog2: it is exact at powers of two, and between them near and increasing.
func TestLog2(t *testing.T) {
	for last, x := -1.0, 0.0; x < 1e12; x = 1.07*x + 0.01 {
		got, want := log2(x), math.Log2(1+x)
		if got > want+1e-12 || got < want-0.0861 || got <= last {
			t.Errorf("log2(%v) is %v, near %v and above %v", x, got, want, last)
		}
		last = got
	}
	if log2(0) != 0 || log2(1023) != 10 {
		t.Errorf("log2(0) is %v, log2(1023) %v", log2(0), log2(1023))
	}
}

// BenchmarkShape measures an estimate, and what a model takes to note a query.
func BenchmarkShape(b *testing.B) {
	f := Features{Terms: 3, Postings: 20000, Shortest: 1000, Blocks: 160, Bytes: 20000, Visits: 300, K: 10, All: true, led: true, sampled: true}
	f.sample = sample{blocks: 8, live: 8, others: 16, lookups: 200, touched: 50, hopeful: 900}
	b.Run("estimate", func(b *testing.B) {
		m := DefaultModel()
		for b.Loop() {
			m.CPU(&f)
		}
	})
	b.Run("note", func(b *testing.B) {
		m := DefaultModel()
		for b.Loop() {
			learn(m, m.noteCPU(&f, run{took: 5000, core: 5000}, time.Now()))
		}
	})
}
