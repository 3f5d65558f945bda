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
	start := -1 // of the current token, or -1
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		switch space := unicode.IsSpace(r); {
		case space && start >= 0:
			s.add(start, i)
			start = -1
		case !space && start < 0:
			start = i
		}
		i += size
	}
	if start >= 0 {
		s.add(start, len(text))
	}
}
