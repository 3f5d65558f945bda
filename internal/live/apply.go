package live

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/segment"
)

// Apply carries out a batch of operations, all of them or none, and moves the index to the batch's position,
// unless that is empty. When it returns nil, the batch is durable
// (Options.Sync) and every view that is taken from then on has it. No view has a part of a batch, nor one
// without another that was logged before it. The operations must not be changed until Apply returns.
//
// A document that cannot be indexed gives a *document.Error for each. Nothing has happened either when ctx
// ends before the batch is in the log. When it ends later the error matches ErrPending as well.
func (ix *Index) Apply(ctx context.Context, ops []document.Operation, position string) error {
	start := time.Now()
	if ix.opts.Store.ReadOnly {
		return ErrReadOnly
	}
	if err := ix.Begin(); err != nil {
		return err
	}
	defer ix.End()
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(ops) == 0 && position == "" {
		return nil
	}
	p, err := ix.prepare(ctx, ops, position)
	if err != nil {
		return err
	}
	puts := p.puts
	if err = ix.locate(ctx, p); err == nil {
		err = ix.log(ctx, p)
	}
	if err != nil {
		ix.withdraw(p)
		return err
	}
	if err := ix.finish(ctx, p); err != nil {
		return err
	}
	if told := ix.opts.Applied; told != nil {
		told(Applied{Puts: puts, Deletes: len(ops) - puts, Duration: time.Since(start)})
	}
	return nil
}

// prepare admits the documents of a batch, analyses them, and takes their fields. Nobody sees the batch yet.
func (ix *Index) prepare(ctx context.Context, ops []document.Operation, position string) (*pendingBatch, error) {
	if err := document.CheckPosition(position); err != nil {
		return nil, err
	}
	puts := 0
	for i := range ops {
		if !ops[i].Delete {
			puts++
		}
	}
	if err := ix.admit(puts); err != nil {
		return nil, err
	}
	chunks, err := ix.invertAll(ctx, ops)
	if err == nil {
		err = ix.fields.TakeChunks(chunks)
	}
	if err != nil {
		ix.coming.Add(-int64(puts))
		return nil, err
	}
	p := ix.newPending(ops, chunks, puts)
	p.position = position
	return p, nil
}

// admit counts documents that are to come, or refuses them when the index could not number them: no search
// could be answered then. They count as coming until a view has them, or their batch has come to nothing.
func (ix *Index) admit(docs int) error {
	if docs == 0 {
		return nil
	}
	coming := ix.coming.Add(int64(docs)) // before current is read: what stops coming is in view by then
	v := ix.current.Load()
	if uint64(v.docs)+uint64(coming) <= ix.opts.MaxDocs {
		return nil
	}
	ix.coming.Add(-int64(docs))
	others := ""
	if n := coming - int64(docs); n > 0 {
		others = fmt.Sprintf(" and the %d of other batches", n)
	}
	return fmt.Errorf("riffle: apply: %d documents more than the %d there are (%d of them deleted)%s exceed the limit of %d; Compact drops deleted ones",
		docs, v.docs, uint64(v.docs)-v.live, others, ix.opts.MaxDocs)
}

// insert carries out operations in memory: chunks are the inverted documents of
// the Put operations, whose fields are held, gone what they replace in sealed segments. It cannot
// fail. The caller holds ix.mu, or is alone.
func (ix *Index) insert(ops []document.Operation, chunks []*segment.Chunk, gone []place) {
	m := ix.memory
	next := m.memory.Docs()
	for _, c := range chunks {
		ix.fields.Enter(c, m.memory)
		m.memory.AddChunk(c)
		c.Reset()
		ix.chunks.Put(c)
	}
	begin := next
	var batch map[string]uint32 // the last document of an id so far, of those of the batch
	if len(ops) > 1 {
		batch = make(map[string]uint32, len(ops))
	}
	for i := range ops {
		id := ops[i].ID
		for n := len(ix.segments) - 2; n >= 0 && ix.segments[n].memory != nil; n-- { // being sealed
			if doc, ok := ix.segments[n].memory.Lookup(id); ok && !ix.segments[n].deleted.contains(doc) {
				gone = append(gone, place{ix.segments[n], doc})
			}
		}
		doc, ok := batch[id]
		if !ok { // Memory steps back over all documents of the id that the batch has
			doc, ok = m.memory.LookupBelow(id, begin)
		}
		if ok {
			gone = append(gone, place{m, doc})
		}
		if !ops[i].Delete {
			if batch != nil {
				batch[id] = next
			}
			next++
		}
	}
	for len(gone) > 0 { // a segment at a time
		s, rest := gone[0].s, gone[:0]
		docs := make([]uint32, 0, len(gone))
		for _, p := range gone {
			if p.s == s {
				docs = append(docs, p.doc)
			} else {
				rest = append(rest, p)
			}
		}
		s.deleted = s.deleted.with(docs)
		gone = rest
	}
}

// invertAll analyses the documents of the Put operations, on all cores when there
// are many. The chunks have them in the order of the operations.
func (ix *Index) invertAll(ctx context.Context, ops []document.Operation) ([]*segment.Chunk, error) {
	puts := make([]*document.Operation, 0, len(ops))
	for i := range ops {
		if !ops[i].Delete {
			puts = append(puts, &ops[i])
		}
	}
	workers := min(runtime.GOMAXPROCS(0), (len(puts)+invertChunk-1)/invertChunk)
	per := invertChunk
	if workers > 0 { // two chunks for each, lest one has to wait for the others
		per = max(invertChunk, min(maxInvertChunk, (len(puts)+2*workers-1)/(2*workers)))
	}
	chunks := make([]*segment.Chunk, (len(puts)+per-1)/per)
	errs := make([]error, len(puts))
	var next atomic.Int64
	run := func() {
		iv := ix.inverters.Get().(*document.Inverter)
		defer ix.inverters.Put(iv)
		for {
			i := int(next.Add(1)) - 1
			if i >= len(chunks) || ctx.Err() != nil {
				return
			}
			c := ix.chunks.Get().(*segment.Chunk)
			for at := i * per; at < min((i+1)*per, len(puts)); at++ {
				errs[at] = iv.Invert(c, puts[at].ID, puts[at].Values)
			}
			c.Group(segment.OnePartition)
			chunks[i] = c
		}
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(run)
	}
	run()
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return chunks, errors.Join(errs...)
}

// A worker takes a chunk at once: of at least so many documents, some 10 µs each, and of
// at most so many, lest its table of terms outgrow the second-level cache.
const (
	invertChunk    = 8
	maxInvertChunk = 1024
)
