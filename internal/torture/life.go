package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/hook"
	"github.com/riffle-search/riffle/store"
)

// A life is a fixed list of steps for an index: batches, and between them everything else that can
// happen to it. The seed determines its configuration.
type life struct {
	seed   uint64
	steps  []step
	states []model              // state i is that after i batches
	calls  map[int]*byQueryCall // by the state that it leads to: isCall
	still  bool                 // no background merges, so that a seed always yields the same files
}

// A step is one call of the API, or a few.
type step struct {
	kind  stepKind
	batch int // of apply: it leads to this state
}

type stepKind uint8

const (
	stepApply stepKind = iota
	stepFlush
	stepCompact
	stepSync
	stepCheckpoint
	stepReopen
	stepReadOnly // closes, opens read-only and reads, opens again
	stepSchema   // reopens with a wider schema
	stepBuild    // builds another index of the documents
)

var stepNames = [...]string{"apply", "flush", "compact", "sync", "checkpoint", "reopen", "read-only", "schema", "build"}

func (s step) String() string {
	if s.kind == stepApply {
		return fmt.Sprintf("batch %d", s.batch)
	}
	return stepNames[s.kind]
}

// newLife makes a life with a number of batches, and the other steps spread among them. In a large
// one some documents are larger than a block of the disk, of which a crash may leave a part.
func newLife(seed uint64, batches int, large bool, others []stepKind) *life {
	r := newRandom(seed, 1)
	l := &life{seed: seed, states: []model{{}}, calls: map[int]*byQueryCall{}}
	for i := 1; i <= batches; i++ {
		if isCall(i) {
			var next model
			l.calls[i], next = r.call(l.states[i-1])
			l.states = append(l.states, next)
			l.steps = append(l.steps, step{stepApply, i})
			continue
		}
		next := maps.Clone(l.states[i-1])
		for _, half := range []string{"left", "right"} { // reveals half a batch
			next[half] = document{"num": int64(i), "text": r.words(5)}
		}
		if large && i%3 == 0 {
			next["left"]["text"] = r.noise(6000 + r.IntN(6000))
		}
		for range 1 + r.IntN(5) {
			next[r.id(30)] = r.until(r.document())
		}
		for range r.IntN(6) { // of documents that exist: batch tells updates by what changes
			if id := r.id(30); next[id] != nil {
				next[id] = next[id].updated(r.update())
			}
		}
		for range r.IntN(3) {
			delete(next, r.id(30))
		}
		l.states = append(l.states, next)
		l.steps = append(l.steps, step{stepApply, i})
	}
	for _, kind := range others {
		l.steps = slices.Insert(l.steps, 2+r.IntN(len(l.steps)-1), step{kind: kind})
	}
	return l
}

// wholeLife is the life for the parts that fail one operation after the other.
func wholeLife(seed uint64) *life {
	return newLife(seed, 24, true, []stepKind{stepFlush, stepFlush, stepFlush, stepCompact, stepCompact, stepSync, stepCheckpoint,
		stepReopen, stepReopen, stepReadOnly, stepSchema, stepBuild})
}

// shortLife is for parts that run it on many indexes.
func shortLife(seed uint64) *life {
	return newLife(seed, 10, seed%2 == 0, []stepKind{stepFlush, stepFlush, stepCompact, stepCheckpoint, stepReopen, stepSchema})
}

// plantedLoss is a document that is never put. Tests of the campaign use it to check that the loss
// is found.
var plantedLoss string

// position returns that of an index after batch i. Calls have none of their own.
func position(i int) []byte {
	if isCall(i) {
		i--
	}
	if i <= 0 {
		return nil
	}
	return fmt.Append(nil, "batch ", i)
}

// batch makes the changes that lead to state i.
func (l *life) batch(i int) *riffle.Batch {
	b, from, to := &riffle.Batch{Position: position(i)}, l.states[i-1], l.states[i]
	for _, id := range from.ids() {
		if _, ok := to[id]; !ok {
			b.Delete(id)
		}
	}
	for _, id := range to.ids() {
		if old, ok := from[id]; id != plantedLoss && (!ok || fmt.Sprint(old) != fmt.Sprint(to[id])) {
			lead(b, id, old, to[id])
		}
	}
	return b
}

// indexDir is the directory of the index of a life. Copies and builds get directories next to it.
const indexDir = "index"

// knobs make everything happen even in small indexes.
func knobs(fsys vfs.FS) hook.Knobs {
	return hook.Knobs{
		Store:       store.Options{FS: fsys, MemTableBytes: 256 << 10, CacheBytes: 1 << 20, LogFileBytes: 4 << 10},
		MemoryBytes: 16 << 10, // some ten documents
		TableBytes:  500,
		CodedBytes:  1, // always
		LayerBytes:  1, // likewise
		BlockBytes:  2 << 10,
		RunBytes:    12 << 10,
	}
}

