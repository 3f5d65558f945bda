package analysis

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Lowercase maps each rune to lower case by Unicode's simple mapping, as Lucene's LowerCaseFilter
// does, regardless of neighbors and language: 'Σ' becomes 'σ', and 'İ' becomes 'i'.
type Lowercase struct {
	// FinalSigma makes a capital 'Σ' at the end of a term 'ς', as Greek writes it and as bleve does.
	FinalSigma bool
}

// Filter implements Filter.
func (l Lowercase) Filter(batch []Token) []Token {
	for i := range batch {
		t := &batch[i]
		if l.FinalSigma {
			finalSigma(t.Term)
		}
		t.Term = lowerTerm(t.Term)
	}
	return batch
}

// finalSigma changes a capital sigma at the end of a term, in place.
func finalSigma(term []byte) {
	if bytes.HasSuffix(term, []byte("Σ")) {
		copy(term[len(term)-len("ς"):], "ς")
	}
}

// fuseLowercase returns the Lowercase that the filters begin with, if it may run first, and the
// other filters. Possessive treats both cases alike, so a Lowercase may move before it. (One with
// FinalSigma does not treat Σ's alike, and may not.)
func fuseLowercase(filters []Filter) (lower *Lowercase, rest []Filter) {
	for i, f := range filters {
		switch f := f.(type) {
		case Possessive:
		case Lowercase:
			if i > 0 && f.FinalSigma {
				return nil, filters
			}
			rest = append(rest, filters[:i]...)
			return &f, append(rest, filters[i+1:]...)
		default:
			return nil, filters
		}
	}
	return nil, filters
}

// asciiLower maps the letters A to Z to lower case and any other byte to itself,
// asciiSame every byte to itself.
var asciiLower, asciiSame = func() (lower, same [256]byte) {
	for c := range 256 {
		lower[c], same[c] = byte(c), byte(c)
	}
	for c := byte('A'); c <= 'Z'; c++ {
		lower[c] += 'a' - 'A'
	}
	return lower, same
}()

// lowerTable holds the lower case of the runes that take up to two bytes of UTF-8 (Latin, Greek,
// Cyrillic, Hebrew, Arabic), for which unicode.ToLower would search its ranges.
var lowerTable = func() (t [0x800]uint16) {
	for r := range t {
		t[r] = uint16(unicode.ToLower(rune(r)))
	}
	return t
}()

func lowerRune(r rune) rune {
	if uint32(r) < uint32(len(lowerTable)) {
		return rune(lowerTable[r])
	}
	return unicode.ToLower(r)
}

// lowerTerm lower-cases a term, in place unless it grows. Few runes do ('Ⱥ', two
// bytes, becomes 'ⱥ', three).
func lowerTerm(term []byte) []byte {
	out := 0 // term[:out] is final
	for in := 0; in < len(term); {
		c := term[in]
		if c < utf8.RuneSelf {
			term[out] = asciiLower[c]
			in, out = in+1, out+1
			continue
		}
		r, size := utf8.DecodeRune(term[in:])
		lower := lowerRune(r)
		if out+utf8.RuneLen(lower) > in+size {
			return append(term[:out:out], bytes.Map(lowerRune, term[in:])...)
		}
		in += size
		out += utf8.EncodeRune(term[out:], lower)
	}
	return term[:out]
}
