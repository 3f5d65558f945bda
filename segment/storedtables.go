package segment

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/internal/onpair"
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
//
// With an encoder, blocks become runs of documents in codes, and their tables are plain. Sinks without
// tables have none.
type storedTables struct {
	ctx    context.Context // ends with the first error, which is its cause
	cancel context.CancelCauseFunc
	sink   Sink
	tables TableSink // the sink, if it has tables, or nil
	size   int       // fills a table
	cores  *Cores    // in which callers have a turn; or nil

	encoder *onpair.Encoder // nil if documents are not coded
	lengths []uint32        // documents of each run
	next    uint32          // the first document after the runs
	ended   bool            // the lengths are being written

	free    chan *storedBatch
	unmade  int                 // how many more batches may be made
	running chan struct{}       // one element for each table being written
	queue   chan<- *storedBatch // of the current table; nil before the first
	filled  int                 // bytes of the current table
	bytes   atomic.Int64        // all keys and values, once they are written
	wg      sync.WaitGroup
}

// A storedBatch is some blocks of stored documents.
type storedBatch struct {
	base   uint32 // added to the blocks' documents
	blocks []storedPiece
	bytes  []byte // of all blocks, sealed
	run    uint32 // number of the first block's run, if documents are coded
	ends   bool   // the lengths of runs and the table follow
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
	if t.encoder != nil {
		t.number(b)
	}
	if t.queue == nil || t.filled >= t.size {
		t.begin()
	}
	t.filled += len(b.bytes)
	t.queue <- b
	return context.Cause(t.ctx)
}

// addHere writes a batch to the sink itself.
func (t *storedTables) addHere(b *storedBatch) error {
	if t.ctx.Err() == nil {
		if err := t.write(b, t.sink, nil); err != nil {
			t.cancel(err)
		}
	}
	b.reset()
	t.free <- b
	return context.Cause(t.ctx)
}

// begin begins a table as soon as fewer than the maximum are being written.
func (t *storedTables) begin() {
	t.endTable()
	t.cores.give()
	t.running <- struct{}{}
	t.cores.take()
	kind, coder := kindStored, (*codedRunWriter)(nil)
	if t.encoder != nil {
		kind, coder = kindCoded, &codedRunWriter{encoder: t.encoder}
	}
	table, queue := t.tables.Table(kind), make(chan *storedBatch, cap(t.free))
	t.queue = queue
	t.wg.Go(func() {
		for b := range queue {
			if t.ctx.Err() == nil {
				t.cores.take()
				if err := t.write(b, table, coder); err != nil {
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

// end ends the last table, after the values that follow the runs of documents in codes. Further calls
// do nothing.
func (t *storedTables) end() error {
	if t.encoder == nil || t.ended || t.queue == nil {
		t.endTable()
		return nil
	}
	b, err := t.batch()
	if err != nil {
		return err
	}
	t.ended, b.ends = true, true
	t.queue <- b
	t.endTable()
	return context.Cause(t.ctx)
}

// endTable ends the current table.
func (t *storedTables) endTable() {
	if t.queue != nil {
		close(t.queue)
	}
	t.queue, t.filled = nil, 0
}

// close waits until everything is written. It is called once.
func (t *storedTables) close() error {
	t.endTable()
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

// number gives the blocks of a batch their runs.
func (t *storedTables) number(b *storedBatch) {
	b.run = uint32(len(t.lengths))
	for _, p := range b.blocks {
		end := b.base + p.last + 1
		t.lengths = append(t.lengths, end-t.next)
		t.next = end
	}
}

func (b *storedBatch) reset() { *b = storedBatch{blocks: b.blocks[:0], bytes: b.bytes[:0]} }

// write writes a batch, with a coder if documents are coded.
func (t *storedTables) write(b *storedBatch, sink Sink, coder *codedRunWriter) error {
	set := func(key, value []byte) error {
		t.bytes.Add(int64(len(key) + len(value)))
		return sink.Set(key, value)
	}
	start := 0
	for i, p := range b.blocks {
		last, value := b.base+p.last, b.bytes[start:p.end]
		start = p.end
		key := numberKey(kindStored, last)
		if coder != nil {
			block, err := decodeStored(value[1:len(value)-4], last)
			if err != nil {
				panic("BUG: segment: a block of stored documents: " + err.Error())
			}
			key, value = numberKey(kindCoded, b.run+uint32(i)), coder.run(block)
		}
		if err := set(key, value); err != nil {
			return err
		}
	}
	if !b.ends {
		return nil
	}
	lengths := endSealed(appendCodedLengths(startSealed(nil), t.lengths))
	if err := set(numberKey(kindCoded, codedLengths), lengths); err != nil {
		return err
	}
	table := endSealed(append(startSealed(nil), t.encoder.Table().Bytes()...))
	return set(numberKey(kindCoded, codedTable), table)
}
