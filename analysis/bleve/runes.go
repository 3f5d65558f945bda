package bleve

import (
	"unicode/utf8"

	"github.com/riffle-search/riffle/analysis"
)

// maxStemBytes is the longest term that is stemmed or normalized. No language has such long words,
// and some of the algorithms take quadratic time.
const maxStemBytes = 255

// stemmer returns a filter that applies an algorithm to the runes of a term, except keywords. The
// algorithm may change the runes in place.
func stemmer(stem func(word []rune) []rune) analysis.Filter { return onRunes(stem, true) }

// newNormalizer returns a filter that applies the algorithm of a language to the runes of every term. A
// term of which nothing remains is dropped.
func newNormalizer(language string, normalize func(word []rune) []rune) analysis.Filter {
	f := onRunes(normalize, false)
	if language == "ckb" || language == "hr" { // which look at the end of the word
		return f
	}
	return normalizer{f}
}

// A normalizer makes a filter an analysis.Normalizer.
type normalizer struct{ filter analysis.Filter }

// Filter implements analysis.Filter.
func (n normalizer) Filter(batch []analysis.Token) []analysis.Token { return n.filter.Filter(batch) }

// Normalizes implements analysis.Normalizer.
func (normalizer) Normalizes() {}

func onRunes(apply func([]rune) []rune, sparesKeywords bool) analysis.Filter {
	return analysis.FilterFunc(func(batch []analysis.Token) []analysis.Token {
		var memory [maxStemBytes + 1]rune
		kept := 0
		for i := range batch {
			t := &batch[i]
			if len(t.Term) <= maxStemBytes && !(sparesKeywords && t.Keyword) {
				word := memory[:0]
				for at := 0; at < len(t.Term); {
					r, size := utf8.DecodeRune(t.Term[at:])
					word = append(word, r)
					at += size
				}
				t.Term = encode(t.Term[:0], apply(word))
			}
			if len(t.Term) > 0 {
				batch[kept] = *t
				kept++
			}
		}
		return batch[:kept]
	})
}

func encode(term []byte, word []rune) []byte {
	for _, r := range word {
		term = utf8.AppendRune(term, r)
	}
	return term
}

// endsWith reports whether a word ends with a suffix.
func endsWith(word []rune, suffix string) bool {
	n := len(word) - utf8.RuneCountInString(suffix)
	if n < 0 {
		return false
	}
	for _, r := range suffix {
		if word[n] != r {
			return false
		}
		n++
	}
	return true
}

// without returns a word without its last n runes.
func without(word []rune, n int) []rune { return word[:len(word)-n] }

// remove deletes word[i].
func remove(word []rune, i int) []rune { return append(word[:i], word[i+1:]...) }

// plain replaces accented vowels by their letter: the first of each group.
func plain(word []rune, groups ...string) {
	for i, r := range word {
		if r < 'À' {
			continue
		}
		for _, g := range groups {
			letter := rune(0)
			for _, accented := range g {
				if letter == 0 {
					letter = accented
				} else if accented == r {
					word[i] = letter
				}
			}
		}
	}
}
