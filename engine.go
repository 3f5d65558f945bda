package riffle

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/riffle-search/riffle/analysis"
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

	accelerator   accelerator.Accelerator // nil without a GPU
	noAccelerator error                   // why accelerator is nil, with Options.GPU

	stopExpiry func()        // ends the deletion of expired documents; nil without Options.Expire
	expired    atomic.Uint64 // documents that have expired since Open
}

// Open opens the index in a directory. Unless Options.ReadOnly is set, a missing or empty directory
// becomes a new index. Nil options are the defaults.
//
// Open reads documents that were acknowledged but not yet sealed back from the log, which takes
// about as long as analysing them did. Whenever they exceed Options.MemoryBytes, it seals them.
// With Options.ReadOnly, which forbids sealing, they all stay in memory.
//
// Errors match ErrLocked (at once, when this process or another has the directory open), ErrFormat
// (also for a directory that holds other files and no index), ErrCorrupt, ErrUnfinished, or
// fs.ErrNotExist for a read-only open of a missing index. An Open that fails because of the
// directory's contents changes nothing in it.
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
	if e.accelerator != nil {
		if err := e.startAccelerator(); err != nil {
			return nil, errors.Join(err, e.index.Close(e.closeAccelerator))
		}
	}
	e.searcher = search.New(search.Options{
		Preparer: e.newPreparer, Cores: e.opts.SearchWorkers, Spin: e.opts.private.spin, Accelerator: e.accelerator,
	})
	e.loadPrices()
	if err := e.startExpiry(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// newPreparer returns a preparer, which turns queries into plans.
func (e *Engine) newPreparer() plan.Preparer {
	return plan.NewPreparer(document.NewInverter(e.index.Schema(), e.opts.Rank.Field, e.index.Analyzer, false))
}

// Close stops background work and closes the index. It waits for running calls: short ones, such as
// a Search, complete; long ones, such as Check, Compact or SearchBatch, are interrupted and return
// ErrClosed, as do all later calls. Close first writes out documents in memory if they take a
// sixteenth of Options.MemoryBytes or more, and completes a running seal. The rest stays in the
// log, and the next Open reads it back.
//
// Whatever Close returns, the directory is free for the next Open. A second Close waits for the
// first one and returns the same. The body of a loop over Documents or IDs may call Close, and so
// may the function that is passed to Check. A function of a Listener must not, because Close waits
// for the goroutine that calls it.
func (e *Engine) Close() error {
	if e.stopExpiry != nil {
		e.stopExpiry()
	}
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

// Delete removes the document with this id, if it exists.
func (e *Engine) Delete(ctx context.Context, id string) error {
	var b Batch
	b.Delete(id)
	return e.Apply(ctx, &b)
}

// Apply carries out a batch. When it returns nil the batch is durable (see Options.Durability), and
// every later search sees it. Searches never see a part of a batch, nor a batch without those
// logged before it.
//
// Batch.Position becomes the position of the index together with the changes, at the same moment
// and with the same durability. Concurrent calls are logged in any order, so a caller with
// positions applies one batch after the other.
//
// When documents cannot be indexed, Apply returns a *DocumentError for each and applies nothing of
// the batch. Nor does it when documents lack the versions that Batch.PutIf and DeleteIf ask for; it
// returns a *ConflictError for each. Conditions are checked where batches get their order, so of several
// concurrent changes of one version exactly one succeeds. It also applies nothing, and returns the error of ctx, when ctx ends before the batch
// is in the log. When ctx ends later the error matches ErrPending as well: the batch will be
// applied nevertheless. After an error of the log itself no search sees the batch, but the next
// Open may find it.
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

// Submit is Apply in two parts. It returns once the batch has its place in the log, and the batch
// may be changed. Pending.Wait then waits until it is durable and visible. So one goroutine keeps
// several batches under way, which are logged and become visible in the order of its calls, and
// the engine prepares one while another waits for the disk.
//
//	var last *riffle.Pending
//	for b := range batches {
//		p, err := e.Submit(ctx, b)
//		if err != nil { return err }
//		if last != nil { err = last.Wait(ctx) }
//		...
//		last = p
//	}
//
// An error of Submit means that nothing of the batch is applied. Errors are those of Apply. Conditions
// on versions see the batches that were submitted before, also those that still wait.
func (e *Engine) Submit(ctx context.Context, b *Batch) (*Pending, error) {
	if e.opts.ReadOnly {
		return nil, ErrReadOnly
	}
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	s, err := e.index.Submit(ctx, b.ops, string(b.Position))
	if err != nil {
		return nil, err
	}
	return &Pending{s}, nil
}

// Validate returns the errors of the documents of a batch for which Apply would refuse it: a
// *DocumentError for each, joined. It changes nothing, takes a small part of the time of Apply, and
// may be called on a read-only engine. A program that passes batches on, to a log or to other
// machines, finds out with it before it does.
//
// What it does not see: versions that Batch.PutIf and others ask for; limits of the index
// (Options.MaxDocs, MaxFields); and the rare analyzer that makes too long a term of a short text.
func (e *Engine) Validate(ctx context.Context, b *Batch) error {
	if len(b.errs) > 0 {
		return errors.Join(b.errs...)
	}
	return e.index.Validate(ctx, b.ops)
}

// A Pending is a batch of Submit.
type Pending struct{ batch *live.Submitted }

// Wait returns what Apply would: nil when the batch is durable and visible, or the error of the log.
// When ctx ends before, the error matches ErrPending; the batch goes on, and Wait may be called
// again. Close waits for the batch, too.
func (p *Pending) Wait(ctx context.Context) error { return p.batch.Wait(ctx) }

// Sync makes every batch applied so far durable. It matters only with
// Options.Durability SyncNone.
func (e *Engine) Sync(ctx context.Context) error { return e.index.Sync(ctx) }

// Flush writes the in-memory segment out and waits until it is sealed. Durability does not need it;
// it makes the next Open quick and frees memory.
func (e *Engine) Flush(ctx context.Context) error { return e.index.Flush(ctx) }

// Compact rewrites the index as one segment (or several, of two billion documents each at most),
// without deleted documents, in the order of Options.Merge.Order and the newest format. It then
// frees the space of the old segments. It takes about as long as writing the whole index. Searches
// and changes continue meanwhile; changes applied while it runs may end up in segments of their
// own.
func (e *Engine) Compact(ctx context.Context) error { return e.index.Compact(ctx) }

// Checkpoint writes a complete, durable copy of the current index into dir, which must not exist.
// Where the file system can, the copy consists of hard links and costs no space until the index
// changes. It opens like any other index, also read-only. Changes and searches continue meanwhile.
// When ctx ends during disk work, Checkpoint returns; the copy may still appear, as a whole.
func (e *Engine) Checkpoint(ctx context.Context, dir string) error {
	return e.index.Checkpoint(ctx, dir)
}

// Check reads the whole index and verifies every checksum and invariant: of the segments, their
// deletions, the schema and the log. It calls report for each fault, which matches ErrCorrupt. It
// returns an error only when the check itself could not continue. Changes and searches continue
// meanwhile. report runs on the goroutine that called Check, with nothing locked: it may call the
// Engine, Close included.
func (e *Engine) Check(ctx context.Context, report func(error)) error {
	return e.index.Check(ctx, report)
}

// Schema returns the schema in force.
func (e *Engine) Schema() *Schema {
	s, _ := publicSchema(e.index.Schema(), nil)
	return s
}

// Analyzer returns an analyzer by its name in the schema, as this index applies it: with the
// index's rules of words. An empty name is the analyzer of text fields that name none.
func (e *Engine) Analyzer(name string) (analysis.Analyzer, error) {
	a, err := e.index.Analyzer(name)
	if err != nil {
		return nil, fmt.Errorf("riffle: %w", err)
	}
	return a, nil
}

// A view is the index at one moment, as an Engine searches it. It is passed by value, which
// allocates nothing.
type view struct {
	*live.View
	scope
}

// A scope is what a search runs on: the view of an Engine, or those of the engines of a Multi. Its
// View serves as a plan.Index.
type scope struct {
	search.View
	e *Engine // whose options count
	m *Multi  // nil for an Engine
}

// viewOf returns the view of an Engine.
func (e *Engine) viewOf(v *live.View) view { return view{v, scope{View: v, e: e}} }

// acquire begins a call on the current view. Release ends it.
func (e *Engine) acquire() (view, error) {
	v, err := e.index.Acquire()
	return e.viewOf(v), err
}
