package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/hook"
	"github.com/riffle-search/riffle/internal/trec"
)

// A load is a stream of queries, with the clients or servers that answer them.
type load struct {
	rate    float64 // arrivals a second; 0 for clients that run one query after another
	seconds float64
	seed    uint64

	policy       choice[cpuexec.Policy] // including those of papers
	cores        int
	delta, grain int
	spin         time.Duration
	cache        byteSize
}

func (l *load) declare(c *cobra.Command) {
	f := c.Flags()
	f.Float64Var(&l.rate, "rate", 0, "with --seconds: queries that arrive in a second, at random times")
	f.Float64Var(&l.seconds, "seconds", 0, "draw queries at random for so long")
	f.Uint64Var(&l.seed, "seed", 1, "of the random queries and times")
	l.policy = choice[cpuexec.Policy]{text: "inter", value: cpuexec.Inter, parse: cpuexec.ParsePolicy,
		names: []string{"inter", "fgqp", "docp", "adaptive"}}
	l.policy.declare(c, "policy", "how searches share the cores")
	f.IntVar(&l.cores, "cores", 0, "cores to use; 0 is all")
	f.IntVar(&l.delta, "delta", 0, "cut no further query while more grains of others wait; 0 is the default")
	f.IntVar(&l.grain, "grain", 0, "postings that are worth the help of another core; 0 is the default")
	f.DurationVar(&l.spin, "spin", 0, "how long an idle worker looks for work; 0 is the default")
	f.Var(&l.cache, "cache", "bound of the cache; 0 goes by the memory of the machine")
}

func (l *load) check() error {
	if l.cores == 0 {
		l.cores = runtime.GOMAXPROCS(0)
	}
	switch {
	case l.rate < 0 || l.seconds < 0:
		return usagef("--rate and --seconds must not be negative")
	case l.rate > 0 && l.seconds == 0:
		return usagef("--rate goes with --seconds")
	case l.rate*l.seconds > 1e8:
		return usagef("--rate times --seconds is more than a hundred million queries")
	case l.cores < 1 || l.delta < 0 || l.grain < 0:
		return usagef("--cores must be at least 1, --delta and --grain at least 0")
	}
	return nil
}

func (l *load) exec() riffle.Exec {
	x := riffle.Exec{Delta: l.delta, Grain: l.grain}
	hook.SetPolicy(&x, l.policy.value)
	return x
}

// takeCores limits the program to the cores, and returns a function that undoes it. If there is a
// spare core, the clock that lets queries arrive gets it.
func (l *load) takeCores() (undo func()) {
	n := l.cores
	if l.rate > 0 && n < runtime.NumCPU() {
		n++
	}
	before := runtime.GOMAXPROCS(n)
	return func() { runtime.GOMAXPROCS(before) }
}

// arrivals returns the queries to run, as indexes below topics, with the times of their arrival,
// counted from the start.
func (l *load) arrivals(topics int) (queries []int32, at []time.Duration) {
	rng := rand.New(rand.NewPCG(l.seed, 0))
	for t := 0.0; ; {
		t += rng.ExpFloat64() / l.rate
		if t >= l.seconds {
			return queries, at
		}
		queries = append(queries, rng.Int32N(int32(topics)))
		at = append(at, time.Duration(t*float64(time.Second)))
	}
}

// A sample is one search.
type sample struct {
	query    int32
	tasks    int32
	response time.Duration // from the arrival of the query to its end
	service  time.Duration // from its start to its end
}

// measureLoad measures under load. Its figures have no checksum.
func (b *benchCommand) measureLoad(ctx context.Context, e *riffle.Engine, topics []trec.Topic, o *riffle.SearchOptions) (*loadFigures, error) {
	runtime.GC() // garbage of earlier runs must not count
	ask := func(query int32, arrival time.Time) (sample, error) {
		start := time.Now()
		res, err := e.Search(ctx, b.match(topics[query].Text), o)
		if err != nil {
			return sample{}, fmt.Errorf("query %s: %w", topics[query].ID, err)
		}
		end := time.Now()
		return sample{query, int32(res.Work.Tasks), end.Sub(arrival), end.Sub(start)}, nil
	}
	stream := b.load.saturate
	if b.load.rate > 0 {
		stream = b.load.serve
	}
	samples, took, err := stream(ctx, b.threads, len(topics), ask)
	if err != nil {
		return nil, err
	}
	f := b.load.figures(topics, samples, took)
	f.Threads = b.threads
	return f, nil
}

type askFunc func(query int32, arrival time.Time) (sample, error)

// saturate makes clients run one query after another until the time is over.
func (l *load) saturate(ctx context.Context, clients, topics int, ask askFunc) ([]sample, time.Duration, error) {
	start := time.Now()
	end := start.Add(time.Duration(l.seconds * float64(time.Second)))
	return gather(clients, start, func(client int, take func(sample)) error {
		rng := rand.New(rand.NewPCG(l.seed, uint64(client)))
		for now := start; now.Before(end) && ctx.Err() == nil; {
			s, err := ask(rng.Int32N(int32(topics)), now)
			if err != nil {
				return err
			}
			take(s)
			now = now.Add(s.response)
		}
		return ctx.Err()
	})
}

