// Package bleve has the analyzers of bleve (github.com/blevesearch/bleve) under its names, so that an
// application that moves to riffle finds the same terms.
//
// Importing it registers them with package analysis as "bleve/" and bleve's name. The names alone
// would be ambiguous: bleve's "standard" drops 174 stop words, riffle's drops none.
//
//	import _ "github.com/riffle-search/riffle/analysis/bleve"
//
//	schema := &riffle.Schema{Analyzer: "bleve/en"}
//
// Each is a tokenizer and filters, in this order:
//
//	standard        words, lower case, stop words (en)
//	simple          runs of letters, lower case
//	keyword         the whole text
//	web             as standard, but addresses of the web and of mail, @names and #tags are one word
//	en              words, possessive, lower case, stop words, Porter
//	da fi hu nl     words, lower case, stop words, Snowball
//	no ro ru sv     the same
//	tr              words, apostrophe, lower case, stop words, Snowball
//	de es           words, lower case, stop words, normalization, light stemmer
//	pt              words, lower case, stop words, light stemmer
//	fr it           words, lower case, elision, stop words, light stemmer
//	ar              words, lower case, NFKC, stop words, normalization, light stemmer
//	fa              non-joiners to spaces, words, lower case, normalization (ar, fa), stop words
//	hi              words, lower case, normalization (in, hi), stop words, stemmer
//	ckb             words, normalization, lower case, stop words, stemmer
//	hr              words, lower case, stop words, suffix transformation, stemmer
//	pl              words, lower case, stop words, Stempel
//	cjk             words, width, lower case, bigrams
//
// Declarations get these filters: bleve_stem (language*: one of ar, ckb, de, es, fr, hi, hr, it, pl,
// pt, and en_plural and fr_min, which cut little), bleve_normalize (language*: ar, ckb, de, es, fa, hi,
// in) and bleve_transform (language*: hr); the tokenizer bleve_web; and for the parameter set of stop the lists "bleve/en" and so on, also of bg, ca, cs, el, eu, ga, gl, hy
// and id. Words by bleve's rules are {"type": "words", "rules": "bleve"}.
//
// Other components of bleve are those of package analysis with other names:
//
//	bleve               declaration
//	dict_compound       {"type": "compounds", "words": [...]}
//	hierarchy           {"type": "hierarchy", "delimiter": "/"}
//	stemmer_da_snowball {"type": "snowball", "language": "danish"}
//	truncate_token      {"type": "length", "max": 5, "cut": true, "runes": true}
//	zero_width_spaces   {"type": "pattern_replace", "pattern": "\u200c", "with": " "}
//
// # What differs
//
// Terms and places equal those of bleve 2.5.7; a test in the module bench compares them. Except:
//
//   - A term is never empty: where bleve has an empty term there is none ('s alone by en), or the word
//     stays (Snowball).
//   - Keywords (keyword_marker) are spared by all stemmers; in bleve by stemmer_porter, _hi and _ckb alone.
//   - bleve stops at bytes that are not UTF-8. Here they separate words.
//   - Shingles of nothing but fillers (_ _) are left out.
//   - A word of more than 32,766 bytes is cut, and one of more than 255 is not stemmed.
//   - bleve's lower case garbles a term in which a letter becomes shorter (İ, K).
//   - Of several suffixes that hr transforms, the longest counts. In bleve it is a random one.
//   - Places behind the char filter of fa, and of bigrams of half-width letters, are those of the text;
//     bleve's are beside it. Positions of cjk are those of characters.
//
// Snowball comes with package analysis/lang. Tables of this package add half a megabyte to a program,
// and those of pl take eight megabytes of memory when it is first used.
package bleve

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/analysis/lang"
)

// prefix comes before bleve's names.
const prefix = "bleve/"

// words is bleve's tokenizer unicode.
var words = analysis.Words{Rules: analysis.WordsBleve, MaxBytes: analysis.MaxKeywordBytes}

// lower is bleve's filter to_lower.
var lower = analysis.Lowercase{FinalSigma: true}

// stop drops a language's stop words. The lists are read when the filter is first used.
func stop(language string) analysis.Filter {
	filter := sync.OnceValue(func() analysis.Filter { return analysis.Stop(stopWords()[language]...) })
	return analysis.FilterFunc(func(batch []analysis.Token) []analysis.Token { return filter().Filter(batch) })
}

// snowball stems by an algorithm of package lang.
func snowball(language string) analysis.Filter {
	filter := sync.OnceValue(func() analysis.Filter { return lang.Snowball(language) })
	return analysis.FilterFunc(func(batch []analysis.Token) []analysis.Token { return filter().Filter(batch) })
}

// porter is bleve's filter stemmer_porter. It is Porter's algorithm, but a suffix is none where it is
// the whole word.
var porter = analysis.FilterFunc(func(batch []analysis.Token) []analysis.Token {
	for i := range batch {
		t := &batch[i]
		if stem, ok := wholeSuffixes[string(t.Term)]; ok && !t.Keyword {
			t.Term, t.Keyword = append(t.Term[:0], stem...), true
		}
	}
	return analysis.Porter{}.Filter(batch)
})

// wholeSuffixes are the words that bleve stems otherwise than analysis.Porter.
var wholeSuffixes = map[string]string{"eed": "e", "eeds": "e", "ies": "ie", "sses": "sse"}

