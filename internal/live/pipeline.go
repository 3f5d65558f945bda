package live

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// A batch goes through Apply in steps, and holds no lock while it waits for the disk:
//
//  1. prepare: documents become chunks, on some cores (invertAll), updates those of columns, and all
//     of it records for the log.
//  2. locate: the batch looks up in sealed segments which documents it replaces. From here on it is
//     registered, so that it learns of segments that are sealed or merged.
//  3. log: batches get their order and their place in the log, one at a time under Index.order. What
//     depends on the version of a document is checked there (checkVersions).
//  4. wait: the log becomes durable. Batches that wait together share one sync.
//  5. settle: in the order of the log, batches are inserted into memory and become visible.
//
// Steps 1 to 3 can be interrupted, and then nothing has happened. From step 4 on the batch
// continues even if the caller has left. Step 5 reads memory only, so it needs Index.mu for
// microseconds and cannot fail: moves translate what locate found in segments that have since been
// replaced.

// A pendingBatch is a batch between locate and settle. Index.mu guards all fields except those that
// say otherwise.
type pendingBatch struct {
	ops      []document.Operation
	position string                   // empty to leave the index's as it is
	chunks   []*segment.Chunk         // the inverted documents of the Put operations
	puts     int                      // number of new documents
	packed   *store.LogBatch          // the records, until the log takes them
	records  uint64                   // in the log
	versions batchVersions            // of its documents; the first one is known once it is in the log
	updates  [][]document.FieldUpdate // by operation; nil without updates
	found    []place                  // what the batch replaces in the segments that were sealed when locate began
	moves    []*move                  // since locate began, in order

	wait    func(context.Context) error // for the log; belongs to the waiting goroutine
	settled bool                        // the log has taken the batch, or has failed
	err     error                       // why the batch failed; readable after done
	done    chan struct{}               // gets a value when the batch is visible or has failed; one slot

	sealed []mergeInput // scratch of locate
}

// A move is the replacement of some segments by one, in a seal or a merge.
type move struct {
	inputs []mergeInput
	maps   [][]uint32   // for each input, the new number of each document, or segment.NoDoc
	live   *liveSegment // nil when no document was left
}

// A place is the document of a segment that an operation of a batch replaces, deletes or updates.
type place struct {
	s   *liveSegment
	doc uint32
	op  int // its number in the batch
}

// locate registers a batch and finds what it replaces in sealed segments.
func (ix *Index) locate(ctx context.Context, p *pendingBatch) (err error) {
	ix.mu.Lock()
	v := ix.retain() // it has the current segments, and keeps them readable
	ix.underWay = append(ix.underWay, p)
	ix.mu.Unlock()
	defer v.Unref()
	for i := range v.segs {
		if s := &v.segs[i]; s.home.disk != nil {
			p.sealed = append(p.sealed, mergeInput{s: s.home, deleted: s.deleted})
		}
	}
	p.found, err = findSealed(ctx, p.found, p.sealed, p.ops)
	return err
}

// findSealed finds the live documents of sealed segments that operations replace, delete or update, and
// appends them to found. An id has at most one.
func findSealed(ctx context.Context, found []place, sealed []mergeInput, ops []document.Operation) ([]place, error) {
	if len(sealed) == 0 {
		return found, nil
	}
	for i := range ops {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i%yieldDocs == yieldDocs-1 {
			runtime.Gosched()
		}
		for _, in := range slices.Backward(sealed) {
			doc, ok, err := in.s.disk.Lookup(ops[i].ID)
			if err != nil {
				return nil, in.s.at(err)
			}
			if ok && !in.deleted.contains(doc) {
				found = append(found, place{in.s, doc, i})
				break
			}
		}
	}
	return found, nil
}

// moved notifies pending batches that segments have been replaced. The caller holds ix.mu.
func (ix *Index) moved(inputs []mergeInput, maps [][]uint32, live *liveSegment) {
	if len(ix.underWay) == 0 {
		return
	}
	m := &move{inputs, maps, live}
	for _, p := range ix.underWay {
		p.moves = append(p.moves, m)
	}
}

// withdraw forgets a batch that has not been logged.
func (ix *Index) withdraw(p *pendingBatch) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.forget(p)
	ix.recycle(p.chunks)
	ix.coming.Add(-int64(p.puts))
}

// forget removes a batch from the list of pending ones. The caller holds ix.mu.
func (ix *Index) forget(p *pendingBatch) {
	last := len(ix.underWay) - 1
	ix.underWay[slices.Index(ix.underWay, p)] = ix.underWay[last]
	ix.underWay[last] = nil
	ix.underWay = ix.underWay[:last]
}

// log gives a batch its place in the log and in the queue.
func (ix *Index) log(ctx context.Context, p *pendingBatch) error {
	if err := ix.order.lock(ctx); err != nil {
		return err
	}
	defer ix.order.unlock()
	if err := ix.makeRoom(ctx); err != nil {
		return err
	}
	p.versions.first = versionOf(ix.logged + 1)
	if err := ix.checkVersions(ctx, p); err != nil {
		return err
	}
	wait, err := ix.store.Append(ix.logged+1, p.packed, ix.opts.Sync)
	if err != nil {
		return fmt.Errorf("riffle: apply: %w", err)
	}
	p.wait, p.packed = wait, nil
	ix.logged += p.records
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.queue = append(ix.queue, p)
	return nil
}

