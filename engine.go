package riffle

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// An Engine is an open index. Its methods are safe for concurrent use.
//
// Locks are taken in this order: mergeMu, commitMu, mu; and order, mu. Nothing waits for the disk
// under mu. Searches take none of them; they run on the current view.
type Engine struct {
	opts   Options // defaults filled in
	schema *document.Schema
	store  *store.Store
	lists  *cache.Lists
	tables cache.Tables
	fields *document.Fields
	pool   *cpuexec.Pool // helps with searches

	accelerator   accelerator.Accelerator // nil when the CPU is all there is
	noAccelerator error                   // why, with Options.GPU

	calls     gate                 // those that Close waits for
	current   atomic.Pointer[view] // never nil inside the gate
	inverters sync.Pool            // of *inverter
	preparers sync.Pool            // of *preparer
	chunks    sync.Pool            // of *segment.Chunk, empty
	pending   sync.Pool            // of *pendingBatch, empty

	mu        sync.Mutex
	closing   chan struct{}   // closed when Close has ended; nil before it is called
	closeErr  error           // what Close returned; set before closing is closed
	closed    bool            // no more background work begins
	segments  []*liveSegment  // sealed ones in order of arrival; then the one being sealed, if any; then memory
	memory    *liveSegment    // takes new documents
	memories  uint64          // segments in memory so far
	seq       uint64          // last log record whose operations are in segments
	underWay  []*pendingBatch // batches that may have looked into sealed segments, and are not inserted
	queue     []*pendingBatch // those of them that are logged, in order
	logErr    error           // why the log takes nothing more
	sealedSeq uint64          // last log record that the manifest covers
	seal      sealState

	order  ctxMutex // makes batches get into the log one at a time
	logged uint64   // last record given to the log; order guards it

	commitMu sync.Mutex   // makes manifest changes one at a time
	behind   *change      // in the manifest, but not in segments yet; guarded by commitMu
	mergeMu  sync.Mutex   // makes merges one at a time
	aside    failedMerges // guarded by mergeMu

	adoptPause, dropPause backoff // of the merger's goroutine

	background context.Context // ends with Close
	stop       context.CancelFunc
	work       sync.WaitGroup
	mergeKick  chan struct{} // wakes the merger; one slot

	dropMu sync.Mutex
	drops  []uint64               // segments that no view holds any more
	pinned map[*liveSegment]int64 // bytes of segments that have been replaced, and that views still hold

	pinnedBytes atomic.Int64 // of those in memory
}

// Names of the values kept in the store's meta space.
const (
	metaSchema   = "schema"
	metaOptions  = "options"    // what the index was opened with when the schema changed, for people to read
	metaPrices   = "gpu-prices" // what searches cost this machine, as dispatch.Model has learnt
	metaBuilding = "building"   // not empty while Build has not finished
)

// Open opens the index in a directory; unless Options.ReadOnly is set, a missing
// or empty directory becomes a new index. Nil options are the defaults.
//
// Documents that were acknowledged but not yet sealed are read back from the log,
// which takes about as long as analysing them did. Those that exceed
// Options.MemoryBytes are sealed on the way; with Options.ReadOnly, which forbids
// that, they all stay in memory.
//
// Errors match ErrLocked (at once, when another process or this one has the
// directory open), ErrFormat (also for a directory that holds other files and no index),
// ErrCorrupt, ErrUnfinished, or fs.ErrNotExist for a read-only open of nothing. An Open that
// fails because of what it finds changes nothing in the directory.
func Open(dir string, opts *Options) (*Engine, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	e := &Engine{opts: opts.withDefaults(), mergeKick: make(chan struct{}, 1), pinned: map[*liveSegment]int64{}}
	e.calls.idle = make(chan struct{})
	e.order = newCtxMutex()
	if n := e.opts.private.memoryBytes; n > 0 {
		e.opts.MemoryBytes = n
	}
	e.lists = cache.NewLists(e.opts.CacheBytes)
	e.fields = document.NewFields(e.opts.MaxFields)
	e.chunks.New = func() any { return new(segment.Chunk) }
	e.pool = cpuexec.NewPool(e.opts.Parallel.Workers, e.opts.Parallel.Spin)
	e.background, e.stop = context.WithCancel(context.Background())
	so := e.opts.private.store
	so.ReadOnly = e.opts.ReadOnly
	if l := e.opts.Listener; l != nil {
		so.Log = l.Log
		so.Failed = func(err error) {
			if e.begin() == nil { // Close waits, and nobody is told after it
				defer e.calls.leave()
				l.failed(fmt.Errorf("riffle: %w", err))
			}
		}
	}
	if e.opts.private.building {
		so.NewMeta = map[string][]byte{metaBuilding: []byte("1")}
	}
	if e.opts.GPU != nil {
		if err := e.openAccelerator(); err != nil {
			e.stop()
			return nil, err
		}
	}
	var err error
	if e.store, err = store.Load(dir, &so); err != nil {
		return nil, errors.Join(fmt.Errorf("riffle: open %s: %w", dir, err), e.closeAccelerator())
	}
	if err := e.load(); err != nil {
		e.stop()
		e.work.Wait()
		return nil, errors.Join(fmt.Errorf("riffle: open %s: %w", dir, err), e.store.Close(), e.closeAccelerator())
	}
	e.loadPrices()
	if !e.opts.ReadOnly {
		e.work.Go(e.mergeLoop)
		e.kickMerge()
	}
	return e, nil
}