// stemmers and the like are the algorithms of this package by language.
var (
	stemmers = map[string]func([]rune) []rune{
		"ar": stemArabic, "ckb": stemSorani, "de": stemGerman, "es": stemSpanish, "fr": stemFrench, "hi": stemHindi,
		"hr": stemCroatian, "it": stemItalian, "pl": stemPolish, "pt": stemPortuguese, "en_plural": stemPlural, "fr_min": stemFrenchLittle,
	}
	normalizers = map[string]func([]rune) []rune{
		"ar": normalizeArabic, "ckb": normalizeSorani, "de": normalizeGerman, "es": normalizeSpanish,
		"fa": normalizePersian, "hi": normalizeHindi, "in": normalizeIndic,
	}
	transformers = map[string]func([]rune) []rune{"hr": transformCroatian}
)

func stem(language string) analysis.Filter { return stemmer(stemmers[language]) }
func normalize(language string) analysis.Filter {
	return newNormalizer(language, normalizers[language])
}
func elide(language string) analysis.Filter { return analysis.Elision(articles[language]...) }

// chains are the filters of the analyzers, without those that take another tokenizer than words.
var chains = map[string][]analysis.Filter{
	"standard": {lower, stop("en")},
	"en":       {analysis.Possessive{}, lower, stop("en"), porter},
	"ar":       {lower, analysis.NormalForm{Form: norm.NFKC}, stop("ar"), normalize("ar"), stem("ar")},
	"cjk":      {analysis.CJKWidth{}, lower, analysis.CJKBigrams{}},
	"ckb":      {normalize("ckb"), lower, stop("ckb"), stem("ckb")},
	"da":       {lower, stop("da"), snowball("danish")},
	"de":       {lower, stop("de"), normalize("de"), stem("de")},
	"es":       {lower, stop("es"), normalize("es"), stem("es")},
	"fi":       {lower, stop("fi"), snowball("finnish")},
	"fr":       {lower, elide("fr"), stop("fr"), stem("fr")},
	"hi":       {lower, normalize("in"), normalize("hi"), stop("hi"), stem("hi")},
	"hr":       {lower, stop("hr"), onRunes(transformCroatian, false), stem("hr")},
	"hu":       {lower, stop("hu"), snowball("hungarian")},
	"it":       {lower, elide("it"), stop("it"), stem("it")},
	"nl":       {lower, stop("nl"), snowball("dutch")},
	"no":       {lower, stop("no"), snowball("norwegian")},
	"pl":       {lower, stop("pl"), stem("pl")},
	"pt":       {lower, stop("pt"), stem("pt")},
	"ro":       {lower, stop("ro"), snowball("romanian")},
	"ru":       {lower, stop("ru"), snowball("russian")},
	"sv":       {lower, stop("sv"), snowball("swedish")},
	"tr":       {analysis.Apostrophe{}, lower, stop("tr"), snowball("turkish")},
}

func newAnalyzer(name string) analysis.Analyzer {
	switch name {
	case "simple":
		return analysis.New(prefix+name, analysis.Letters{MaxBytes: analysis.MaxKeywordBytes}, lower)
	case "keyword":
		return analysis.New(prefix+name, analysis.Keyword{}, analysis.Length{Max: analysis.MaxKeywordBytes})
	case "web":
		return analysis.New(prefix+name, webText{}, lower, stop("en"))
	case "fa":
		joined := analysis.PatternReplace{Pattern: regexp.MustCompile("\u200c"), With: " "}
		return analysis.New(prefix+name, analysis.FilterText(words, joined), lower, normalize("ar"), normalize("fa"), stop("fa"))
	}
	return analysis.New(prefix+name, words, chains[name]...)
}

// Names returns bleve's names of the analyzers, sorted. They are registered with the prefix "bleve/".
func Names() []string {
	return slices.Sorted(maps.Keys(maps.Collect(func(yield func(string, bool) bool) {
		for name := range chains {
			yield(name, true)
		}
		for _, name := range []string{"simple", "keyword", "web", "fa"} {
			yield(name, true)
		}
	})))
}

func init() {
	must := func(err error) {
		if err != nil {
			panic("bleve: " + err.Error()) // another init of the program registered that name
		}
	}
	for _, name := range Names() {
		must(analysis.Register(prefix+name, newAnalyzer(name)))
	}
	for _, language := range stopLanguages {
		must(analysis.RegisterWords(prefix+language, func() []string { return stopWords()[language] }))
	}
	must(analysis.RegisterTokenizer("bleve_web", func(struct{}, *analysis.Assembly) (analysis.Tokenizer, error) { return webText{}, nil }))
	must(analysis.RegisterFilter("bleve_stem", byLanguage(stemmers, func(_ string, stem func([]rune) []rune) analysis.Filter { return stemmer(stem) })))
	must(analysis.RegisterFilter("bleve_normalize", byLanguage(normalizers, newNormalizer)))
	must(analysis.RegisterFilter("bleve_transform", byLanguage(transformers, newNormalizer)))
}

type languageParams struct {
	Language string `json:"language"`
}

// byLanguage returns the constructor of filters that have a language.
func byLanguage(algorithms map[string]func([]rune) []rune, filter func(language string, algorithm func([]rune) []rune) analysis.Filter) func(languageParams, *analysis.Assembly) (analysis.Filter, error) {
	return func(p languageParams, _ *analysis.Assembly) (analysis.Filter, error) {
		a := algorithms[p.Language]
		if a == nil {
			return nil, fmt.Errorf("language: one of %s is wanted, not %q", strings.Join(slices.Sorted(maps.Keys(algorithms)), ", "), p.Language)
		}
		return filter(p.Language, a), nil
	}
}
