package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/device"
)

// A gpu is an executor on a device of its own.
type gpu struct {
	*gpuexec.Executor
	dev *device.Device
}

// openGPU opens device n with memory for the lists: cacheBytes of them, or all when it is negative.
func (b *bench) openGPU(n int, o gpuexec.Options, cacheBytes int64) (*gpu, error) {
	if cacheBytes < 0 {
		if cacheBytes = b.memory; cacheBytes == 0 {
			cacheBytes = b.bytes + b.bytes/8 + 64<<20 // slabs are not filled to the last row
		}
	}
	o.BatchBytes, o.ColumnBytes = b.batchBytes, b.columnBytes
	shape := b.shape
	if o.Shape.RangeThreads != 0 {
		shape.RangeThreads = o.Shape.RangeThreads
	}
	o.Shape = shape
	o.NoCache, o.Timed = cacheBytes == 0, true
	dev, err := device.Open(n, device.Options{MemoryBytes: cacheBytes + 3*b.batchBytes + b.columnBytes})
	if err != nil {
		return nil, err
	}
	x, err := gpuexec.New(dev, o)
	if err != nil {
		dev.Close()
		return nil, err
	}
	return &gpu{x, dev}, nil
}

// A pass is what running some queries once came to.
type pass struct {
	queries       int
	took          time.Duration
	work          blockmax.Work
	open, refused int // answers that the CPU completed, and those it gave alone
	wanted, hits  int64
	copied        int64
	times         gpuexec.Times
}

// underWay is how many batches are at work at a time; gpuexec has room for three.
const underWay = 3

// run answers the queries from..to-1 of a reference once, in batches, and holds the answers against it. What the
// device leaves open the CPU completes, on other goroutines than those that feed the device.
func (b *bench) run(g *gpu, r *reference, from, to, size int) (p pass, err error) {
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
	next.Store(int64(from))
	rest := make(chan func() error, to-from)
	var feeders, finishers sync.WaitGroup
	for range underWay {
		feeders.Go(func() {
			for {
				at := int(next.Add(int64(size))) - size
				if at >= to {
					return
				}
				end := min(at+size, to)
				answers, e := g.Run(b.ctx, r.plans[at:end])
				if e != nil {
					fail(e)
					return
				}
				fail(b.take(r, at, answers, rest, &p, &mu))
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
	p.queries, p.took = to-from, time.Since(start)
	after := g.Cache().Stats()
	p.wanted, p.hits = after.WantedBytes-before.WantedBytes, after.HitBytes-before.HitBytes
	p.copied = after.CopiedBytes - before.CopiedBytes
	times := g.Times()
	p.times = gpuexec.Times{Host: times.Host - timesBefore.Host, Kernels: times.Kernels - timesBefore.Kernels}
	return p, err
}

// take checks whole answers, and leaves the others to rest.
func (b *bench) take(r *reference, at int, answers []gpuexec.Answer, rest chan<- func() error, p *pass, mu *sync.Mutex) error {
	mu.Lock()
	defer mu.Unlock()
	for i := range answers {
		a, plan := &answers[i], r.plans[at+i]
		if a.Refused != "" {
			p.refused++
		} else if len(a.Open) > 0 {
			p.open++
		}
		if len(a.Open) == 0 {
			p.work.Add(a.Top.Work)
			if err := r.check(at+i, &a.Top); err != nil {
				return err
			}
			continue
		}
		rest <- func() error {
			top, err := cpuexec.Executor{}.Finish(b.ctx, plan, &a.Partial)
			if err != nil {
				return err
			}
			mu.Lock()
			p.work.Add(top.Work)
			mu.Unlock()
			return r.check(at+i, &top)
		}
	}
	return nil
}

// passes runs all queries until caches are warm, and then for the time of a measurement, at least once. It returns
// the fastest pass.
func (b *bench) passes(g *gpu, r *reference, from, size int) (best pass, err error) {
	start := time.Time{}
	for n := 0; ; n++ {
		p, err := b.run(g, r, from, len(r.plans), size)
		if err != nil {
			return best, err
		}
		switch {
		case n < 2: // lists come in with the first; the second finds out that they are there
			start = time.Now()
		case best.queries == 0 || p.took < best.took:
			best = p
		}
		if n >= 2 && time.Since(start) > b.seconds {
			return best, nil
		}
	}
}

// figures are those of a pass.
func (b *bench) figures(g *gpu, p *pass, postings int64) []figure {
	info := g.dev.Info()
	rate := float64(p.queries) / p.took.Seconds()
	fs := []figure{{"q/s", rate}, {"G postings/s", rate * float64(postings) / float64(p.queries) / 1e9}}
	each := func(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1000 / float64(p.queries) }
	fs = append(fs, figure{"kernels, µs", each(p.times.Kernels)}, figure{"host, µs", each(p.times.Host)})
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
	return append(fs, b.limits.figures(&info, p.queries, &p.work, b.bytesPerBlock())...)
}

// bytesPerBlock is the mean over the blocks that queries ask for.
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
	return b.figures(g, &best, b.postingsFrom(from)), nil
}
