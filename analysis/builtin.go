package analysis

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// The components of this package by type: see the package comment.
func init() {
	must := func(err error) {
		if err != nil {
			panic("BUG: " + err.Error())
		}
	}
	type none struct{}

	must(RegisterCharFilter("html", func(none, *Assembly) (CharFilter, error) { return HTMLStrip{}, nil }))
	must(RegisterCharFilter("ascii_folding", func(none, *Assembly) (CharFilter, error) { return ASCIIFold{}, nil }))
	must(RegisterCharFilter("pattern_replace", func(p replaceParams, _ *Assembly) (CharFilter, error) { return p.filter() }))

	must(RegisterTokenizer("words", func(p wordsParams, _ *Assembly) (Tokenizer, error) {
		return Words{MaxBytes: p.MaxBytes, Rules: p.Rules}, p.checkBytes()
	}))
	must(RegisterTokenizer("whitespace", func(p bytesParams, _ *Assembly) (Tokenizer, error) { return Whitespace(p), p.checkBytes() }))
	must(RegisterTokenizer("letters", func(p bytesParams, _ *Assembly) (Tokenizer, error) { return Letters(p), p.checkBytes() }))
	must(RegisterTokenizer("keyword", func(none, *Assembly) (Tokenizer, error) { return Keyword{}, nil }))
	must(RegisterTokenizer("ngrams", func(p gramParams, _ *Assembly) (Tokenizer, error) {
		return NGrams(p), p.check()
	}))
	must(RegisterTokenizer("edge_ngrams", func(p gramParams, _ *Assembly) (Tokenizer, error) {
		return EdgeNGrams{Min: p.Min, Max: p.Max, DropShort: p.DropShort}, p.check()
	}))
	must(RegisterTokenizer("pattern", func(p patternParams, _ *Assembly) (Tokenizer, error) {
		re, err := compile("pattern", p.Pattern)
		return Pattern{re, p.Split}, err
	}))
	must(RegisterTokenizer("exceptions", newExceptions))

	must(RegisterFilter("lowercase", func(p lowercaseParams, _ *Assembly) (Filter, error) { return Lowercase(p), nil }))
	must(RegisterFilter("fold", func(none, *Assembly) (Filter, error) { return Fold{}, nil }))
	must(RegisterFilter("ascii_folding", func(none, *Assembly) (Filter, error) { return ASCIIFold{}, nil }))
	must(RegisterFilter("normalize", func(p normalizeParams, _ *Assembly) (Filter, error) { return p.filter() }))
	must(RegisterFilter("possessive", func(none, *Assembly) (Filter, error) { return Possessive{}, nil }))
	must(RegisterFilter("elision", func(p elisionParams, _ *Assembly) (Filter, error) {
		if len(p.Articles) == 0 {
			return nil, errors.New("articles: it needs some")
		}
		return Elision(p.Articles...), nil
	}))
	must(RegisterFilter("apostrophe", func(none, *Assembly) (Filter, error) { return Apostrophe{}, nil }))
	must(RegisterFilter("stop", func(p wordParams, _ *Assembly) (Filter, error) {
		words, err := p.all()
		return Stop(words...), err
	}))
	must(RegisterFilter("keyword_marker", func(p wordParams, _ *Assembly) (Filter, error) {
		words, err := p.all()
		return KeywordMarker(words...), err
	}))
	must(RegisterFilter("porter", func(p porterParams, _ *Assembly) (Filter, error) { return Porter(p), nil }))
	must(RegisterFilter("length", func(p lengthParams, _ *Assembly) (Filter, error) { return Length(p), p.check() }))
	must(RegisterFilter("unique", func(p uniqueParams, _ *Assembly) (Filter, error) { return Unique(p), nil }))
	must(RegisterFilter("reverse", func(none, *Assembly) (Filter, error) { return Reverse{}, nil }))
	must(RegisterFilter("camel_case", func(none, *Assembly) (Filter, error) { return CamelCase{}, nil }))
	must(RegisterFilter("pattern_replace", func(p replaceParams, _ *Assembly) (Filter, error) { return p.filter() }))
	must(RegisterFilter("ngrams", func(p gramParams, _ *Assembly) (Filter, error) {
		return NGrams(p), p.check()
	}))
	must(RegisterFilter("edge_ngrams", func(p edgeParams, _ *Assembly) (Filter, error) {
		return EdgeNGrams(p), gramParams{p.Min, p.Max, p.DropShort}.check()
	}))
	must(RegisterFilter("hierarchy", func(p hierarchyParams, _ *Assembly) (Filter, error) { return p.filter() }))
	must(RegisterFilter("compounds", func(p compoundParams, _ *Assembly) (Filter, error) { return p.filter() }))
	must(RegisterFilter("shingles", func(p shingleParams, _ *Assembly) (Filter, error) { return Shingles(p), p.check() }))
	must(RegisterFilter("cjk_width", func(none, *Assembly) (Filter, error) { return CJKWidth{}, nil }))
	must(RegisterFilter("cjk_bigrams", func(p bigramParams, _ *Assembly) (Filter, error) { return CJKBigrams(p), nil }))
	must(RegisterFilter("synonyms", newSynonyms))
}

type bytesParams struct {
	MaxBytes int `json:"max_bytes"`
}

func (p bytesParams) checkBytes() error {
	return within("max_bytes", p.MaxBytes, 0, MaxKeywordBytes)
}

type wordsParams struct {
	MaxBytes int       `json:"max_bytes"`
	Rules    WordRules `json:"rules"`
}

func (p wordsParams) checkBytes() error { return bytesParams{p.MaxBytes}.checkBytes() }

