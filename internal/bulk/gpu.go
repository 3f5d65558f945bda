package bulk

import (
	"fmt"
	"time"

	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/segment"
)

// A gpuSorter is the GPU of a build. Opening it takes a good part of a second, so nothing waits for
// it before there are documents to invert.
type gpuSorter struct {
	options GPU
	room    int           // that it will have, if that much memory is free
	opened  chan struct{} // closed when the fields below are set
	err     error         // why it could not be opened
	sorter  accelerator.Sorter
	spent   time.Duration // in Sort
	there   bool          // it was opened when it was needed
}

// findGPU begins to open the requested GPU. If there is no such GPU it fails if one is required.
func (b *builder) findGPU() error {
	o := b.opts.GPU
	if o == nil {
		return nil
	}
	g := &gpuSorter{options: *o, opened: make(chan struct{})}
	room, open, err := o.Find(accelerator.SorterOptions{
		Device: o.Device, MemoryBytes: o.MemoryBytes, Records: b.opts.MemoryBytes / 2, Trees: o.Trees,
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

// require returns the error of Build for a GPU that cannot be used, or nil if none is required.
func (g *gpuSorter) require(err error) error {
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
		g.options.Failed(err)
	})
}

// Room implements segment.Sorter.
func (g *gpuSorter) Room() int {
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
func (g *gpuSorter) Sort(cells int, pieces []segment.Piece) ([][]byte, error) {
	start := time.Now()
	defer func() { g.spent += time.Since(start) }()
	<-g.opened
	if g.err != nil {
		return nil, g.err
	}
	g.there = true
	return g.sorter.Sort(cells, pieces)
}

// close releases the GPU. It accepts nil.
func (g *gpuSorter) close() error {
	if g == nil {
		return nil
	}
	<-g.opened
	if g.err != nil {
		return nil
	}
	return g.sorter.Close()
}

// timed adds the time of f to one of BuildTimes, without the GPU's part of it.
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
