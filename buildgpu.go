package riffle

import (
	"fmt"
	"math"
	"time"

	"github.com/riffle-search/riffle/internal/accelerator"
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

	// Required makes Build fail when the GPU cannot be used, with ErrNoDevice and at once when there is no such GPU. By
	// default the CPU does everything then, and BuildResult.NoGPU says why; as always when a GPU is lost later.
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

// A buildGPU is the GPU of a build. To open it takes a good part of a second, which nobody waits for before there is
// something to invert.
type buildGPU struct {
	options BuildGPUOptions
	room    int           // that it will have, if so much memory is free
	opened  chan struct{} // closed when the fields below are there
	err     error         // why it could not be opened
	sorter  accelerator.Sorter
	spent   time.Duration // in Sort
	there   bool          // it was opened when it was needed
}

// findGPU begins to open the GPU that was asked for. When there is no such GPU it fails if one is required.
func (b *builder) findGPU() error {
	o := b.opts.GPU
	if o == nil {
		return nil
	}
	g := &buildGPU{options: *o, opened: make(chan struct{})}
	if g.options.Share == 0 {
		g.options.Share = 1
	}
	find := b.opts.private.sorter
	if find == nil {
		find = findSorter
	}
	room, open, err := find(accelerator.SorterOptions{
		Device: o.Device, MemoryBytes: o.MemoryBytes, Records: b.opts.private.runBytes / 2, Trees: b.opts.private.trees,
	})
	if err != nil {
		b.result.NoGPU = err.Error()
		return g.require(err)
	}
	g.room, b.gpu, b.result.GPU = room, g, true
	go func() {
		defer close(g.opened)
		g.sorter, g.err = open()
	}()
	return nil
}

// require returns the error of Build for a GPU that cannot be used, or nil if it can do without.
func (g *buildGPU) require(err error) error {
	if g.options.Required {
		return fmt.Errorf("riffle: BuildOptions.GPU: %w", err)
	}
	return nil
}

// offload leaves partitions of a new run to the GPU, if there is one.
func (b *builder) offload(bulk *segment.Bulk) {
	g := b.gpu
	if g == nil || b.result.NoGPU != "" {
		return
	}
	bulk.Offload(g, g.options.Share, func(err error) {
		b.result.NoGPU = err.Error()
		if !g.there {
			b.noGPU = g.require(err)
		}
		b.opts.Index.Listener.gpuFailed(GPUEvent{Device: g.options.Device, Lost: true, Err: err})
	})
}

// Room implements segment.Sorter.
func (g *buildGPU) Room() int {
	select {
	case <-g.opened:
		if g.err == nil {
			return g.sorter.Room()
		}
	default:
	}
	return g.room
}

// Sort implements segment.Sorter, and counts the time.
func (g *buildGPU) Sort(cells int, pieces []segment.Piece) ([][]byte, error) {
	start := time.Now()
	defer func() { g.spent += time.Since(start) }()
	<-g.opened
	if g.err != nil {
		return nil, g.err
	}
	g.there = true
	return g.sorter.Sort(cells, pieces)
}

// close gives the GPU back. It accepts nil.
func (g *buildGPU) close() error {
	if g == nil {
		return nil
	}
	<-g.opened
	if g.err != nil {
		return nil
	}
	return g.sorter.Close()
}

// BuildTimes say where a build has spent its time, by the clock of the goroutine that takes documents in order. While it
// waits, and while it does anything else, others read, decompress and analyse.
type BuildTimes struct {
	Wait  time.Duration // for documents to be analysed
	Index time.Duration // adding them to the dictionary, by all indexers
	GPU   time.Duration // waiting for the GPU: until it is opened, and for its results, copies included
	Write time.Duration // sorting terms, encoding, tables and commits, by all workers; waiting for room in tables of stored documents
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
