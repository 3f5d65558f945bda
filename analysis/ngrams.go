package analysis

import (
	"unicode"
	"unicode/utf8"
)

// NGrams makes tokens of every run of Min to Max characters within a word, for search inside words
// and in languages without spaces. A word here is a run of letters, marks and digits. "hello" with
// Min 2 and Max 3 gives he hel el ell ll llo lo.
//
// Grams with the same start share a position, and each start takes the next position, across words
// too. A word of fewer than Min characters is a gram itself.
//
// As a filter it makes grams of terms. They have the place and the position of their token.
type NGrams struct {
	// Min and Max are in runes. A Min below 1 means 1, a Max below Min means Min.
	Min, Max int

	// DropShort drops words of fewer than Min characters.
	DropShort bool
}

// Tokenize implements Tokenizer.
func (g NGrams) Tokenize(text []byte, b *Batch) {
	lo, hi := gramRange(g.Min, g.Max)
	position := 0
	eachRun(text, func(start, end int) {
		for at := start; at < end; position++ {
			n := addGrams(text, at, end, lo, hi, position, b)
			if n < lo {
				if at == start && !g.DropShort {
					b.Add(text, start, end, position)
					position++
				}
				return
			}
			_, size := utf8.DecodeRune(text[at:])
			at += size
		}
	})
}

// EdgeNGrams makes tokens of the first Min to Max characters of each word, for search as you type.
// It treats words and short words as NGrams does. All grams of a word have its position, so that a
// phrase may end in a prefix.
//
// As a filter it makes grams of terms, which have the place of their token.
type EdgeNGrams struct {
	// Min and Max are in runes. A Min below 1 means 1, a Max below Min means Min.
	Min, Max int

	// DropShort drops words of fewer than Min characters.
	DropShort bool

	// Back makes a filter take the last characters instead of the first.
	Back bool
}

// Tokenize implements Tokenizer.
func (g EdgeNGrams) Tokenize(text []byte, b *Batch) {
	lo, hi := gramRange(g.Min, g.Max)
	position := 0
	eachRun(text, func(start, end int) {
		if addGrams(text, start, end, lo, hi, position, b) < lo && !g.DropShort {
			b.Add(text, start, end, position)
		}
		position++
	})
}

func gramRange(lo, hi int) (int, int) {
	lo = max(lo, 1)
	return lo, max(lo, hi)
}

// addGrams adds the grams of lo to hi runes that begin at text[start]. It returns the number of
// runes up to end, at most hi.
func addGrams(text []byte, start, end, lo, hi, position int, b *Batch) int {
	n := 0
	for at := start; at < end && n < hi; {
		_, size := utf8.DecodeRune(text[at:end])
		at += size
		n++
		if n >= lo {
			b.Add(text, start, at, position)
		}
	}
	return n
}

// eachRun calls fn for every run of letters, marks and digits.
func eachRun(text []byte, fn func(start, end int)) {
	start := -1
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch in := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r); {
		case in && start < 0:
			start = i
		case !in && start >= 0:
			fn(start, i)
			start = -1
		}
		i += size
	}
	if start >= 0 {
		fn(start, len(text))
	}
}
