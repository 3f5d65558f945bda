package bleve

import (
	"slices"
	"strings"
	"unicode"
)

// The light stemmers of J. Savoy (University of Neuchâtel), as Lucene and bleve have them: "Light
// stemming approaches for the French, Portuguese, German and Hungarian languages", SAC 2006.

// stemGerman removes umlauts and two layers of endings.
func stemGerman(word []rune) []rune {
	plain(word, "aäàáâ", "oöòóô", "iïìíî", "uüùúû")
	n := len(word)
	switch {
	case n > 5 && endsWith(word, "ern"):
		word = without(word, 3)
	case n > 4 && word[n-2] == 'e' && strings.ContainsRune("mnrs", word[n-1]):
		word = without(word, 2)
	case n > 3 && word[n-1] == 'e':
		word = without(word, 1)
	case n > 3 && word[n-1] == 's' && strings.ContainsRune(beforeGermanS, word[n-2]):
		word = without(word, 1)
	}
	n = len(word)
	switch {
	case n > 5 && endsWith(word, "est"):
		return without(word, 3)
	case n > 4 && (endsWith(word, "er") || endsWith(word, "en")):
		return without(word, 2)
	case n > 4 && endsWith(word, "st") && strings.ContainsRune(beforeGermanS, word[n-3]):
		return without(word, 2)
	}
	return word
}

// beforeGermanS are the letters before which s and st are endings.
const beforeGermanS = "bdfghklmnt"

func stemSpanish(word []rune) []rune {
	n := len(word)
	if n < 5 {
		return word
	}
	switch word[n-1] {
	case 'o', 'a', 'e':
		return without(word, 1)
	case 's':
		switch {
		case endsWith(word, "eses"):
			return without(word, 2)
		case endsWith(word, "ces"):
			word[n-3] = 'z'
			return without(word, 2)
		case strings.ContainsRune("oae", word[n-2]):
			return without(word, 2)
		}
	}
	return word
}

func stemItalian(word []rune) []rune {
	n := len(word)
	if n < 6 {
		return word
	}
	plain(word, "aàáâä", "oòóôö", "eèéêë", "uùúûü", "iìíîï")
	before := word[n-2]
	switch word[n-1] {
	case 'e', 'i':
		if before == 'i' || before == 'h' {
			return without(word, 2)
		}
		return without(word, 1)
	case 'a', 'o':
		if before == 'i' {
			return without(word, 2)
		}
		return without(word, 1)
	}
	return word
}

func stemPortuguese(word []rune) []rune {
	if len(word) < 4 {
		return word
	}
	word = portugueseSingular(word)
	if n := len(word); n > 3 && word[n-1] == 'a' {
		word = portugueseMasculine(word)
	}
	if n := len(word); n > 4 && strings.ContainsRune("eao", word[n-1]) {
		word = without(word, 1)
	}
	plain(word, "aàáâäã", "oòóôöõ", "eèéêë", "uùúûü", "iìíîï", "cç")
	return word
}

// A replacement puts other letters in the place of a suffix of words of at least min runes.
type replacement struct {
	suffix, with string
	min          int
}

// replace applies the first replacement that fits, and reports whether there is one.
func replace(word []rune, rules []replacement) ([]rune, bool) {
	for _, r := range rules {
		if len(word) >= r.min && endsWith(word, r.suffix) {
			return append(without(word, len([]rune(r.suffix))), []rune(r.with)...), true
		}
	}
	return word, false
}

// portugueseSingular removes plural endings, and the ending of adverbs.
func portugueseSingular(word []rune) []rune {
	if n := len(word); n > 4 && endsWith(word, "es") && strings.ContainsRune("rslz", word[n-3]) {
		return without(word, 2)
	}
	word, _ = replace(word, []replacement{
		{"ns", "m", 4}, {"eis", "el", 5}, {"éis", "el", 5}, {"ais", "al", 5}, {"óis", "ol", 5}, {"is", "il", 5},
		{"ões", "ão", 4}, {"ães", "ão", 4}, {"mente", "", 7}, {"s", "", 4},
	})
	return word
}

func portugueseMasculine(word []rune) []rune {
	word, _ = replace(word, []replacement{
		{"inha", "inho", 8}, {"iaca", "iaco", 8}, {"eira", "eiro", 8},
		{"osa", "oso", 7}, {"ica", "ico", 7}, {"ida", "ido", 7}, {"ada", "ado", 7}, {"iva", "ivo", 7}, {"ama", "amo", 7},
		{"ona", "ão", 7}, {"ora", "or", 7}, {"esa", "ês", 7}, {"na", "no", 7},
	})
	return word
}

func stemFrench(word []rune) []rune {
	n := len(word)
	if n > 5 && word[n-1] == 'x' {
		if word[n-3] == 'a' && word[n-2] == 'u' && word[n-4] != 'e' {
			word[n-2] = 'l' // chevaux
		}
		word = without(word, 1)
	}
	for _, plural := range []string{"x", "s"} {
		if len(word) > 3 && endsWith(word, plural) {
			word = without(word, 1)
		}
	}
	return frenchFinish(frenchSuffix(word))
}

