package segment

import (
	"math/bits"
	"unsafe"
)

// A memoryTable finds the terms of a field of a Memory, or its ids. It is a hash table that grows a
// page at a time, by extendible hashing (Fagin et al. 1979): a page that is half full is split in
// two, and the directory of pages doubles when it must. One table that doubles as a whole would keep
// searches waiting for milliseconds. The zero value is empty and ready to use.
//
// Pages have no pointers. A slot has the whole of a term of up to seven bytes (termKey).
type memoryTable struct {
	pages []*tablePage // by the first bits of the hash; a page may be there several times
	shift uint8        // 64 less the number of these bits
	taken uint32       // slots that are taken: terms
	bytes int64
}

// A tablePage is the terms whose hashes begin with the same bits.
type tablePage struct {
	slots []memorySlot // a power of two; at most half of them are taken
	taken int32
	bits  uint8 // how many the hashes share
}

// A memorySlot is free when number is 0.
type memorySlot struct {
	key    uint64 // see termKey
	number uint32 // of the term, plus one
	more   uint32 // for the owner of the table; 0 initially
}

const (
	leastSlots = 8    // of a field with few terms
	pageSlots  = 1024 // of a page that is split: some microseconds
)

// page returns the page for a hash of a table that is not empty.
func (t *memoryTable) page(hash uint64) *tablePage { return t.pages[hash>>t.shift] }

// first is the first slot to look at.
func (p *tablePage) first(hash uint64) uint64 {
	return hash << p.bits >> (64 - bits.TrailingZeros(uint(len(p.slots))))
}

// find returns the slot of a term, or the free one that it would get. same compares the bytes of a
// long term with those of a term by its number.
func (t *memoryTable) find(key uint64, same func(number uint32) bool) *memorySlot {
	if len(t.pages) == 0 {
		t.makeFirst()
	}
	hash := key * hashOdd
	p := t.page(hash)
	slots, mask := p.slots, uint64(len(p.slots)-1)
	for i := p.first(hash); ; i++ {
		s := &slots[i&mask]
		if s.number == 0 || s.key == key && (key < longTerm || same(s.number-1)) {
			return s
		}
	}
}

// add takes a free slot, which find has returned, for a new term. Slots move.
func (t *memoryTable) add(s *memorySlot, key uint64, number uint32) {
	t.taken++
	*s = memorySlot{key: key, number: number + 1}
	hash := key * hashOdd
	p := t.page(hash)
	if p.taken++; int(p.taken)*2 < len(p.slots) {
		return
	}
	if len(p.slots) < pageSlots {
		old := p.slots
		p.slots = make([]memorySlot, 2*len(old))
		for _, s := range old {
			if s.number > 0 {
				p.put(s)
			}
		}
		t.bytes += int64(len(old)) * int64(unsafe.Sizeof(memorySlot{}))
		return
	}
	t.split(hash)
}

// makeFirst gives an empty table a page.
func (t *memoryTable) makeFirst() {
	t.pages, t.shift = []*tablePage{t.newPage(leastSlots, 0)}, 64
	t.bytes += int64(unsafe.Sizeof(t.pages[0]))
}

func (t *memoryTable) newPage(slots int, bits uint8) *tablePage {
	t.bytes += int64(unsafe.Sizeof(tablePage{})) + int64(slots)*int64(unsafe.Sizeof(memorySlot{}))
	return &tablePage{slots: make([]memorySlot, slots), bits: bits}
}

// put copies a slot into one that is free.
func (p *tablePage) put(s memorySlot) {
	mask := uint64(len(p.slots) - 1)
	i := p.first(s.key * hashOdd)
	for p.slots[i&mask].number != 0 {
		i++
	}
	p.slots[i&mask] = s
}

// split replaces the page for a hash by two, of which it is one.
func (t *memoryTable) split(hash uint64) {
	low := t.page(hash)
	if 64-t.shift == low.bits {
		pages := make([]*tablePage, 2*len(t.pages))
		for i := range pages {
			pages[i] = t.pages[i/2]
		}
		t.bytes += int64(len(t.pages)) * int64(unsafe.Sizeof(low))
		t.pages, t.shift = pages, t.shift-1
	}
	var old [pageSlots]memorySlot
	copy(old[:], low.slots)
	clear(low.slots)
	low.bits, low.taken = low.bits+1, 0
	high := t.newPage(pageSlots, low.bits)
	for i := range old {
		if s := &old[i]; s.number > 0 {
			half := low
			if s.key*hashOdd>>(64-low.bits)&1 == 1 {
				half = high
			}
			half.put(*s)
			half.taken++
		}
	}
	n := 1 << (64 - t.shift - low.bits) // places of each half
	begin := int(hash>>t.shift) &^ (2*n - 1)
	for i := range n {
		t.pages[begin+n+i] = high
	}
}
