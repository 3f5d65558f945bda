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
	chunks, err := e.invertAll(ctx, b.ops)
	if err != nil {
		return err
	}
	if err := e.fields.takeChunks(chunks); err != nil {
		return err
	}
	wait, err := e.logAndInsert(ctx, b.ops, chunks)
	if err != nil {
		e.fields.dropChunks(chunks)
		return err
	}
	if err := wait(); err != nil {
		return fmt.Errorf("riffle: apply: %w", err)
	}
	if l := e.opts.Listener; l != nil && l.Applied != nil {
		ev := ApplyEvent{Puts: b.puts(), Duration: time.Since(start)}
		ev.Deletes = len(b.ops) - ev.Puts
		l.Applied(ev)
	}
	return nil
}

// Sync makes every batch applied so far durable. It matters only with
// Options.Durability NoSync.
func (e *Engine) Sync(ctx context.Context) error {
	if e.opts.ReadOnly {
		return ErrReadOnly
	}
	if err := e.begin(); err != nil {
		return err
	}
	defer e.calls.leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	return e.store.Sync()
}

// logAndInsert puts a batch in order: into the log, into memory, into view. The
// function it returns waits for the log to be durable.
func (e *Engine) logAndInsert(ctx context.Context, ops []operation, chunks []*segment.Chunk) (wait func() error, err error) {
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
	e.insert(ops, chunks, gone)
	e.publish()
	if e.memoryFull() {
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

// insert carries out operations in memory: chunks are the inverted documents of
// the Put operations, whose fields are held, gone what they replace elsewhere. It cannot fail. The
// caller holds e.mu, or is alone.
func (e *Engine) insert(ops []operation, chunks []*segment.Chunk, gone []place) {
	m := e.memory
	next := m.memory.Docs()
	for _, c := range chunks {
		e.fields.enter(c, m.memory)
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
		id := ops[i].id
		e.logBytes += int64(len(id)) + 16
		doc, ok := batch[id]
		if !ok { // Memory steps back over all documents of the id that the batch has
			doc, ok = m.memory.LookupBelow(id, begin)
		}
		if ok {
			gone = append(gone, place{m, doc})
		}
		if !ops[i].del {
			if batch != nil {
				batch[id] = next
			}
			next++
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
// are many. The chunks have them in the order of the operations.
func (e *Engine) invertAll(ctx context.Context, ops []operation) ([]*segment.Chunk, error) {
	puts := make([]*operation, 0, len(ops))
	for i := range ops {
		if !ops[i].del {
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
		iv := e.inverters.Get().(*inverter)
		defer e.inverters.Put(iv)
		for {
			i := int(next.Add(1)) - 1
			if i >= len(chunks) || ctx.Err() != nil {
				return
			}
			c := e.chunks.Get().(*segment.Chunk)
			for at := i * per; at < min((i+1)*per, len(puts)); at++ {
				errs[at] = iv.invert(c, puts[at].id, puts[at].values)
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
