package analysis

// ConsecutiveTerms reports whether the terms that a passes to AnalyzeTerms are at positions 0, 1, 2
// and so on. Of other analyzers only Analyze tells the positions.
func ConsecutiveTerms(a Analyzer) bool {
	c, ok := a.(*chain)
	if !ok {
		return false
	}
	switch c.tokenizer.(type) {
	case Words, Whitespace, Keyword:
		return len(c.filters) == 0
	}
	return false
}
