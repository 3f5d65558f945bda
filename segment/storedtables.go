package segment

import (
	"context"
	"runtime"
	"sync"
)

// defaultTableBytes is how many stored bytes fill a table. Tables are compressed concurrently, each
// by one goroutine. The bytes of the next tables wait in memory meanwhile: on average half a table
// for each additional table in progress. Smaller tables would make more files.
const defaultTableBytes = 16 << 20

// batchShare is the number of a merge's batches per table. Documents that do not fill a batch get
// no table.
const batchShare = 16

// storedTables writes blocks of stored documents, batch by batch, into separate tables: several at
// once, each compressed by its own goroutine. Where a table ends depends only on the preceding
// bytes, not on the number of goroutines. Batches are reused; batch waits while all are in use.
//
// A sink without tables gets the blocks at once.
type storedTables struct {
	ctx    context.Context // ends with the first error, which is its cause
	cancel context.CancelCauseFunc
	sink   Sink
	tables TableSink // the sink, if it has tables, or nil
	size   int       // fills a table
	cores  *Cores    // in which callers have a turn; or nil

	free    chan *storedBatch
	unmade  int                 // how many more batches may be made
	running chan struct{}       // one element for each table being written
	queue   chan<- *storedBatch // of the current table; nil before the first
	filled  int                 // bytes of the current table
	bytes   int64               // all keys and values
	wg      sync.WaitGroup
}

// A storedBatch is some blocks of stored documents.
type storedBatch struct {
	base   uint32 // added to the blocks' documents
	blocks []storedPiece
	bytes  []byte // of all blocks, sealed
}

// A storedPiece is a block of stored documents, sealed.
type storedPiece struct {
	last uint32 // its last document
	end  int    // its end in the bytes of the batch
}

// newStoredTables prepares for the given number of goroutines in all. At most half of them, and one
// more, compress at once: compression is less than half of the work, and a compressor takes some
// megabytes. Zeros mean runtime.GOMAXPROCS and defaultTableBytes.
func newStoredTables(ctx context.Context, sink Sink, workers, size int) *storedTables {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if size == 0 {
		size = defaultTableBytes
	}
	batches := 2*workers + 2
	t := &storedTables{sink: sink, size: size, free: make(chan *storedBatch, batches), unmade: batches, running: make(chan struct{}, 1+workers/2)}
	t.tables, _ = sink.(TableSink)
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	return t
}

// batch returns an empty batch.
func (t *storedTables) batch() (*storedBatch, error) {
	if err := context.Cause(t.ctx); err != nil {
		return nil, err
	}
	select {
	case b := <-t.free:
		return b, nil
	default:
	}
	if t.unmade > 0 {
		t.unmade--
		return new(storedBatch), nil
	}
	t.cores.give()
	defer t.cores.take()
	return <-t.free, nil
}

// add takes a batch, which is written by the time close returns.
func (t *storedTables) add(b *storedBatch) error {
	if t.tables == nil {
		return t.addHere(b)
	}
	t.bytes += b.size()
	if t.queue == nil || t.filled >= t.size {
		t.begin()
	}
	t.filled += len(b.bytes)
	t.queue <- b
	return context.Cause(t.ctx)
}

// addHere writes a batch to the sink itself.
func (t *storedTables) addHere(b *storedBatch) error {
	t.bytes += b.size()
	if t.ctx.Err() == nil {
		if err := b.writeTo(t.sink); err != nil {
			t.cancel(err)
		}
	}
	b.reset()
	t.free <- b
	return context.Cause(t.ctx)
}

// begin begins a table as soon as fewer than the maximum are being written.
func (t *storedTables) begin() {
	t.end()
	t.cores.give()
	t.running <- struct{}{}
	t.cores.take()
	table, queue := t.tables.Table(kindStored), make(chan *storedBatch, cap(t.free))
	t.queue = queue
	t.wg.Go(func() {
		for b := range queue {
			if t.ctx.Err() == nil {
				t.cores.take()
				if err := b.writeTo(table); err != nil {
					t.cancel(err)
				}
				t.cores.give()
			}
			b.reset()
			t.free <- b
		}
		if t.ctx.Err() == nil {
			if err := table.Finish(); err != nil {
				t.cancel(err)
			}
		}
		<-t.running
	})
}

// end ends the current table.
func (t *storedTables) end() {
	if t.queue != nil {
		close(t.queue)
	}
	t.queue, t.filled = nil, 0
}

// close waits until everything is written. It is called once.
func (t *storedTables) close() error {
	t.end()
	t.cores.give()
	t.wg.Wait()
	t.cores.take()
	err := context.Cause(t.ctx)
	t.cancel(nil)
	return err
}

// addEmpty writes blocks for documents [first, end), which have no stored bytes.
func (t *storedTables) addEmpty(first, end uint32) error {
	for first < end {
		b, err := t.batch()
		if err != nil {
			return err
		}
		for ; first < end && !t.fills(b); first += storedBlockDocs {
			w := storedWriter{lengths: make([]int, min(storedBlockDocs, end-first))}
			b.pack(&w, first+uint32(len(w.lengths))-1)
		}
		if err := t.add(b); err != nil {
			return err
		}
	}
	return nil
}

// fills reports whether a batch of a merge is large enough to pass on.
func (t *storedTables) fills(b *storedBatch) bool { return len(b.bytes) >= t.size/batchShare }

// pack adds the writer's block and empties the writer.
func (b *storedBatch) pack(w *storedWriter, last uint32) {
	start := len(b.bytes)
	b.bytes = endSealedAt(w.appendTo(append(b.bytes, Version)), start)
	b.blocks = append(b.blocks, storedPiece{last, len(b.bytes)})
}

// size is the number of bytes of keys and values.
func (b *storedBatch) size() int64 {
	return int64(len(b.bytes) + len(b.blocks)*len(numberKey(kindStored, 0)))
}

func (b *storedBatch) reset() { b.base, b.blocks, b.bytes = 0, b.blocks[:0], b.bytes[:0] }

// writeTo writes the blocks.
func (b *storedBatch) writeTo(sink Sink) error {
	start := 0
	for _, p := range b.blocks {
		if err := sink.Set(numberKey(kindStored, b.base+p.last), b.bytes[start:p.end]); err != nil {
			return err
		}
		start = p.end
	}
	return nil
}
