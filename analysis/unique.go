package analysis

// Unique drops a token whose term the text has had before. Frequencies are then 1, and positions
// are those of the first occurrence.
type Unique struct {
	// SamePosition drops only what an earlier token of the same position has, such as two synonyms
	// with one stem.
	SamePosition bool
}

// Filter implements Filter: the batch is a whole text.
func (u Unique) Filter(batch []Token) []Token { return u.Text()(batch, true) }

// Text implements TextFilter.
func (u Unique) Text() func(batch []Token, last bool) []Token {
	seen := map[string]struct{}{}
	position := -1
	return func(batch []Token, last bool) []Token {
		batch = keep(batch, func(t *Token) bool {
			if u.SamePosition && t.Position != position {
				position = t.Position
				clear(seen)
			}
			if _, ok := seen[string(t.Term)]; ok {
				return false
			}
			seen[string(t.Term)] = struct{}{}
			return true
		})
		if last {
			position = -1
			if len(seen) > MaxBatch {
				seen = map[string]struct{}{} // a long text's memory is not for all that follow
			}
			clear(seen)
		}
		return batch
	}
}
