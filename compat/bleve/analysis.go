package bleve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/analysis"
	names "github.com/riffle-search/riffle/analysis/bleve"
)

// customAnalysis are the analyzers and their parts that a mapping defines.
type customAnalysis struct {
	CharFilters  map[string]settings `json:"char_filters"`
	Tokenizers   map[string]settings `json:"tokenizers"`
	TokenMaps    map[string]settings `json:"token_maps"`
	TokenFilters map[string]settings `json:"token_filters"`
	Analyzers    map[string]settings `json:"analyzers"`
	Dates        map[string]settings `json:"date_time_parsers"`
	Synonyms     map[string]settings `json:"synonym_sources"`
}

// settings are the parameters of a part.
type settings map[string]json.RawMessage

// text returns a parameter that is a text, or "".
func (s settings) text(name string) (t string) {
	if json.Unmarshal(s[name], &t) != nil {
		return ""
	}
	return t
}

// number returns a parameter that is a number, and whether there is one.
func (s settings) number(name string) (n float64, ok bool) {
	ok = len(s[name]) > 0 && json.Unmarshal(s[name], &n) == nil
	return n, ok
}

func (s settings) truth(name string) (b bool) { return json.Unmarshal(s[name], &b) == nil && b }

// list returns the texts of a parameter that is a list; other elements are ignored, as in bleve. It
// reports whether there is one.
func (s settings) list(name string) (list []string, ok bool) {
	var all []any
	if json.Unmarshal(s[name], &all) != nil || all == nil {
		return nil, false
	}
	for _, element := range all {
		if t, ok := element.(string); ok {
			list = append(list, t)
		}
	}
	return list, true
}

func (s settings) texts(name string) []string {
	list, _ := s.list(name)
	return list
}

// parts returns the names of parts of an analyzer.
func (s settings) parts(name string) (list []string, err error) {
	if len(s[name]) > 0 && json.Unmarshal(s[name], &list) != nil {
		return nil, fmt.Errorf("%s: a list of names is wanted", name)
	}
	return list, nil
}

// pattern returns a parameter that is a regular expression.
func (s settings) pattern(name string) (string, error) {
	if _, ok := s[name]; !ok {
		return "", fmt.Errorf("%s is wanted", name)
	}
	_, err := regexp.Compile(s.text(name))
	return s.text(name), err
}

// errLacks is the reason why a part cannot be made although bleve has it.
type errLacks string

func (e errLacks) Error() string { return string(e) }

func lacks(format string, args ...any) error { return errLacks(fmt.Sprintf(format, args...)) }

// addAnalysis makes the analyzers and date parsers that a mapping defines.
func (m *Mapping) addAnalysis(c *customAnalysis) error {
	for _, name := range slices.Sorted(maps.Keys(c.Analyzers)) {
		path := fmt.Sprintf("analysis.analyzers[%q]", name)
		if strings.Contains(name, separator) {
			return fmt.Errorf("%s: the name has a control character", path)
		}
		d, err := c.analyzer(c.Analyzers[name])
		var a analysis.Analyzer
		if err == nil {
			if a, err = d.Analyzer(name); err != nil {
				err = lacks("%v", err) // a bound of riffle's
			}
		}
		var lack errLacks
		switch typ := c.Analyzers[name].text("type"); {
		case slices.Contains(names.Names(), typ):
			m.sameAs[name] = typ
			m.analyzers[name], err = analysis.Lookup("bleve/" + typ)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		case errors.As(err, &lack):
			m.problem(path, err.Error())
			m.unmade[name] = err.Error()
		case err != nil:
			return fmt.Errorf("%s: %w", path, err)
		default:
			m.declarations[name], m.analyzers[name] = d, a
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Dates)) {
		path := fmt.Sprintf("analysis.date_time_parsers[%q]", name)
		p, err := customParser(c.Dates[name])
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		m.parsers[name] = p
	}
	for _, name := range slices.Sorted(maps.Keys(c.Synonyms)) {
		m.problem(fmt.Sprintf("analysis.synonym_sources[%q]", name), "synonyms of requests are not supported")
	}
	return nil
}

