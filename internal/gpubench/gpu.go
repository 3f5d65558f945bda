package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/baselines"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/internal/collection"
)

// A gpu is an executor on a device of its own.
type gpu struct {
	*gpuexec.Executor
	dev     *device.Device
	batches int // of a pass, at least
}

// openGPU opens device n with memory for the lists: cacheBytes of them, or all when it is negative.
func (b *bench) openGPU(n int, o gpuexec.Options, cacheBytes int64) (*gpu, error) {
	if cacheBytes < 0 {
		if cacheBytes = b.memory; cacheBytes == 0 {
			cacheBytes = b.bytes + b.bytes/8 + 64<<20 // slabs are not filled to the last row
		}
	}
	o.BatchBytes, o.ColumnBytes, o.FlatBytes = b.batchBytes, b.columnBytes, max(0, b.flatBytes)
	// Lists that are also kept in another form would hide the effect of the cache.
	o.NoFlat = cacheBytes < b.bytes || b.flatBytes < 0
	if o.NoFlat {
		o.FlatBytes = 0
	}
	shape := b.shape
	if o.Shape.RangeThreads != 0 {
		shape.RangeThreads = o.Shape.RangeThreads
	}
	o.Shape = shape
	o.NoCache, o.Timed, o.Baselines = cacheBytes == 0, true, baselines.Kernels
	dev, err := device.Open(n, device.Options{MemoryBytes: cacheBytes + 3*b.batchBytes + b.columnBytes + o.FlatBytes})
	if err != nil {
		return nil, err
	}
	x, err := gpuexec.New(dev, o)
	if err != nil {
		dev.Close()
		return nil, err
	}
	return &gpu{x, dev, 2 * underWay}, nil
}

// A pass is the result of running some queries once.
type pass struct {
	queries       int
	took          time.Duration
	work          blockmax.Work
	open, refused int // answers that the CPU completed, and those it gave alone
	wanted, hits  int64
	copied        int64
	times         gpuexec.Times
	counts        bool // only totals were wanted
}

// underWay is how many batches run at a time; gpuexec has room for three.
const underWay = 3

// run answers the queries of a reference from one on, in batches, and compares the answers with it:
// all of them once, and again if they are not enough for several batches. The CPU completes what
// the device leaves open, in goroutines other than those that feed the device.
func (b *bench) run(g *gpu, r *reference, from, size int) (p pass, err error) {
	before, timesBefore := g.Cache().Stats(), g.Times()
	start := time.Now()
	var next atomic.Int64
	var mu sync.Mutex
	fail := func(e error) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil && e != nil {
			err = e
		}
	}
	all := len(r.plans) - from
	batches := (max(all, g.batches*min(size, all)) + size - 1) / size
	p.queries, p.counts = batches*size, r.plans[from].OnlyTotal
	rest := make(chan func() error, p.queries)
	var done atomic.Int64
	stop := b.every(10*time.Second, func() { b.say("%d of %d batches, %s", done.Load(), batches, memory()) })
	defer stop()
	var feeders, finishers sync.WaitGroup
	for range underWay {
		feeders.Go(func() {
			plans, numbers := make([]*collection.Plan, size), make([]int, size)
			for n := next.Add(1) - 1; n < int64(batches); n = next.Add(1) - 1 {
				for i := range size {
					numbers[i] = from + (int(n)*size+i)%all
					plans[i] = r.plans[numbers[i]]
				}
				answers, e := g.Run(b.ctx, plans)
				if e != nil {
					fail(e)
					return
				}
				fail(b.take(r, numbers, answers, rest, &p, &mu))
				done.Add(1)
			}
		})
	}
	for range max(1, runtime.GOMAXPROCS(0)-underWay) {
		finishers.Go(func() {
			for do := range rest {
				fail(do())
			}
		})
	}
	feeders.Wait()
	close(rest)
	finishers.Wait()
	p.took = time.Since(start)
	after := g.Cache().Stats()
	p.wanted, p.hits = after.WantedBytes-before.WantedBytes, after.HitBytes-before.HitBytes
	p.copied = after.CopiedBytes - before.CopiedBytes
	times := g.Times()
	p.times = gpuexec.Times{
		WantedBytes: times.WantedBytes - timesBefore.WantedBytes, FetchedBytes: times.FetchedBytes - timesBefore.FetchedBytes,
		ColumnBytes: times.ColumnBytes - timesBefore.ColumnBytes,
		ByKernel:    map[string]time.Duration{},
		Host:        times.Host - timesBefore.Host, Driver: times.Driver - timesBefore.Driver, Answers: times.Answers - timesBefore.Answers, Kernels: times.Kernels - timesBefore.Kernels,
	}
	for name, took := range times.ByKernel {
		p.times.ByKernel[name] = took - timesBefore.ByKernel[name]
	}
	return p, err
}

