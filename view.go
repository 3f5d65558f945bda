package riffle

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// A view is the index at one moment: segments, their deleted documents, and
// totals. It never changes. The Engine publishes a new one with every batch and
// every merge; a search runs on the one that was current when it began.
type view struct {
	e    *Engine
	segs []segmentView
	docs uint32 // over all segments, deleted ones included
	live uint64 // documents that are not deleted
	refs atomic.Int64

	totals sync.Map // field name -> *fieldTotals
}

// A segmentView is one segment as a view sees it.
type segmentView struct {
	home    *liveSegment
	reader  segment.Reader
	base    uint32 // global number of its first document
	deleted *deletions
}

// A liveSegment is one segment of the index, sealed or in memory. The fields
// below mu are guarded by Engine.mu.
type liveSegment struct {
	number uint64          // in the store; unique in this process even for segments in memory
	memory *segment.Memory // nil once sealed
	disk   *segment.Disk   // nil while in memory
	bytes  int64           // size in the store
	users  atomic.Int64    // views that hold it

	wanted int          // snapshots that wait for the sealed segment; they hold it
	sealed *liveSegment // what it has become for them; nil when no document was left

	memoryNumber uint64 // of a segment in memory: unique in this process

	obsolete  atomic.Bool // no longer in Engine.segments
	deleted   *deletions
	persisted *deletions // what the store has; differs while the log holds the rest
}

// reader returns the segment as it is now.
func (s *liveSegment) reader() segment.Reader {
	if s.disk != nil {
		return s.disk
	}
	return s.memory.View()
}

// keyOf names a list for blockmax.Term.Key: by the number of its segment, which is
// never given to another one, and its own. Both fit unless the index has seen four
// billion segments.
func (s *liveSegment) keyOf(l *postings.List) uint64 {
	if s.disk == nil || l.Number == 0 || s.number >= 1<<31 || l.Number > math.MaxUint32 {
		return 0
	}
	return s.number<<32 | l.Number
}

// columnKey names the columns of the segment in the list cache.
func (s *liveSegment) columnKey() uint64 {
	if s.disk != nil {
		return cache.Columns | s.number
	}
	return cache.Columns | cache.MemoryColumns | s.memoryNumber
}

// segmentOfKey is the number of the segment of a list with such a key.
func segmentOfKey(key uint64) uint64 { return key >> 32 }

// deletions are the deleted documents of a segment: immutable, so that views can
// share them. A nil *deletions is empty.
type deletions struct {
	bitmap *roaring.Bitmap
	accept atomic.Pointer[acceptBits]
}

// acceptBits is a bitset of the documents below docs that are not deleted. One
// set of deletions can go with several: a segment in memory grows.
type acceptBits struct {
	docs uint32
	bits []uint64
}

func (d *deletions) contains(doc uint32) bool { return d != nil && d.bitmap.Contains(doc) }

func (d *deletions) count() uint64 {
	if d == nil {
		return 0
	}
	return d.bitmap.GetCardinality()
}

// set returns the bitmap, or nil when nothing is deleted.
func (d *deletions) set() *roaring.Bitmap {
	if d == nil {
		return nil
	}
	return d.bitmap
}

// with returns the deletions plus some more documents.
func (d *deletions) with(docs []uint32) *deletions {
	if len(docs) == 0 {
		return d
	}
	n := &deletions{bitmap: roaring.New()}
	if d != nil {
		n.bitmap = d.bitmap.Clone()
	}
	n.bitmap.AddMany(docs)
	return n
}

// acceptBits returns a bitset of the documents below docs that are not deleted,
// or nil when none is.
func (d *deletions) acceptBits(docs uint32) []uint64 {
	if d.count() == 0 {
		return nil
	}
	if a := d.accept.Load(); a != nil && a.docs == docs {
		return a.bits
	}
	a := &acceptBits{docs, allBits(docs)}
	for it := d.bitmap.Iterator(); it.HasNext(); {
		if doc := it.Next(); doc < docs {
			a.bits[doc/64] &^= 1 << (doc % 64)
		}
	}
	d.accept.Store(a)
	return a.bits
}

// allBits returns a bitset in which just the first n bits are set.
func allBits(n uint32) []uint64 {
	words := make([]uint64, (n+63)/64)
	for i := range words {
		words[i] = ^uint64(0)
	}
	if n%64 != 0 {
		words[len(words)-1] = 1<<(n%64) - 1
	}
	return words
}

// fieldTotals are the statistics of a field over a whole view, deleted documents
// included: they go when their segment is merged.
type fieldTotals struct {
	docs   uint64 // documents that have the field
	tokens uint64
	norms  bool

	last atomic.Pointer[simTable] // that table returned
}

// A simTable is the impact table of a field under a similarity.
type simTable struct {
	sim   BM25
	table *blockmax.Table
}

func (t *fieldTotals) average() float64 {
	if t.docs == 0 || !t.norms {
		return 1
	}
	return float64(t.tokens) / float64(t.docs)
}

// table returns the field's impact table under a similarity.
func (t *fieldTotals) table(sim BM25, tables *cache.Tables) *blockmax.Table {
	if last := t.last.Load(); last != nil && last.sim == sim {
		return last.table
	}
	wanted := sim
	if !t.norms {
		wanted.B = 0 // no lengths are kept: all count as equal
	}
	next := &simTable{sim, tables.Get(wanted, t.average())}
	t.last.Store(next)
	return next.table
}

func (v *view) field(name string) *fieldTotals {
	if t, ok := v.totals.Load(name); ok {
		return t.(*fieldTotals)
	}
	t := new(fieldTotals)
	for i := range v.segs {
		if f, ok := v.segs[i].reader.Field(name); ok {
			t.docs += uint64(f.Docs)
			t.tokens += f.Tokens
			t.norms = t.norms || f.Norms
		}
	}
	v.totals.Store(name, t)
	return t
}

