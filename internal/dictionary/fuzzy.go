package dictionary

import (
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// MaxEdits bounds the edits of a Fuzzy.
const MaxEdits = 2

// A Fuzzy matches the terms that are at most a few edits away from a word. An edit inserts, drops
// or replaces a character, or exchanges two neighbors, and no character is edited twice (optimal
// string alignment). Characters are code points.
//
// As in Lucene, a term that differs must have more characters than edits, and so must the word.
type Fuzzy struct {
	edits  int
	prefix []byte // literal that terms begin with
	word   distance
	sign   uint64
}

// NewFuzzy returns the pattern of a word. edits is 0 to MaxEdits; the first prefix characters of
// the word must not differ.
func NewFuzzy(word string, edits, prefix int) (*Fuzzy, error) {
	if edits < 0 || edits > MaxEdits {
		return nil, fmt.Errorf("edits must lie in 0 to %d, not %d", MaxEdits, edits)
	}
	if prefix < 0 {
		return nil, fmt.Errorf("prefix must not be negative, but is %d", prefix)
	}
	n := 0
	for range min(prefix, utf8.RuneCountInString(word)) {
		_, size := utf8.DecodeRuneInString(word[n:])
		n += size
	}
	return &Fuzzy{edits: edits, prefix: []byte(word[:n]), word: newDistance(word), sign: signature([]byte(word))}, nil
}

// Prefix returns the literal that all matching terms begin with.
func (f *Fuzzy) Prefix() []byte { return f.prefix }

// Distance returns the number of edits between the word and a term that matches, or -1 for one that
// does not match.
func (f *Fuzzy) Distance(term []byte) int {
	n := utf8.RuneCount(term)
	if n-f.word.length > f.edits || f.word.length-n > f.edits || len(term) < len(f.prefix) || string(term[:len(f.prefix)]) != string(f.prefix) {
		return -1
	}
	edits := f.word.to(term)
	if edits > f.edits || edits > 0 && edits >= min(n, f.word.length) {
		return -1
	}
	return edits
}

// Find yields the numbers and distances of the terms that match, in no particular order, until
// yield returns false.
//
// A word is compared only with terms of about its length whose signatures differ in few bits: of the
// 173,000 terms of BenchmarkFind with 28 for one edit, and with 930 for two. The first use of a page
// makes its signatures.
func (f *Fuzzy) Find(d *Dictionary, yield func(i, edits int) bool) {
	from, to := 0, d.Len()
	if len(f.prefix) > 0 {
		from, to = d.Prefix(f.prefix)
	}
	d.spans(from, to, func(p *page, from, to int) bool {
		return f.candidates(p, from, to, func(i int) bool {
			edits := f.Distance(p.term(i))
			return edits < 0 || yield(p.first+i, edits)
		})
	})
}

// candidates yields the places from from to to in a page whose terms may match, until yield returns
// false, and reports whether it never did.
func (f *Fuzzy) candidates(p *page, from, to int, yield func(i int) bool) bool {
	if to-from < len(p.ends)/8 { // too few to look at all signatures of the page
		for i := from; i < to; i++ {
			if !yield(i) {
				return false
			}
		}
		return true
	}
	p.grouping.Do(p.group)
	sign, most := f.sign, 2*f.edits // in registers: as fields they are read again for each signature
	shortest, longest := max(f.word.length-f.edits, 0), f.word.length+f.edits
	for n := min(shortest, longTerm); n <= min(longest, longTerm); n++ {
		signs, places := p.groups.of(n)
		for i, s := range signs {
			if bits.OnesCount64(s^sign) <= most {
				if at := int(places[i]); at >= from && at < to && !yield(at) {
					return false
				}
			}
		}
	}
	return true
}

// longTerm is the number of characters from which on terms are in one group.
const longTerm = 64

// groupBytes is the size of a term in lengthGroups.
const groupBytes = 8 + 2

// The terms of a page by their number of characters: those of i characters stand from begins[i] to
// begins[i+1], in the order of the dictionary.
type lengthGroups struct {
	begins [longTerm + 2]int32
	signs  []uint64
	places []uint16
}

func (g *lengthGroups) of(n int) (signs []uint64, places []uint16) {
	from, to := g.begins[n], g.begins[n+1]
	return g.signs[from:to], g.places[from:to]
}

// group makes the groups of a page.
func (p *page) group() {
	g := &p.groups
	lengths := make([]uint8, len(p.ends))
	var count [longTerm + 1]int32
	for i := range lengths {
		lengths[i] = uint8(min(utf8.RuneCount(p.term(i)), longTerm))
		count[lengths[i]]++
	}
	for i, n := range count {
		g.begins[i+1] = g.begins[i] + n
	}
	g.signs, g.places = make([]uint64, len(lengths)), make([]uint16, len(lengths))
	next := g.begins
	for i, n := range lengths {
		g.signs[next[n]], g.places[next[n]] = signature(p.term(i)), uint16(i)
		next[n]++
	}
}

// signature has two bits for each class of characters: one if a character of the class occurs, and
// one if two do. So an insertion changes at most one bit, and a replacement two.
func signature(term []byte) uint64 {
	var sign uint64
	for at := 0; at < len(term); {
		c, size := rune(term[at]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRune(term[at:])
		}
		at += size
		once := uint64(1) << (c & 31)
		sign |= once | (sign&once)<<32
	}
	return sign
}
