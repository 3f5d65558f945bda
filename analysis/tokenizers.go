package analysis

import (
	"unicode"
	"unicode/utf8"
)

// Keyword makes the whole text one token.
type Keyword struct{}

// Tokenize implements Tokenizer.
func (Keyword) Tokenize(text []byte, b *Batch) { b.Add(text, 0, len(text), 0) }

// Whitespace makes a token of every run of bytes without white space (as defined by
// unicode.IsSpace). Bytes that are not UTF-8 are not white space.
type Whitespace struct {
	// MaxBytes cuts longer tokens into pieces, as Words.MaxBytes does.
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

// spaceClasses have the bytes that are not white space as word characters, those above ASCII as
// odd.
var spaceClasses = newCharClasses(
	func(c byte) bool { return !unicode.IsSpace(rune(c)) },
	func(c byte) bool { return false },
	func(c byte) bool { return false },
)

// spaced handles the token or the white space that begins at text[i], and returns its end.
func (s *wordScan) spaced(i int) int {
	text, end := s.text, i
	for end < len(text) {
		r, size := rune(text[end]), 1
		switch r {
		case 0xc2, 0xe1, 0xe2, 0xe3: // only these bytes begin white space beyond ASCII
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
