package bleve

import (
	"unsafe"

	"github.com/riffle-search/riffle/analysis"
)

// TermsAnalyzer is the name of the analyzer of all fields in the indexes of this package. It makes of an
// encoded value the terms that bleve makes of it. Any other text is analyzed by the default analyzer of
// the mapping, so that a riffle.Match finds words in most fields.
const TermsAnalyzer = "bleve/terms"

func init() {
	m, err := ParseMapping([]byte("{}"))
	if err == nil {
		err = analysis.Register(TermsAnalyzer, valueAnalyzer{m})
	}
	if err != nil {
		panic("bleve: " + err.Error()) // another init of the program registered that name
	}
}

// A valueAnalyzer is the TermsAnalyzer of a mapping.
type valueAnalyzer struct{ m *Mapping }

// Name implements analysis.Analyzer.
func (valueAnalyzer) Name() string { return TermsAnalyzer }

// Analyze implements analysis.Analyzer.
func (a valueAnalyzer) Analyze(text []byte, emit func([]analysis.Token)) {
	if len(text) == 0 {
		return
	}
	stored := unsafe.String(&text[0], len(text))
	v, err := decode("", stored)
	if err != nil {
		if by, err := a.m.analyzerNamed(a.m.analyzer); err == nil {
			by.Analyze(text, emit)
		}
		return
	}
	if !v.indexed {
		return
	}
	if v.kind != textValue {
		var batch []analysis.Token
		for _, term := range v.exactTerms() {
			batch = append(batch, analysis.Token{Term: []byte(term), End: len(text)})
		}
		emit(batch)
		return
	}
	by, err := a.m.analyzerNamed(v.how)
	if err != nil {
		return // an index of another mapping
	}
	offset := len(text) - len(v.text)
	by.Analyze(text[offset:], func(batch []analysis.Token) {
		for i := range batch {
			batch[i].Start += offset
			batch[i].End += offset
		}
		emit(batch)
	})
}

// A token is a term of a value and its place there, as bleve counts: positions from 1.
type token struct {
	term       string
	pos        int
	start, end int
}

// tokens returns the terms of a value.
func (m *Mapping) tokens(v *value) (out []token) {
	switch {
	case !v.indexed:
	case v.kind != textValue:
		for _, term := range v.exactTerms() {
			out = append(out, token{term, 1, 0, len(term)})
		}
	default:
		if a, err := m.analyzerNamed(v.how); err == nil {
			out = tokensOf(a, v.text)
		}
	}
	return out
}

func tokensOf(a analysis.Analyzer, text string) (out []token) {
	for t := range analysis.Tokens(a, text) {
		out = append(out, token{string(t.Term), t.Position + 1, t.Start, t.End})
	}
	return out
}
