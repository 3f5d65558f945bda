package onpair

import (
	"encoding/binary"
	"math/bits"
)

// An Encoder finds the symbols of a table in strings. It never changes once made, and any number of
// goroutines can use it. It takes some 1.5 MB for a full table.
type Encoder struct {
	table *Table
	trie  *trie
}

// NewEncoder returns an encoder for a table.
func NewEncoder(t *Table) *Encoder {
	for slots := trieSlots; ; slots *= 2 {
		e := &Encoder{table: t, trie: newTrie(slots)}
		if e.addAll() {
			return e
		}
	}
}

// addAll adds all symbols to the trie. It returns false if there is no room.
func (e *Encoder) addAll() bool {
	symbols := e.table.symbols
	for code := 256; code < len(symbols); code++ {
		if e.trie.full() {
			return false
		}
		e.trie.add(&symbols[code], uint32(code))
	}
	return true
}

// Table returns the table.
func (e *Encoder) Table() *Table { return e.table }

// Append appends the codes of a string, or the string itself if that is shorter.
func (e *Encoder) Append(dst, s []byte) []byte {
	start := len(dst)
	for rest := s; len(rest) > 0; {
		code, n := e.trie.longest(rest, e.table.symbols)
		dst = append(dst, byte(code), byte(code>>8))
		rest = rest[n:]
	}
	if len(dst)-start > len(s) {
		dst = append(dst[:start], plainMark[len(s)%2]...)
		return append(dst, s...)
	}
	return dst
}

// plainMark begins a string that is not coded, by its length modulo 2.
var plainMark = [2]string{"\x00", "\x01\x00"}

// A trie finds the longest symbol that a string begins with. Its nodes are the symbols of two and more
// bytes and all that these begin with, in a hash table with linear probing. A walk from shorter to
// longer nodes reads slots that do not depend on each other, so that the processor can wait for
// several at once.
type trie struct {
	slots []slot
	shift int // of a hash, to the number of a slot
	used  int
}

// A slot is 0 if it is free. Its upper half is some of the node's hash, and its lower half the code of
// the node if it is a symbol, or else 1: bytes are no nodes.
type slot uint32

const prefixOnly = 1

// trieSlots are enough for a full table of text, which has some 90,000 nodes.
const trieSlots = 1 << 18

func newTrie(slots int) *trie {
	return &trie{slots: make([]slot, slots), shift: 64 - bits.Len(uint(slots-1))}
}

// full reports whether there may be no room for a further symbol.
func (t *trie) full() bool { return t.used+maxSymbolBytes > len(t.slots)/4*3 }

// A window is the first 16 bytes of a string, little-endian, zero beyond its end.
type window struct{ low, high uint64 }

func windowOf(s []byte) window {
	if len(s) < 16 {
		var b [16]byte
		copy(b[:], s)
		return window{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
	}
	return window{binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[8:])}
}

// hash returns the hash of the first n bytes, 2 to 15.
func (w window) hash(n int) uint64 {
	low, high := w.low, uint64(0)
	if n <= 8 {
		low <<= 64 - 8*n
	} else {
		high = w.high << (128 - 8*n)
	}
	high, low = bits.Mul64(low^0x9e3779b97f4a7c15, high^0xd6e8feb86659fd93+uint64(n))
	return high ^ low
}

// begins reports whether the string begins with the n bytes of a symbol, 2 to 15.
func (w window) begins(s *symbol, n int) bool {
	of := windowOf(s[:])
	if n < 8 {
		return (w.low^of.low)<<(64-8*n) == 0
	}
	return w.low == of.low && (n == 8 || (w.high^of.high)<<(128-8*n) == 0)
}

// find returns the slot of a node, or the free one where it belongs. Nodes with the same hash share
// one.
func (t *trie) find(hash uint64) *slot {
	check := slot(hash) << 16
	for i := hash >> t.shift; ; i++ {
		s := &t.slots[i&uint64(len(t.slots)-1)]
		if *s == 0 || *s>>16<<16 == check {
			return s
		}
	}
}

// add adds a symbol of at least two bytes to a trie that is not full, unless the trie has it.
func (t *trie) add(s *symbol, code uint32) (added bool) {
	w, last := windowOf(s[:]), (*slot)(nil)
	for n := 2; n <= len(s.bytes()); n++ {
		hash := w.hash(n)
		if last = t.find(hash); *last == 0 {
			*last = slot(hash)<<16 | prefixOnly
			t.used++
		}
	}
	if uint16(*last) != prefixOnly {
		return false
	}
	*last = *last>>16<<16 | slot(code)
	return true
}

// longest returns the longest symbol that s, which is not empty, begins with, and its length.
func (t *trie) longest(s []byte, symbols []symbol) (code uint32, n int) {
	w, end := windowOf(s), min(len(s), maxSymbolBytes)
	for at := 4; at <= end; at++ { // most symbols are longer
		hash := w.hash(at)
		p := t.slots[hash>>t.shift&uint64(len(t.slots)-1)]
		if (p^slot(hash)<<16)>>16 != 0 && p != 0 {
			p = *t.find(hash) // not at its first place
		}
		if p == 0 {
			break
		}
		if c := uint32(uint16(p)); c != prefixOnly {
			code, n = c, at
		}
	}
	for at := min(3, end); n == 0 && at >= 2; at-- {
		if p := *t.find(w.hash(at)); p != 0 && uint16(p) != prefixOnly {
			code, n = uint32(uint16(p)), at
		}
	}
	if n == 0 || !w.begins(&symbols[code], n) { // or it is another with the same hash
		return uint32(s[0]), 1
	}
	return code, n
}
