package segment

import (
	"encoding/binary"
	"unsafe"
)

// A runList is the postings of one term in a Bulk: bytes that grow at the end, in
// slices of an arena that many lists share. A slice is twice as large as the one
// before it, up to 2 KB, and ends with the place of the next one (4 bytes). So a term that
// occurs once takes 12 bytes, and one that occurs everywhere wastes little.
//
// A posting is as appendRun writes it.
type runList struct {
	first   uint32 // where its first slice begins
	at, end uint32 // where the next byte goes, and the end of the slice without its link
	last    uint32 // last document, noDoc when there is none
	n       uint32 // postings
	class   uint8  // of the slice at hand: it has 8<<class bytes
	begun   bool
}

const (
	runListBytes  = int64(unsafe.Sizeof(runList{}))
	firstRunSlice = 8
	maxRunClass   = 8
	runLink       = 4
)

// noDoc stands for the last document of an empty list: minus one, so that the first
// gap is counted like all others.
const noDoc = ^uint32(0)

// append appends bytes to the list and returns the arena.
func (l *runList) append(arena, b []byte) []byte {
	for {
		n := copy(arena[l.at:l.end], b)
		l.at += uint32(n)
		if b = b[n:]; len(b) == 0 {
			return arena
		}
		arena = l.grow(arena)
	}
}

// grow gives the list its next slice.
func (l *runList) grow(arena []byte) []byte {
	start := uint32(len(arena))
	if !l.begun {
		l.begun, l.first = true, start
	} else {
		binary.LittleEndian.PutUint32(arena[l.end:], start)
		l.class = min(l.class+1, maxRunClass)
	}
	l.at, l.end = start, start+firstRunSlice<<l.class
	return append(arena, make([]byte, firstRunSlice<<l.class+runLink)...)
}

// appendTo appends all bytes of the list.
func (l *runList) appendTo(dst, arena []byte) []byte {
	start := l.first
	for class := uint8(0); ; class = min(class+1, maxRunClass) {
		end := start + firstRunSlice<<class
		if end == l.end {
			return append(dst, arena[start:l.at]...)
		}
		dst = append(dst, arena[start:end]...)
		start = binary.LittleEndian.Uint32(arena[end:])
	}
}

// A runReader reads the postings of a list one by one.
type runReader struct {
	data []byte
	doc  uint32 // of the posting before, noDoc in front of the first
}

// read reads up to len(docs) postings and returns how many.
func (r *runReader) read(docs, tfs []uint32) int {
	data, doc := r.data, r.doc
	n := 0
	for n < len(docs) && len(data) > 0 {
		v := uint64(data[0])
		data = data[1:]
		if v >= 0x80 {
			var more int
			var high uint64
			high, more = binary.Uvarint(data)
			v, data = v&0x7f|high<<7, data[more:]
		}
		tf := uint32(1)
		if v&1 == 0 {
			tf, data = varint(data)
			tf += 2
		}
		doc += uint32(v>>1) + 1
		docs[n], tfs[n] = doc, tf
		n++
	}
	r.data, r.doc = data, doc
	return n
}