// checkAnalyzer reports an analyzer that bleve would not know, and makes those of bleve.
func (m *Mapping) checkAnalyzer(path, name string) error {
	if m.analyzers[name] != nil || m.unmade[name] != "" {
		return nil
	}
	if !slices.Contains(names.Names(), name) {
		return fmt.Errorf("%s: no analyzer is named %q", path, name)
	}
	a, err := analysis.Lookup("bleve/" + name)
	m.analyzers[name] = a
	return err
}

// analyzerNamed returns an analyzer of bleve or of the mapping.
func (m *Mapping) analyzerNamed(name string) (analysis.Analyzer, error) {
	if a := m.analyzers[name]; a != nil {
		return a, nil
	}
	if reason, ok := m.unmade[name]; ok {
		return nil, fmt.Errorf("analyzer %q: %s", name, reason)
	}
	if slices.Contains(names.Names(), name) { // one that only a request names
		return analysis.Lookup("bleve/" + name)
	}
	return nil, fmt.Errorf("no analyzer is named %q", name)
}

// analyzer returns an analyzer as data.
func (c *customAnalysis) analyzer(s settings) (d analysis.Declaration, err error) {
	if typ := s.text("type"); typ != "custom" {
		return d, fmt.Errorf("type: %q is unknown; \"custom\" is wanted", typ)
	}
	chars, err := s.parts("char_filters")
	if err != nil {
		return d, err
	}
	filters, err := s.parts("token_filters")
	if err != nil {
		return d, err
	}
	for i, name := range chars {
		part, err := c.charFilter(name)
		if err != nil {
			return d, fmt.Errorf("char_filters[%d] %q: %w", i, name, err)
		}
		d.CharFilters = append(d.CharFilters, part)
	}
	name := s.text("tokenizer")
	if name == "" {
		return d, errors.New("it has no tokenizer")
	}
	if d.Tokenizer, err = c.tokenizer(name, 0); err != nil {
		return d, fmt.Errorf("tokenizer %q: %w", name, err)
	}
	for i, name := range filters {
		part, err := c.tokenFilter(name)
		if err != nil {
			return d, fmt.Errorf("token_filters[%d] %q: %w", i, name, err)
		}
		if !part.IsZero() { // one that does nothing
			d.Filters = append(d.Filters, part)
		}
	}
	return d, nil
}

func component(typ string, params ...any) analysis.Component {
	c := analysis.Component{Type: typ}
	for i := 0; i < len(params); i += 2 {
		if c.Params == nil {
			c.Params = map[string]any{}
		}
		c.Params[params[i].(string)] = params[i+1]
	}
	return c
}

// tags is what bleve takes for a tag of HTML.
const tags = `</?[!\w]+((\s+\w+(\s*=\s*(?:".*?"|'.*?'|[^'">\s]+))?)+\s*|\s*)/?>`

func (c *customAnalysis) charFilter(name string) (none analysis.Component, err error) {
	s, own := c.CharFilters[name]
	typ := name
	if own {
		typ = s.text("type")
	}
	switch typ {
	case "html": // which leaves &amp; and the like as they are, unlike riffle's
		return component("pattern_replace", "pattern", tags, "with", " "), nil
	case "asciifolding":
		return component("ascii_folding"), nil
	case "zero_width_spaces":
		return component("pattern_replace", "pattern", "\u200c", "with", " "), nil
	case "regexp":
		with := " "
		if _, ok := s["replace"]; ok {
			with = s.text("replace")
		}
		pattern, err := s.pattern("regexp")
		return component("pattern_replace", "pattern", pattern, "with", with), err
	}
	return none, fmt.Errorf("no char filter has the type %q", typ)
}

// words is bleve's tokenizer unicode.
var words = component("words", "rules", "bleve", "max_bytes", analysis.MaxKeywordBytes)

