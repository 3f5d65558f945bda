package riffle

import (
	"fmt"
	"math"
	"time"

	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/gpuexec/invert"
	"github.com/riffle-search/riffle/segment"
)

// BuildGPUOptions say how Build uses a GPU. Programs built without the tag cuda have none; see docs/GPU.md.
//
// A GPU inverts partitions of the dictionary, as in Wei 2011: those with most terms for their postings. It finds
// the terms, sorts them and gathers their postings; the CPU does the rest. A segment of the same documents is the
// same to the byte. But inverted documents take less memory then, so that fewer segments may come of them.
type BuildGPUOptions struct {
	// Device is the number of the GPU.
	Device int

	// Required makes Build fail with ErrNoDevice when there is no such GPU, or it cannot be used.
	// By default the CPU does everything then, and BuildResult.NoGPU says why.
	Required bool

	// MemoryBytes is how much memory of the GPU to take. The default, which is also the most that is taken, is
	// what BuildOptions.MemoryBytes can need, twelve times as much; or seven eighths of what is free. With less, the
	// GPU works in rounds.
	MemoryBytes int64

	// Share, in (0, 1], is how much of the work of indexing the GPU gets, by the sample that partitions are drawn
	// from. The default is 1, all.
	Share float64
}

func (g *BuildGPUOptions) validate() error {
	switch {
	case g.Device < 0:
		return fmt.Errorf("riffle: BuildOptions.GPU.Device: must not be negative, not %d", g.Device)
	case g.MemoryBytes < 0:
		return fmt.Errorf("riffle: BuildOptions.GPU.MemoryBytes: must not be negative, not %d", g.MemoryBytes)
	case g.Share < 0 || g.Share > 1 || math.IsNaN(g.Share):
		return fmt.Errorf("riffle: BuildOptions.GPU.Share: must lie in (0, 1], not %v", g.Share)
	}
	return nil
}

// A buildGPU is the GPU of a build. It is opened, which takes a good part of a second, while the first documents are
// read.
type buildGPU struct {
	options BuildGPUOptions
	opened  chan struct{} // closed when the fields below are there
	err     error         // why there is none, or none any more
	dev     *device.Device
	sorter  segment.Sorter
	spent   time.Duration // in Sort
}

// openGPU begins to open a GPU. Without options it returns nil.
func (b *builder) openGPU() *buildGPU {
	o := b.opts.GPU
	if o == nil {
		return nil
	}
	g := &buildGPU{options: *o, opened: make(chan struct{}), sorter: b.opts.private.sorter}
	if g.options.Share == 0 {
		g.options.Share = 1
	}
	go func() {
		defer close(g.opened)
		if g.sorter == nil {
			g.err = g.open(b.opts.private.runBytes)
		}
	}()
	return g
}

func (g *buildGPU) open(runBytes int64) (err error) {
	g.dev, err = device.Open(g.options.Device, device.Options{MemoryBytes: g.options.MemoryBytes, Most: invert.MemoryFor(runBytes / 2)})
	if err != nil {
		return err
	}
	s, err := invert.New(g.dev)
	g.sorter = s
	return err
}

// awaitGPU waits for a GPU that is being opened. It fails when there is none and one is required.
func (b *builder) awaitGPU() error {
	g := b.gpu
	if g == nil {
		return nil
	}
	start := time.Now()
	<-g.opened
	b.result.Times.GPU += time.Since(start)
	if g.err == nil {
		b.result.GPU = true
		return nil
	}
	if g.options.Required {
		return fmt.Errorf("riffle: BuildOptions.GPU: %w", g.err)
	}
	b.result.NoGPU = g.err.Error()
	return nil
}

// offload leaves partitions of a new run to the GPU, if there is one.
func (b *builder) offload(bulk *segment.Bulk) {
	g := b.gpu
	if g == nil || g.err != nil {
		return
	}
	bulk.Offload(g, g.options.Share, func(err error) {
		g.err = err
		b.result.NoGPU = err.Error()
		b.opts.Index.Listener.gpuFailed(GPUEvent{Device: g.options.Device, Lost: true, Err: err})
	})
}

// Room implements segment.Sorter.
func (g *buildGPU) Room() int { return g.sorter.Room() }

// Sort implements segment.Sorter, and counts the time.
func (g *buildGPU) Sort(cells int, pieces []segment.Piece) ([][]byte, error) {
	start := time.Now()
	out, err := g.sorter.Sort(cells, pieces)
	g.spent += time.Since(start)
	return out, err
}

// close gives the GPU back. It accepts nil.
func (g *buildGPU) close() error {
	if g == nil {
		return nil
	}
	<-g.opened
	if g.dev == nil {
		return nil
	}
	return g.dev.Close()
}

// BuildTimes say where a build has spent its time, by the clock of the goroutine that takes documents in order. While it
// waits, and while it does anything else, others read, decompress and analyse.
type BuildTimes struct {
	Wait  time.Duration // for documents to be analysed
	Index time.Duration // adding them to the dictionary, by all indexers
	GPU   time.Duration // waiting for the GPU: until it is opened, and for its results, copies included
	Write time.Duration // sorting terms, encoding, tables and commits, by all workers
}

// timed adds the time of f to one of BuildTimes, but for what the GPU takes of it.
func (b *builder) timed(to *time.Duration, f func() error) error {
	var before time.Duration
	if b.gpu != nil {
		before = b.gpu.spent
	}
	start := time.Now()
	err := f()
	spent := time.Since(start)
	if b.gpu != nil {
		onGPU := b.gpu.spent - before
		b.result.Times.GPU += onGPU
		spent -= onGPU
	}
	*to += spent
	return err
}
