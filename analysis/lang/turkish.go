package lang

import (
	"bytes"
	"unicode"

	"github.com/riffle-search/riffle/analysis"
)

// TurkishLowercase is analysis.Lowercase for Turkish and Azeri, where I is the
// capital of ı, and İ that of i. An İ that is written as I and a combining dot is that letter too.
type TurkishLowercase struct{}

// Filter implements analysis.Filter.
func (TurkishLowercase) Filter(batch []analysis.Token) []analysis.Token {
	for i := range batch {
		term := batch[i].Term
		if bytes.Contains(term, []byte("I\u0307")) {
			term = bytes.ReplaceAll(term, []byte("I\u0307"), []byte("i"))
		}
		batch[i].Term = bytes.Map(unicode.TurkishCase.ToLower, term)
	}
	return batch
}

// Normalizes implements analysis.Normalizer.
func (TurkishLowercase) Normalizes() {}
