package analysis

// Length bounds the length of terms, in bytes.
type Length struct {
	// Min and Max are the least and greatest length of terms to keep. 0 sets no bound.
	Min, Max int

	// Cut shortens a term that is too long to its first Max bytes (fewer, to avoid cutting a rune
	// in two) rather than dropping it. A term whose first rune has more than Max bytes is still
	// dropped.
	Cut bool
}

// Filter implements Filter.
func (l Length) Filter(batch []Token) []Token {
	return keep(batch, func(t *Token) bool {
		if l.Max > 0 && len(t.Term) > l.Max {
			if !l.Cut {
				return false
			}
			t.Term = t.Term[:runeStart(t.Term, l.Max)]
		}
		return len(t.Term) > 0 && len(t.Term) >= l.Min
	})
}
