package segment

import (
	"slices"
	"strings"
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
	doc, ok = m.latest[id]
	if !ok || doc < limit {
		return doc, ok
	}
	earlier := m.earlier[id] // an id that is put 100,000 times, such as a counter, has as many
	n, _ := slices.BinarySearch(earlier, limit)
	if n == 0 {
		return 0, false
	}
	return earlier[n-1], true
}

// addEarlier notes that an id whose last document was before gets another one. It returns the
// growth in memory.
func (m *Memory) addEarlier(id string, before uint32) (grown int64) {
	old := m.earlier[id]
	list := append(old, before)
	m.earlier[id] = list
	return 4 * int64(cap(list)-cap(old))
}

// An idOrder is the documents of a Memory in the order of their ids. The first walk of ids makes
// it, and later walks add newer documents, so that a page of ids costs a binary search. Views share
// it, and each skips documents at or after its own end.
type idOrder struct {
	mu     sync.Mutex // held while documents are added; locked before Memory.mu
	sorted atomic.Pointer[[]uint32]
}

// idsInOrder returns all documents below docs, and perhaps later ones, in the order of their ids.
// Documents with the same id are ascending. The slice is shared and never changes.
func (v *MemoryView) idsInOrder() (order []uint32, ids []string) {
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
		order := addSorted(old, v.ids)
		m.byID.sorted.Store(&order)
		m.bytes.Add(4 * int64(cap(order)-cap(old)))
		old = order
	}
	return old, m.idsUpTo(len(old))
}

// idsUpTo returns the ids of the first n documents, which may go beyond the end of a view.
func (m *Memory) idsUpTo(n int) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ids[:n:n]
}

// addSorted returns the documents of ids in the order of ids. sorted has the first of them, in
// order. For n others it compares O(n log n) pairs, and it copies the rest in runs.
func addSorted(sorted []uint32, ids []string) []uint32 {
	added := ids[len(sorted):]
	skip := 0
	if len(added) > 0 {
		skip = len(added[0])
	}
	for _, id := range added {
		skip = sharedPrefix(added[0][:skip], id)
	}
	fresh := sortedByBytes(len(added), skip, func(i uint32) []byte {
		return unsafe.Slice(unsafe.StringData(added[i]), len(added[i]))
	})
	if len(sorted) == 0 {
		return fresh
	}
	for i := range fresh {
		fresh[i] += uint32(len(sorted))
	}
	all := make([]uint32, 0, len(ids))
	for _, doc := range fresh {
		n := firstAbove(sorted, ids, ids[doc])
		all = append(append(all, sorted[:n]...), doc)
		sorted = sorted[n:]
	}
	return append(all, sorted...)
}

// firstAbove returns the first place in order whose id is above id.
func firstAbove(order []uint32, ids []string, id string) int {
	n, _ := slices.BinarySearchFunc(order, id, func(doc uint32, id string) int {
		if ids[doc] <= id {
			return -1
		}
		return 1
	})
	return n
}

// IDs implements Reader. The first walk of the ids of a Memory sorts them.
func (v *MemoryView) IDs(from string) (IDIterator, error) {
	order, ids := v.idsInOrder()
	first, _ := slices.BinarySearchFunc(order, from, func(doc uint32, from string) int {
		return strings.Compare(ids[doc], from)
	})
	return &memoryIDs{ids: ids, docs: order[first:], end: v.docs, at: -1}, nil
}

// memoryIDs walks the ids of a view.
type memoryIDs struct {
	ids  []string
	docs []uint32 // in the order of their ids
	end  uint32   // later documents are not in the view
	at   int
	id   []byte
}

func (it *memoryIDs) Next() bool {
	for it.at+1 < len(it.docs) {
		it.at++
		if doc := it.docs[it.at]; doc < it.end {
			it.id = append(it.id[:0], it.ids[doc]...)
			return true
		}
	}
	return false
}

func (it *memoryIDs) ID() []byte   { return it.id }
func (it *memoryIDs) Doc() uint32  { return it.docs[it.at] }
func (it *memoryIDs) Err() error   { return nil }
func (it *memoryIDs) Close() error { return nil }
