package riffle

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/segment"
)

// Put adds one document, or replaces the one that has this id; see Batch.Put.
func (e *Engine) Put(ctx context.Context, id string, doc any) error {
	var b Batch
	b.Put(id, doc)
	return e.Apply(ctx, &b)
}

// Delete removes one document, if it is there.
func (e *Engine) Delete(ctx context.Context, id string) error {
	var b Batch
	b.Delete(id)
	return e.Apply(ctx, &b)
}

// Apply carries out a batch. When it returns nil the batch is durable (see
// Options.Durability) and every search that begins from then on sees it. Searches never see a part
// of a batch, nor one before another that was logged first.
//
// When a document cannot be indexed, Apply returns a *DocumentError for each and nothing
// of the batch happens. Nothing happens either when ctx ends before the batch is in the log: the
// error is that of ctx. When ctx ends later the error matches ErrPending as well: the batch will
// be applied as if Apply had been waited for. After an error of the log itself no search sees the
// batch, but the next Open may find it.
//
// Apply waits when memory is full and the disk is behind.
func (e *Engine) Apply(ctx context.Context, b *Batch) error {
	start := time.Now()
	if e.opts.ReadOnly {
		return ErrReadOnly
	}
	if len(b.errs) > 0 {
		return errors.Join(b.errs...)
	}
	if err := e.begin(); err != nil {
		return err
	}
	defer e.calls.leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(b.ops) == 0 {
		return nil
	}
	if err := e.checkDocs(b.puts()); err != nil {
		return err
	}
	if err := e.apply(ctx, b.ops); err != nil {
		return err
	}
	if l := e.opts.Listener; l != nil && l.Applied != nil {
		ev := ApplyEvent{Puts: b.puts(), Duration: time.Since(start)}
		ev.Deletes = len(b.ops) - ev.Puts
		l.Applied(ev)
	}
	return nil
}

func (e *Engine) apply(ctx context.Context, ops []document.Operation) error {
	chunks, err := e.invertAll(ctx, ops)
	if err != nil {
		return err
	}
	if err := e.fields.TakeChunks(chunks); err != nil {
		return err
	}
	p := e.newPending(ops, chunks)
	if err = e.locate(ctx, p); err == nil {
		err = e.log(ctx, p)
	}
	if err != nil {
		e.withdraw(p)
		return err
	}
	return e.finish(ctx, p)
}

// Sync makes every batch applied so far durable. It matters only with
// Options.Durability NoSync.
func (e *Engine) Sync(ctx context.Context) error {
	if e.opts.ReadOnly {
		return ErrReadOnly
	}
	return e.apart(ctx, func(ctx context.Context) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return e.store.Sync(ctx)
	})
}

// insert carries out operations in memory: chunks are the inverted documents of
// the Put operations, whose fields are held, gone what they replace in sealed segments. It cannot
// fail. The caller holds e.mu, or is alone.
func (e *Engine) insert(ops []document.Operation, chunks []*segment.Chunk, gone []place) {
	m := e.memory
	next := m.memory.Docs()
	for _, c := range chunks {
		e.fields.Enter(c, m.memory)
		m.memory.AddChunk(c)
		c.Reset()
		e.chunks.Put(c)
	}
	begin := next
	var batch map[string]uint32 // the last document of an id so far, of those of the batch
	if len(ops) > 1 {
		batch = make(map[string]uint32, len(ops))
	}
	for i := range ops {
		id := ops[i].ID
		for n := len(e.segments) - 2; n >= 0 && e.segments[n].memory != nil; n-- { // being sealed
			if doc, ok := e.segments[n].memory.Lookup(id); ok && !e.segments[n].deleted.contains(doc) {
				gone = append(gone, place{e.segments[n], doc})
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
func (e *Engine) invertAll(ctx context.Context, ops []document.Operation) ([]*segment.Chunk, error) {
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
		iv := e.inverters.Get().(*document.Inverter)
		defer e.inverters.Put(iv)
		for {
			i := int(next.Add(1)) - 1
			if i >= len(chunks) || ctx.Err() != nil {
				return
			}
			c := e.chunks.Get().(*segment.Chunk)
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
