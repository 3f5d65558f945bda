package bleve

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed stopwords.txt
var stopWordsText string

// stopWords are the lists of the file by language.
var stopWords = sync.OnceValue(func() map[string][]string {
	lists := map[string][]string{}
	language := ""
	for line := range strings.Lines(stopWordsText) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "# "): // a comment
		case strings.HasPrefix(line, "["):
			language = strings.Trim(line, "[]")
		case line != "":
			lists[language] = append(lists[language], strings.Split(line, "|")...)
		}
	}
	return lists
})

// stopLanguages are the languages of the lists.
var stopLanguages = []string{
	"ar", "bg", "ca", "ckb", "cs", "da", "de", "el", "en", "es", "eu", "fa", "fi", "fr", "ga", "gl", "hi", "hr", "hu",
	"hy", "id", "it", "nl", "no", "pl", "pt", "ro", "ru", "sv", "tr",
}

// StopWords returns bleve's list of stop words of a language by its code, such as "en", or nil.
func StopWords(language string) []string { return slices.Clone(stopWords()[language]) }

// Articles returns the words that lose their vowel before the next word, by the code of a language
// that has them: ca, fr, ga, it. They are those of bleve's filters elision_fr and so on.
func Articles(language string) []string { return slices.Clone(articles[language]) }

var articles = map[string][]string{
	"ca": {"d", "l", "m", "n", "s", "t"},
	"fr": {"l", "m", "t", "qu", "n", "s", "j", "d", "c", "jusqu", "quoiqu", "lorsqu", "puisqu"},
	"ga": {"d", "m", "b"},
	"it": {
		"c", "l", "all", "dall", "dell", "nell", "sull", "coll", "pell", "gl", "agl", "dagl", "degl", "negl", "sugl",
		"un", "m", "t", "s", "v", "d",
	},
}