// options returns those of the index, with its current schema.
func (l *life) options(fsys vfs.FS, schema int) *riffle.Options {
	r := newRandom(l.seed, 2)
	o := &riffle.Options{
		Schema:             schemas[schema],
		AllowUnknownFields: true, // documents have random fields
		AlterSchema:        true,
		Codec:              riffle.Codec(r.IntN(4)),
		Merge:              riffle.MergeOptions{SegmentsPerTier: 2 + r.IntN(2), Order: riffle.DocOrder(r.IntN(3)), Workers: 1},
		SearchWorkers:      1,
		Expire:             l.expiry(),
	}
	o.Merge.Disabled = r.IntN(3) == 0 || l.still
	if r.IntN(4) == 0 {
		o.Durability = riffle.SyncNone
	}
	if r.IntN(3) == 0 {
		o.Rank = riffle.Rank{Field: "rank", Alpha: 0.3}
	}
	hook.Set(o, knobs(fsys))
	return o
}

// reading are options for inspecting an index without background work.
func (l *life) reading(fsys vfs.FS, readOnly bool) *riffle.Options {
	o := l.options(fsys, 0)
	o.Schema, o.ReadOnly, o.Expire = nil, readOnly, nil
	o.Merge.Disabled = true
	return o
}

// A living is a running life.
type living struct {
	*life
	fs      vfs.FS
	ctx     context.Context
	options *riffle.Options
	e       *riffle.Engine
	schema  int
	at      atomic.Int64 // the step
	reached int          // the last batch that was tried; endure applies lost ones again

	mu       sync.Mutex
	promised promises
}

// promises are what must be found in an index if it stops now.
type promises struct {
	least, most int // batches: the number that is durable, and the number that has begun
	applied     int // batches acknowledged, possibly not durable
	copies      []copied
	call        int    // the last that has begun
	token       string // which finishes it
}

// A copied is a directory that a checkpoint or a build makes.
type copied struct {
	dir   string
	state int
	built bool // by Build, not Checkpoint
	done  bool
}

func (p promises) String() string { return fmt.Sprintf("batches %d to %d", p.least, p.most) }

// promise changes what is promised.
func (v *living) promise(change func(*promises)) {
	v.mu.Lock()
	change(&v.promised)
	v.mu.Unlock()
}

func (v *living) promises() promises {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.promised
	p.copies = slices.Clone(p.copies)
	return p
}

// durable records that everything applied is durable.
func (v *living) durable() { v.promise(func(p *promises) { p.least = p.applied }) }

func (l *life) begin(fsys vfs.FS) *living {
	return &living{life: l, fs: fsys, ctx: background, options: l.options(fsys, 0)}
}

func (v *living) open() (err error) {
	v.options = v.life.options(v.fs, v.schema)
	v.e, err = riffle.Open(indexDir, v.options)
	return err
}

func (v *living) close() error {
	if v.e == nil {
		return nil
	}
	err := v.e.Close()
	if v.e = nil; err == nil {
		v.durable()
	}
	return err
}

// lead runs the whole life, until an error.
func (v *living) lead() error {
	if err := v.open(); err != nil {
		return err
	}
	for i, s := range v.steps {
		v.at.Store(int64(i))
		if err := v.step(s); err != nil {
			return when(errors.Join(err, v.close()), "step %d, %v", i, s)
		}
	}
	return v.close()
}

// step carries out one step.
func (v *living) step(s step) error {
	switch s.kind {
	case stepApply:
		return v.apply(s.batch)
	case stepFlush:
		return v.durably(v.e.Flush(v.ctx))
	case stepCompact:
		return v.durably(v.e.Compact(v.ctx))
	case stepSync:
		return v.durably(v.e.Sync(v.ctx))
	case stepCheckpoint:
		return v.copy(false, func(dir string) error { return v.e.Checkpoint(v.ctx, dir) })
	case stepBuild:
		return v.copy(true, v.build)
	case stepReopen:
		return errors.Join(v.close(), v.open())
	case stepReadOnly:
		return errors.Join(v.close(), v.read(), v.open())
	case stepSchema:
		v.schema = min(v.schema+1, len(schemas)-1)
		return errors.Join(v.close(), v.open())
	}
	panic(fmt.Sprintf("BUG: step %d", s.kind))
}

func (v *living) apply(batch int) error {
	v.promise(func(p *promises) { p.most = max(p.most, batch) })
	var err error
	if isCall(batch) {
		err = v.byQuery(batch)
	} else {
		err = v.e.Apply(v.ctx, v.batch(batch))
	}
	if err == nil {
		v.promise(func(p *promises) {
			p.applied = batch
			if v.options.Durability == riffle.SyncBatch {
				p.least = batch
			}
		})
	}
	return err
}

func (v *living) durably(err error) error {
	if err == nil {
		v.durable()
	}
	return err
}

