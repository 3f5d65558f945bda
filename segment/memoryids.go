package segment

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Lookup finds the last document added under an id. Unlike a view's Lookup it needs no view.
func (m *Memory) Lookup(id string) (doc uint32, ok bool) {
	return m.LookupBelow(id, maxDocs)
}

// LookupBelow finds the last document below limit that was added under an id.
func (m *Memory) LookupBelow(id string, limit uint32) (doc uint32, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lookupBelow(id, limit)
}

func (m *Memory) lookupBelow(id string, limit uint32) (doc uint32, ok bool) {
	name := unsafe.Slice(unsafe.StringData(id), len(id))
	s := m.findID(termKey(name), name)
	if s.number == 0 {
		return 0, false
	}
	if doc = s.number - 1; doc < limit {
		return doc, true
	}
	if s.more == 0 {
		return 0, false
	}
	earlier := m.earlier[s.more-1] // an id that is put 100,000 times, such as a counter, has as many
	n, _ := slices.BinarySearch(earlier, limit)
	if n == 0 {
		return 0, false
	}
	return earlier[n-1], true
}

// findID returns the slot of an id, or the free one that it would get.
func (m *Memory) findID(key uint64, id []byte) *memorySlot {
	return m.latest.find(key, func(doc uint32) bool { return string(m.arena.kept(m.ids[doc])) == string(id) })
}

// addEarlier notes that an id gets another document than that of its slot. It returns the growth in
// memory of its list.
func (m *Memory) addEarlier(s *memorySlot) (grown int64) {
	if s.more == 0 {
		m.earlier = append(m.earlier, nil)
		s.more = uint32(len(m.earlier))
	}
	list := &m.earlier[s.more-1]
	before := cap(*list)
	*list = append(*list, s.number-1)
	return 4 * int64(cap(*list)-before)
}

// An idColumn is the ids of documents, which never change.
type idColumn struct {
	places []uint32
	pages  arenaPages
}

// at returns the id of a document.
func (c *idColumn) at(doc uint32) []byte { return c.pages.kept(c.places[doc]) }

// An idOrder is the documents of a Memory in the order of their ids. The first walk of ids makes
// it, and later walks add newer documents, so that a page of ids costs a binary search. Views share
// it, and each skips documents at or after its own end.
type idOrder struct {
	mu     sync.Mutex // held while documents are added; locked before Memory.mu
	sorted atomic.Pointer[[]uint32]
}

// idsInOrder returns all documents below docs, and perhaps later ones, in the order of their ids.
// Documents with the same id are ascending. The slice is shared and never changes.
func (v *MemoryView) idsInOrder() (order []uint32, ids idColumn) {
	m := v.m
	if p := m.byID.sorted.Load(); p != nil && len(*p) >= int(v.docs) {
		return *p, m.idsUpTo(len(*p))
	}
	m.byID.mu.Lock()
	defer m.byID.mu.Unlock()
	var old []uint32
	if p := m.byID.sorted.Load(); p != nil {
		old = *p
	}
	if len(old) < int(v.docs) {
		order := addSorted(old, &v.ids)
		m.byID.sorted.Store(&order)
		m.bytes.Add(4 * int64(cap(order)-cap(old)))
		old = order
	}
	return old, m.idsUpTo(len(old))
}

// idsUpTo returns the ids of the first n documents, which may go beyond the end of a view.
func (m *Memory) idsUpTo(n int) idColumn {
	m.mu.Lock()
	defer m.mu.Unlock()
	return idColumn{m.ids[:n:n], m.arena.pages}
}

// addSorted returns the documents of ids in the order of ids. sorted has the first of them, in
// order. For n others it compares O(n log n) pairs, and it copies the rest in runs.
func addSorted(sorted []uint32, ids *idColumn) []uint32 {
	first, end := uint32(len(sorted)), uint32(len(ids.places))
	skip := 0
	if first < end {
		var p pace
		shared := ids.at(first)
		for doc := first + 1; doc < end; doc++ {
			shared = shared[:sharedPrefix(shared, ids.at(doc))]
			p.add(compareWork)
		}
		skip = len(shared)
	}
	fresh := sortedByBytes(int(end-first), skip, func(i uint32) []byte { return ids.at(first + i) })
	if first == 0 {
		return fresh
	}
	for i := range fresh {
		fresh[i] += first
	}
	all := make([]uint32, 0, end)
	for _, doc := range fresh {
		n := firstAbove(sorted, ids, ids.at(doc))
		all = append(append(all, sorted[:n]...), doc)
		sorted = sorted[n:]
	}
	return append(all, sorted...)
}

// firstAbove returns the first place in order whose id is above id.
func firstAbove(order []uint32, ids *idColumn, id []byte) int {
	n, _ := slices.BinarySearchFunc(order, id, func(doc uint32, id []byte) int {
		if bytes.Compare(ids.at(doc), id) <= 0 {
			return -1
		}
		return 1
	})
	return n
}

// IDs implements Reader. The first walk of the ids of a Memory sorts them.
func (v *MemoryView) IDs(from string) (IDIterator, error) {
	order, ids := v.idsInOrder()
	begin := unsafe.Slice(unsafe.StringData(from), len(from))
	first, _ := slices.BinarySearchFunc(order, begin, func(doc uint32, begin []byte) int {
		return bytes.Compare(ids.at(doc), begin)
	})
	return &memoryIDs{ids: ids, docs: order[first:], end: v.docs, at: -1}, nil
}

// memoryIDs walks the ids of a view.
type memoryIDs struct {
	ids  idColumn
	docs []uint32 // in the order of their ids
	end  uint32   // later documents are not in the view
	at   int
	id   []byte
}

func (it *memoryIDs) Next() bool {
	for it.at+1 < len(it.docs) {
		it.at++
		if doc := it.docs[it.at]; doc < it.end {
			it.id = append(it.id[:0], it.ids.at(doc)...)
			return true
		}
	}
	return false
}

func (it *memoryIDs) ID() []byte   { return it.id }
func (it *memoryIDs) Doc() uint32  { return it.docs[it.at] }
func (it *memoryIDs) Err() error   { return nil }
func (it *memoryIDs) Close() error { return nil }