func (c *customAnalysis) tokenizer(name string, depth int) (none analysis.Component, err error) {
	s, own := c.Tokenizers[name]
	typ := name
	if own {
		typ = s.text("type")
	}
	switch typ {
	case "unicode":
		return words, nil
	case "whitespace":
		return component("whitespace", "max_bytes", analysis.MaxKeywordBytes), nil
	case "letter":
		return component("letters", "max_bytes", analysis.MaxKeywordBytes), nil
	case "single":
		return component("keyword"), nil
	case "regexp":
		pattern, err := s.pattern("regexp")
		return component("pattern", "pattern", pattern), err
	case "web":
		return component("bleve_web"), nil
	case "exception":
		if depth > 3 {
			return none, errors.New("tokenizers refer to each other")
		}
		rest, err := c.tokenizer(s.text("tokenizer"), depth+1)
		if err != nil {
			return none, fmt.Errorf("tokenizer %q: %w", s.text("tokenizer"), err)
		}
		patterns := []any{}
		for _, p := range s.texts("exceptions") {
			patterns = append(patterns, p)
			if _, err := regexp.Compile(p); err != nil {
				return none, err
			}
		}
		if len(patterns) == 0 {
			return none, errors.New("exceptions are wanted")
		}
		return component("exceptions", "patterns", patterns, "tokenizer", asParam(rest)), nil
	}
	return none, fmt.Errorf("no tokenizer has the type %q", typ)
}

// asParam returns a component as a parameter of another.
func asParam(c analysis.Component) any {
	if len(c.Params) == 0 {
		return c.Type
	}
	p := maps.Clone(c.Params)
	p["type"] = c.Type
	return p
}

// plainFilters are filters without parameters by bleve's name.
var plainFilters = map[string]analysis.Component{
	"to_lower":                        component("lowercase", "final_sigma", true),
	"possessive_en":                   component("possessive"),
	"stemmer_porter":                  component("porter"),
	"apostrophe":                      component("apostrophe"),
	"camelCase":                       component("camel_case"),
	"cjk_bigram":                      component("cjk_bigrams"),
	"cjk_width":                       component("cjk_width"),
	"reverse":                         component("reverse"),
	"unique":                          component("unique"),
	"hr_suffix_transformation_filter": component("bleve_transform", "language", "hr"),
	"stemmer_fr_min":                  component("bleve_stem", "language", "fr_min"),
	"stemmer_en_plural":               component("bleve_stem", "language", "en_plural"),
	"stemmer_pl":                      component("bleve_stem", "language", "pl"),
	"stemmer_ar":                      component("bleve_stem", "language", "ar"),
	"stemmer_ckb":                     component("bleve_stem", "language", "ckb"),
	"stemmer_hi":                      component("bleve_stem", "language", "hi"),
	"stemmer_hr":                      component("bleve_stem", "language", "hr"),
}

