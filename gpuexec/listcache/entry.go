package listcache

import (
	"math"
	"slices"
	"sync/atomic"
)

// An entry is a list that the cache knows: how often it is wanted, and the places of its pieces.
type entry struct {
	key     uint64
	version uint64 // of the head that has a place
	parts   []uint32
	sizes   []uint32 // rows of each extent
	total   int64    // their sum
	head    int64    // rows of all parts

	// Visits, halved each epoch: see fade.
	queries float32   // that had the list
	all     float32   // of these, those that wanted all extents
	some    []float32 // by extent: visits of queries that did not want all; nil if none
	epoch   uint32    // of the visits above

	headAt    []uint32      // rows of the parts' places; nil if they have none
	at        []uint32      // row of each extent's place, or Missing; nil if no extent has one
	pending   []uint64      // bit of each extent with a place that has not been copied; nil if none
	headDue   bool          // the head has not been copied to its place
	headBatch uint64        // the last batch that had the head of this version
	resident  int64         // rows of the extents that have a place
	kept      int           // number of those extents
	shown     *atomic.Int64 // resident, for readers without the lock
	batch     uint64        // the last batch that had the list
	serial    uint64        // changes with any place
}

func newEntry(n *Need, epoch uint32) *entry {
	e := &entry{key: n.Key, version: n.Version, epoch: epoch, shown: new(atomic.Int64)}
	e.parts, e.sizes = n.Head, n.Extents
	e.head, e.total = sum(e.parts), sum(e.sizes)
	return e
}

func sum(rows []uint32) (total int64) {
	for _, n := range rows {
		total += int64(n)
	}
	return total
}

// is reports whether n is the list that the entry knows.
func (e *entry) is(n *Need) bool {
	return len(e.sizes) == len(n.Extents) && (same(e.parts, n.Head) || slices.Equal(e.parts, n.Head))
}

// same reports whether two slices share their memory.
func same(a, b []uint32) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// count counts the visits of the queries of a need.
func (e *entry) count(n *Need) {
	visits := float32(max(1, n.Queries))
	e.queries += visits
	if n.Wanted == nil {
		e.all += visits
		return
	}
	if e.some == nil {
		e.some = make([]float32, len(e.sizes))
	}
	for x := range e.sizes {
		if n.wants(x) {
			e.some[x] += visits
		}
	}
}

// fade halves the visits once for each epoch that has passed.
func (e *entry) fade(epoch uint32) {
	if e.epoch == epoch {
		return
	}
	f := float32(math.Ldexp(1, -int(min(epoch-e.epoch, 200))))
	e.queries *= f
	e.all *= f
	for i := range e.some {
		e.some[i] *= f
	}
	e.epoch = epoch
}

// visits is the visiting frequency of an extent.
func (e *entry) visits(extent int) float32 {
	if e.some == nil {
		return e.all
	}
	return e.all + e.some[extent]
}

// rowsOf is the size of a piece.
func (e *entry) rowsOf(piece int32) uint32 {
	if piece < 0 {
		return e.parts[-1-piece]
	}
	return e.sizes[piece]
}

// isPending reports whether an extent has a place but has not been copied to it.
func (e *entry) isPending(extent int) bool {
	return e.pending != nil && e.pending[extent/64]>>(extent%64)&1 == 1
}

// setPending records that an extent was given a place.
func (e *entry) setPending(extent int) {
	if e.pending == nil {
		e.pending = make([]uint64, (len(e.sizes)+63)/64)
	}
	e.pending[extent/64] |= 1 << (extent % 64)
}

// clearPending records that an extent is being copied to its place, or has lost it.
func (e *entry) clearPending(extent int) {
	if e.pending != nil {
		e.pending[extent/64] &^= 1 << (extent % 64)
	}
}

// place returns the row of an extent's place, or Missing.
func (e *entry) place(extent int) uint32 {
	switch {
	case e.sizes[extent] == 0:
		return 0
	case e.at == nil:
		return Missing
	}
	return e.at[extent]
}

// whole reports whether every piece has a place and has been copied to it.
func (e *entry) whole() bool {
	return e.resident == e.total && e.headAt != nil && !e.headDue && !e.anyPending()
}

func (e *entry) anyPending() bool {
	return slices.ContainsFunc(e.pending, func(w uint64) bool { return w != 0 })
}
