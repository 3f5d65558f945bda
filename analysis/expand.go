package analysis

// expandedBatch is how many tokens pass at once through a filter that makes many tokens of one. Some
// 250 grams of each still fit into the second-level cache.
const expandedBatch = 32

// An expander is a TextFilter that makes many tokens of one.
type expander interface {
	TextFilter
	expands()
}

// A tokenBuffer holds the output of a filter that adds tokens.
type tokenBuffer struct {
	tokens     []Token
	terms      []byte
	start, end int // of the last token
}

func (b *tokenBuffer) reset() { b.tokens, b.terms = b.tokens[:0], b.terms[:0] }

// result returns the tokens. The next ones begin another text if last is set.
func (b *tokenBuffer) result(last bool) []Token {
	if last {
		b.start, b.end = 0, 0
	}
	return b.tokens
}

// add appends a token with the term of its arguments, joined. Parts of overlapping tokens are not in
// the order of the text; then a part gets the place of the one before.
func (b *tokenBuffer) add(t Token, term ...[]byte) {
	t.Start = max(t.Start, b.start)
	if t.Start == b.start {
		t.End = max(t.End, b.end)
	}
	t.End = max(t.End, t.Start+1)
	b.start, b.end = t.Start, t.End
	n := len(b.terms)
	for _, part := range term {
		b.terms = append(b.terms, part...)
	}
	t.Term = b.terms[n:len(b.terms):len(b.terms)]
	b.tokens = append(b.tokens, t)
}