func (c *customAnalysis) tokenFilter(name string) (none analysis.Component, err error) {
	s, own := c.TokenFilters[name]
	typ := name
	if own {
		typ = s.text("type")
	}
	if part, ok := plainFilters[typ]; ok {
		return part, nil
	}
	switch typ {
	case "edge_ngram", "ngram":
		low, ok := s.number("min")
		high, also := s.number("max")
		if !ok || !also {
			return none, errors.New("min and max are wanted")
		}
		if typ == "ngram" {
			return component("ngrams", "min", int(low), "max", int(high), "drop_short", true), nil
		}
		return component("edge_ngrams", "min", int(low), "max", int(high), "back", s.truth("back"), "drop_short", true), nil
	case "length":
		part := component("length", "runes", true)
		for _, bound := range []string{"min", "max"} {
			if n, ok := s.number(bound); ok {
				part.Params[bound] = int(n)
			}
		}
		return part, nil
	case "truncate_token":
		n, ok := s.number("length")
		if !ok {
			return none, errors.New("length is wanted")
		}
		return component("length", "max", int(n), "cut", true, "runes", true), nil
	case "shingle":
		low, ok := s.number("min")
		high, also := s.number("max")
		if !ok || !also {
			return none, errors.New("min and max are wanted")
		}
		part := component("shingles", "min", int(low), "max", int(high), "no_words", !s.truth("output_original"))
		for _, p := range []string{"separator", "filler"} {
			if _, ok := s[p]; ok {
				part.Params[p] = s.text(p)
			}
		}
		return part, nil
	case "normalize_unicode":
		return component("normalize", "form", cmp.Or(s.text("form"), "nfc")), nil
	case "hierarchy":
		if s.text("delimiter") == "" {
			return none, errors.New("delimiter is wanted")
		}
		part := component("hierarchy", "delimiter", s.text("delimiter"), "levels", maxLevels)
		if n, ok := s.number("max"); ok {
			part.Params["levels"] = int(min(max(n, 1), maxLevels))
		}
		if _, ok := s["split_input"]; ok && !s.truth("split_input") {
			part.Params["no_split"] = true
		}
		return part, nil
	case "dict_compound":
		part, err := c.withWords("compounds", s.text("dict_token_map"))
		if part.IsZero() || err != nil {
			return part, err
		}
		for param, name := range map[string]string{"min_word": "min_word_size", "min_part": "min_subword_size", "max_part": "max_subword_size"} {
			if n, ok := s.number(name); ok {
				part.Params[param] = max(int(n), 1)
			}
		}
		part.Params["longest"] = s.truth("only_longest_match")
		return part, nil
	case "stop_tokens":
		return c.withWords("stop", s.text("stop_token_map"))
	case "keyword_marker":
		return c.withWords("keyword_marker", s.text("keywords_token_map"))
	case "elision":
		return c.elision(s.text("articles_token_map"))
	}
	kind, rest, _ := strings.Cut(typ, "_")
	language, variant, _ := strings.Cut(rest, "_")
	switch {
	case kind == "stop" && len(names.StopWords(rest)) > 0:
		return c.withWords("stop", typ)
	case kind == "elision" && len(names.Articles(rest)) > 0:
		return c.elision("articles_" + rest)
	case kind == "normalize" && slices.Contains(normalized, rest):
		return component("bleve_normalize", "language", rest), nil
	case kind == "stemmer" && variant == "light" && slices.Contains(lightStemmed, language):
		return component("bleve_stem", "language", language), nil
	case kind == "stemmer" && variant == "snowball" && snowball[language] != "":
		return component("snowball", "language", snowball[language]), nil
	case typ == "stemmer_snowball":
		return none, lacks("the filter %q is not supported; those of a language, such as stemmer_en_snowball, are", typ)
	}
	return none, fmt.Errorf("no token filter has the type %q", typ)
}

// maxLevels is the most that the filter hierarchy makes; bleve has no bound.
const maxLevels = 256

// Languages of filters that bleve names after them.
var (
	normalized   = []string{"ar", "ckb", "de", "es", "fa", "hi", "in"}
	lightStemmed = []string{"de", "es", "fr", "it", "pt"}
	snowball     = map[string]string{
		"da": "danish", "de": "german", "en": "porter2", "es": "spanish", "fi": "finnish", "fr": "french", "hu": "hungarian",
		"it": "italian", "nl": "dutch", "no": "norwegian", "ro": "romanian", "ru": "russian", "sv": "swedish", "tr": "turkish",
	}
)

// elision returns the filter that drops the articles of a token map.
func (c *customAnalysis) elision(tokenMap string) (none analysis.Component, err error) {
	words, err := c.words(tokenMap)
	if err != nil || len(words) == 0 {
		return none, err
	}
	return component("elision", "articles", words), nil
}

// withWords returns a filter with the words of a token map.
func (c *customAnalysis) withWords(typ, tokenMap string) (none analysis.Component, err error) {
	words, err := c.words(tokenMap)
	if err != nil || len(words) == 0 {
		return none, err
	}
	if _, own := c.TokenMaps[tokenMap]; !own && strings.HasPrefix(tokenMap, "stop_") {
		return component(typ, "set", "bleve/"+strings.TrimPrefix(tokenMap, "stop_")), nil
	}
	return component(typ, "words", words), nil
}

// words returns the words of a token map.
func (c *customAnalysis) words(tokenMap string) ([]string, error) {
	s, own := c.TokenMaps[tokenMap]
	kind, language, _ := strings.Cut(tokenMap, "_")
	switch {
	case own && s.text("filename") != "":
		return nil, lacks("token map %q: a file of words is not read; list them as tokens", tokenMap)
	case own:
		return s.texts("tokens"), nil
	case kind == "stop" && len(names.StopWords(language)) > 0:
		return names.StopWords(language), nil
	case kind == "articles" && len(names.Articles(language)) > 0:
		return names.Articles(language), nil
	}
	return nil, fmt.Errorf("no token map is named %q", tokenMap)
}