// serve makes servers take queries in the order of their arrival. It drops the remaining queries
// after half as much time again: more arrive than can be answered.
func (l *load) serve(ctx context.Context, servers, topics int, ask askFunc) ([]sample, time.Duration, error) {
	queries, at := l.arrivals(topics)
	start := time.Now()
	giveUp := time.Duration(1.5 * l.seconds * float64(time.Second))
	var queue sync.Mutex // held by the next server while it waits for a query
	next := 0
	turn := func() (i int, ok bool) {
		queue.Lock()
		defer queue.Unlock()
		if next == len(at) || time.Since(start) > giveUp || ctx.Err() != nil {
			return 0, false
		}
		i = next
		next++
		sleepUntil(start.Add(at[i]))
		return i, true
	}
	return gather(servers, start, func(_ int, take func(sample)) error {
		for i, ok := turn(); ok; i, ok = turn() {
			s, err := ask(queries[i], start.Add(at[i]))
			if err != nil {
				return err
			}
			take(s)
		}
		return ctx.Err()
	})
}

// gather runs workers. It returns their samples and the time until the last one ended.
func gather(workers int, start time.Time, work func(worker int, take func(sample)) error) (all []sample, took time.Duration, err error) {
	samples, errs := make([][]sample, workers), make([]error, workers)
	inParallel(workers, workers, func(_, i int) {
		errs[i] = work(i, func(s sample) { samples[i] = append(samples[i], s) })
	})()
	took = time.Since(start)
	for i := range workers {
		if errs[i] != nil {
			return nil, 0, errs[i]
		}
	}
	return slices.Concat(samples...), took, nil
}

// sleepUntil sleeps, but polls the clock for the last part: waking up takes a while, which must not
// count.
func sleepUntil(t time.Time) {
	const wakeUp = 200 * time.Microsecond
	if d := time.Until(t); d > 2*wakeUp {
		time.Sleep(d - wakeUp)
	}
	for i := 1; time.Now().Before(t); i++ {
		if i%100 == 0 {
			runtime.Gosched()
		}
	}
}

// loadFigures are the results of a benchmark under load.
type loadFigures struct {
	Name    string  `json:"name,omitempty"` // in a plan
	Policy  string  `json:"policy"`
	Cores   int     `json:"cores"`
	Threads int     `json:"threads"`
	Delta   int     `json:"delta,omitempty"`
	Rate    float64 `json:"rate,omitempty"`

	Searches  int     `json:"searches"`
	QPS       float64 `json:"qps"`
	MeanUS    float64 `json:"mean_us"`
	P50US     float64 `json:"p50_us"`
	P95US     float64 `json:"p95_us"`
	P99US     float64 `json:"p99_us"`
	ServiceUS float64 `json:"service_us"`
	Shared    float64 `json:"shared"`
	Tasks     float64 `json:"tasks"`
	Checksum  string  `json:"checksum"`

	ByWords []wordFigures `json:"by_words"`
}

// wordFigures are those of the queries with a given number of words.
type wordFigures struct {
	Words    int     `json:"words"`
	Searches int     `json:"searches"`
	MeanUS   float64 `json:"mean_us"`
	P99US    float64 `json:"p99_us"`
}

func (l *load) figures(topics []trec.Topic, samples []sample, took time.Duration) *loadFigures {
	f := &loadFigures{Policy: l.policy.text, Cores: l.cores, Delta: l.delta, Rate: l.rate, Searches: len(samples)}
	f.QPS = round2(float64(len(samples)) / took.Seconds())
	if len(samples) == 0 {
		return f
	}
	service, shared, tasks := 0.0, 0, 0
	times, byWords := []float64{}, map[int][]float64{}
	for _, s := range samples {
		us := micros(s.response)
		times = append(times, us)
		words := len(strings.Fields(topics[s.query].Text))
		byWords[words] = append(byWords[words], us)
		service += micros(s.service)
		if s.tasks > 0 {
			shared++
			tasks += int(s.tasks)
		}
	}
	f.MeanUS, f.P50US, f.P95US, f.P99US = digest(times)
	f.ServiceUS = round2(service / float64(len(samples)))
	f.Shared, f.Tasks = round2(float64(shared)/float64(len(samples))), round2(float64(tasks)/float64(max(1, shared)))
	for words, times := range byWords {
		w := wordFigures{Words: words, Searches: len(times)}
		w.MeanUS, _, _, w.P99US = digest(times)
		f.ByWords = append(f.ByWords, w)
	}
	slices.SortFunc(f.ByWords, func(a, b wordFigures) int { return a.Words - b.Words })
	return f
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// digest sorts the times and returns their mean and percentiles.
func digest(times []float64) (mean, p50, p95, p99 float64) {
	slices.Sort(times)
	for _, t := range times {
		mean += t
	}
	return round2(mean / float64(len(times))), round2(percentile(times, 50)), round2(percentile(times, 95)), round2(percentile(times, 99))
}

func (f *loadFigures) print(w io.Writer, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(f)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", line)
		return err
	}
	fmt.Fprintf(w, "searches        %d\nqueries/s       %.1f\n"+
		"mean            %.1f µs\np50             %.1f µs\np95             %.1f µs\np99             %.1f µs\n"+
		"service         %.1f µs\nshared          %.0f %%, in %.1f tasks\nchecksum        %s\n",
		f.Searches, f.QPS, f.MeanUS, f.P50US, f.P95US, f.P99US, f.ServiceUS, 100*f.Shared, f.Tasks, f.Checksum)
	for _, c := range f.ByWords {
		fmt.Fprintf(w, "%3d words       %8d searches  mean %.1f µs  p99 %.1f µs\n", c.Words, c.Searches, c.MeanUS, c.P99US)
	}
	return nil
}
