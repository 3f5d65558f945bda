package segment

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// A termTable numbers terms from 0 in the order in which they first occur. It is a hash table with
// open addressing over one arena: no pointer for the garbage collector, and no allocation per term.
// The zero value is empty and ready to use.
//
// A slot holds the whole of a term of up to seven bytes, as are three of four English words. So
// most lookups read 16 bytes and compare one word. Compared with Wei's tries over B-trees and with
// a radix tree, a lookup takes a half and a third of the time, respectively
// (bench/results/2026-11-20-building.md).
type termTable struct {
	slots []termSlot // a power of two; at most half of them are taken
	shift uint8      // 64 less the bits of a slot's number
	ends  []uint32   // of each term, in arena
	arena []byte     // all terms, concatenated
}

// A termSlot is free when number is 0.
type termSlot struct {
	key    uint64 // see termKey
	number uint32 // of the term, plus one
	last   uint32 // data of the table's owner about the term; 0 initially
}

// hashOdd and hashLong are random for each process, so that no text can force collisions. The
// output does not depend on them.
var (
	hashOdd  = rand.Uint64() | 1
	hashLong = rand.Uint64() | 1
)

// longTerm is set in keys that do not hold the whole term.
const longTerm = 0xff << 56

// termKey is the term itself if it has at most seven bytes (little-endian, the length in the top
// byte), else longTerm with 56 bits of a hash.
func termKey(term []byte) uint64 {
	switch n := len(term); {
	case n >= 8:
		return longKey(term)
	case n >= 4:
		low := uint64(binary.LittleEndian.Uint32(term))
		high := uint64(binary.LittleEndian.Uint32(term[n-4:])) >> (8 * (8 - n))
		return low | high<<32 | uint64(n)<<56
	case n > 0: // first, middle and last byte, perhaps the same
		return uint64(term[0]) | uint64(term[n>>1])<<(8*(n>>1)) | uint64(term[n-1])<<(8*(n-1)) | uint64(n)<<56
	}
	return 0
}

// longKey hashes a term of eight bytes or more. The last eight bytes may overlap those before.
func longKey(term []byte) uint64 {
	h := mix(hashLong ^ uint64(len(term)) ^ binary.LittleEndian.Uint64(term))
	for b := term[8:]; len(b) > 8; b = b[8:] {
		h = mix(h ^ binary.LittleEndian.Uint64(b))
	}
	return mix(h^binary.LittleEndian.Uint64(term[len(term)-8:])) | longTerm
}

func mix(x uint64) uint64 {
	high, low := bits.Mul64(x, hashOdd)
	return high ^ low
}

// len is the number of terms.
func (t *termTable) len() int { return len(t.ends) }

// term returns the bytes of a term by its number.
func (t *termTable) term(number uint32) []byte {
	start := uint32(0)
	if number > 0 {
		start = t.ends[number-1]
	}
	return t.arena[start:t.ends[number]:t.ends[number]]
}

// slot finds the slot of a term, and takes one for a new term. The slot is valid until the next
// call.
func (t *termTable) slot(term []byte) *termSlot {
	return t.keyed(termKey(term), term)
}

// keyed is slot for callers that know the term's key. For a key below longTerm, which contains the
// term, term may be nil.
func (t *termTable) keyed(key uint64, term []byte) *termSlot {
	if len(t.ends)*2 >= len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := key * hashOdd >> t.shift; ; i++ {
		s := &t.slots[i&mask]
		if s.key == key && s.number != 0 && (key < longTerm || string(t.term(s.number-1)) == string(term)) {
			return s
		}
		if s.number == 0 {
			t.take(s, key, term)
			return s
		}
	}
}

// take assigns a free slot to a new term.
func (t *termTable) take(s *termSlot, key uint64, term []byte) {
	if key < longTerm {
		t.arena = binary.LittleEndian.AppendUint64(t.arena, key)
		t.arena = t.arena[:len(t.arena)-8+int(key>>56)]
	} else {
		t.arena = append(t.arena, term...)
	}
	t.ends = append(t.ends, uint32(len(t.arena)))
	*s = termSlot{key: key, number: uint32(len(t.ends))}
}

// find returns the number of a term, if the table has it.
func (t *termTable) find(term []byte) (number uint32, ok bool) {
	if len(t.ends) == 0 {
		return 0, false
	}
	key, mask := termKey(term), uint64(len(t.slots)-1)
	for i := key * hashOdd >> t.shift; ; i++ {
		s := &t.slots[i&mask]
		if s.number == 0 {
			return 0, false
		}
		if s.key == key && (key < longTerm || string(t.term(s.number-1)) == string(term)) {
			return s.number - 1, true
		}
	}
}

func (t *termTable) grow() {
	old := t.slots
	n := max(8, 2*len(old))
	t.slots = make([]termSlot, n)
	t.shift = uint8(64 - bits.TrailingZeros(uint(n)))
	mask := uint64(n - 1)
	for _, s := range old {
		if s.number == 0 {
			continue
		}
		i := s.key * hashOdd >> t.shift
		for t.slots[i&mask].number != 0 {
			i++
		}
		t.slots[i&mask] = s
	}
}

// reset empties the table. It keeps its memory unless that was far too large.
func (t *termTable) reset() {
	if len(t.slots) > 64 && len(t.ends)*16 < len(t.slots) {
		*t = termTable{}
		return
	}
	clear(t.slots)
	t.ends, t.arena = t.ends[:0], t.arena[:0]
}

// bytes is roughly the memory that the table takes.
func (t *termTable) bytes() int64 {
	return 16*int64(len(t.slots)) + 4*int64(cap(t.ends)) + int64(cap(t.arena))
}
