package bulk

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/live"
	"github.com/riffle-search/riffle/segment"
)

// Build makes a new index in dir of all documents of a source. Until it has succeeded the directory
// is no index: live.Open refuses it unless Options.Building is set. When Build returns nil, the
// index is complete, synced and closed.
//
// Build returns the errors of live.Open and of the source, what Options.Bad returned, ctx.Err(),
// and fs.ErrExist if the directory holds an index that has documents. Before the first document it
// creates nothing.
func Build(ctx context.Context, dir string, source Source, o Options) (*Result, error) {
	b := &builder{dir: dir, source: source, opts: o, fields: document.NewFields(o.Index.MaxFields)}
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

// A builder is the state of a running build.
type builder struct {
	ctx    context.Context
	cancel context.CancelFunc
	dir    string
	source Source
	opts   Options
	result Result

	schema *document.Schema
	fields *document.Fields // of all blocks taken so far
	index  *live.Index      // nil before the first document
	now    *run             // nil between runs
	gpu    *gpuSorter       // nil if none was requested, or none exists
	noGPU  error            // set if a GPU is required and cannot be used

	parts   *segment.Partitions
	sampled chan struct{} // closed when parts is set

	free    chan *docBlock // unused blocks: no more than these are ever made
	inOrder chan *docBlock // in the order of the source
	toParse chan *docBlock
}

// A docBlock is a run of documents on their way: first as read, then inverted.
type docBlock struct {
	input  blockInput
	number int // from 0

	parsed    chan struct{} // receives a value when the fields below are set
	chunk     segment.Chunk
	textBytes int64
	faults    []error
}

// run takes the blocks in order.
func (b *builder) run() (err error) {
	b.schema = b.opts.Index.Schema.New()
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

// next waits for the next block to be parsed. It returns nil after the last one.
func (b *builder) next() (block *docBlock, err error) {
	err = b.timed(&b.result.Times.Wait, func() error {
		if block = <-b.inOrder; block != nil {
			<-block.parsed
		}
		return b.ctx.Err()
	})
	return block, err
}

// start starts the reader and the parsers. They end with b.ctx, or after the last block.
func (b *builder) start(work *sync.WaitGroup) {
	blocks := blocksFor(b.opts.Workers)
	b.free = make(chan *docBlock, blocks)
	b.inOrder, b.toParse = make(chan *docBlock, blocks), make(chan *docBlock, blocks)
	b.sampled = make(chan struct{})
	for range blocks {
		b.free <- &docBlock{parsed: make(chan struct{}, 1)}
	}
	work.Go(func() {
		defer close(b.inOrder)
		defer close(b.toParse)
		number := 0
		b.source.read(b.ctx, b.opts.BlockBytes, func(in *blockInput) bool {
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
			w := newWorker(b.schema, b.opts.Index)
			for block := range b.toParse {
				w.parse(b.ctx, block)
				b.group(block)
				block.parsed <- struct{}{}
			}
		})
	}
}

// group prepares the chunk of a block for indexers. The first block is the sample that determines
// the partitions.
func (b *builder) group(block *docBlock) {
	if block.number == 0 {
		b.parts = block.chunk.Sample()
		close(b.sampled)
	}
	<-b.sampled
	block.chunk.Group(b.parts)
}

// take adds a parsed block to the current run.
func (b *builder) take(block *docBlock) error {
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
	if uint64(b.result.Docs) > b.opts.Index.MaxDocs {
		return fmt.Errorf("riffle: build: more than %d documents", b.opts.Index.MaxDocs)
	}
	if err := b.fields.TakeChunks([]*segment.Chunk{&block.chunk}); err != nil {
		return err
	}
	if err := b.add(block); err != nil {
		return err
	}
	b.opts.Progress(b.result.Progress)
	return nil
}

// release frees a block for other documents.
func (b *builder) release(block *docBlock) {
	block.chunk.Reset()
	clear(block.faults)
	block.faults, block.textBytes = block.faults[:0], 0
	b.free <- block
}
