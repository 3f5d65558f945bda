package cpuexec

import (
	"bytes"
	"cmp"
	"slices"
)

// A sortHeap has the k best documents of a segment so far, the last of them at the root. Slot 0 is for a
// candidate, the others are of documents kept.
type sortHeap struct {
	s     *sorter
	k, n  int      // documents, components
	codes []uint64 // n of each slot
	docs  []uint32 // global numbers
	score []uint32
	ids   [][]byte // if the order has ids: those that were needed so far
	known []bool   // of ids
	slots []int32  // of the documents, as a heap
}

func (h *sortHeap) reset(s *sorter, k int) {
	h.s, h.k, h.n = s, k, len(s.comps)
	h.codes, h.docs, h.score, h.ids, h.known = h.codes[:0], h.docs[:0], h.score[:0], h.ids[:0], h.known[:0]
	h.slots = h.slots[:0]
	h.addSlot()
}

// forget drops references to the caller's data, and much memory.
func (h *sortHeap) forget() {
	clear(h.ids[:cap(h.ids)])
	h.s = nil
	if cap(h.codes) > 1<<12 {
		*h = sortHeap{}
	}
}

func (h *sortHeap) addSlot() int32 {
	for range h.n {
		h.codes = append(h.codes, 0)
	}
	h.docs, h.score = append(h.docs, 0), append(h.score, 0)
	h.ids, h.known = append(h.ids, nil), append(h.known, false)
	return int32(len(h.docs) - 1)
}

// of returns the codes of a slot.
func (h *sortHeap) of(slot int32) []uint64 { return h.codes[int(slot)*h.n:][:h.n] }

func (h *sortHeap) full() bool { return len(h.slots) == h.k }

// move copies a slot.
func (h *sortHeap) move(to, from int32) {
	copy(h.of(to), h.of(from))
	h.docs[to], h.score[to], h.known[to] = h.docs[from], h.score[from], h.known[from]
	if h.known[to] {
		h.ids[to] = append(h.ids[to][:0], h.ids[from]...)
	}
}

// id returns the id of the document in a slot.
func (h *sortHeap) id(slot int32) []byte {
	if !h.known[slot] {
		id, err := h.s.job.order.ID(h.ids[slot][:0], h.s.index, h.docs[slot]-h.s.base)
		if err != nil && h.s.err == nil {
			h.s.err = err
		}
		h.ids[slot], h.known[slot] = id, true
	}
	return h.ids[slot]
}

// compare is negative when slot a comes before slot b.
func (h *sortHeap) compare(a, b int32) int {
	x, y := h.of(a), h.of(b)
	for i := range x {
		if x[i] != y[i] {
			return cmp.Compare(x[i], y[i])
		}
		if c := &h.s.comps[i]; c.kind == idCode {
			if d := c.compareIDs(h.id(a), h.id(b)); d != 0 {
				return d
			}
		}
	}
	return cmp.Compare(h.docs[a], h.docs[b])
}

func (c *component) compareIDs(a, b []byte) int {
	if c.desc {
		a, b = b, a
	}
	return bytes.Compare(a, b)
}

// before reports whether a slot comes before a limit.
func (h *sortHeap) before(slot int32, l *limit) bool {
	x := h.of(slot)
	for i, code := range l.codes {
		if x[i] != code {
			return x[i] < code
		}
		if c := &h.s.comps[i]; c.kind == idCode {
			if d := c.compareIDs(h.id(slot), l.id); d != 0 {
				return d < 0
			}
		}
	}
	if l.cut == at {
		return uint64(h.docs[slot]) < l.doc
	}
	return l.cut == behind
}

// offer takes the candidate in if it is one of the k best, and reports whether that changed the last of
// them.
func (h *sortHeap) offer() (changed bool) {
	s := h.s
	if s.after.set && h.before(0, &s.after) {
		return false
	}
	if h.full() {
		root := h.slots[0]
		if h.compare(0, root) >= 0 {
			return false
		}
		h.move(root, 0)
		h.down(0)
		s.reached()
		return true
	}
	if s.limit.set && !h.before(0, &s.limit) {
		return false
	}
	slot := h.addSlot()
	h.move(slot, 0)
	h.slots = append(h.slots, slot)
	if h.full() {
		for i := h.k/2 - 1; i >= 0; i-- {
			h.down(i)
		}
		s.reached()
	}
	return h.full()
}

// down moves the slot at i to its place in the heap below.
func (h *sortHeap) down(i int) {
	slot := h.slots[i]
	for {
		child := 2*i + 1
		if child >= len(h.slots) {
			break
		}
		if child+1 < len(h.slots) && h.compare(h.slots[child+1], h.slots[child]) > 0 {
			child++
		}
		if h.compare(h.slots[child], slot) <= 0 {
			break
		}
		h.slots[i] = h.slots[child]
		i = child
	}
	h.slots[i] = slot
}

// places returns the documents kept, in order.
func (h *sortHeap) places() ([]Place, error) {
	slices.SortFunc(h.slots, h.compare)
	places := make([]Place, len(h.slots))
	keys := make([]KeyValue, len(h.slots)*len(h.s.job.order.Keys))
	for i, slot := range h.slots {
		p := &places[i]
		n := len(h.s.job.order.Keys)
		*p = Place{Doc: h.docs[slot], Score: h.score[slot], Keys: keys[i*n : (i+1)*n : (i+1)*n]}
		if err := p.decode(h.s.comps, h.of(slot), func() string { return string(h.id(slot)) }); err != nil {
			return nil, err
		}
	}
	return places, h.s.err
}