// take checks whole answers, and passes the others to rest.
func (b *bench) take(r *reference, numbers []int, answers []gpuexec.Answer, rest chan<- func() error, p *pass, mu *sync.Mutex) error {
	var w blockmax.Work
	open, refused := 0, 0
	for i := range answers {
		a, number := &answers[i], numbers[i]
		if a.Refused != nil {
			refused++
		} else if len(a.Open) > 0 {
			open++
		}
		if len(a.Open) == 0 {
			w.Add(a.Top.Work)
			if err := r.check(number, &a.Top); err != nil {
				return err
			}
			continue
		}
		rest <- func() error {
			top, err := cpuexec.Executor{}.Finish(b.ctx, r.plans[number], &a.Partial)
			if err != nil {
				return err
			}
			mu.Lock()
			p.work.Add(top.Work)
			mu.Unlock()
			return r.check(number, &top)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	p.work.Add(w)
	p.open += open
	p.refused += refused
	return nil
}

// passes runs queries until the cache has settled, and then for the time of a measurement, at least
// once. It returns the fastest of these passes.
func (b *bench) passes(g *gpu, r *reference, from, size int) (best pass, err error) {
	const mostWarming, leastTime = 10, 5 * time.Second
	copied, used := int64(0), int64(0)
	for n, start := 0, time.Now(); ; n++ {
		began := time.Now()
		p, err := b.run(g, r, from, size)
		if err != nil {
			return best, err
		}
		b.progress(began, "a pass that brings lists")
		usedBefore := used
		used = g.Cache().Stats().UsedBytes
		settled := 10*p.copied > 9*copied && used <= usedBefore+usedBefore/1000
		if n > 0 && (p.copied == 0 || settled) || n >= mostWarming && time.Since(start) > leastTime {
			break
		}
		copied = p.copied
	}
	for start := time.Now(); best.queries == 0 || time.Since(start) < b.seconds; {
		p, err := b.run(g, r, from, size)
		if err != nil {
			return best, err
		}
		if best.queries == 0 || p.took < best.took {
			best = p
		}
	}
	return best, nil
}

// figures are those of a pass, whose queries have the given number of postings on average.
func (b *bench) figures(g *gpu, p *pass, postings float64) []figure {
	info := g.dev.Info()
	rate := float64(p.queries) / p.took.Seconds()
	fs := []figure{{"q/s", rate}, {"G postings/s", rate * postings / 1e9}}
	each := func(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1000 / float64(p.queries) }
	fs = append(fs, figure{"kernels, µs", each(p.times.Kernels)}, figure{"host, µs", each(p.times.Host)}, figure{"answers, µs", each(p.times.Answers)})
	fs = append(fs, p.kernelFigures()...)
	fs = append(fs, b.work(&p.work, p.queries)...)
	fs = append(fs, figure{"KB to the device", float64(p.work.BytesMoved) / float64(p.queries) / 1e3},
		figure{"KB of lists", float64(p.copied) / float64(p.queries) / 1e3})
	if p.wanted > 0 {
		fs = append(fs, figure{"hits, % of bytes", 100 * float64(p.hits) / float64(p.wanted)})
	}
	if p.open > 0 {
		fs = append(fs, figure{"completed by CPU, %", 100 * float64(p.open) / float64(p.queries)})
	}
	if p.refused > 0 {
		fs = append(fs, figure{"refused, %", 100 * float64(p.refused) / float64(p.queries)})
	}
	if p.counts {
		return fs
	}
	return append(fs, b.limits.figures(&info, p.queries, &p.work, b.bytesPerBlock())...)
}

// bytesPerBlock is the mean over the blocks that queries need.
func (b *bench) bytesPerBlock() float64 {
	bytes, blocks := int64(0), int64(0)
	for _, q := range b.c.Queries {
		for _, l := range q {
			bytes += b.c.PayloadBytes(l)
			blocks += int64(b.c.Lists[l].List.Blocks())
		}
	}
	return float64(bytes) / float64(max(1, blocks))
}

// postingsFrom is how many postings the queries from one on have.
func (b *bench) postingsFrom(from int) (n int64) {
	for q := from; q < len(b.c.Queries); q++ {
		n += b.c.Postings(q)
	}
	return n
}

// measureGPU measures one executor with all lists on the device.
func (b *bench) measureGPU(part, name string, p plans, o gpuexec.Options, size int) error {
	if len(b.gpus) == 0 {
		return nil
	}
	return b.measure(part, name, func() ([]figure, error) {
		return b.onGPU(p, o, -1, 0, size, nil)
	})
}

// onGPU opens a device, prepares its cache, and measures the queries from one on.
func (b *bench) onGPU(p plans, o gpuexec.Options, cacheBytes int64, from, size int, prepare func(*gpu, *reference)) ([]figure, error) {
	r, err := b.reference(p)
	if err != nil {
		return nil, err
	}
	return b.onDevice(r, o, cacheBytes, from, size, prepare)
}

// onDevice is onGPU for the plans of a reference.
func (b *bench) onDevice(r *reference, o gpuexec.Options, cacheBytes int64, from, size int, prepare func(*gpu, *reference)) ([]figure, error) {
	g, err := b.openGPU(0, o, cacheBytes)
	if err != nil {
		return nil, err
	}
	if prepare != nil {
		prepare(g, r)
	}
	best, err := b.passes(g, r, from, size)
	if closed := g.dev.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	return b.figures(g, &best, float64(b.postingsFrom(from))/float64(len(r.plans)-from)), nil
}
