package bleve

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed croatian.txt
var croatianText string

// croatianRules are the rules of the file: suffixes to replace, and roots with their endings.
var croatianRules = sync.OnceValue(func() (rules struct {
	suffixes map[string]string
	longest  int // runes of a suffix
	roots    []*regexp.Regexp
}) {
	rules.suffixes = map[string]string{}
	for line := range strings.Lines(croatianText) {
		from, to, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "^"):
			rules.roots = append(rules.roots, regexp.MustCompile(`^(.+`+from[1:]+`)(?:`+to+`)$`))
		default:
			rules.suffixes[from] = to
			rules.longest = max(rules.longest, utf8.RuneCountInString(from))
		}
	}
	return rules
})

// transformCroatian undoes changes of consonants before an ending. The longest suffix counts; in
// bleve it is any.
func transformCroatian(word []rune) []rune {
	rules := croatianRules()
	for n := min(rules.longest, len(word)); n > 0; n-- {
		if to, ok := rules.suffixes[string(word[len(word)-n:])]; ok {
			return append(without(word, n), []rune(to)...)
		}
	}
	return word
}

// stemCroatian is the stemmer of N. Ljubešić and I. Pandžić: the first rule that leaves a root with a
// vowel counts.
func stemCroatian(word []rune) []rune {
	term := string(word)
	for _, rule := range croatianRules().roots {
		if m := rule.FindStringSubmatchIndex(term); m != nil && hasCroatianVowel(term[m[2]:m[3]]) {
			return word[:utf8.RuneCountInString(term[:m[3]])]
		}
	}
	return word
}

// syllabicR is an r between consonants, which counts as a vowel.
var syllabicR = regexp.MustCompile(`(?:^|[^aeiou])r(?:$|[^aeiou])`)

func hasCroatianVowel(root string) bool {
	return strings.ContainsAny(root, "aeiouR") || syllabicR.MatchString(root)
}