// makeRoom waits until the in-memory segment is below its budget, and the log below twice its own.
func (ix *Index) makeRoom(ctx context.Context) error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for {
		if ix.closed {
			return store.ErrClosed
		}
		if ix.hasRoom() {
			return nil
		}
		ix.startSeal()
		if ix.hasRoom() {
			return nil
		}
		if err := ix.awaitSeal(ctx); err != nil {
			return err
		}
	}
}

// hasRoom reports whether a batch may be logged. The caller holds ix.mu.
func (ix *Index) hasRoom() bool {
	return ix.growingBytes() < ix.opts.MemoryBytes && (ix.seq == ix.sealedSeq || ix.store.LogBytes() < 2*ix.opts.LogBytes)
}

// finish waits until a logged batch is visible. When ctx ends first, the batch continues without
// the caller.
func (ix *Index) finish(ctx context.Context, p *pendingBatch) error {
	err := p.wait(ctx)
	if err != nil && errors.Is(err, ctx.Err()) {
		ix.leave(p)
		ix.work.Go(func() { ix.settle(p, p.wait(context.Background())) })
		return fmt.Errorf("%w: %w", ErrPending, err)
	}
	ix.settle(p, err)
	select {
	case <-p.done:
		return ix.ended(p)
	default:
	}
	select {
	case <-p.done:
		return ix.ended(p)
	case <-ctx.Done():
		ix.leave(p)
		return fmt.Errorf("%w: %w", ErrPending, ctx.Err())
	}
}

// newPending returns a batch for locate.
func (ix *Index) newPending(ops []document.Operation, chunks []*segment.Chunk, puts int, packed *store.LogBatch) *pendingBatch {
	p, _ := ix.pending.Get().(*pendingBatch)
	if p == nil {
		p = &pendingBatch{done: make(chan struct{}, 1)}
	}
	p.ops, p.chunks, p.puts = ops, chunks, puts
	p.packed, p.records = packed, packed.Len()
	return p
}

// ended returns the error of a finished batch, and keeps its memory for the next.
func (ix *Index) ended(p *pendingBatch) error {
	err := p.err
	if cap(p.found) > maxKeptPlaces {
		p.found = nil
	}
	clear(p.found[:cap(p.found)]) // insert has appended to it
	clear(p.sealed)
	*p = pendingBatch{done: p.done, found: p.found[:0], sealed: p.sealed[:0]}
	ix.pending.Put(p)
	return err
}

// maxKeptPlaces is the largest number of places for which a finished batch keeps memory.
const maxKeptPlaces = 1 << 12

// leave makes a batch independent of the caller's Batch.
func (ix *Index) leave(p *pendingBatch) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	p.ops = slices.Clone(p.ops)
}

// settle records whether the log has taken a batch. It makes this batch and later ones visible, as
// far as the log has settled them. Once a batch has failed, all later ones fail: a crash would lose
// them with it.
func (ix *Index) settle(p *pendingBatch, err error) {
	ix.mu.Lock()
	sound := ix.logErr == nil
	p.settled, p.err = true, err
	ix.insertSettled()
	err = ix.logErr
	ix.mu.Unlock()
	if sound && err != nil { // callers that have left learn of it in no other way
		ix.opts.failed(err)
	}
}

// insertSettled finishes the batches at the head of the queue that the log has settled. The caller
// holds ix.mu.
func (ix *Index) insertSettled() {
	n, seq := 0, ix.seq
	for ; n < len(ix.queue) && ix.queue[n].settled; n++ {
		q := ix.queue[n]
		ix.forget(q)
		if ix.logErr == nil && q.err != nil {
			ix.logErr = fmt.Errorf("riffle: apply: %w", q.err)
		}
		if q.err = ix.logErr; q.err != nil {
			ix.recycle(q.chunks)
			continue
		}
		ix.insert(q.ops, q.chunks, q.replaced(), q.updates, q.versions)
		ix.seq += q.records
		ix.moveTo(q.position)
	}
	if ix.seq > seq {
		ix.publish()
		if ix.memoryFull() {
			ix.startSeal()
		}
	}
	for _, q := range ix.queue[:n] {
		ix.coming.Add(-int64(q.puts)) // a view has them
		q.done <- struct{}{}
	}
	ix.queue = slices.Delete(ix.queue, 0, n)
}

// replaced returns what the batch replaces in the current sealed segments. The caller holds
// Index.mu.
func (p *pendingBatch) replaced() []place {
	now := p.found
	for _, m := range p.moves {
		before := now
		now = make([]place, 0, len(before))
		for _, at := range before {
			if i := slices.IndexFunc(m.inputs, func(in mergeInput) bool { return in.s == at.s }); i >= 0 {
				now = m.add(now, i, at.doc, at.op)
			} else {
				now = append(now, at)
			}
		}
		for i, in := range m.inputs {
			if in.s.memory == nil {
				continue
			}
			for o := range p.ops { // locate did not look into memory
				if doc, ok := in.s.memory.Lookup(p.ops[o].ID); ok {
					now = m.add(now, i, doc, o)
				}
			}
		}
	}
	return slices.DeleteFunc(now, func(at place) bool { return at.s.deleted.contains(at.doc) })
}

// add appends the new place of a document of an input, if it still has one.
func (m *move) add(places []place, input int, doc uint32, op int) []place {
	if m.live == nil {
		return places
	}
	if doc = m.maps[input][doc]; doc == segment.NoDoc {
		return places
	}
	return append(places, place{m.live, doc, op})
}

// recycle returns the chunks of a failed batch to the pool.
func (ix *Index) recycle(chunks []*segment.Chunk) {
	ix.fields.DropChunks(chunks)
	for _, c := range chunks {
		c.Reset()
		ix.chunks.Put(c)
	}
}
