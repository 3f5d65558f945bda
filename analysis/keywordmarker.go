package analysis

// KeywordMarker marks the tokens whose term is one of the words, so that stemmers leave them as
// they are (Token.Keyword). It compares bytes, so give the words as the preceding filters leave
// them.
func KeywordMarker(words ...string) Filter {
	s := Stop(words...).(*stopSet)
	return FilterFunc(func(batch []Token) []Token {
		for i := range batch {
			if s.has(batch[i].Term) {
				batch[i].Keyword = true
			}
		}
		return batch
	})
}
