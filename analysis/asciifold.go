package analysis

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"
)

// ASCIIFold replaces characters by ASCII ones that look or sound alike, as Lucene's
// ASCIIFoldingFilter and bleve's asciifolding do: "Çà ﬁ ⑴ «x»" becomes `Ca fi (1) "x"`. It knows
// Latin letters, digits and punctuation, and leaves all other scripts and combining marks alone.
// Fold knows all of Unicode's decompositions instead.
//
// As a CharFilter it changes the text before it is split, so that quotes and dashes become those of
// ASCII too; as a Filter it changes terms.
type ASCIIFold struct{}

//go:embed asciifold.txt
var asciiFoldText string

// asciiFoldings are the replacements by rune.
var asciiFoldings = sync.OnceValue(func() map[rune]string {
	m := map[rune]string{}
	for line := range strings.Lines(asciiFoldText) {
		if to, runes, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			for _, r := range runes {
				m[r] = to
			}
		}
	}
	return m
})

// Edit implements CharFilter.
func (ASCIIFold) Edit(text []byte, e *Edits) {
	foldings := asciiFoldings()
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if to, ok := foldings[r]; ok {
			e.Replace(i, i+size, []byte(to))
		}
		i += size
	}
}

// Filter implements Filter.
func (f ASCIIFold) Filter(batch []Token) []Token {
	for i := range batch {
		t := &batch[i]
		for _, c := range t.Term {
			if c >= utf8.RuneSelf {
				t.Term = asciiFoldTerm(t.Term)
				break
			}
		}
	}
	return batch
}

func asciiFoldTerm(term []byte) []byte {
	foldings := asciiFoldings()
	out := make([]byte, 0, len(term))
	for i := 0; i < len(term); {
		r, size := utf8.DecodeRune(term[i:])
		if to, ok := foldings[r]; ok {
			out = append(out, to...)
		} else {
			out = append(out, term[i:i+size]...)
		}
		i += size
	}
	return out
}
