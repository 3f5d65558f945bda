package bulk

import (
	"errors"
	"fmt"
	"time"

	"github.com/riffle-search/riffle/internal/live"
	"github.com/riffle-search/riffle/segment"
)

// A run is the documents in memory, and the segment that they become.
type run struct {
	bulk   *segment.Bulk
	writer *live.SegmentWriter
	stored *segment.StoredWriter // writes tables of writer in parallel
}

// add adds a block to the current run. It begins a run if there is none, and ends it when its
// memory is full.
func (b *builder) add(block *docBlock) error {
	if b.index == nil {
		if err := b.open(); err != nil {
			return err
		}
	}
	if b.now == nil {
		if err := b.begin(); err != nil {
			return err
		}
	}
	err := b.timed(&b.result.Times.Index, func() error {
		b.now.bulk.Add(&block.chunk)
		return b.noGPU
	})
	if err != nil {
		return err
	}
	if err := b.timed(&b.result.Times.Write, func() error { return b.now.stored.Write(&block.chunk) }); err != nil {
		return fmt.Errorf("riffle: build: %w", err)
	}
	b.release(block)
	if b.now.bulk.Full(b.opts.MemoryBytes) {
		return b.timed(&b.result.Times.Write, b.endRun)
	}
	return nil
}

// open creates the index, or recreates it. A mark says that it is unfinished; the write that
// creates a new index sets it.
func (b *builder) open() error {
	index, err := live.Open(b.dir, b.opts.Index)
	if err != nil {
		return err
	}
	b.index = index
	if err := index.StartBuild(b.ctx); err != nil {
		return fmt.Errorf("riffle: build %s: %w", b.dir, err)
	}
	return nil
}

// begin begins a run.
func (b *builder) begin() error {
	w, err := b.index.NewSegment()
	if err != nil {
		return fmt.Errorf("riffle: build: %w", err)
	}
	r := &run{
		bulk:   segment.NewBulk(b.parts, b.indexers()),
		writer: w,
		stored: segment.NewStoredWriter(b.ctx, w, segment.StoredOptions{Workers: b.opts.Workers, TableBytes: b.opts.Index.TableBytes}),
	}
	b.offload(r.bulk)
	b.now = r
	return nil
}

// indexers returns how many goroutines add a block to the dictionary: adding takes about a tenth of
// the time of parsing.
func (b *builder) indexers() int { return max(1, b.opts.Workers/4) }

// endRun writes the documents in memory as a segment. Meanwhile the last tables of stored documents
// are written.
func (b *builder) endRun() error {
	r, start := b.now, time.Now()
	r.stored.End()
	res, err := r.bulk.Write(b.ctx, r.writer, segment.BulkOptions{Codec: b.opts.Index.Codec, Workers: b.opts.Workers})
	if err == nil {
		err = b.noGPU
	}
	if err == nil {
		err = r.stored.Close()
	}
	if err == nil {
		err = r.writer.Finish()
	}
	if err == nil {
		err = b.index.AddBuilt(r.writer, res.Replaced)
	}
	if err != nil {
		return fmt.Errorf("riffle: build: %w", err)
	}
	b.now = nil
	b.result.Segments++
	b.result.Replaced += len(res.Replaced)
	if told := b.opts.Index.Sealed; told != nil {
		told(live.Sealed{Segment: r.writer.Number(), Docs: int(res.Docs), Bytes: int64(r.writer.Bytes()), Duration: time.Since(start)})
	}
	return nil
}

// finish completes the index: it writes the last run, deletes documents that later runs have
// replaced, and does the final merge. The mark is removed last.
func (b *builder) finish() error {
	if b.index == nil {
		if err := b.open(); err != nil {
			return err
		}
	}
	return b.timed(&b.result.Times.Write, b.complete)
}

// complete does that in an open index.
func (b *builder) complete() error {
	if b.now != nil {
		if err := b.endRun(); err != nil {
			return err
		}
	}
	replaced, err := b.index.ReplaceBuilt(b.ctx)
	if err != nil {
		return fmt.Errorf("riffle: build: %w", err)
	}
	b.result.Replaced += replaced
	if b.opts.OneSegment || b.opts.Index.Merge.Order.Kind != segment.Arrival {
		if b.result.Segments, err = b.index.MergeBuilt(b.ctx); err != nil {
			return err
		}
	}
	if err := b.index.FinishBuild(b.ctx, b.opts.Position); err != nil {
		return fmt.Errorf("riffle: build: %w", err)
	}
	b.opts.Progress(b.result.Progress)
	b.result.WrittenBytes, err = b.index.WrittenBytes()
	return err
}

// close releases what the build holds; failed is why it failed, or nil.
func (b *builder) close(failed error) error {
	var errs []error
	if r := b.now; r != nil {
		_ = r.stored.Close() // the segment is discarded, so its error does not matter
		_ = r.writer.Abort()
	}
	if b.index != nil {
		errs = append(errs, b.index.Close(func() error { return nil }))
	}
	errs = append(errs, b.gpu.close())
	if failed != nil {
		return nil // the more informative error
	}
	return errors.Join(errs...)
}
