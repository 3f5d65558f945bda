package segment

import (
	"context"
	"runtime"
	"sync"
)

// defaultTableBytes is how many stored bytes fill a table. Tables are compressed side by side, each in one piece: while
// one is, the bytes of the next ones wait in memory, on average half a table for each that is written beside the
// first. On the other hand an index has a file for each.
const defaultTableBytes = 16 << 20

// batchShare: a batch of a merge is one in so many parts of a table. What does not fill one does without a table.
const batchShare = 16

// storedTables writes blocks of stored documents, batch by batch, into tables of their own: several at once, a goroutine
// each, which compresses. Where a table ends depends on the bytes before alone, not on the number of goroutines.
// Batches are used again; who asks for one waits while all are on their way.
//
// A sink that has no tables gets the blocks at once.
type storedTables struct {
	ctx    context.Context // ends with the first error, which is its cause
	cancel context.CancelCauseFunc
	sink   Sink
	tables TableSink // the same, or nil
	size   int       // fills a table

	free    chan *storedBatch
	unmade  int                 // batches that may still be made
	running chan struct{}       // holds one for each table that is being written
	queue   chan<- *storedBatch // of the table at hand; nil before the first
	filled  int                 // bytes of the table at hand
	bytes   int64               // all keys and values
	wg      sync.WaitGroup
}

// A storedBatch is some blocks of stored documents.
type storedBatch struct {
	base   uint32 // what the blocks' documents count from
	blocks []storedPiece
	bytes  []byte // of all blocks, sealed
}

// A storedPiece is a block of stored documents, sealed.
type storedPiece struct {
	last uint32 // its last document
	end  int    // in the bytes of all
}

// newStoredTables prepares for so many goroutines in all. At most half of them compress at once, and one: it is less than
// half of the work to be done, and a compressor takes some megabytes. Zeros stand for runtime.GOMAXPROCS and defaultTableBytes.
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
	return <-t.free, nil
}

// add writes a batch, some time before close returns.
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

// begin begins a table, when there is one less than may be written at once.
func (t *storedTables) begin() {
	t.end()
	t.running <- struct{}{}
	table, queue := t.tables.Table(kindStored), make(chan *storedBatch, cap(t.free))
	t.queue = queue
	t.wg.Go(func() {
		for b := range queue {
			if t.ctx.Err() == nil {
				if err := b.writeTo(table); err != nil {
					t.cancel(err)
				}
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

// end ends the table at hand.
func (t *storedTables) end() {
	if t.queue != nil {
		close(t.queue)
	}
	t.queue, t.filled = nil, 0
}

// close waits until everything is written. It comes once.
func (t *storedTables) close() error {
	t.end()
	t.wg.Wait()
	err := context.Cause(t.ctx)
	t.cancel(nil)
	return err
}

// addEmpty writes the blocks of documents without stored bytes: from first to end-1.
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

// fills says whether a batch is large enough for a merge to hand it over.
func (t *storedTables) fills(b *storedBatch) bool { return len(b.bytes) >= t.size/batchShare }

// pack adds the block in the making, which it empties.
func (b *storedBatch) pack(w *storedWriter, last uint32) {
	start := len(b.bytes)
	b.bytes = endSealedAt(w.appendTo(append(b.bytes, Version)), start)
	b.blocks = append(b.blocks, storedPiece{last, len(b.bytes)})
}

// size is the bytes of keys and values.
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
