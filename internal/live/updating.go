package live

import (
	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/segment"
)

// fieldUpdates returns what each update of a batch does, or nil if there is none.
func (ix *Index) fieldUpdates(ops []document.Operation, replay bool) (all [][]document.FieldUpdate, err error) {
	var reader *document.UpdateReader
	for i := range ops {
		if !ops[i].Update {
			continue
		}
		if all == nil {
			all = make([][]document.FieldUpdate, len(ops))
			reader = document.NewUpdateReader(ix.schema, ix.opts.RankField, replay)
		}
		if all[i], err = reader.FieldUpdates(&ops[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// storesField reports whether values of a column are those of a field that is stored.
func (ix *Index) storesField(column string) bool {
	return column != segment.VersionColumn && ix.schema.StoresField(column)
}

func countUpdates(ops []document.Operation) (n int) {
	for i := range ops {
		if ops[i].Update {
			n++
		}
	}
	return n
}

// An updating is the updates of one batch. Its zero value is of none.
type updating struct {
	sealed  []place // by operation: what locate has found
	next    map[*liveSegment]*updates
	version [1]document.FieldUpdate // room for that of a document
}

// begin takes what a batch of ops operations has found in sealed segments.
func (u *updating) begin(ops int, found []place) {
	u.sealed, u.next = make([]place, ops), map[*liveSegment]*updates{}
	u.version[0] = document.FieldUpdate{Field: segment.VersionColumn, Values: make([]columns.Value, 1)}
	for _, p := range found {
		u.sealed[p.op] = p
	}
}

// placeBefore finds the document that an id had before the batch, whose own begin at document begin of the
// segment in memory. The caller holds ix.mu, or is alone.
func (ix *Index) placeBefore(id string, op int, begin uint32, u *updating) (at place, ok bool) {
	if at = u.sealed[op]; at.s != nil {
		return at, true
	}
	if doc, ok := ix.memory.memory.LookupBelow(id, begin); ok && !ix.memory.deleted.contains(doc) {
		return place{ix.memory, doc, op}, true
	}
	for n := len(ix.segments) - 2; n >= 0 && ix.segments[n].memory != nil; n-- { // being sealed
		if doc, ok := ix.segments[n].memory.Lookup(id); ok && !ix.segments[n].deleted.contains(doc) {
			return place{ix.segments[n], doc, op}, true
		}
	}
	return at, false
}

// add updates a document, which gets a version.
func (u *updating) add(at place, changes []document.FieldUpdate, version uint64) {
	next := u.next[at.s]
	if next == nil {
		next = at.s.updates.clone()
		u.next[at.s] = next
	}
	docs := uint32(columns.MaxDocs) // of a segment in memory, which grows
	if at.s.disk != nil {
		docs = at.s.disk.Docs()
	} else {
		at.s.updatable = max(at.s.updatable, at.doc+1)
	}
	next.add(at.s.updates, docs, at.doc, changes)
	u.version[0].Values[0] = columns.OfInt(int64(version))
	next.add(at.s.updates, docs, at.doc, u.version[:])
}

// end makes the updates those of their segments. The caller holds Index.mu, or is alone.
func (u *updating) end() {
	for s, next := range u.next {
		s.updates = next
	}
}

var _ segment.Updates = (*segmentUpdates)(nil)
