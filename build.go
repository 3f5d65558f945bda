package riffle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/bulk"
	"github.com/riffle-search/riffle/internal/document"
)

// BuildOptions configure Build. Nil is valid, and a field left at its zero value takes
// the default its comment names.
type BuildOptions struct {
	// Index are the options of the index, as for Open. Schema, analyzers and rank count while
	// documents are read, Merge where segments become one; Durability and GPU do not matter.
	Index Options

	// Workers is how many goroutines analyse documents, index them and write. The default
	// is GOMAXPROCS. The index does not depend on it.
	Workers int

	// MemoryBytes is how much memory the inverted documents may take before they are written
	// as a segment. On top come about 25 MB a worker, the window of a Zstandard file (up to
	// 128 MB), and what Go's collector leaves lying. More memory makes fewer segments.
	// The default is 256 MiB, the least 1 MiB.
	MemoryBytes int64

	// GPU makes a GPU invert part of the dictionary. The default, nil, uses none: a GPU saves at
	// most a tenth of the time (docs/GPU.md).
	GPU *BuildGPUOptions

	// OneSegment merges the segments into one at the end, if there are several. An order of
	// documents other than OrderByArrival (Index.Merge.Order) does so too.
	OneSegment bool

	// Position becomes that of the index, as if a batch with it had brought all documents: see Batch.Position.
	Position []byte

	// Bad is told of each document that cannot be indexed, in the order of the input: an
	// *InputError or a *DocumentError. If it returns nil the document is left out, otherwise
	// that error ends the build. The default is to end with the first.
	Bad func(err error) error

	// Progress is called again and again, by one goroutine, and should be quick.
	Progress func(BuildProgress)

	private privateBuild // knobs for tests
}

type privateBuild struct {
	blockBytes int
	runBytes   int64                    // MemoryBytes, below its least
	sorter     accelerator.SorterFinder // instead of a GPU
	trees      bool                     // have a GPU find terms by B-trees
}

// BuildProgress says how far a build is.
type BuildProgress struct {
	Docs       int   // documents taken so far
	Bad        int   // documents left out
	TextBytes  int64 // of strings in them that are indexed or stored
	InputBytes int64 // read so far, as compressed as it came; 0 where a source cannot tell
	Segments   int   // written so far
}

// BuildResult says what a build has made.
type BuildResult struct {
	BuildProgress
	Replaced     int    // documents whose id came again later: they are gone
	WrittenBytes uint64 // to disk; over the size of the index this is the write amplification
	Times        BuildTimes
	GPU          bool   // a GPU was there, as BuildOptions.GPU has asked
	NoGPU        string // why it was not, or was given up; nothing is lost by that
}

// DefaultBuildMemory is the default of BuildOptions.MemoryBytes.
const DefaultBuildMemory = 256 << 20

func (o *BuildOptions) withDefaults() (BuildOptions, error) {
	var d BuildOptions
	if o != nil {
		d = *o
	}
	if d.Workers == 0 {
		d.Workers = runtime.GOMAXPROCS(0)
	}
	if d.MemoryBytes == 0 {
		d.MemoryBytes = DefaultBuildMemory
	}
	if d.private.blockBytes == 0 {
		d.private.blockBytes = bulk.BlockBytes
	}
	if d.private.runBytes == 0 {
		d.private.runBytes = d.MemoryBytes
	}
	if d.Bad == nil {
		d.Bad = func(err error) error { return err }
	}
	if d.Progress == nil {
		d.Progress = func(BuildProgress) {}
	}
	switch {
	case d.Workers < 1:
		return d, fmt.Errorf("riffle: BuildOptions.Workers: must be at least 1, not %d", d.Workers)
	case d.MemoryBytes < 1<<20:
		return d, fmt.Errorf("riffle: BuildOptions.MemoryBytes: must be at least 1 MiB, not %d", d.MemoryBytes)
	case d.Index.ReadOnly:
		return d, errors.New("riffle: BuildOptions.Index.ReadOnly: an index cannot be built read-only")
	}
	if err := document.CheckPosition(string(d.Position)); err != nil {
		return d, err
	}
	if d.GPU != nil {
		if err := d.GPU.validate(); err != nil {
			return d, err
		}
	}
	return d, d.Index.Validate()
}

