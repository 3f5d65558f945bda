package analysis

import (
	"unicode"
	"unicode/utf8"
)

// Letters makes a token of every run of letters (unicode.IsLetter). Digits, marks and all else
// separate.
type Letters struct {
	// MaxBytes cuts longer tokens into pieces, as Words.MaxBytes does.
	MaxBytes int
}

// Tokenize implements Tokenizer.
func (l Letters) Tokenize(text []byte, b *Batch) {
	s := wordScan{text: text, b: b, maxBytes: maxTokenBytes(l.MaxBytes)}
	start := -1
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		switch in := unicode.IsLetter(r); {
		case in && start < 0:
			start = i
		case !in && start >= 0:
			s.add(start, i)
			start = -1
		}
		i += size
	}
	if start >= 0 {
		s.add(start, len(text))
	}
}
