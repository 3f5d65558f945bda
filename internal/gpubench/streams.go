package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/demand"
	"github.com/riffle-search/riffle/gpuexec/device"
	"github.com/riffle-search/riffle/gpuexec/listcache"
)

// streams measures memory that is smaller than the lists. One half of the queries selects the lists
// that stay; the other half is measured. With -ways learning, these continue to learn. Memory is a share of the lists' bytes. It includes
// everything that stays, records and length codes, but not the memory of batches and windows.
func (b *bench) streams() error {
	if len(b.gpus) == 0 {
		return nil
	}
	if len(b.sets) > 0 {
		return b.streamSets()
	}
	modes, err := modesOf(b.forms)
	if err != nil {
		return err
	}
	if b.orOnly {
		modes = []blockmax.Mode{blockmax.Or}
	}
	for _, mode := range modes {
		for _, size := range slices.Backward(b.batch) {
			for _, share := range b.cache {
				if err := b.streamedPolicies(plans{mode, b.typicalK()}, share, size); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// streamSets measures the combinations of flags that -sets names.
func (b *bench) streamSets() error {
	was := *b.settings
	defer func() { *b.settings = was }()
	b.sets = nil
	for _, set := range was.sets {
		var share, windowBytes, tiles int
		numbersOf, and := strings.CutSuffix(set, ":and")
		if b.orOnly = !and; and {
			b.forms = words{"and"}
		}
		if _, err := fmt.Sscanf(numbersOf, "%d:%d:%d:%d", &share, &windowBytes, &tiles, &b.batchBytes); err != nil {
			return fmt.Errorf("-sets: %q: %w", set, err)
		}
		b.cache, b.windowBytes, b.windowTiles = numbers{share}, numbers{windowBytes}, numbers{tiles}
		if err := b.streams(); err != nil {
			return err
		}
	}
	return nil
}

// tracedStreams measures each kernel of the first measurement by itself, one after the other. So where
// the time goes is known without making the collection again.
func (b *bench) tracedStreams() error {
	was := *b.settings
	defer func() { *b.settings = was }()
	b.trace = true
	b.sets = b.sets[:min(1, len(b.sets))]
	b.cache, b.windowBytes, b.windowTiles = b.cache[:1], b.windowBytes[:1], b.windowTiles[:1]
	b.stepWindows, b.readers, b.tracks = b.stepWindows[:1], b.readers[:1], b.tracks[:1]
	b.batch, b.policyNames, b.ways = b.batch[len(b.batch)-1:], b.policyNames[:1], b.ways[:1]
	return b.streams()
}

// streamedPolicies measures every combination of the flags -policies, -ways and -window-bytes.
func (b *bench) streamedPolicies(p plans, share, size int) error {
	for _, policy := range b.policyNames {
		for _, way := range b.ways {
			o := gpuexec.Options{Stream: true, StaticLists: way != "learning"}
			name := fmt.Sprintf("%v %d %% batch=%d", p, share, size)
			if len(b.policyNames)*len(b.ways) > 1 {
				name += " " + policy + " " + way
			}
			switch policy {
			case "qtf":
				o.Cache.Policy = listcache.Qtf
			case "qtfdf":
				o.Cache.Policy = listcache.QtfDf
			default:
				return fmt.Errorf("-policies: lists stay by qtf or qtfdf, not by %q", policy)
			}
			if way != "static" && way != "learning" {
				return fmt.Errorf("-ways: there are static and learning, not %q", way)
			}
			for _, bytes := range b.windowBytes {
				name := name
				if o.WindowBytes = int64(bytes); bytes > 0 {
					name += fmt.Sprintf(" windows=%d MiB", bytes>>20)
				}
				if err := b.streamedShapes(name, o, p, share, size); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// streamedShapes measures every combination of the flags -window-tiles, -step-windows, -readers and
// -tracks.
func (b *bench) streamedShapes(base string, o gpuexec.Options, p plans, share, size int) error {
	for _, tiles := range b.windowTiles {
		name := base
		if b.shape.WindowTiles = tiles; tiles != 0 {
			name += fmt.Sprintf(" tiles=%d", tiles)
		}
		if err := b.streamedSteps(name, o, p, share, size); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) streamedSteps(base string, o gpuexec.Options, p plans, share, size int) error {
	for _, windows := range b.stepWindows {
		for _, readers := range b.readers {
			for _, tracks := range b.tracks {
				name := base
				for _, of := range []struct {
					what string
					n    int
				}{{"windows", windows}, {"readers", readers}, {"tracks", tracks}} {
					if of.n != 0 {
						name += fmt.Sprintf(" %s=%d", of.what, of.n)
					}
				}
				b.shape.StepWindows, b.shape.Readers, b.shape.Tracks = windows, readers, tracks
				if err := b.streamed(name, o, p, share, size); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *bench) streamed(name string, o gpuexec.Options, p plans, share, size int) error {
	if b.trace {
		name += " traced"
	}
	return b.measure("stream", name, func() ([]figure, error) {
		half := len(b.c.Queries) / 2
		r, err := b.referenceFrom(p, half)
		if err != nil {
			return nil, err
		}
		g, err := b.openStream(o, share)
		if err != nil {
			return nil, err
		}
		var f demand.Finder
		for _, plan := range r.plans[:half] {
			g.Count(&f, plan, plan.Mode, 0)
		}
		g.Admit()
		best, err := b.passes(g, r, half, size)
		if closed := g.dev.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return nil, err
		}
		return b.streamFigures(&best, size), nil
	})
}

// openStream opens a device whose memory for what stays is a share of the lists, in per cent.
func (b *bench) openStream(o gpuexec.Options, share int) (*gpu, error) {
	columns := min(int64(b.c.Docs)+1<<16, b.columnBytes) &^ (device.ArenaAlign - 1)
	if o.WindowBytes == 0 {
		o.WindowBytes = 1650 << 20
	}
	stay := max(0, b.bytes*int64(share)/100-columns)
	dev, err := device.Open(0, device.Options{MemoryBytes: stay + columns + o.WindowBytes + 3*b.batchBytes})
	if err != nil {
		return nil, err
	}
	o.BatchBytes, o.ColumnBytes, o.HostBytes = b.batchBytes, columns, b.hostBytes
	o.Shape, o.Timed, o.Traced = b.shape, true, b.trace
	x, err := gpuexec.New(dev, o)
	if err != nil {
		dev.Close()
		return nil, err
	}
	// Many batches, since those of windows begin slowly: the host makes the first one while the
	// device waits.
	return &gpu{x, dev, 6 * underWay}, nil
}

// streamFigures are those of a pass.
func (b *bench) streamFigures(p *pass, size int) []figure {
	each := func(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1000 / float64(p.queries) }
	rate := float64(p.queries) / p.took.Seconds()
	fs := []figure{
		{"q/s", rate}, {"kernels, µs", each(p.times.Kernels)}, {"host, µs", each(p.times.Host)}, {"of that driver, µs", each(p.times.Driver)}, {"answers, µs", each(p.times.Answers)},
		{"batch, ms", 1000 * float64(size) / rate},
		{"KB fetched", float64(p.times.FetchedBytes) / float64(p.queries) / 1e3},
		{"KB of columns", float64(p.times.ColumnBytes) / float64(p.queries) / 1e3},
		{"GB/s", float64(p.times.FetchedBytes) / p.took.Seconds() / 1e9},
		{"hits, % of bytes", 100 * (1 - float64(p.times.FetchedBytes)/float64(max(1, p.times.WantedBytes)))},
	}
	if p.open > 0 || p.refused > 0 {
		fs = append(fs, figure{"open, refused", fmt.Sprint(p.open, ", ", p.refused)})
	}
	return append(fs, p.kernelFigures()...)
}

// kernelFigures are the times of each kernel, in µs a query, the longest first, with -trace.
func (p *pass) kernelFigures() (fs []figure) {
	names := slices.SortedFunc(maps.Keys(p.times.ByKernel), func(x, y string) int { return cmp.Compare(p.times.ByKernel[y], p.times.ByKernel[x]) })
	for _, name := range names {
		fs = append(fs, figure{name, float64(p.times.ByKernel[name].Nanoseconds()) / 1000 / float64(p.queries)})
	}
	return fs
}
