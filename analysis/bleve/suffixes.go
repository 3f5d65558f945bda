package bleve

import "slices"

// An ending is a suffix that is cut from words of at least min runes: the suffix whole, or its last
// cut runes.
type ending struct {
	suffix string
	min    int
	cut    int // 0 stands for the whole suffix
}

// strip cuts the first ending that a word has. It reports whether there is one.
func strip(word []rune, endings []ending) ([]rune, bool) {
	for _, e := range endings {
		if len(word) >= e.min && endsWith(word, e.suffix) {
			if e.cut == 0 {
				return without(word, len([]rune(e.suffix))), true
			}
			return without(word, e.cut), true
		}
	}
	return word, false
}

// stemArabic is the light stemmer of L. Larkey, L. Ballesteros and M. Connell (light10), with Lucene's
// lists.
func stemArabic(word []rune) []rune {
	for _, p := range []string{"ال", "وال", "بال", "كال", "فال", "لل", "و"} {
		prefix := []rune(p)
		if n := len(prefix); len(word) >= n+2 && (n > 1 || len(word) >= 4) && slices.Equal(word[:n], prefix) {
			word = word[n:]
			break
		}
	}
	for _, s := range []string{"ها", "ان", "ات", "ون", "ين", "يه", "ية", "ه", "ة", "ي"} {
		if n := len([]rune(s)); len(word) >= n+2 && endsWith(word, s) {
			word = without(word, n)
		}
	}
	return word
}

// stemHindi is the lightweight stemmer of A. Ramanathan and D. Rao (2003).
func stemHindi(word []rune) []rune {
	word, _ = strip(word, hindiEndings)
	return word
}

var hindiEndings = func() (all []ending) {
	for _, group := range []struct {
		min      int
		suffixes []string
	}{
		{7, []string{"ाएंगी", "ाएंगे", "ाऊंगी", "ाऊंगा", "ाइयाँ", "ाइयों", "ाइयां"}},
		{6, []string{"ाएगी", "ाएगा", "ाओगी", "ाओगे", "एंगी", "ेंगी", "एंगे", "ेंगे", "ूंगी", "ूंगा", "ातीं", "नाओं", "नाएं", "ताओं", "ताएं", "ियाँ", "ियों", "ियां"}},
		{5, []string{"ाकर", "ाइए", "ाईं", "ाया", "ेगी", "ेगा", "ोगी", "ोगे", "ाने", "ाना", "ाते", "ाती", "ाता", "तीं", "ाओं", "ाएं", "ुओं", "ुएं", "ुआं"}},
		{4, []string{"कर", "ाओ", "िए", "ाई", "ाए", "ने", "नी", "ना", "ते", "ीं", "ती", "ता", "ाँ", "ां", "ों", "ें"}},
		{3, []string{"ो", "े", "ू", "ु", "ी", "ि", "ा"}},
	} {
		for _, s := range group.suffixes {
			all = append(all, ending{suffix: s, min: group.min})
		}
	}
	return all
}()

// stemSorani is Lucene's stemmer for Sorani (Central Kurdish).
func stemSorani(word []rune) []rune {
	word, _ = strip(word, []ending{{"دا", 6, 0}, {"نا", 5, 1}, {"ەوە", 7, 0}})   // postpositions
	word, _ = strip(word, []ending{{"مان", 7, 0}, {"یان", 7, 0}, {"تان", 7, 0}}) // possessive pronouns
	word, _ = strip(word, []ending{
		{"ێکی", 7, 0}, {"یەکی", 8, 0}, // indefinite, singular, ezafe
		{"ێک", 6, 0}, {"یەک", 7, 0}, // indefinite, singular
		{"ەکە", 7, 0}, {"کە", 6, 0}, // definite, singular
		{"ەکان", 8, 0}, {"کان", 7, 0}, // definite, plural
		{"یانی", 8, 0}, {"انی", 7, 0}, // indefinite, plural, ezafe
		{"یان", 7, 0}, {"ان", 6, 0}, // indefinite, plural
		{"یانە", 8, 0}, {"انە", 7, 0}, // demonstrative, plural
		{"ایە", 6, 2}, {"ەیە", 6, 2}, {"ە", 5, 0}, // demonstrative, singular
		{"ی", 5, 0}, // absolute, singular, ezafe
	})
	return word
}
