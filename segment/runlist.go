package segment

import (
	"encoding/binary"
	"unsafe"
)

// A runList is the postings of one term in a Bulk, encoded as in every run: append-only bytes, in
// slices of an arena that many lists share. A slice is twice as large as the previous one, up to 2
// KB, and ends with the place of the next one (4 bytes). So a term that occurs once takes 12 bytes,
// and one that occurs everywhere wastes little.
type runList struct {
	first   uint32 // where its first slice begins
	at, end uint32 // where the next byte goes, and the end of the slice without its link
	last    uint32 // last document, or noDoc
	n       uint32 // postings
	class   uint8  // of the current slice, which has 8<<class bytes
	begun   bool
}

const (
	runListBytes  = int64(unsafe.Sizeof(runList{}))
	firstRunSlice = 8
	maxRunClass   = 8
	runLink       = 4
)

// noDoc stands for the last document of an empty list. It is minus one, so that the first gap is
// counted like all others.
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
