package bleve

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// mapRunes replaces and deletes runes: a mapping to 0 deletes.
func mapRunes(word []rune, mapping map[rune]rune) []rune {
	out := word[:0]
	for _, r := range word {
		if to, ok := mapping[r]; ok {
			r = to
		}
		if r != 0 {
			out = append(out, r)
		}
	}
	return out
}

// arabicMarks are the marks that normalizers delete: tatweel, and the vowel signs.
const arabicMarks = "\u0640\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652"

func mappingOf(pairs string, deleted string) map[rune]rune {
	m := map[rune]rune{}
	for pair := range strings.FieldsSeq(pairs) {
		runes := []rune(pair)
		to := runes[len(runes)-1]
		for _, r := range runes[:len(runes)-1] {
			m[r] = to
		}
	}
	for _, r := range deleted {
		m[r] = 0
	}
	return m
}

// In each group of a mapping, all letters become the last one.
var (
	arabicLetters  = mappingOf("\u0622\u0623\u0625\u0627 \u0649\u064a \u0629\u0647", arabicMarks)
	persianLetters = mappingOf("\u06cc\u06d2\u064a \u06a9\u0643 \u06c0\u06c1\u0647", "\u0654")
	spanishLetters = mappingOf("àáâäa òóôöo èéêëe ùúûüu ìíîïi", "")
)

func normalizeArabic(word []rune) []rune  { return mapRunes(word, arabicLetters) }
func normalizePersian(word []rune) []rune { return mapRunes(word, persianLetters) }
func normalizeSpanish(word []rune) []rune { return mapRunes(word, spanishLetters) }

// normalizeSorani unifies the spellings of Sorani (Central Kurdish), as Lucene does.
func normalizeSorani(word []rune) []rune {
	const heh, ae, nonJoiner, reh, rreh = '\u0647', '\u06d5', '\u200c', '\u0631', '\u0695'
	out := word[:0]
	for i, r := range word {
		switch r {
		case '\u064a', '\u0649':
			r = '\u06cc'
		case '\u0643':
			r = '\u06a9'
		case nonJoiner:
			if n := len(out); n > 0 && out[n-1] == heh {
				out[n-1] = ae
			}
			continue
		case heh:
			if i == len(word)-1 {
				r = ae
			}
		case '\u0629':
			r = ae
		case '\u06be':
			r = heh
		case reh:
			if len(out) == 0 {
				r = rreh
			}
		case '\u0692':
			r = rreh
		default:
			if strings.ContainsRune(arabicMarks, r) || unicode.Is(unicode.Cf, r) {
				continue
			}
		}
		out = append(out, r)
	}
	return out
}

// normalizeGerman unifies umlauts and their spelling by two letters (ae, oe, ue; not after a vowel or
// q), and makes ß ss: the variant "German2" of Snowball's stemmer.
func normalizeGerman(word []rune) []rune {
	const (
		ordinary = iota
		vowel    // a u after it begins no umlaut
		umlaut   // an e after it is deleted
	)
	state := ordinary
	out := make([]rune, 0, len(word)+8)
	for _, r := range word {
		switch r {
		case 'a', 'o':
			state = umlaut
		case 'u':
			if state == ordinary {
				state = umlaut
			} else {
				state = vowel
			}
		case 'e':
			drop := state == umlaut
			if state = vowel; drop {
				continue
			}
		case 'i', 'q', 'y':
			state = vowel
		case 'ä', 'ö', 'ü':
			r = map[rune]rune{'ä': 'a', 'ö': 'o', 'ü': 'u'}[r]
			state = vowel
		case 'ß':
			out = append(out, 's')
			r, state = 's', ordinary
		default:
			state = ordinary
		}
		out = append(out, r)
	}
	return out
}

