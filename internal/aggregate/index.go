package aggregate

import "math/bits"

// An index finds a cell by owner and key. A cell is the count of a bucket, or its number plus 1;
// 0 stands for a bucket that does not exist. Keys below span lie in rows, one for each owner, as
// long as these are not too large together; other cells in a hash table.
type index struct {
	span   uint64 // 0 for no rows
	most   int64  // bytes of rows
	rows   [][]uint32
	inRows int64
	hashed hashTable
}

// rowBytes is the memory that rows of several owners may take.
const rowBytes = 16 << 20

// newIndex returns an index of keys below span, or of any keys if it is 0. most bounds the memory of
// rows.
func newIndex(span uint64, most int64) index {
	if span > uint64(most)/4 {
		span = 0
	}
	return index{span: span, most: most}
}

// row returns the cells of an owner by key, or nil.
func (x *index) row(owner uint32) []uint32 {
	if x.span == 0 {
		return nil
	}
	if int(owner) < len(x.rows) && x.rows[owner] != nil {
		return x.rows[owner]
	}
	if x.inRows+4*int64(x.span) > x.most {
		return nil
	}
	x.rows = grow(x.rows, owner)
	x.rows[owner] = make([]uint32, x.span)
	x.inRows += 4 * int64(x.span)
	return x.rows[owner]
}

// adopt takes a row as that of an owner who has no cells yet, if there is memory for it.
func (x *index) adopt(owner uint32, row []uint32) bool {
	if x.inRows+4*int64(x.span) > x.most || x.hashed.n > 0 || int(owner) < len(x.rows) && x.rows[owner] != nil {
		return false
	}
	x.rows = grow(x.rows, owner)
	x.rows[owner] = row
	x.inRows += 4 * int64(x.span)
	return true
}

// cell returns a cell. The caller must leave it above 0, before it asks for another.
func (x *index) cell(owner uint32, key uint64) *uint32 {
	if int(owner) < len(x.rows) {
		if row := x.rows[owner]; row != nil {
			return &row[key]
		}
	}
	if row := x.row(owner); row != nil {
		return &row[key]
	}
	return x.hashed.cell(owner, key)
}

// each calls f for all cells above 0, in no particular order.
func (x *index) each(f func(owner uint32, key uint64, value uint32)) {
	for owner, row := range x.rows {
		for key, v := range row {
			if v != 0 {
				f(uint32(owner), uint64(key), v)
			}
		}
	}
	for i := range x.hashed.slots {
		if s := &x.hashed.slots[i]; s.value != 0 {
			f(s.owner, s.key, s.value)
		}
	}
}

func (x *index) bytes() int64 {
	return x.inRows + 24*int64(cap(x.rows)) + 16*int64(len(x.hashed.slots))
}

// A hashTable has cells by owner and key, with linear probing.
type hashTable struct {
	slots []slot // a power of two of them
	n     int    // in use
	shift uint
}

type slot struct {
	key          uint64
	owner, value uint32
}

func (h *hashTable) cell(owner uint32, key uint64) *uint32 {
	if 8*(h.n+1) > 5*len(h.slots) {
		h.enlarge()
	}
	s := h.find(owner, key)
	if s.value == 0 {
		s.owner, s.key = owner, key
		h.n++
	}
	return &s.value
}

// find returns the slot of a cell, or the free one where it belongs.
func (h *hashTable) find(owner uint32, key uint64) *slot {
	mask := len(h.slots) - 1
	hi, lo := bits.Mul64(key^uint64(owner)*0x9E3779B97F4A7C15^0x2545F4914F6CDD1D, 0xD6E8FEB86659FD93)
	for i := int((hi ^ lo) >> h.shift); ; i++ {
		s := &h.slots[i&mask]
		if s.value == 0 || s.key == key && s.owner == owner {
			return s
		}
	}
}

func (h *hashTable) enlarge() {
	before := h.slots
	size := max(64, 2*len(before))
	h.slots = make([]slot, size)
	h.shift = uint(64 - bits.Len(uint(size-1)))
	for i := range before {
		if s := &before[i]; s.value != 0 {
			*h.find(s.owner, s.key) = *s
		}
	}
}

// grow returns s with at least i+1 elements.
func grow[T any](s []T, i uint32) []T {
	if int(i) < len(s) {
		return s
	}
	if int(i) < cap(s) {
		return s[:i+1]
	}
	more := make([]T, int(i)+1, max(2*cap(s), int(i)+1, 8))
	copy(more, s)
	return more
}
