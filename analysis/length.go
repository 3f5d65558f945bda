package analysis

import "unicode/utf8"

// Length bounds the length of terms, in bytes or in runes.
type Length struct {
	// Min and Max are the least and greatest length of terms to keep. 0 sets no bound.
	Min, Max int

	// Cut shortens a term that is too long to its first Max bytes (fewer, to avoid cutting a rune
	// in two) rather than dropping it. A term whose first rune has more than Max bytes is still
	// dropped.
	Cut bool

	// Runes makes Min and Max count runes.
	Runes bool
}

// Filter implements Filter.
func (l Length) Filter(batch []Token) []Token {
	if l.Runes {
		return keep(batch, l.runes)
	}
	return keep(batch, func(t *Token) bool {
		if l.Max > 0 && len(t.Term) > l.Max {
			if !l.Cut {
				return false
			}
			t.Term = t.Term[:runeStart(t.Term, l.Max)]
		}
		return len(t.Term) > 0 && len(t.Term) >= l.Min
	})
}

// runes is the filter for one token when runes count.
func (l Length) runes(t *Token) bool {
	n := utf8.RuneCount(t.Term)
	if l.Max > 0 && n > l.Max {
		if !l.Cut {
			return false
		}
		end := 0
		for range l.Max {
			_, size := utf8.DecodeRune(t.Term[end:])
			end += size
		}
		t.Term, n = t.Term[:end], l.Max
	}
	return n >= l.Min
}
