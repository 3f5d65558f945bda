package analysis

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// Reverse writes terms backwards, so that a prefix of a term is the end of a word. Marks stay behind
// the letter they belong to.
type Reverse struct{}

// Filter implements Filter.
func (Reverse) Filter(batch []Token) []Token {
	for i := range batch {
		reverseTerm(batch[i].Term)
	}
	return batch
}

// reverseTerm reverses a term in place: first each letter with its marks, then all bytes.
func reverseTerm(term []byte) {
	plain := true
	for _, c := range term {
		plain = plain && c < utf8.RuneSelf
	}
	for i := 0; i < len(term) && !plain; {
		_, n := utf8.DecodeRune(term[i:])
		for i+n < len(term) {
			r, size := utf8.DecodeRune(term[i+n:])
			if !unicode.Is(unicode.M, r) {
				break
			}
			n += size
		}
		slices.Reverse(term[i : i+n])
		i += n
	}
	slices.Reverse(term)
}