// frenchSuffix removes the endings of a family of words.
func frenchSuffix(word []rune) []rune {
	if out, ok := replace(word, []replacement{{"issement", "ir", 10}, {"issant", "ir", 9}}); ok {
		return out
	}
	if len(word) > 6 && endsWith(word, "ement") {
		if word = without(word, 4); len(word) > 3 && endsWith(word, "ive") {
			word, _ = replace(word, []replacement{{"ive", "if", 0}})
		}
		return word
	}
	out, ok := replace(word, []replacement{
		{"ficatrice", "fier", 12}, {"ficateur", "fier", 11}, {"catrice", "quer", 10}, {"cateur", "quer", 9},
		{"atrice", "er", 9}, {"ateur", "er", 8},
	})
	if ok {
		return out
	}
	word, _ = replace(word, []replacement{{"trice", "teur", 7}}) // and on
	out, ok = replace(word, []replacement{
		{"ième", "", 6}, {"teuse", "ter", 8}, {"teur", "ter", 7}, {"euse", "eu", 6}, {"ère", "er", 9}, {"ive", "if", 8},
		{"folle", "fou", 5}, {"molle", "mou", 5}, {"nnelle", "n", 10}, {"nnel", "n", 10},
	})
	if ok {
		return out
	}
	word, _ = replace(word, []replacement{{"ète", "et", 5}})
	word, _ = replace(word, []replacement{{"ique", "", 9}})
	if len(word) > 9 && endsWith(word, "isation") {
		if word = without(word, 7); len(word) > 5 && endsWith(word, "ual") {
			word[len(word)-2] = 'e'
		}
		return word
	}
	word, _ = replace(word, []replacement{
		{"esse", "e", 9}, {"inage", "in", 8}, {"isateur", "", 10}, {"ation", "", 9}, {"ition", "", 9},
	})
	return word
}

// frenchFinish removes accents, doubled letters and the last vowels. Doubled letters go after each
// accent, as in bleve, so that the letter behind a removed one keeps its accent.
func frenchFinish(word []rune) []rune {
	if len(word) > 4 {
		for i := 0; i < len(word); i++ {
			plain(word[i:i+1], "aàáâ", "oô", "eèéê", "uùû", "iî", "cç")
			word = slices.CompactFunc(word, func(a, b rune) bool { return a == b && unicode.IsLetter(a) })
		}
	}
	if len(word) > 4 && endsWith(word, "ie") {
		word = without(word, 2)
	}
	if len(word) <= 4 {
		return word
	}
	for _, last := range []string{"r", "e", "e"} {
		if endsWith(word, last) {
			word = without(word, 1)
		}
	}
	if n := len(word); word[n-1] == word[n-2] && unicode.IsLetter(word[n-1]) {
		word = without(word, 1)
	}
	return word
}

// stemFrenchLittle is J. Savoy's minimal stemmer for French.
func stemFrenchLittle(word []rune) []rune {
	if len(word) < 6 {
		return word
	}
	if endsWith(word, "x") {
		if endsWith(word, "aux") {
			word[len(word)-2] = 'l'
		}
		return without(word, 1)
	}
	for _, suffix := range []string{"s", "r", "e", "é"} {
		if endsWith(word, suffix) {
			word = without(word, 1)
		}
	}
	if n := len(word); word[n-1] == word[n-2] {
		word = without(word, 1)
	}
	return word
}

// Words in -oes and -ches whose plural loses the s alone; bleve takes what one of them ends with for one,
// too.
var (
	keepOe  = []string{"shoes", "canoes", "oboes"}
	keepChe = []string{"cliches", "avalanches", "mustaches", "moustaches", "quiches", "headaches", "heartaches", "porsches", "tranches", "caches"}
)

// stemPlural cuts the plural from English words, by an S-stemmer that knows more endings than D. Harman's.
func stemPlural(word []rune) []rune {
	for i, r := range word {
		word[i] = unicode.ToLower(r)
	}
	n := len(word)
	among := func(list []string) bool {
		text := string(word)
		return slices.ContainsFunc(list, func(w string) bool { return strings.HasSuffix(text, w) || strings.HasSuffix(w, text) })
	}
	switch {
	case n < 3 || word[n-1] != 's' || word[n-2] == 'u' || word[n-2] == 's':
		return word
	case word[n-2] != 'e' || n < 4:
	case n > 4 && word[n-3] == 'i':
		word[n-3] = 'y'
		return without(word, 2)
	case n > 4 && (endsWith(word, "xes") || endsWith(word, "shes") || endsWith(word, "sses")),
		endsWith(word, "oes") && !among(keepOe), n > 4 && endsWith(word, "ches") && !among(keepChe):
		return without(word, 2)
	}
	return without(word, 1)
}
