package riffle

import (
	"context"
	"errors"

	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/live"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/internal/search"
)

// An Engine is an open index. Its methods are safe for concurrent use.
type Engine struct {
	opts     Options // defaults filled in
	index    *live.Index
	searcher *search.Searcher

	accelerator   accelerator.Accelerator // nil when the CPU is all there is
	noAccelerator error                   // why, with Options.GPU
}

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
	e := &Engine{opts: opts.withDefaults()}
	if e.opts.GPU != nil {
		if err := e.openAccelerator(); err != nil {
			return nil, err
		}
	}
	o := e.opts.live()
	if a := e.accelerator; a != nil {
		o.Unused = func(segment uint64) {
			a.Drop(func(key uint64) bool { return live.SegmentOfKey(key) == segment })
		}
	}
	var err error
	if e.index, err = live.Open(dir, o); err != nil {
		return nil, errors.Join(err, e.closeAccelerator())
	}
	e.searcher = search.New(search.Options{
		Preparer: e.newPreparer, Cores: e.opts.SearchWorkers, Spin: e.opts.private.spin, Accelerator: e.accelerator,
	})
	e.loadPrices()
	return e, nil
}

// newPreparer returns what turns queries into plans.
func (e *Engine) newPreparer() plan.Preparer {
	return plan.NewPreparer(document.NewInverter(e.index.Schema(), e.opts.Rank.Field, e.opts.analyzer, false))
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
	return e.index.Close(func() error {
		defer e.searcher.Close()
		return errors.Join(e.closeAccelerator(), e.keepPrices())
	})
}

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
// Batch.Position becomes the position of the index with the changes, at the same moment and with the same
// durability. Concurrent calls are logged in any order, so a caller with positions applies one batch after
// the other.
//
// When a document cannot be indexed, Apply returns a *DocumentError for each and nothing
// of the batch happens. Nothing happens either when ctx ends before the batch is in the log: the
// error is that of ctx. When ctx ends later the error matches ErrPending as well: the batch will
// be applied as if Apply had been waited for. After an error of the log itself no search sees the
// batch, but the next Open may find it.
//
// Apply waits when memory is full and the disk is behind.
func (e *Engine) Apply(ctx context.Context, b *Batch) error {
	if e.opts.ReadOnly {
		return ErrReadOnly
	}
	if len(b.errs) > 0 {
		return errors.Join(b.errs...)
	}
	return e.index.Apply(ctx, b.ops, string(b.Position))
}

// Sync makes every batch applied so far durable. It matters only with
// Options.Durability SyncNone.
func (e *Engine) Sync(ctx context.Context) error { return e.index.Sync(ctx) }

// Flush writes the in-memory segment out and waits until it is sealed. Nothing
// needs it for durability; it makes the next Open quick and memory free.
func (e *Engine) Flush(ctx context.Context) error { return e.index.Flush(ctx) }

// Compact writes everything into one segment (of two billion documents at most;
// else into several) without deleted documents, in the order of Options.Merge.Order and the newest
// format, and gives the space of the old ones back. It takes about as long as writing the whole index.
// Searches and changes go on meanwhile; what is applied while it runs may lie in segments of its own.
func (e *Engine) Compact(ctx context.Context) error { return e.index.Compact(ctx) }

// Checkpoint writes a complete, durable copy of the index as it is now into dir,
// which must not exist. Where the file system can, it is made of hard links and
// costs no space until the index changes. The copy can be opened like any other
// index, also read-only. Changes and searches go on meanwhile. When ctx ends while the disk is at
// work, Checkpoint returns, and the copy, which appears as a whole, may still appear.
func (e *Engine) Checkpoint(ctx context.Context, dir string) error {
	return e.index.Checkpoint(ctx, dir)
}

// Check reads the whole index and verifies every checksum and invariant: of the
// segments, their deletions, the schema and the log. It calls report for each fault, which
// matches ErrCorrupt, and returns an error only when the check itself could not go
// on. Changes and searches go on meanwhile. report is called by the goroutine that called
// Check, with nothing locked: it may call the Engine, Close included.
func (e *Engine) Check(ctx context.Context, report func(error)) error {
	return e.index.Check(ctx, report)
}

// Schema returns the schema in force.
func (e *Engine) Schema() *Schema {
	s, _ := publicSchema(e.index.Schema(), nil)
	return s
}

// A view is the index at one moment, as an Engine searches it. It is passed by value, which allocates
// nothing; what wants a plan.Index gets the View in it.
type view struct {
	*live.View
	e *Engine
}

// acquire begins a call on the current view, which ends with Release.
func (e *Engine) acquire() (view, error) {
	v, err := e.index.Acquire()
	return view{v, e}, err
}