type gramParams struct {
	Min       int  `json:"min"`
	Max       int  `json:"max"`
	DropShort bool `json:"drop_short"`
}

// maxGram is the longest gram of a declaration, in runes.
const maxGram = 64

func (p gramParams) check() error {
	return errors.Join(within("min", p.Min, 1, maxGram), within("max", p.Max, max(p.Min, 1), maxGram))
}

type edgeParams struct {
	Min       int  `json:"min"`
	Max       int  `json:"max"`
	DropShort bool `json:"drop_short"`
	Back      bool `json:"back"`
}

type patternParams struct {
	Pattern string `json:"pattern"`
	Split   bool   `json:"split"`
}

type replaceParams struct {
	Pattern string `json:"pattern"`
	With    string `json:"with"`
}

func (p replaceParams) filter() (PatternReplace, error) {
	re, err := compile("pattern", p.Pattern)
	return PatternReplace{re, p.With}, errors.Join(err, validText("with", p.With))
}

type exceptionParams struct {
	Patterns  []string  `json:"patterns"`
	Tokenizer Component `json:"tokenizer"`
}

func newExceptions(p exceptionParams, as *Assembly) (Tokenizer, error) {
	if len(p.Patterns) == 0 {
		return nil, errors.New("patterns: it needs some")
	}
	for i, s := range p.Patterns {
		if _, err := compile(fmt.Sprintf("patterns[%d]", i), s); err != nil {
			return nil, err
		}
	}
	re, err := compile("patterns", strings.Join(p.Patterns, "|"))
	if err != nil {
		return nil, err
	}
	rest, err := as.Tokenizer(p.Tokenizer)
	if err != nil {
		return nil, fmt.Errorf("tokenizer%w", err)
	}
	return Exceptions{Pattern: re, Rest: rest}, nil
}

type lowercaseParams struct {
	FinalSigma bool `json:"final_sigma"`
}

type normalizeParams struct {
	Form string `json:"form"`
}

func (p normalizeParams) filter() (Filter, error) {
	names := []string{norm.NFC: "nfc", norm.NFD: "nfd", norm.NFKC: "nfkc", norm.NFKD: "nfkd"}
	form := slices.Index(names, p.Form)
	if form < 0 {
		return nil, fmt.Errorf("form: one of %s is wanted, not %q", strings.Join(names, ", "), short(p.Form))
	}
	return NormalForm{norm.Form(form)}, nil
}

type elisionParams struct {
	Articles []string `json:"articles"`
}

type porterParams struct {
	Published bool `json:"published"`
}

type lengthParams struct {
	Min   int  `json:"min"`
	Max   int  `json:"max"`
	Cut   bool `json:"cut"`
	Runes bool `json:"runes"`
}

func (p lengthParams) check() error {
	if p.Min == 0 && p.Max == 0 {
		return errors.New("it needs min or max")
	}
	const most = 1 << 20
	err := within("min", p.Min, 0, most)
	if p.Max != 0 {
		err = errors.Join(err, within("max", p.Max, max(p.Min, 1), most))
	}
	return err
}

type uniqueParams struct {
	SamePosition bool `json:"same_position"`
}

type hierarchyParams struct {
	Delimiter string `json:"delimiter"`
	Levels    int    `json:"levels"`
	NoSplit   bool   `json:"no_split"`
}

func (p hierarchyParams) filter() (Filter, error) {
	return Hierarchy(p), errors.Join(within("levels", p.Levels, 0, maxLevels), validText("delimiter", p.Delimiter))
}

type compoundParams struct {
	Words   []string `json:"words"`
	Set     string   `json:"set"`
	MinWord int      `json:"min_word"`
	MinPart int      `json:"min_part"`
	MaxPart int      `json:"max_part"`
	Longest bool     `json:"longest"`
}

func (p compoundParams) filter() (Filter, error) {
	const longest = 1 << 20
	words, err := wordParams{p.Words, p.Set}.all()
	err = errors.Join(err, within("min_word", p.MinWord, 0, longest), within("min_part", p.MinPart, 0, maxPart), within("max_part", p.MaxPart, 0, maxPart))
	return Compounds(words, CompoundOptions{p.MinWord, p.MinPart, p.MaxPart, p.Longest}), err
}

type shingleParams struct {
	Min       int    `json:"min"`
	Max       int    `json:"max"`
	Separator string `json:"separator"`
	Filler    string `json:"filler"`
	NoWords   bool   `json:"no_words"`
}

func (p shingleParams) check() error {
	return errors.Join(within("min", p.Min, 2, maxShingle), within("max", p.Max, max(p.Min, 2), maxShingle),
		validText("separator", p.Separator), validText("filler", p.Filler))
}

type bigramParams struct {
	Unigrams bool `json:"unigrams"`
}

type synonymParams struct {
	Rules    []string `json:"rules"`
	Contract bool     `json:"contract"`
}

func newSynonyms(p synonymParams, as *Assembly) (Filter, error) {
	for i, line := range p.Rules {
		if strings.ContainsAny(line, "\r\n") {
			return nil, fmt.Errorf("rules[%d]: it has a line break", i)
		}
	}
	s, err := ParseSynonyms(strings.NewReader(strings.Join(p.Rules, "\n")), &SynonymOptions{Analyzer: as.Before(), Contract: p.Contract})
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return s, nil
}

func compile(param, pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, fmt.Errorf("%s: a regular expression is wanted", param)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", param, err)
	}
	return re, nil
}

func within(param string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("%s: %d is not in [%d, %d]", param, n, least, most)
	}
	return nil
}
