package riffle

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

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
// Options.Durability) and every search that begins from then on sees it. When a
// document cannot be indexed, Apply returns a *DocumentError for each and nothing
// of the batch happens. The same holds when ctx ends before the batch is logged;
// from then on ctx is not looked at.
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
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(b.ops) == 0 {
		return nil
	}
	docs, err := e.invertAll(ctx, b.ops)
	if err != nil {
		return err
	}
	wait, err := e.logAndInsert(ctx, b.ops, docs)
	if err != nil {
		return err
	}
	if err := wait(); err != nil {
		return fmt.Errorf("riffle: apply: %w", err)
	}
	if l := e.opts.Listener; l != nil && l.Applied != nil {
		ev := ApplyEvent{Puts: len(docs), Duration: time.Since(start)}
		ev.Deletes = len(b.ops) - ev.Puts
		l.Applied(ev)
	}
	return nil
}

// Sync makes every batch applied so far durable. It matters only with
// Options.Durability NoSync.
func (e *Engine) Sync() error {
	if e.opts.ReadOnly {
		return ErrReadOnly
	}
	return e.store.Sync()
}

// logAndInsert puts a batch in order: into the log, into memory, into view. The
// function it returns waits for the log to be durable.
func (e *Engine) logAndInsert(ctx context.Context, ops []operation, docs []segment.Document) (wait func() error, err error) {
	records := encodeRecords(ops)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.makeRoom(ctx); err != nil {
		return nil, err
	}
	gone, err := e.findReplaced(ops)
	if err != nil {
		return nil, err
	}
	wait, err = e.store.Append(e.seq+1, records, e.opts.Durability == SyncBatch)
	if err != nil {
		return nil, fmt.Errorf("riffle: apply: %w", err)
	}
	e.seq += uint64(len(records))
	e.insert(ops, docs, gone)
	e.publish()
	if e.memory.memory.Bytes() >= e.opts.MemoryBytes || e.logBytes >= logBytesPerMemory*e.opts.MemoryBytes {
		e.startSeal()
	}
	return wait, nil
}

// makeRoom waits until the in-memory segment is below its budget. The caller
// holds e.mu, which is released meanwhile.
func (e *Engine) makeRoom(ctx context.Context) error {
	for {
		if e.closed {
			return ErrClosed
		}
		if e.memory.memory.Bytes() < e.opts.MemoryBytes {
			return nil
		}
		e.startSeal()
		if e.memory.memory.Bytes() < e.opts.MemoryBytes {
			return nil
		}
		if err := e.awaitSeal(ctx); err != nil {
			return err
		}
	}
}

// A place is a document of a segment.
type place struct {
	s   *liveSegment
	doc uint32
}

// findReplaced finds the documents that operations replace or delete, in every
// segment but the one in memory, which insert looks into. The caller holds e.mu.
func (e *Engine) findReplaced(ops []operation) ([]place, error) {
	var gone []place
	var seen map[string]bool // an id that comes twice is found once
	if len(ops) > 1 {
		seen = make(map[string]bool, len(ops))
	}
	older := e.segments[:len(e.segments)-1]
	for i := range ops {
		id := ops[i].id
		if len(older) == 0 || seen[id] {
			continue
		}
		if seen != nil {
			seen[id] = true
		}
		for n := len(older) - 1; n >= 0; n-- {
			s := older[n]
			doc, ok, err := s.lookup(id)
			if err != nil {
				return nil, s.at(err)
			}
			if ok && !s.deleted.contains(doc) {
				gone = append(gone, place{s, doc})
				break
			}
		}
	}
	return gone, nil
}

func (s *liveSegment) lookup(id string) (uint32, bool, error) {
	if s.disk != nil {
		return s.disk.Lookup(id)
	}
	doc, ok := s.memory.Lookup(id)
	return doc, ok, nil
}

// insert carries out operations in memory: docs are the inverted documents of
// the Put operations, gone what they replace elsewhere. It cannot fail. The
// caller holds e.mu, or is alone.
func (e *Engine) insert(ops []operation, docs []segment.Document, gone []place) {
	m := e.memory
	for i := range ops {
		e.logBytes += int64(len(ops[i].id)) + 16
		if doc, ok := m.memory.Lookup(ops[i].id); ok {
			gone = append(gone, place{m, doc})
		}
		if !ops[i].del {
			m.memory.Add(docs[0])
			docs = docs[1:]
		}
	}
	bySegment := map[*liveSegment][]uint32{}
	for _, p := range gone {
		bySegment[p.s] = append(bySegment[p.s], p.doc)
	}
	for s, list := range bySegment {
		s.deleted = s.deleted.with(list)
	}
}

// invertAll analyses the documents of the Put operations, on all cores when there
// are many. The order of the result is that of the operations.
func (e *Engine) invertAll(ctx context.Context, ops []operation) ([]segment.Document, error) {
	puts := make([]operation, 0, len(ops))
	for _, op := range ops {
		if !op.del {
			puts = append(puts, op)
		}
	}
	docs := make([]segment.Document, len(puts))
	errs := make([]error, len(puts))
	var next atomic.Int64
	run := func() {
		iv := e.inverters.Get().(*inverter)
		defer e.inverters.Put(iv)
		for {
			// A few documents at a time, so that workers seldom meet.
			first := int(next.Add(invertChunk)) - invertChunk
			if first >= len(puts) || ctx.Err() != nil {
				return
			}
			for i := first; i < min(first+invertChunk, len(puts)); i++ {
				docs[i], errs[i] = iv.invert(puts[i])
			}
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (len(puts)+invertChunk-1)/invertChunk) - 1 {
		wg.Go(run)
	}
	run()
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return docs, errors.Join(errs...)
}

// invertChunk is how many documents a worker takes at once: some 10 µs each.
const invertChunk = 8