// load reads schema, segments and log. Whatever can be wrong with the directory is found before
// StartWriting, so that an Open that fails leaves it as it was.
func (e *Engine) load() error {
	mark, err := e.store.Meta(metaBuilding)
	if err != nil {
		return err
	}
	if len(mark) > 0 && !e.opts.private.building {
		return fmt.Errorf("%w: a build of this index was interrupted; start it over", ErrUnfinished)
	}
	opened, err := e.store.Meta(metaOptions)
	if err == nil {
		err = checkKeptOptions(opened)
	}
	if err != nil {
		return err
	}
	kept, wanted, err := e.loadSchemas()
	if err != nil {
		return err
	}
	e.setSchema(kept, true) // what the documents in the log were accepted under
	m := e.store.Manifest()
	for _, s := range m.Segments {
		live, err := e.openSegment(s.Number, s.Info)
		if err != nil {
			return err
		}
		e.segments = append(e.segments, live)
		e.fields.Replace(nil, live.disk)
	}
	e.addMemory()
	e.seq, e.sealedSeq = m.LogSeq, m.LogSeq
	if !e.opts.ReadOnly {
		if err := e.checkLog(); err != nil {
			return err
		}
		if err := e.store.StartWriting(); err != nil {
			return err
		}
	}
	if err := e.replay(); err != nil {
		return err
	}
	e.logged = e.seq
	e.publish()
	return e.changeSchema(wanted)
}

// loadSchemas returns the schema kept in the index (an empty one for a new
// index), and that widened by the caller's, which is to count from now on.
func (e *Engine) loadSchemas() (kept, wanted *document.Schema, err error) {
	text, err := e.store.Meta(metaSchema)
	if err != nil {
		return nil, nil, err
	}
	kept = new(document.Schema)
	given := e.opts.Schema.internal()
	switch {
	case text == nil && given != nil:
		wanted = given
	case text == nil:
		wanted = kept
	default:
		if kept, err = document.ParseKept(text); err != nil {
			return nil, nil, err
		}
		if wanted = kept; given != nil {
			if wanted, err = kept.Extend(given); err != nil {
				return nil, nil, err
			}
		}
	}
	return kept, wanted, wanted.Validate(e.opts.analyzer)
}

// changeSchema puts another schema in force and keeps it in the index. Documents
// that are still in the log must be sealed before: it might not take them.
func (e *Engine) changeSchema(wanted *document.Schema) error {
	if e.opts.ReadOnly || e.opts.private.building { // a build keeps it at its end
		e.setSchema(wanted, false)
		return nil
	}
	if wanted.String() != e.schema.String() {
		if err := e.Flush(e.background); err != nil {
			return err
		}
	}
	e.setSchema(wanted, false)
	text, err := e.store.Meta(metaSchema)
	if err != nil || string(text) == wanted.String() {
		return err
	}
	opened := e.opts
	opened.Schema = nil
	return e.store.Commit(e.background, store.Edit{Meta: map[string][]byte{
		metaSchema:  []byte(wanted.String()),
		metaOptions: []byte(opened.String()),
	}})
}

// setSchema is for Open alone: nothing may be using the schema. replay says that
// documents from the log come next.
func (e *Engine) setSchema(s *document.Schema, replay bool) {
	e.schema = s
	invert := func() *document.Inverter { return document.NewInverter(s, e.opts.Rank.Field, e.opts.analyzer, replay) }
	e.inverters = sync.Pool{New: func() any { return invert() }}
	e.preparers = sync.Pool{New: func() any { return &preparer{Preparer: plan.NewPreparer(invert())} }}
}

