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
	"github.com/riffle-search/riffle/store"
)

// Apply carries out a batch of operations, all of them or none, and moves the index to the batch's
// position, unless that is empty. When it returns nil, the batch is durable (Options.Sync) and
// every later view has it. No view has a part of a batch, or a batch without those logged before
// it. The operations must not be changed until Apply returns.
//
// For each document that cannot be indexed there is a *document.Error, and the batch is not
// applied. It is not applied either when ctx ends before the batch is in the log. When ctx ends
// later the error matches ErrPending as well.
func (ix *Index) Apply(ctx context.Context, ops []document.Operation, position string) error {
	p, told, err := ix.begin(ctx, ops, position)
	if p == nil {
		return err
	}
	defer ix.endApply()
	return told(ix.finish(ctx, p))
}

// begin is Apply up to the log. It returns nil if there is nothing to do, or an error. Otherwise the
// caller finishes the batch, passes the outcome to told, and calls endApply.
func (ix *Index) begin(ctx context.Context, ops []document.Operation, position string) (p *pendingBatch, told func(error) error, err error) {
	start := time.Now()
	if ix.opts.Store.ReadOnly {
		return nil, nil, ErrReadOnly
	}
	if err := ix.Begin(); err != nil {
		return nil, nil, err
	}
	ix.applying.Add(1)
	defer func() {
		if p == nil {
			ix.endApply()
		}
	}()
	if err := ctx.Err(); err != nil || len(ops) == 0 && position == "" {
		return nil, nil, err
	}
	p, err = ix.prepare(ctx, ops, position)
	if err != nil {
		return nil, nil, err
	}
	puts, updates := p.puts, countUpdates(p.ops)
	if err = ix.locate(ctx, p); err == nil {
		err = ix.log(ctx, p)
	}
	if err != nil {
		ix.withdraw(p)
		return nil, nil, err
	}
	return p, func(err error) error {
		if told := ix.opts.Applied; told != nil && err == nil {
			told(Applied{Puts: puts, Updates: updates, Deletes: len(ops) - puts - updates, Duration: time.Since(start)})
		}
		return err
	}, nil
}

func (ix *Index) endApply() {
	ix.applying.Add(-1)
	ix.End()
}

// A Submitted is a batch that is in the log.
type Submitted struct {
	done chan struct{}
	err  error // readable after done
}

// Submit is Apply that does not wait for the batch to become durable and visible, once it has its
// place in the log. The operations may be changed then. Whatever the caller does, the batch goes on.
func (ix *Index) Submit(ctx context.Context, ops []document.Operation, position string) (*Submitted, error) {
	s := &Submitted{done: make(chan struct{})}
	p, told, err := ix.begin(ctx, ops, position)
	if p == nil {
		close(s.done)
		return s, err
	}
	ix.leave(p)
	go func() {
		defer ix.endApply()
		defer close(s.done)
		s.err = told(ix.finish(context.Background(), p))
	}()
	return s, nil
}

// Wait waits until the batch is durable and visible, or has failed. When ctx ends before, the error
// matches ErrPending.
func (s *Submitted) Wait(ctx context.Context) error {
	select {
	case <-s.done:
		return s.err
	default:
	}
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrPending, ctx.Err())
	}
}

// prepare admits the documents of a batch, analyses them, and takes their fields. Meanwhile it
// compresses the batch for the log. The batch is not yet visible.
func (ix *Index) prepare(ctx context.Context, ops []document.Operation, position string) (*pendingBatch, error) {
	if err := document.CheckPosition(position); err != nil {
		return nil, err
	}
	puts := 0
	for i := range ops {
		if ops[i].IsPut() {
			puts++
		}
	}
	if err := ix.admit(puts); err != nil {
		return nil, err
	}
	packed := ix.pack(ops, position)
	chunks, err := ix.invertAll(ctx, ops)
	var updates [][]document.FieldUpdate
	if err == nil {
		updates, err = ix.fieldUpdates(ops, false)
	}
	records, cuts, packErr := packed()
	if err == nil {
		err = packErr
	}
	if err == nil {
		err = ix.fields.TakeChunks(chunks)
	}
	if err != nil {
		ix.coming.Add(-int64(puts))
		return nil, err
	}
	p := ix.newPending(ops, chunks, puts, records)
	p.position, p.updates, p.versions.cuts = position, updates, cuts
	return p, nil
}

// pack begins to prepare a batch for the log, and returns a function that waits for the result: the
// records, and which operations begin them (document.EncodeRecords). A small batch is packed by that
// function itself.
func (ix *Index) pack(ops []document.Operation, position string) (wait func() (*store.LogBatch, []int, error)) {
	pack := func() (*store.LogBatch, []int, error) {
		buf := ix.records.Get().(*[]byte)
		defer ix.records.Put(buf)
		var records [][]byte
		var cuts []int
		records, cuts, *buf = document.EncodeRecords(*buf, ops, position)
		batch, err := store.PackLog(records)
		if cap(*buf) > maxKeptRecords {
			*buf = nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("riffle: apply: %w", err)
		}
		return batch, cuts, nil
	}
	if len(ops) <= invertChunk || runtime.GOMAXPROCS(0) == 1 {
		return pack
	}
	var batch *store.LogBatch
	var cuts []int
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		batch, cuts, err = pack()
	}()
	return func() (*store.LogBatch, []int, error) {
		<-done
		return batch, cuts, err
	}
}