// Build makes a new index in dir of all documents of a source, several times as fast as
// Apply would: nothing is logged, for a build that was interrupted is simply started
// over. Until it has ended well the directory is no index: Open returns ErrUnfinished,
// and only another Build makes something of it. When Build returns nil, the index is
// complete, synced and closed.
//
// Of several documents with one id the last stays, as with Apply. Documents lie in the
// order of the source, whatever the number of workers: the same source gives the
// same index.
//
// Errors are those of Open, those of the source, what BuildOptions.Bad returned, ctx.Err(), and
// fs.ErrExist if the directory holds an index that has documents. Before the first
// document nothing is made. More indexed fields than BuildOptions.Index.MaxFields allows end the build
// with a *DocumentError, which BuildOptions.Bad is not asked about.
//
// Package internal/bulk says how. With BuildOptions.GPU a GPU takes the place of indexers.
func Build(ctx context.Context, dir string, source Source, opts *BuildOptions) (*BuildResult, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if lines, ok := source.(JSONLines); ok && lines.Readers < 0 {
		return nil, fmt.Errorf("riffle: JSONLines.Readers: must not be negative, not %d", lines.Readers)
	}
	r, err := bulk.Build(ctx, dir, bulkSource(ctx, source), o.bulk())
	if err != nil {
		return nil, err
	}
	return newBuildResult(r), nil
}

func newBuildResult(r *bulk.Result) *BuildResult {
	return &BuildResult{
		BuildProgress: BuildProgress(r.Progress), Replaced: r.Replaced, WrittenBytes: r.WrittenBytes, Times: BuildTimes(r.Times), GPU: r.GPU, NoGPU: r.NoGPU,
	}
}

// bulk returns the options as package bulk wants them. It is for options with their defaults.
func (o *BuildOptions) bulk() bulk.Options {
	index := o.Index.withDefaults()
	text := index.live().Text
	index.Merge.Disabled, index.private.building = true, true
	if o.Index.Merge.Workers == 0 {
		index.Merge.Workers = o.Workers
	}
	b := bulk.Options{
		Index: index.live(), Workers: o.Workers, MemoryBytes: o.private.runBytes, BlockBytes: o.private.blockBytes, OneSegment: o.OneSegment, Position: string(o.Position),
		Bad: o.Bad, Progress: func(p bulk.Progress) { o.Progress(BuildProgress(p)) },
	}
	b.Index.Text = text
	if g := o.GPU; g != nil {
		b.GPU = &bulk.GPU{Device: g.Device, Required: g.Required, MemoryBytes: g.MemoryBytes, Share: g.Share, Trees: o.private.trees, Find: o.private.sorter}
		if g.Share == 0 {
			b.GPU.Share = 1
		}
		if b.GPU.Find == nil {
			b.GPU.Find = findSorter
		}
		b.GPU.Failed = func(err error) {
			o.Index.Listener.gpuFailed(GPUEvent{Device: g.Device, Lost: true, Err: err})
		}
	}
	return b
}

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

// BuildTimes say where a build has spent its time, by the clock of the goroutine that takes documents in order. While it
// waits, and while it does anything else, others read, decompress and analyse.
type BuildTimes struct {
	Wait  time.Duration // for documents to be analysed
	Index time.Duration // adding them to the dictionary, by all indexers
	GPU   time.Duration // waiting for the GPU: until it is opened, and for its results, copies included
	Write time.Duration // sorting terms, encoding, tables and commits, by all workers; waiting for room in tables of stored documents
}
