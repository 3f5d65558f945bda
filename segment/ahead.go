package segment

import (
	"bytes"
	"encoding/binary"
)

// A partsAhead reads the parts of long lists with one iterator, for merges. Lists are numbered in
// the order of their terms, so a walk over all terms meets the parts in stored order. Looking up
// each part takes several times as long.
//
// It reports no errors: a part that it could not read is looked up instead.
type partsAhead struct {
	d  *Disk
	it Iterator // nil when the next read must begin a new one
}

// A listPart is a value of a long list, with its number.
type listPart struct {
	number uint32
	value  []byte
}

// aheadBytes is the most that is read ahead of one list. Later chunks are looked up when needed, so
// a merge never holds a whole long list. Nearly all lists are shorter.
const aheadBytes = 256 << 10

// read returns copies of the first parts of a list, in order.
func (a *partsAhead) read(list uint32) (parts []listPart) {
	if !a.seek(list) {
		return nil
	}
	for size := 0; binary.BigEndian.Uint32(a.it.Key()[1:]) == list; {
		value := bytes.Clone(a.it.Value())
		parts = append(parts, listPart{binary.BigEndian.Uint32(a.it.Key()[5:]), value})
		if size += len(value); size >= aheadBytes {
			a.close() // do not walk over the rest
			break
		}
		if !a.next() {
			break
		}
	}
	return parts
}

// seek moves to the first part of the list, or of a later one. It returns false when there is none.
func (a *partsAhead) seek(list uint32) bool {
	if a.it == nil {
		lower := listKey(list, 0)
		var err error
		if a.it, err = a.d.src.Scan(lower, after(lower[:1])); err != nil {
			a.it = nil
			return false
		}
		if !a.next() {
			return false
		}
	}
	for binary.BigEndian.Uint32(a.it.Key()[1:]) < list {
		if !a.next() {
			return false
		}
	}
	return true
}

// next moves to the next part.
func (a *partsAhead) next() bool {
	if a.it.Next() && len(a.it.Key()) == 1+4+4 {
		return true
	}
	a.close()
	return false
}

// close ends the iterator.
func (a *partsAhead) close() {
	if a.it != nil {
		a.it.Close()
		a.it = nil
	}
}