// maxKeptRecords is the most memory for records that the next batch finds.
const maxKeptRecords = 8 << 20

// Validate returns an error for each document and each update of a batch that Apply would refuse, as
// far as document.Inverter.Check can tell. It changes nothing, and does not look at versions.
func (ix *Index) Validate(ctx context.Context, ops []document.Operation) error {
	if err := ix.Begin(); err != nil {
		return err
	}
	defer ix.End()
	iv := ix.inverters.Get().(*document.Inverter)
	defer ix.inverters.Put(iv)
	updates := document.NewUpdateReader(ix.schema, ix.opts.RankField, false)
	var errs []error
	for i := range ops {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		switch op := &ops[i]; {
		case op.Update:
			_, err = updates.FieldUpdates(op)
		case op.IsPut():
			err = iv.Check(op.ID, op.Values)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// admit counts the new documents of a batch. It refuses them if the index could not number them,
// because then no search could be answered. They count as coming until a view has them, or their
// batch has failed.
func (ix *Index) admit(docs int) error {
	if docs == 0 {
		return nil
	}
	coming := ix.coming.Add(int64(docs)) // before reading current: documents that stop coming by then are in that view
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

// insert carries out operations in memory. chunks are the inverted documents of the Put operations,
// whose fields are held; found are the documents of sealed segments that operations replace, delete
// or update; changes are what the updates do. It cannot fail. The caller holds ix.mu, or is alone.
func (ix *Index) insert(ops []document.Operation, chunks []*segment.Chunk, found []place, changes [][]document.FieldUpdate, versions batchVersions) {
	m := ix.memory
	next := m.memory.Docs()
	for _, c := range chunks {
		ix.fields.Enter(c, m.memory)
		m.memory.AddChunk(c)
		c.Reset()
		ix.chunks.Put(c)
	}
	begin := next
	same := next // from here on the documents have the version of the last one
	var version uint64
	var batch map[string]uint32 // the document so far of each id in the batch, or segment.NoDoc after a deletion
	if len(ops) > 1 {
		batch = make(map[string]uint32, len(ops))
	}
	sealed, gone := found, found[:0]
	var updating updating
	if changes != nil {
		gone = nil
		updating.begin(len(ops), sealed)
	}
	for _, p := range sealed {
		if !ops[p.op].Update {
			gone = append(gone, p)
		}
	}
	for i := range ops {
		id := ops[i].ID
		doc, ok := batch[id]
		if ops[i].Update {
			at := place{m, doc, i}
			if !ok {
				at, ok = ix.placeBefore(id, i, begin, &updating)
			}
			if ok && at.doc != segment.NoDoc {
				updating.add(at, changes[i], versions.of(i))
			}
			continue
		}
		for n := len(ix.segments) - 2; n >= 0 && ix.segments[n].memory != nil; n-- { // being sealed
			if doc, ok := ix.segments[n].memory.Lookup(id); ok && !ix.segments[n].deleted.contains(doc) {
				gone = append(gone, place{ix.segments[n], doc, i})
			}
		}
		if !ok { // LookupBelow steps back over the batch's own documents of the id
			doc, ok = m.memory.LookupBelow(id, begin)
		}
		if ok && doc != segment.NoDoc {
			gone = append(gone, place{m, doc, i})
		}
		after := uint32(segment.NoDoc)
		if !ops[i].Delete {
			if n := versions.of(i); n != version {
				m.memory.AddVersions(same, next, version)
				same, version = next, n
			}
			after = next
			next++
		}
		if batch != nil {
			batch[id] = after
		}
	}
	m.memory.AddVersions(same, next, version)
	updating.end()
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

// invertAll analyses the documents of the Put operations, on all cores if there are many. The
// chunks keep the order of the operations.
func (ix *Index) invertAll(ctx context.Context, ops []document.Operation) ([]*segment.Chunk, error) {
	puts := make([]*document.Operation, 0, len(ops))
	for i := range ops {
		if ops[i].IsPut() {
			puts = append(puts, &ops[i])
		}
	}
	cores := max(1, runtime.GOMAXPROCS(0)+1-int(ix.applying.Load())) // without those that other batches use
	workers := min(cores, maxInvertWorkers, (len(puts)+invertChunk-1)/invertChunk)
	per := invertChunk
	if workers > 0 {
		per = max(invertChunk, min(maxInvertChunk, (len(puts)+workers-1)/workers))
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
				if at%yieldDocs == 0 {
					runtime.Gosched()
				}
			}
			c.Group(segment.OnePartition())
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

// The documents of one chunk, some 10 µs each. The minimum makes a chunk worth a goroutine; the
// maximum keeps its table of terms within the second-level cache. Chunks enter memory one after the
// other, and a term that several have is looked up for each. That takes longer than inverting them,
// so there are no more of them than a few cores can invert.
const (
	invertChunk      = 8
	maxInvertChunk   = 1024
	maxInvertWorkers = 4
)

// yieldDocs is after how many documents Apply lets searches have its core. Otherwise they would
// wait for the 10 ms of the scheduler's time slice.
const yieldDocs = 4