// Segments implements plan.Index.
func (v *view) Segments() int { return len(v.segs) }

// Segment implements plan.Index.
func (v *view) Segment(i int) plan.Segment { return &v.segs[i] }

// Field implements plan.Index.
func (v *view) Field(name string, sim BM25) (docs uint64, table *blockmax.Table) {
	t := v.field(name)
	return t.docs, t.table(sim, &v.e.tables)
}

// Settle implements plan.Index.
func (v *view) Settle(lists []*cache.List) { v.e.lists.Settle(lists) }

// List implements plan.Index. It goes through the cache when the segment is sealed.
func (v *view) List(i int, field, term string) (*cache.List, error) {
	s := &v.segs[i]
	open := func() (*postings.List, error) {
		l, err := s.reader.List(field, []byte(term))
		return l, s.home.at(err)
	}
	if s.home.memory != nil {
		l, err := open()
		return &cache.List{Postings: l}, err
	}
	return v.e.lists.Get(cache.Key{Segment: s.home.number, Field: field, Term: term}, open)
}

// Norms implements plan.Index.
func (v *view) Norms(i int, field string) ([]uint8, error) {
	s := &v.segs[i]
	n, err := s.reader.Norms(field)
	if err != nil {
		return nil, s.home.at(err)
	}
	if !n.Sparse() {
		return n.Column(), nil
	}
	sparse := n // n itself is not to escape
	return v.e.lists.Column(s.home.columnKey(), field, s.reader.Docs(), sparse.Expand), nil
}

// segmentOf finds the segment of a global document number.
func (v *view) segmentOf(doc uint32) *segmentView {
	lo, hi := 0, len(v.segs)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; v.segs[mid].base <= doc {
			lo = mid
		} else {
			hi = mid
		}
	}
	return &v.segs[lo]
}

// find finds the live document of an id; ErrNotFound when there is none.
func (v *view) find(ctx context.Context, id string) (s *segmentView, doc uint32, err error) {
	for i := len(v.segs) - 1; i >= 0; i-- {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		s := &v.segs[i]
		doc, ok, err := s.reader.Lookup(id)
		if err != nil {
			return nil, 0, s.home.at(err)
		}
		if ok && !s.deleted.contains(doc) {
			return s, doc, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	return nil, 0, ErrNotFound
}

// acquire begins a call on the current view: Close waits until the view is released, and its
// segments stay.
func (e *Engine) acquire() (*view, error) {
	if err := e.begin(); err != nil {
		return nil, err
	}
	return e.retain(), nil
}

// release ends the call that acquire or Snapshot.hold began.
func (v *view) release() {
	v.unref()
	v.e.calls.leave()
}

// retain takes a reference to the current view. The caller has announced itself.
func (e *Engine) retain() *view {
	for {
		v := e.current.Load()
		if v.ref() {
			return v
		}
	}
}

// ref adds a reference unless the last one is gone.
func (v *view) ref() bool {
	for {
		n := v.refs.Load()
		if n == 0 {
			return false
		}
		if v.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// unref gives a reference back. With the last one the view lets go of its
// segments, and those that no view holds any more are dropped in the background.
func (v *view) unref() {
	if v.refs.Add(-1) > 0 {
		return
	}
	for i := range v.segs {
		if home := v.segs[i].home; home.users.Add(-1) == 0 {
			v.e.unused(home)
		}
	}
}

// publish makes the current segments visible. The caller holds e.mu.
func (e *Engine) publish() {
	v := e.newView()
	for _, s := range e.segments {
		v.add(s, s.deleted)
	}
	if old := e.current.Swap(v); old != nil {
		old.unref()
	}
}

// checkDocs refuses documents that the index cannot number any more. Batches that
// are applied at the same time count each by itself; MaxDocs leaves room for that.
func (e *Engine) checkDocs(more int) error {
	if v := e.current.Load(); more > 0 && uint64(v.docs)+uint64(more) > e.opts.private.maxDocs {
		return fmt.Errorf("riffle: apply: %d documents more than the %d there are (%d of them deleted) exceed the limit of %d; Compact drops deleted ones",
			more, v.docs, uint64(v.docs)-v.live, e.opts.private.maxDocs)
	}
	return nil
}

// newView returns an empty view with one reference.
func (e *Engine) newView() *view {
	v := &view{e: e}
	v.refs.Store(1)
	return v
}

// add puts a segment behind the others of a view that nobody has seen yet.
func (v *view) add(s *liveSegment, deleted *deletions) {
	sv := segmentView{home: s, reader: s.reader(), base: v.docs, deleted: deleted}
	if sv.reader.Docs() == 0 {
		return
	}
	s.users.Add(1)
	v.segs = append(v.segs, sv)
	v.docs += sv.reader.Docs()
	v.live += uint64(sv.reader.Docs()) - deleted.count()
}

// Reader implements plan.Segment.
func (s *segmentView) Reader() segment.Reader { return s.reader }

// Base implements plan.Segment.
func (s *segmentView) Base() uint32 { return s.base }

// Key implements plan.Segment.
func (s *segmentView) Key(l *postings.List) uint64 { return s.home.keyOf(l) }

// At implements plan.Segment.
func (s *segmentView) At(err error) error { return s.home.at(err) }

// Accept implements plan.Segment.
func (s *segmentView) Accept() []uint64 { return s.deleted.acceptBits(s.reader.Docs()) }

// ByScore implements plan.Segment.
func (s *segmentView) ByScore() bool {
	return s.home.disk != nil && s.reader.Order().Kind == segment.ByGlobalScore
}
