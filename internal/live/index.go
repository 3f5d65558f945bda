package live

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/segment"
	"github.com/riffle-search/riffle/store"
)

// An Index is an open index. Its methods are safe for concurrent use.
//
// Locks are taken in this order: mergeMu, commitMu, mu; and order, mu. Nothing waits for the disk
// under mu. Searches take none of them; they run on the current view.
type Index struct {
	opts      Options
	schema    *document.Schema
	analyzers func(name string) (analysis.Analyzer, error) // of the schema
	store     *store.Store
	lists     *cache.Lists
	trigrams  segment.TrigramBudget
	stored    *storedCache
	tables    cache.Tables
	fields    *document.Fields
	cores     *segment.Cores // of seals and merges

	instance  string               // random: tells this Index from others, and from itself after another Open
	views     atomic.Uint64        // so far
	calls     gate                 // calls for which Close waits
	current   atomic.Pointer[View] // never nil inside the gate
	inverters sync.Pool            // of *inverter
	chunks    sync.Pool            // of *segment.Chunk, empty
	pending   sync.Pool            // of *pendingBatch, empty
	records   sync.Pool            // of *[]byte, for the records of a batch

	mu        sync.Mutex
	closing   chan struct{}   // closed at the end of Close; nil before its call
	closeErr  error           // what Close returned; set before closing is closed
	closed    bool            // no more background work begins
	segments  []*liveSegment  // sealed ones in order of arrival; then the one being sealed, if any; then memory
	memory    *liveSegment    // takes new documents
	memories  uint64          // number of segments in memory so far
	seq       uint64          // last log record whose operations are in segments
	underWay  []*pendingBatch // batches that may have read sealed segments, and are not inserted
	queue     []*pendingBatch // those of them that are logged, in order
	applying  atomic.Int64    // batches between begin and endApply
	coming    atomic.Int64    // documents of admitted batches that are in no view yet
	logErr    error           // why the log accepts nothing more
	position  string          // of the batches up to seq
	sealedSeq uint64          // last log record that the manifest covers
	seal      sealState
	written   Written // but for Log

	order  ctxMutex // serializes the logging of batches
	logged uint64   // last record given to the log; order guards it

	commitMu sync.Mutex   // serializes manifest changes
	behind   *change      // in the manifest, but not in segments yet; guarded by commitMu
	mergeMu  sync.Mutex   // serializes merges
	aside    failedMerges // guarded by mergeMu

	adoptPause, dropPause backoff // of the merger's goroutine

	background context.Context // ends with Close
	stop       context.CancelFunc
	work       sync.WaitGroup
	mergeKick  chan struct{} // wakes the merger; one slot

	dropMu sync.Mutex
	drops  []uint64               // segments that no view holds any more
	pinned map[*liveSegment]int64 // bytes of replaced segments that views still hold

	pinnedBytes atomic.Int64 // of those in memory
}

// Names of values in the store's meta space.
const (
	metaSchema   = "schema"
	metaOptions  = "options"  // the options when the schema last changed, for people to read
	metaBuilding = "building" // not empty until Build has finished

	// MetaPrices is the name of the costs of searches that an accelerator has measured on this
	// machine. The index stores them and checks that they can be read.
	MetaPrices = "gpu-prices"
)

// Schema returns the schema in force, which is read-only.
func (ix *Index) Schema() *document.Schema { return ix.schema }

// Analyzer returns an analyzer as the index applies it: see document.Schema.Resolver.
func (ix *Index) Analyzer(name string) (analysis.Analyzer, error) { return ix.analyzers(name) }

// Meta returns a value stored with the index, or nil.
func (ix *Index) Meta(name string) ([]byte, error) { return ix.store.Meta(name) }

// SetMeta stores a value with the index.
func (ix *Index) SetMeta(name string, value []byte) error {
	return ix.store.Commit(context.Background(), store.Edit{Meta: map[string][]byte{name: value}})
}