// copy makes another index of the current state.
func (v *living) copy(built bool, make func(dir string) error) error {
	n := 0
	v.promise(func(p *promises) {
		n = len(p.copies)
		p.copies = append(p.copies, copied{dir: fmt.Sprintf("copy%d", n), state: p.applied, built: built})
	})
	err := make(v.promises().copies[n].dir)
	if err == nil {
		v.promise(func(p *promises) {
			p.copies = slices.Clone(p.copies)
			p.copies[n].done = true
		})
	}
	return err
}

func (v *living) build(dir string) error {
	at, o := v.promises().applied, v.building()
	o.Position = position(at)
	_, err := riffle.Build(v.ctx, dir, v.states[at].source(), o)
	return err
}

// source yields the documents of a model.
func (m model) source() riffle.Documents {
	return func(yield func(riffle.Document, error) bool) {
		for _, id := range m.ids() {
			if !yield(riffle.Document{ID: id, Fields: m[id]}, nil) {
				return
			}
		}
	}
}

func (v *living) building() *riffle.BuildOptions {
	o := &riffle.BuildOptions{Index: *v.life.options(v.fs, v.schema), Workers: 2, OneSegment: v.seed%2 == 0}
	hook.Set(o, knobs(v.fs))
	return o
}

// read opens the index read-only and compares it with the current state.
func (v *living) read() error {
	return v.life.look(v.fs, indexDir, true, func(e *riffle.Engine) error {
		s, err := e.Snapshot()
		if err != nil {
			return err
		}
		defer s.Close()
		at := v.promises().applied
		m, err := v.remaining(s, v.states[at])
		if err != nil {
			return err
		}
		return errors.Join(agrees(s, m), samePosition(s, position(at)))
	})
}

// look opens an index, passes it to show, and closes it.
func (l *life) look(fsys vfs.FS, dir string, readOnly bool, show func(*riffle.Engine) error) error {
	e, err := riffle.Open(dir, l.reading(fsys, readOnly))
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	return errors.Join(show(e), e.Close())
}

// state finds out which of the states first to last an engine has, and checks it. It may also have stopped in
// the call that follows one of them.
func (l *life) state(e *riffle.Engine, first, last int) (state int, inCall bool, err error) {
	s, err := e.Snapshot()
	if err != nil {
		return 0, false, err
	}
	defer s.Close()
	var not []error
	for i := last; i >= first; i-- {
		m, err := l.remaining(s, l.states[i])
		if err == nil {
			err = sameDocuments(s, m)
		}
		if isMismatch(err) && l.calls[i+1] != nil {
			if among, werr := l.within(s, i+1); !isMismatch(werr) {
				m, err, inCall = among, werr, true
			}
		}
		if err == nil {
			return i, inCall, errors.Join(agrees(s, m), samePosition(s, position(i)), check(e))
		}
		if !isMismatch(err) {
			return 0, false, err
		}
		not = append(not, fmt.Errorf("not as after batch %d: %w", i, err))
	}
	return 0, false, mismatch{errors.Join(not[:min(3, len(not))]...)}
}

// check gathers the faults that Check reports.
func check(e *riffle.Engine) error {
	var faults []error
	err := e.Check(background, func(err error) { faults = append(faults, err) })
	return errors.Join(append(faults, err)...)
}

// inspect looks for everything promised in what has become of an index. With writing it opens the
// index for writing, which repairs it.
func (l *life) inspect(fsys vfs.FS, p promises, writing bool) error {
	err := l.look(fsys, indexDir, !writing, func(e *riffle.Engine) error {
		state, inCall, err := l.state(e, p.least, p.most)
		if err == nil && inCall && writing {
			err = l.finish(e, state+1, p)
		}
		return err
	})
	if err != nil && !(p.least == 0 && absent(err)) {
		return when(err, "%v", p)
	}
	if writing {
		if err := nothingLeft(fsys, indexDir); err != nil {
			return err
		}
	}
	for _, c := range p.copies {
		if err := l.inspectCopy(fsys, c); err != nil {
			return when(err, "%s (built %v, done %v)", c.dir, c.built, c.done)
		}
	}
	return nil
}

// absent reports whether an error says that there is no index.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// inspectCopy checks a checkpoint or a build. One that failed may be missing, or report that it is
// unfinished; one that opens must be complete.
func (l *life) inspectCopy(fsys vfs.FS, c copied) error {
	err := l.look(fsys, c.dir, true, func(e *riffle.Engine) error {
		_, _, err := l.state(e, c.state, c.state)
		return err
	})
	switch {
	case err == nil, isMismatch(err):
		return err
	case c.done:
		return err
	case absent(err), c.built && errors.Is(err, riffle.ErrUnfinished):
		return nil
	}
	return err
}

// nothingLeft looks for files that a crash has left in the folder of unfinished segments.
func nothingLeft(fsys vfs.FS, dir string) error {
	if names, err := fsys.List(fsys.PathJoin(dir, "building")); err == nil && len(names) > 0 {
		return fmt.Errorf("files left behind: %q", names)
	}
	return nil
}
