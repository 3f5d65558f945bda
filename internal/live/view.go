package live

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// A View is the index at one moment: segments, their deleted documents, and totals. It never
// changes. The Index publishes a new one with every batch and every merge; a search runs on the
// view that was current when it began.
type View struct {
	ix   *Index
	segs []Segment
	docs uint32 // over all segments, deleted ones included
	live uint64 // documents that are not deleted
	at   string // position of its batches
	refs atomic.Int64

	version uint64 // of its last batch
	serial  uint64 // counts the views of ix

	parts    []part        // of segs, as plans see them
	places   []cache.Place // of parts, in the list cache
	tailed   bool          // a part is the tail of a segment in memory
	searched atomic.Int32  // how often, if tailed

	totals sync.Map // field name -> *fieldTotals
}

// A Segment is one segment of a view.
type Segment struct {
	home    *liveSegment
	reader  segment.Reader
	base    uint32 // global number of its first document
	deleted *deletions
	updates *updates
	stores  func(field string) bool // whether the schema says that values of a field are stored
}

// Len returns the number of segments.
func (v *View) Len() int { return len(v.segs) }

// Field implements plan.Index.
func (v *View) Field(name string, sim blockmax.BM25) (docs uint64, table *blockmax.Table) {
	t := v.field(name)
	return t.docs, t.table(sim, &v.ix.tables)
}

// SegmentAt returns a segment by its number in the view, with all that a View knows about it.
func (v *View) SegmentAt(i int) *Segment { return &v.segs[i] }

// Table implements plan.Index.
func (v *View) Table(name string, sim blockmax.BM25, average float64) *blockmax.Table {
	return v.field(name).tableAt(sim, average, &v.ix.tables)
}

// LengthTable implements plan.Index.
func (v *View) LengthTable(sim blockmax.BM25, average float64) *blockmax.Table {
	return v.ix.tables.Get(sim, average)
}

// Tokens implements plan.Index.
func (v *View) Tokens(name string) uint64 { return v.field(name).tokens }

// Totals implements plan.Index.
func (v *View) Totals(name string) (docs, tokens uint64) {
	t := v.field(name)
	if !t.norms {
		return t.docs, 0
	}
	return t.docs, t.tokens
}