// hindiLetters unify spellings of Hindi: candrabindu and dead n become bindu, nukta, virama and
// joiners go, and vowels lose their length. Dead n is handled by normalizeHindi.
var hindiLetters = mappingOf("\u0901\u0902 \u0929\u0928 \u0931\u0930 \u0934\u0933 \u0958\u0915 \u0959\u0916 \u095a\u0917 \u095b\u091c \u095c\u0921 \u095d\u0922 \u095e\u092b \u095f\u092f "+
	"\u0945\u0946\u0948\u0947 \u0949\u094a\u094c\u094b \u090d\u090e\u0910\u090f \u0911\u0912\u0914\u0913 \u0972\u0906\u0905 \u0908\u0907 \u090a\u0909 \u0960\u090b \u0961\u090c "+
	"\u0940\u093f \u0942\u0941 \u0944\u0943 \u0963\u0962", "\u093c\u200d\u200c\u094d")

// normalizeHindi unifies spellings of Hindi, as Lucene does after L. Larkey and others (2003).
func normalizeHindi(word []rune) []rune {
	const na, virama, bindu = '\u0928', '\u094d', '\u0902'
	for i := 0; i+1 < len(word); i++ {
		if word[i] == na && word[i+1] == virama {
			word[i] = bindu
			word = remove(word, i+1)
		}
	}
	return mapRunes(word, hindiLetters)
}

//go:embed indic.txt
var indicText string

// A composition is two or three characters of a script that are one. Numbers are offsets in the block
// of the script; third is -1 for two characters.
type composition struct{ second, third, to rune }

const zeroWidthJoiner = '\u200d'

// indicScripts are the nine scripts of India, whose blocks of 128 characters follow each other.
var indicScripts = []*unicode.RangeTable{
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
	unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam,
}

// compositions are those of each script, by the first character.
var compositions = sync.OnceValue(func() (all [9]map[rune][]composition) {
	names := map[string]int{"Devanagari": 0, "Bengali": 1, "Gurmukhi": 2, "Gujarati": 3, "Oriya": 4, "Tamil": 5, "Telugu": 6, "Kannada": 7, "Malayalam": 8}
	for line := range strings.Lines(indicText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		number := func(i int) rune {
			n, err := strconv.ParseUint(fields[i], 16, 8)
			if err != nil {
				panic("BUG: bleve: indic.txt: " + err.Error())
			}
			return rune(n)
		}
		c := composition{second: number(1), third: -1, to: number(3)}
		switch fields[2] {
		case "-":
		case "zwj":
			c.third = zeroWidthJoiner
		default:
			c.third = number(2)
		}
		for _, name := range fields[4:] {
			s := names[name]
			if all[s] == nil {
				all[s] = map[rune][]composition{}
			}
			all[s][number(0)] = append(all[s][number(0)], c)
		}
	}
	return all
})

// indicScript returns the number of a character's script and its offset in the block, or -1.
func indicScript(r rune) (script int, offset rune) {
	if r < 0x0900 || r >= 0x0d80 {
		return -1, 0
	}
	for i, s := range indicScripts {
		if unicode.Is(s, r) {
			return i, r - 0x0900 - rune(i)*0x80
		}
	}
	return -1, 0
}

// normalizeIndic writes each vowel and consonant of the scripts of India by one character where it
// can, as Lucene's IndicNormalizer does.
func normalizeIndic(word []rune) []rune {
	for i := 0; i < len(word); i++ {
		script, first := indicScript(word[i])
		if script < 0 || i+1 >= len(word) {
			continue
		}
		base := 0x0900 + rune(script)*0x80
		if s, _ := indicScript(word[i+1]); s != script {
			continue
		}
		third := rune(-2)
		if i+2 < len(word) {
			if third = word[i+2]; third != zeroWidthJoiner {
				if s, offset := indicScript(third); s == script {
					third = offset
				} else {
					third = -2
				}
			}
		}
		for _, c := range compositions()[script][first] {
			if c.second != word[i+1]-base || c.third >= 0 && c.third != third {
				continue
			}
			word[i] = base + c.to
			word = remove(word, i+1)
			if c.third >= 0 {
				word = remove(word, i+1)
			}
			break
		}
	}
	return word
}
