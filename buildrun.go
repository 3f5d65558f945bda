package riffle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// A buildRun is the documents that are in memory, and the segment that they become.
type buildRun struct {
	bulk   *segment.Bulk
	writer *store.SegmentWriter
	stored *segment.StoredWriter // writes tables of writer beside it
}

// add adds a block to the run at hand, which it begins if there is none, and ends when
// its memory is full.
func (b *builder) add(block *buildBlock) error {
	if b.engine == nil {
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
	if b.now.bulk.Full(b.opts.private.runBytes) {
		return b.timed(&b.result.Times.Write, b.endRun)
	}
	return nil
}

// open makes the index, or begins it anew. A mark says that it is unfinished; a new index
// has it from the write on that creates it.
func (b *builder) open() error {
	o := b.opts.Index
	o.Merge.Disabled = true
	o.GPU = nil // nobody searches yet
	if o.Merge.Workers == 0 {
		o.Merge.Workers = b.opts.Workers
	}
	o.private.building = true
	e, err := Open(b.dir, &o)
	if err != nil {
		return err
	}
	b.engine = e
	m := e.store.Manifest()
	mark, err := e.store.Meta(metaBuilding)
	if err != nil {
		return fmt.Errorf("riffle: build %s: %w", b.dir, err)
	}
	if len(mark) == 0 && (len(m.Segments) > 0 || e.seq > 0) {
		return fmt.Errorf("riffle: build %s: %w: an index that has documents", b.dir, fs.ErrExist)
	}
	edit := store.Edit{Meta: map[string][]byte{metaBuilding: []byte("1")}}
	for _, s := range m.Segments {
		edit.Drop = append(edit.Drop, s.Number)
	}
	m.Segments = nil
	edit.Manifest = &m
	if err := e.store.Commit(b.ctx, edit); err != nil {
		return fmt.Errorf("riffle: build %s: %w", b.dir, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.segments = []*liveSegment{e.memory}
	e.fields = document.NewFields(e.opts.MaxFields)
	e.publish()
	return nil
}

// begin begins a run.
func (b *builder) begin() error {
	w, err := b.engine.store.NewSegment()
	if err != nil {
		return fmt.Errorf("riffle: build: %w", err)
	}
	r := &buildRun{
		bulk:   segment.NewBulk(b.parts, b.indexers()),
		writer: w,
		stored: segment.NewStoredWriter(b.ctx, sink{w}, segment.StoredOptions{Workers: b.opts.Workers, TableBytes: b.opts.Index.private.tableBytes}),
	}
	b.offload(r.bulk)
	b.now = r
	return nil
}

// indexers is how many goroutines add a block to the dictionary: that takes about a
// tenth of what parsing takes.
func (b *builder) indexers() int { return max(1, b.opts.Workers/4) }

// endRun writes what is in memory as a segment. The last tables of stored documents are written meanwhile.
func (b *builder) endRun() error {
	r, start := b.now, time.Now()
	r.stored.End()
	res, err := r.bulk.Write(b.ctx, r.writer, segment.BulkOptions{Codec: kinds[b.engine.opts.Codec], Workers: b.opts.Workers})
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
		err = b.engine.commitBuilt(r.writer, res.Replaced)
	}
	if err != nil {
		return fmt.Errorf("riffle: build: %w", err)
	}
	b.now = nil
	b.result.Segments++
	b.result.Replaced += len(res.Replaced)
	if l := b.opts.Index.Listener; l != nil && l.Sealed != nil {
		l.Sealed(SealEvent{Segment: r.writer.Number(), Docs: int(res.Docs), Bytes: int64(r.writer.Bytes()), Duration: time.Since(start)})
	}
	return nil
}

// commitBuilt adds a finished segment behind the others.
func (e *Engine) commitBuilt(w *store.SegmentWriter, replaced []uint32) error {
	e.commitMu.Lock()
	defer e.commitMu.Unlock()
	m := e.store.Manifest()
	info := binary.AppendUvarint(nil, w.Bytes())
	m.Segments = append(m.Segments, store.Segment{Number: w.Number(), Info: info})
	edit := store.Edit{Manifest: &m, Ingest: []*store.SegmentWriter{w}}
	if len(replaced) > 0 {
		edit.Deletions = map[uint64][]byte{w.Number(): marshalDeletions((*deletions)(nil).with(replaced))}
	}
	if err := e.store.Commit(e.background, edit); err != nil {
		return err
	}
	live, err := e.openSegment(w.Number(), info)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	last := len(e.segments) - 1
	e.segments = append(e.segments[:last:last], live, e.memory)
	e.fields.Replace(nil, live.disk)
	e.publish()
	return nil
}

// finish makes the index whole: the last run, documents that later runs have replaced, the
// final merge. The mark goes last.
func (b *builder) finish() error {
	if b.engine == nil {
		if err := b.open(); err != nil {
			return err
		}
	}
	return b.timed(&b.result.Times.Write, b.complete)
}

// complete does so in an index that is open.
func (b *builder) complete() error {
	if b.now != nil {
		if err := b.endRun(); err != nil {
			return err
		}
	}
	e := b.engine
	if err := b.replaceAcross(); err != nil {
		return fmt.Errorf("riffle: build: %w", err)
	}
	if order := e.docOrder(); b.opts.OneSegment || order.Kind != segment.Arrival {
		if err := e.mergeAll(b.ctx); err != nil {
			return err
		}
		if err := e.dropUnused(); err != nil {
			return err
		}
		b.result.Segments = len(e.store.Manifest().Segments)
	}
	opened := b.opts.Index.withDefaults()
	opened.Schema = nil
	err := e.store.Commit(b.ctx, store.Edit{Meta: map[string][]byte{
		metaSchema: []byte(e.schema.String()), metaOptions: []byte(opened.String()), metaBuilding: nil,
	}})
	if err != nil {
		return fmt.Errorf("riffle: build: %w", err)
	}
	b.opts.Progress(b.result.BuildProgress)
	st, err := e.store.Stats()
	b.result.WrittenBytes = st.WrittenBytes
	return err
}

// replaceAcross deletes the documents whose id came again in a later run.
func (b *builder) replaceAcross() error {
	inputs := b.engine.sealed()
	if len(inputs) < 2 {
		return nil
	}
	var readers []segment.Reader
	for _, in := range inputs {
		readers = append(readers, in.s.disk)
	}
	gone, err := segment.Replaced(b.ctx, readers)
	if err != nil {
		return err
	}
	edit := store.Edit{Deletions: map[uint64][]byte{}}
	b.engine.mu.Lock()
	for i, in := range inputs {
		fresh := slices.DeleteFunc(gone[i], in.s.deleted.contains)
		if len(fresh) > 0 {
			b.result.Replaced += len(fresh)
			in.s.deleted = in.s.deleted.with(fresh)
			in.s.persisted = in.s.deleted
			edit.Deletions[in.s.number] = marshalDeletions(in.s.deleted)
		}
	}
	b.engine.publish()
	b.engine.mu.Unlock()
	return b.engine.store.Commit(b.ctx, edit)
}

// close ends what the build has begun; failed is why it did not end well, or nil.
func (b *builder) close(failed error) error {
	var errs []error
	if r := b.now; r != nil {
		_ = r.stored.Close() // what it has to say about a segment that goes does not matter
		_ = r.writer.Abort()
	}
	if b.engine != nil {
		errs = append(errs, b.engine.Close())
	}
	errs = append(errs, b.gpu.close())
	if failed != nil {
		return nil // it says more
	}
	return errors.Join(errs...)
}
