package analysis

// A Normalizer is a Filter that changes characters wherever they stand, so that it can be applied to
// a part of a word, such as the beginning. Lowercase, Fold, ASCIIFold, NormalForm and CJKWidth are
// Normalizers.
type Normalizer interface {
	Filter

	// Normalizes does nothing: it marks the filter.
	Normalizes()
}

// Normalizes implements Normalizer.
func (Lowercase) Normalizes() {}

// Normalizes implements Normalizer.
func (Fold) Normalizes() {}

// Normalizes implements Normalizer.
func (ASCIIFold) Normalizes() {}

// Normalizes implements Normalizer.
func (NormalForm) Normalizes() {}

// Normalizes implements Normalizer.
func (CJKWidth) Normalizes() {}

// Normalize returns a part of a word as an analyzer from New writes it in its terms: what its
// Normalizers make of it. Other filters, such as stop words and stemmers, are for whole words. A text
// for any other analyzer is returned as it is.
//
//	Normalize(Folding(), "Café") // cafe
func Normalize(a Analyzer, text string) string {
	c, ok := a.(*chain)
	if !ok || text == "" {
		return text
	}
	tokens := []Token{{Term: []byte(text), End: len(text)}}
	if c.lower != nil {
		tokens = Lowercase{}.Filter(tokens)
	}
	for _, f := range c.filters {
		if _, ok := f.(Lowercase); ok {
			f = Lowercase{} // the end of the part is not that of the word
		}
		if n, ok := f.(Normalizer); ok && len(tokens) > 0 {
			tokens = n.Filter(tokens)
		}
	}
	if len(tokens) == 0 {
		return ""
	}
	return string(tokens[0].Term)
}

// Unfiltered returns an analyzer of the words that the tokenizer of an analyzer from New finds, before
// filters change, drop or add any. Any other analyzer is returned as it is.
func Unfiltered(a Analyzer) Analyzer {
	c, ok := a.(*chain)
	if !ok || len(c.given) == 0 {
		return a
	}
	if bare := c.bare.Load(); bare != nil {
		return bare
	}
	bare := New(c.name, c.tokenizer).(*chain)
	c.bare.Store(bare)
	return bare
}
