package onpair

import "encoding/binary"

// A Trainer makes a table from a sample. Two symbols that follow each other three times make a
// symbol, so a sample of some megabytes fills a table. The table depends on the sample and its order only.
type Trainer struct {
	symbols []symbol
	pairs   []byte
	trie    *trie
	seen    map[uint32]uint8 // how often pairs followed each other: left<<16 | right
}

// NewTrainer returns a trainer without a sample.
func NewTrainer() *Trainer {
	bytes, _ := Open(nil)
	return &Trainer{symbols: bytes.symbols, trie: newTrie(trieSlots), seen: make(map[uint32]uint8)}
}

// Add adds a string to the sample. It does nothing once the table is full.
func (t *Trainer) Add(s []byte) {
	left := -1 // the symbol before s, if it can be extended
	for len(s) > 0 && len(t.symbols) < MaxSymbols && !t.trie.full() {
		code, n := t.trie.longest(s, t.symbols)
		s = s[n:]
		right := int(code)
		if left >= 0 {
			if joined, ok := t.join(left, right); ok {
				right = joined
			}
		}
		left = right
	}
}

// joinAt is how often a pair must come to make a symbol. Of gutenberg-a, a sample of 2 MB makes a
// table that codes it as 37 % with 3, and as 39 % with 2: early pairs then fill it.
const joinAt = 3

// join notes a pair, and returns its new symbol when it comes for the last time needed.
func (t *Trainer) join(left, right int) (code int, ok bool) {
	s, ok := join(&t.symbols[left], &t.symbols[right])
	if !ok {
		return 0, false
	}
	pair := uint32(left)<<16 | uint32(right)
	if t.seen[pair]++; t.seen[pair] < joinAt {
		return 0, false
	}
	code = len(t.symbols)
	if !t.trie.add(&s, uint32(code)) {
		return 0, false // the same bytes, of another pair
	}
	delete(t.seen, pair)
	t.symbols = append(t.symbols, s)
	t.pairs = binary.LittleEndian.AppendUint16(t.pairs, uint16(left))
	t.pairs = binary.LittleEndian.AppendUint16(t.pairs, uint16(right))
	return code, true
}

// Encoder returns an encoder with the table. The trainer must not be used afterwards.
func (t *Trainer) Encoder() *Encoder {
	return &Encoder{table: &Table{symbols: t.symbols, pairs: t.pairs}, trie: t.trie}
}
