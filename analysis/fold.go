package analysis

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold removes accents and other marks and unifies variants of the same letter: "Élan", "Ｅｌａｎ" and
// "Elan" become equal except for case, "Straße" becomes "Strasse", "ﬁne" becomes "fine", "①"
// becomes "1".
//
// It decomposes a term for compatibility (NFKD), drops diacritics (Combining Diacritical Marks and
// its extensions), replaces letters that Unicode does not decompose (ø, ł, æ, ...) by a table, and
// composes the rest again (NFC). Marks that are part of a script's writing stay: those of Hebrew,
// Arabic, the scripts of India, and the voicing marks of kana. A term of diacritics alone is
// dropped. Case does not change; put Lowercase before Fold.
type Fold struct{}

// Filter implements Filter.
func (Fold) Filter(batch []Token) []Token {
	return keep(batch, func(t *Token) bool {
		t.Term = foldTerm(t.Term)
		return len(t.Term) > 0
	})
}

// foldTerm folds a term. Most terms are folded already and stay in place.
func foldTerm(term []byte) []byte {
	for _, c := range term {
		if c >= utf8.RuneSelf {
			if isFolded(term) {
				return term
			}
			return norm.NFC.Bytes(appendFolded(nil, norm.NFKD.Bytes(term)))
		}
	}
	return term
}

// isFolded reports whether Fold would leave a term as it is.
func isFolded(term []byte) bool {
	if !norm.NFKD.IsNormal(term) || !norm.NFC.IsNormal(term) {
		return false
	}
	for i := 0; i < len(term); {
		r, size := utf8.DecodeRune(term[i:])
		if _, ok := plainLetters[r]; ok || unicode.Is(diacritics, r) {
			return false
		}
		i += size
	}
	return true
}

// appendFolded appends the runes of a decomposed term without diacritics.
func appendFolded(dst, decomposed []byte) []byte {
	for i := 0; i < len(decomposed); {
		r, size := utf8.DecodeRune(decomposed[i:])
		i += size
		if r < utf8.RuneSelf {
			dst = append(dst, byte(r))
		} else if s, ok := plainLetters[r]; ok {
			dst = append(dst, s...)
		} else if !unicode.Is(diacritics, r) {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// diacritics are the blocks of marks that combine with letters of any script.
var diacritics = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0300, Hi: 0x036f, Stride: 1}, // Combining Diacritical Marks
		{Lo: 0x1ab0, Hi: 0x1aff, Stride: 1}, // ... Extended
		{Lo: 0x1dc0, Hi: 0x1dff, Stride: 1}, // ... Supplement
		{Lo: 0x20d0, Hi: 0x20ff, Stride: 1}, // ... for Symbols
		{Lo: 0xfe20, Hi: 0xfe2f, Stride: 1}, // Combining Half Marks
	},
}

// plainLetters are the letters with a stroke, hook or ligature that Unicode does not decompose.
var plainLetters = map[rune]string{
	'ß': "ss", 'ẞ': "SS", 'æ': "ae", 'Æ': "AE", 'œ': "oe", 'Œ': "OE",
	'ø': "o", 'Ø': "O", 'đ': "d", 'Đ': "D", 'ð': "d", 'Ð': "D",
	'þ': "th", 'Þ': "Th", 'ł': "l", 'Ł': "L", 'ħ': "h", 'Ħ': "H",
	'ı': "i", 'ĸ': "k", 'ŋ': "n", 'Ŋ': "N", 'ŧ': "t", 'Ŧ': "T",
	'ƀ': "b", 'Ɓ': "B", 'ɓ': "b", 'ƈ': "c", 'Ƈ': "C", 'Ɗ': "D", 'ɗ': "d",
	'ƒ': "f", 'Ƒ': "F", 'ǥ': "g", 'Ǥ': "G", 'Ɠ': "G", 'ɠ': "g",
	'ɨ': "i", 'Ɨ': "I", 'ƙ': "k", 'Ƙ': "K", 'ƚ': "l", 'Ƚ': "L",
	'ɲ': "n", 'Ɲ': "N", 'ƥ': "p", 'Ƥ': "P", 'ƭ': "t", 'Ƭ': "T",
	'ʉ': "u", 'Ʉ': "U", 'ʋ': "v", 'Ʋ': "V", 'ƴ': "y", 'Ƴ': "Y",
	'ƶ': "z", 'Ƶ': "Z", 'ɇ': "e", 'Ɇ': "E", 'ɉ': "j", 'Ɉ': "J",
	'ɍ': "r", 'Ɍ': "R", 'ɏ': "y", 'Ɏ': "Y", 'ⱥ': "a", 'Ⱥ': "A",
	'ȼ': "c", 'Ȼ': "C", 'ⱦ': "t", 'Ⱦ': "T", 'ə': "e", 'Ə': "E",
	'\u02bc': "'", '\u2018': "'", '\u2019': "'",
}
