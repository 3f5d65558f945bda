package analysis

import "bytes"

// Possessive removes a trailing 's (also with U+2019 or U+FF07, and with S), as Lucene's
// EnglishPossessiveFilter does. A term that is only a possessive is dropped.
type Possessive struct{}

// Filter implements Filter.
func (Possessive) Filter(batch []Token) []Token {
	return keep(batch, func(t *Token) bool {
		t.Term = t.Term[:len(t.Term)-possessiveLen(t.Term)]
		return len(t.Term) > 0
	})
}

// possessiveLen returns the length in bytes of a possessive at the end of a term.
func possessiveLen(term []byte) int {
	n := len(term)
	if n < 2 || term[n-1]|0x20 != 's' {
		return 0
	}
	stem := term[:n-1]
	switch {
	case stem[n-2] == '\'':
		return len("'s")
	case bytes.HasSuffix(stem, []byte("\u2019")), bytes.HasSuffix(stem, []byte("\uff07")):
		return len("\u2019s")
	}
	return 0
}