// Open opens the index in a directory. It reads documents that were acknowledged but not yet sealed
// back from the log. Whenever they exceed Options.MemoryBytes, it seals them, unless the index is
// read-only. An Open that fails because of the directory's contents changes nothing in it.
func Open(dir string, o *Options) (*Index, error) {
	ix := &Index{opts: *o, instance: rand.Text(), mergeKick: make(chan struct{}, 1), pinned: map[*liveSegment]int64{}}
	if ix.opts.Merge.MaxSegmentDocs == 0 {
		ix.opts.Merge.MaxSegmentDocs = maxSegmentDocs
	}
	if ix.opts.LayerBytes == 0 {
		ix.opts.LayerBytes = defaultLayerBytes
	}
	ix.calls.idle = make(chan struct{})
	ix.order = newCtxMutex()
	ix.lists = cache.NewLists(ix.opts.CacheBytes)
	ix.lists.Beside(ix.heldBySegments)
	ix.trigrams.Limit(ix.opts.TrigramBytes)
	ix.stored = newStoredCache(ix.opts.StoredCacheBytes)
	ix.fields = document.NewFields(ix.opts.MaxFields)
	ix.cores = segment.NewCores(ix.opts.Merge.Workers)
	ix.chunks.New = func() any { return new(segment.Chunk) }
	ix.records.New = func() any { return new([]byte) }
	ix.background, ix.stop = context.WithCancel(context.Background())
	so := ix.opts.Store
	if ix.opts.Failed != nil {
		so.Failed = func(err error) {
			if ix.Begin() == nil { // Close waits, and nothing calls the Listener after it
				defer ix.End()
				ix.opts.Failed(fmt.Errorf("riffle: %w", err))
			}
		}
	}
	if ix.opts.Building {
		so.NewMeta = map[string][]byte{metaBuilding: []byte("1")}
	}
	var err error
	if ix.store, err = store.Load(dir, &so); err != nil {
		ix.stop()
		return nil, fmt.Errorf("riffle: open %s: %w", dir, err)
	}
	if err := ix.load(); err != nil {
		ix.stop()
		ix.work.Wait()
		return nil, errors.Join(fmt.Errorf("riffle: open %s: %w", dir, err), ix.store.Close())
	}
	if !so.ReadOnly {
		ix.work.Go(ix.mergeLoop)
		ix.kickMerge()
	}
	return ix, nil
}

// load reads schema, segments and log. It detects every fault of the directory before StartWriting,
// so that an Open that fails leaves it as it was.
func (ix *Index) load() error {
	mark, err := ix.store.Meta(metaBuilding)
	if err != nil {
		return err
	}
	if len(mark) > 0 && !ix.opts.Building {
		return fmt.Errorf("%w: a build of this index was interrupted; start it over", store.ErrUnfinished)
	}
	opened, err := ix.store.Meta(metaOptions)
	if err == nil {
		err = checkKeptOptions(opened)
	}
	if err != nil {
		return err
	}
	kept, wanted, err := ix.loadSchemas()
	if err != nil {
		return err
	}
	ix.setSchema(kept, true) // under which the documents in the log were accepted
	m := ix.store.Manifest()
	for _, s := range m.Segments {
		live, err := ix.openSegment(s.Number, s.Info)
		if err != nil {
			return err
		}
		ix.segments = append(ix.segments, live)
		ix.fields.Replace(nil, live.disk)
	}
	ix.addMemory()
	ix.seq, ix.sealedSeq = m.LogSeq, m.LogSeq
	if ix.position, err = decodeInfo(m.Info); err != nil {
		return corrupt.At(err, "index info")
	}
	if err := ix.checkDeclared(kept, wanted); err != nil {
		return err
	}
	if err := ix.checkRank(keptRank(opened)); err != nil {
		return err
	}
	if !ix.opts.Store.ReadOnly {
		if err := ix.checkLog(); err != nil {
			return err
		}
		if err := ix.store.StartWriting(); err != nil {
			return err
		}
	}
	if err := ix.replay(); err != nil {
		return err
	}
	ix.logged = ix.seq
	ix.publish()
	return ix.changeSchema(wanted)
}

// addMemory begins a new in-memory segment. The caller holds ix.mu, or is alone.
func (ix *Index) addMemory() {
	ix.memories++
	ix.memory = &liveSegment{memory: segment.NewMemory(), memoryNumber: ix.memories}
	ix.segments = append(ix.segments, ix.memory)
}

// Close stops background work and closes the index. It waits for running calls, and interrupts long
// ones (UntilClose). It first writes out documents in memory if they take a sixteenth of
// Options.MemoryBytes or more, and completes a running seal. The rest stays in the log, and the
// next Open reads it back. Close calls last when no call is running and no view is left, while the
// store is still open.
//
// Whatever Close returns, the directory is free for the next Open. A second Close waits for the
// first one and returns the same.
func (ix *Index) Close(last func() error) error {
	ix.mu.Lock()
	if ix.closing != nil {
		ix.mu.Unlock()
		<-ix.closing
		return ix.closeErr
	}
	ix.closing = make(chan struct{})
	ix.mu.Unlock()
	ix.closeErr = ix.close(last)
	close(ix.closing)
	return ix.closeErr
}

func (ix *Index) close(last func() error) error {
	var err error
	if !ix.opts.Store.ReadOnly && ix.manyUnsealed() {
		err = ix.Flush(context.Background())
	}
	ix.mu.Lock()
	ix.closed = true
	ix.mu.Unlock()
	ix.stop()
	ix.calls.shut()
	ix.work.Wait() // also for a running seal, which is not interrupted
	ix.current.Swap(nil).Unref()
	err = errors.Join(err, last())
	if err := ix.dropUnused(); err != nil {
		ix.opts.failed(err) // the next Open removes them
	}
	return errors.Join(err, ix.store.Close())
}
