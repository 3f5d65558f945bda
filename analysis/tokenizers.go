package analysis

import (
	"unicode"
	"unicode/utf8"
)

// Keyword makes the whole text one token.
type Keyword struct{}

// Tokenize implements Tokenizer.
func (Keyword) Tokenize(text []byte, b *Batch) { b.Add(text, 0, len(text), 0) }

// Whitespace makes a token of every run of bytes without white space (as
// unicode.IsSpace has it). Bytes that are no UTF-8 are no white space.
type Whitespace struct {
	// MaxBytes cuts longer tokens in pieces, as Words.MaxBytes does.
	MaxBytes int
}

// Tokenize implements Tokenizer.
func (w Whitespace) Tokenize(text []byte, b *Batch) {
	s := wordScan{text: text, b: b, maxBytes: maxTokenBytes(w.MaxBytes)}
	if useMasks && !b.lower {
		b.scan.begin(s, spaceClasses, 0)
		b.scan.words((*wordScan).spaced)
		return
	}
	for i := 0; i < len(text); {
		i = s.spaced(i)
	}
}

// spaceClasses are white space in ASCII and the rest of it.
var spaceClasses = newCharClasses(
	func(c byte) bool { return !unicode.IsSpace(rune(c)) },
	func(c byte) bool { return false },
	func(c byte) bool { return false },
)

// spaced handles the token that begins at text[i], or the white space there, and returns
// where it ends.
func (s *wordScan) spaced(i int) int {
	text, end := s.text, i
	for end < len(text) {
		r, size := rune(text[end]), 1
		switch r {
		case 0xc2, 0xe1, 0xe2, 0xe3: // no other byte begins white space beyond ASCII
			r, size = utf8.DecodeRune(text[end:])
		default:
			if r >= utf8.RuneSelf {
				end++
				continue
			}
		}
		if unicode.IsSpace(r) {
			if end == i {
				return i + size
			}
			s.add(i, end)
			return end
		}
		end += size
	}
	s.add(i, end)
	return end
}