// openSegment opens a sealed segment and its deletions.
func (e *Engine) openSegment(number uint64, info []byte) (*liveSegment, error) {
	s := &liveSegment{number: number}
	bytes, n := binary.Uvarint(info)
	if n <= 0 {
		return nil, corrupt.At(corrupt.New(-1, "segment %d has no size", number), "manifest")
	}
	s.bytes = int64(bytes)
	var err error
	if s.disk, err = segment.Open(source{e.store.Segment(number)}); err != nil {
		return nil, s.at(err)
	}
	value, err := e.store.Deletions(number)
	if err != nil || value == nil {
		return s, err
	}
	bm := roaring.New()
	if err := bm.UnmarshalBinary(value); err != nil {
		return nil, corrupt.At(corrupt.New(-1, "%v", err), fmt.Sprintf("deletions of segment %d", number))
	}
	if !bm.IsEmpty() && bm.Maximum() >= s.disk.Docs() {
		return nil, corrupt.At(corrupt.New(-1, "document %d of %d", bm.Maximum(), s.disk.Docs()), fmt.Sprintf("deletions of segment %d", number))
	}
	s.deleted = &deletions{bitmap: bm}
	s.persisted = s.deleted
	return s, nil
}

// addMemory begins a new in-memory segment. The caller holds e.mu, or is alone.
func (e *Engine) addMemory() {
	e.memories++
	e.memory = &liveSegment{memory: segment.NewMemory(), memoryNumber: e.memories}
	e.segments = append(e.segments, e.memory)
}

// Close ends background work and closes the index. It waits for calls that are under way: short
// ones, such as a Search, run to their end, and long ones, such as Check, Compact or SearchBatch,
// are broken off and return ErrClosed, as do all calls that begin later. Documents in memory are
// written out first when they take a sixteenth of Options.MemoryBytes or more, and a seal that runs
// is finished; the rest stays in the log, and the next Open reads it back.
//
// Whatever Close returns, the directory is free for the next Open. A second Close waits for the
// first one and returns the same. The body of a loop over Documents or IDs may call Close, and so
// may the function that is passed to Check; a function of a Listener must not, because Close waits
// for the goroutine that calls it.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closing != nil {
		e.mu.Unlock()
		<-e.closing
		return e.closeErr
	}
	e.closing = make(chan struct{})
	e.mu.Unlock()
	e.closeErr = e.close()
	close(e.closing)
	return e.closeErr
}

func (e *Engine) close() error {
	var err error
	if !e.opts.ReadOnly && e.manyUnsealed() {
		err = e.Flush(context.Background())
	}
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.stop()
	e.calls.shut()
	e.work.Wait() // and so for a seal that runs, which is not broken off
	e.current.Swap(nil).unref()
	err = errors.Join(err, e.closeAccelerator(), e.keepPrices())
	e.pool.Close()
	if err := e.dropUnused(); err != nil {
		e.opts.Listener.failed(err) // the next Open removes them
	}
	return errors.Join(err, e.store.Close())
}

// source makes a store's segment reader a segment.Source.
type source struct{ *store.SegmentReader }

// Scan implements segment.Source.
func (s source) Scan(lower, upper []byte) (segment.Iterator, error) {
	return s.SegmentReader.Scan(lower, upper)
}

// sink makes a store's segment writer a segment.TableSink.
type sink struct{ *store.SegmentWriter }

// Table implements segment.TableSink.
func (s sink) Table(kind segment.Kind) segment.Table { return s.SegmentWriter.Table(byte(kind)) }

// at names the segment in an error about its bytes.
func (s *liveSegment) at(err error) error {
	switch {
	case err == nil || s.memory != nil:
		return err
	case errors.Is(err, ErrFormat):
		return fmt.Errorf("segment %d: %w", s.number, err)
	}
	return corrupt.At(err, fmt.Sprintf("segment %d", s.number))
}

// unused is called when the last view that held a segment is gone.
func (e *Engine) unused(s *liveSegment) {
	if !s.obsolete.Load() {
		return
	}
	e.unpin(s)
	e.lists.DropSegment(s.columnKey())
	if s.disk == nil {
		return
	}
	e.lists.DropSegment(s.number)
	if e.accelerator != nil {
		e.accelerator.Drop(func(key uint64) bool { return segmentOfKey(key) == s.number })
	}
	e.dropMu.Lock()
	e.drops = append(e.drops, s.number)
	e.dropMu.Unlock()
	e.kickMerge()
}

// dropUnused gives the space of segments that nobody reads back to the store.
// What fails is tried again by the merger, at last at the next Open.
func (e *Engine) dropUnused() error {
	e.dropMu.Lock()
	drops := e.drops
	e.drops = nil
	e.dropMu.Unlock()
	if len(drops) == 0 {
		return nil
	}
	err := e.store.DropSegments(context.Background(), drops)
	if err != nil {
		e.dropMu.Lock()
		e.drops = append(e.drops, drops...)
		e.dropMu.Unlock()
		return fmt.Errorf("riffle: remove merged segments: %w", err)
	}
	return nil
}