// SegmentOf finds the segment of a global document number.
func (v *View) SegmentOf(doc uint32) *Segment {
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

// Find finds the live document of an id. It returns the index of its segment and its number there,
// or ErrNotFound.
func (v *View) Find(ctx context.Context, id string) (segment int, doc uint32, err error) {
	for i := len(v.segs) - 1; i >= 0; i-- {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		s := &v.segs[i]
		doc, ok, err := s.reader.Lookup(id)
		if err != nil {
			return 0, 0, s.home.at(err)
		}
		if ok && !s.deleted.contains(doc) {
			return i, doc, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	return 0, 0, ErrNotFound
}

// Position returns the position of the view's last batch that had one; it is empty if none had one.
func (v *View) Position() string { return v.at }

// Revision names what statistics count in the view. Without deleted documents, that is what the batches up
// to its position have put. Otherwise it depends on what has been merged.
func (v *View) Revision() string {
	if v.at != "" && uint64(v.docs) == v.live {
		return fmt.Sprintf("%x-%x", v.at, v.live)
	}
	return fmt.Sprintf("%s.%d", v.ix.instance, v.serial)
}

// Docs returns the number of documents that are not deleted.
func (v *View) Docs() uint64 { return v.live }

// Acquire begins a call on the current view. Until Release, Close waits and the view's segments
// stay.
func (ix *Index) Acquire() (*View, error) {
	if err := ix.Begin(); err != nil {
		return nil, err
	}
	return ix.retain(), nil
}

// Release ends a call that holds a reference to the view: from Acquire, or from Begin and Ref.
func (v *View) Release() {
	v.Unref()
	v.ix.End()
}

// retain takes a reference to the current view. The caller has announced its call.
func (ix *Index) retain() *View {
	for {
		v := ix.current.Load()
		if v.ref() {
			return v
		}
	}
}

// ref adds a reference unless the last one is gone.
func (v *View) ref() bool {
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

// Ref adds a reference for a caller that already has one.
func (v *View) Ref() { v.refs.Add(1) }

// Unref releases a reference. With the last one the view releases its segments; those that no view
// holds any more are dropped in the background.
func (v *View) Unref() {
	if v.refs.Add(-1) > 0 {
		return
	}
	for i := range v.segs {
		if home := v.segs[i].home; home.users.Add(-1) == 0 {
			v.ix.unused(home)
		}
	}
}

// publish makes the current segments visible. The caller holds ix.mu.
func (ix *Index) publish() {
	v := ix.newView()
	for _, s := range ix.segments {
		v.add(s, s.deleted, s.updates)
	}
	v.shareIDs()
	if old := ix.current.Swap(v); old != nil {
		old.Unref()
	}
}

// idShare: pages of ids may take 1/idShare of the cache's budget.
const idShare = 16

// shareIDs divides the budget of pages of ids among the sealed segments.
func (v *View) shareIDs() {
	_, budget := v.ix.lists.Bytes()
	budget /= idShare
	for i := range v.segs {
		if s := &v.segs[i]; s.home.disk != nil {
			part := float64(s.reader.Docs()) / float64(v.docs)
			s.home.disk.LimitIDs(min(segment.IDCacheBytes, int64(part*float64(budget))))
		}
	}
}

// heldBySegments is the memory of sealed segments in the current view: length codes, ids, terms, indexes
// of terms and the like.
func (ix *Index) heldBySegments() (bytes int64) {
	bytes = ix.trigrams.Used()
	if v := ix.current.Load(); v != nil {
		for i := range v.segs {
			if disk := v.segs[i].home.disk; disk != nil {
				bytes += disk.HeldBytes() + v.segs[i].updates.heldBytes() + v.segs[i].updates.logBytes()
			}
		}
	}
	return bytes
}

// newView returns an empty view with one reference, for the batches so far. The caller holds ix.mu.
func (ix *Index) newView() *View {
	v := &View{ix: ix, at: ix.position, version: versionOf(ix.seq), serial: ix.views.Add(1)}
	v.refs.Store(1)
	return v
}

// add appends a segment to a view that is not yet published.
func (v *View) add(s *liveSegment, deleted *deletions, updates *updates) {
	sv := Segment{home: s, reader: s.reader(), base: v.docs, deleted: deleted, updates: updates, stores: v.ix.storesField}
	if sv.reader.Docs() == 0 {
		return
	}
	s.users.Add(1)
	v.segs = append(v.segs, sv)
	v.addParts(&sv)
	v.docs += sv.reader.Docs()
	v.live += uint64(sv.reader.Docs()) - deleted.count()
}

// Reader returns the segment's reader.
func (s *Segment) Reader() segment.Reader { return s.reader }

// Base returns the global number of the segment's first document.
func (s *Segment) Base() uint32 { return s.base }

// Number returns a number that no other segment of this process has, below 1<<32. It is the store's
// number, or, for a segment in memory, one above all of those, counted separately.
func (s *Segment) Number() uint64 {
	if s.home.disk == nil {
		return memoryNumbers + s.home.memoryNumber
	}
	return s.home.number
}

// StoreNumber implements plan.Segment.
func (s *Segment) StoreNumber() uint64 { return s.home.number }

// memoryNumbers is the first Segment.Number of segments in memory.
const memoryNumbers = 1 << 31

// AsArrived reports whether the documents are in their order of arrival.
func (s *Segment) AsArrived() bool {
	return s.home.disk == nil || s.reader.Order().Kind == segment.Arrival
}

// Key implements plan.Segment.
func (s *Segment) Key(l *postings.List) uint64 { return s.home.keyOf(l) }

// At implements plan.Segment.
func (s *Segment) At(err error) error { return s.home.at(err) }

// ByScore implements plan.Segment.
func (s *Segment) ByScore() bool {
	return s.home.disk != nil && s.reader.Order().Kind == segment.ByGlobalScore
}
