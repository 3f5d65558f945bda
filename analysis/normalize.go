package analysis

// A Normalizer is a Filter that changes characters wherever they stand, so that it can be applied to
// a part of a word, such as the beginning. Lowercase, Fold, ASCIIFold, NormalForm, CJKWidth, Elision,
// TurkishLowercase of package lang and bleve_normalize are Normalizers, but for bleve_normalize of ckb,
// which depends on where a word ends. A CharFilter with this method is one as well: ASCIIFold.
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

// Normalizes implements Normalizer. A part that begins with an article and an apostrophe is almost
// always the beginning of a word.
func (elision) Normalizes() {}

// Normalize returns a part of a word as an analyzer from New writes it in its terms: what its
// Normalizers make of it. Other filters, such as stop words and stemmers, are for whole words. A text
// for any other analyzer is returned as it is.
//
//	Normalize(Folding(), "Café") // cafe
func Normalize(a Analyzer, text string) string { return normalize(a, text, true) }

// NormalizeWord is Normalize for a whole word, whose end is that of the text: a Lowercase with
// FinalSigma makes ΟΔΟΣ οδος, and Normalize makes it οδοσ.
func NormalizeWord(a Analyzer, word string) string { return normalize(a, word, false) }

func normalize(a Analyzer, text string, part bool) string {
	c, ok := a.(*chain)
	if !ok || text == "" {
		return text
	}
	term := []byte(text)
	if f, ok := c.tokenizer.(*filteredText); ok {
		for _, char := range f.filters {
			if _, ok := char.(interface{ Normalizes() }); ok {
				e := Edits{text: term}
				char.Edit(term, &e)
				term = append(e.out, term[e.done:]...)
			}
		}
	}
	tokens := []Token{{Term: term, End: len(text)}}
	for _, f := range c.given {
		if _, ok := f.(Lowercase); ok && part {
			f = Lowercase{}
		}
		if n, ok := f.(Normalizer); ok && len(tokens) > 0 && len(tokens[0].Term) > 0 {
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
