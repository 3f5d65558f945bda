package riffle

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/live"
	"github.com/riffle-search/riffle/segment"
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
	// documents other than ByArrival (Index.Merge.Order) does so too.
	OneSegment bool

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
		d.private.blockBytes = buildBlockBytes
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
	if d.GPU != nil {
		if err := d.GPU.validate(); err != nil {
			return d, err
		}
	}
	return d, d.Index.Validate()
}

// buildBlockBytes is how much input a worker takes at once. Its table of terms stays near the
// second-level cache, and a term has some ten postings in it: a lookup in the whole dictionary,
// which lies in no cache, for each ten.
const buildBlockBytes = 2 << 20

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
// # How
//
// It is the pipeline of Wei 2011: one goroutine reads and decompresses; workers decode,
// analyse and invert a block of documents each, and group the terms by partitions of the
// dictionary; indexers own some partitions each and gather postings without locks. A
// sample of the first block decides which partitions are worth how much. What exceeds
// the memory becomes a segment, encoded by all workers. Stored documents are written meanwhile, and
// compressed by as many goroutines as that takes. With BuildOptions.GPU a GPU takes
// the place of indexers.
func Build(ctx context.Context, dir string, source Source, opts *BuildOptions) (*BuildResult, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &builder{dir: dir, source: source, opts: o, fields: document.NewFields(o.Index.withDefaults().MaxFields)}
	b.ctx, b.cancel = context.WithCancel(ctx)
	defer b.cancel()
	if err := b.run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	return &b.result, nil
}

// A builder is one build under way.
type builder struct {
	ctx    context.Context
	cancel context.CancelFunc
	dir    string
	source Source
	opts   BuildOptions
	result BuildResult

	schema *document.Schema
	fields *document.Fields // of all blocks taken so far
	index  *live.Index      // nil before the first document
	now    *buildRun        // nil between runs
	gpu    *buildGPU        // nil when none was asked for, or there is none
	noGPU  error            // it is required, and cannot be used

	parts   *segment.Partitions
	sampled chan struct{} // closed when parts is there

	free    chan *buildBlock // blocks that are not in use: no more than these are ever made
	inOrder chan *buildBlock // in the order of the source
	toParse chan *buildBlock
}

// A buildBlock is a run of documents on their way: as they came, then inverted.
type buildBlock struct {
	input  blockInput
	number int // from 0

	parsed    chan struct{} // gets a value when the fields below are there
	chunk     segment.Chunk
	textBytes int64
	faults    []error
}

// run takes the blocks in order.
func (b *builder) run() (err error) {
	b.schema = b.opts.Index.Schema.internal()
	if b.schema == nil {
		b.schema = new(document.Schema)
	}
	var work sync.WaitGroup
	defer func() {
		b.cancel()
		work.Wait()
		err = errors.Join(err, b.close(err))
	}()
	if err := b.findGPU(); err != nil {
		return err
	}
	b.start(&work)
	for {
		block, err := b.next()
		if err != nil {
			return err
		}
		if block == nil {
			return b.finish()
		}
		if err := b.take(block); err != nil {
			return err
		}
	}
}

// next waits for the next block to be parsed. It returns nil behind the last one.
func (b *builder) next() (block *buildBlock, err error) {
	err = b.timed(&b.result.Times.Wait, func() error {
		if block = <-b.inOrder; block != nil {
			<-block.parsed
		}
		return b.ctx.Err()
	})
	return block, err
}

// start sets reader and parsers to work. They end with b.ctx, or behind the last block.
func (b *builder) start(work *sync.WaitGroup) {
	blocks := 2*b.opts.Workers + 2
	b.free = make(chan *buildBlock, blocks)
	b.inOrder, b.toParse = make(chan *buildBlock, blocks), make(chan *buildBlock, blocks)
	b.sampled = make(chan struct{})
	for range blocks {
		b.free <- &buildBlock{parsed: make(chan struct{}, 1)}
	}
	work.Go(func() {
		defer close(b.inOrder)
		defer close(b.toParse)
		number := 0
		b.source.read(b.ctx, b.opts.private.blockBytes, func(in *blockInput) bool {
			select {
			case block := <-b.free:
				block.input, *in = *in, block.input // the source gets old buffers back
				block.number = number
				number++
				b.inOrder <- block
				b.toParse <- block
				return true
			case <-b.ctx.Done():
				return false
			}
		})
	})
	for range b.opts.Workers {
		work.Go(func() {
			w := newBuildWorker(b.schema, &b.opts.Index)
			for block := range b.toParse {
				w.parse(b.ctx, block)
				b.group(block)
				block.parsed <- struct{}{}
			}
		})
	}
}

// group makes the chunk of a block ready for indexers. The first block is the sample by
// which partitions are made.
func (b *builder) group(block *buildBlock) {
	if block.number == 0 {
		b.parts = block.chunk.Sample()
		close(b.sampled)
	}
	<-b.sampled
	block.chunk.Group(b.parts)
}

// take adds a block that has been parsed to the run at hand.
func (b *builder) take(block *buildBlock) error {
	for _, fault := range block.faults {
		if err := b.opts.Bad(fault); err != nil {
			return err
		}
		b.result.Bad++
	}
	if err := block.input.err; err != nil {
		return err
	}
	b.result.Docs += int(block.chunk.Docs())
	b.result.TextBytes += block.textBytes
	b.result.InputBytes = block.input.read
	if block.chunk.Docs() == 0 {
		b.release(block)
		return nil
	}
	if uint64(b.result.Docs) > MaxDocs {
		return fmt.Errorf("riffle: build: more than %d documents", uint64(MaxDocs))
	}
	if err := b.fields.TakeChunks([]*segment.Chunk{&block.chunk}); err != nil {
		return err
	}
	if err := b.add(block); err != nil {
		return err
	}
	b.opts.Progress(b.result.BuildProgress)
	return nil
}

// release makes a block free for other documents.
func (b *builder) release(block *buildBlock) {
	block.chunk.Reset()
	clear(block.faults)
	block.faults, block.textBytes = block.faults[:0], 0
	b.free <- block
}
