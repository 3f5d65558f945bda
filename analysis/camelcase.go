package analysis

import (
	"unicode"
	"unicode/utf8"
)

// CamelCase splits terms where the kind of character changes, as programs write names. It must come
// before Lowercase. "parseHTTPRequest2" gives parse HTTP Request 2. The kinds are lower case, capital
// with lower case, capitals, digits, and all other characters; the rule is that of bleve's filter
// camelCase.
//
// Each part takes a position, so later positions move up. A part of a term that no filter has
// changed has its own place in the text; other parts have that of their token.
type CamelCase struct{}

func (CamelCase) expands() {}

// Filter implements Filter: the batch is a whole text.
func (c CamelCase) Filter(batch []Token) []Token { return c.Text()(batch, true) }

// Text implements TextFilter.
func (CamelCase) Text() func(batch []Token, last bool) []Token {
	var out tokenBuffer
	shift := 0 // by how much positions have moved up
	return func(batch []Token, last bool) []Token {
		out.reset()
		for i := range batch {
			t := &batch[i]
			exact := t.End-t.Start == len(t.Term)
			for from := 0; from < len(t.Term); {
				n := camelPart(t.Term[from:])
				part := *t
				part.Position += shift
				if exact {
					part.Start, part.End = t.Start+from, t.Start+from+n
				}
				out.add(part, t.Term[from:from+n])
				if from += n; from < len(t.Term) {
					shift++
				}
			}
		}
		if last {
			shift = 0
		}
		return out.result(last)
	}
}

// camelPart returns the length of the first part of a term.
func camelPart(term []byte) int {
	first, n := utf8.DecodeRune(term)
	in := camelClass(first)
	for n < len(term) {
		r, size := utf8.DecodeRune(term[n:])
		kind := camelClass(r)
		switch {
		case in == upperKind && kind == lowerKind: // a capital, then lower case
			in = capitalKind
		case in == upperKind && kind == upperKind: // a capital before lower case begins the next part
			if next, _ := utf8.DecodeRune(term[n+size:]); n+size < len(term) && camelClass(next) == lowerKind {
				return n
			}
			in = capitalsKind
		case in == capitalsKind && kind == upperKind:
			if next, _ := utf8.DecodeRune(term[n+size:]); n+size < len(term) && camelClass(next) == lowerKind {
				return n
			}
		case in == capitalKind && kind == lowerKind, in == kind:
		default:
			return n
		}
		n += size
	}
	return n
}

// Kinds of characters for CamelCase, and what a part that began with an upper is found to be.
const (
	otherKind = iota
	lowerKind
	upperKind
	numberKind
	capitalKind
	capitalsKind
)

func camelClass(r rune) int {
	switch {
	case unicode.IsLower(r):
		return lowerKind
	case unicode.IsUpper(r):
		return upperKind
	case unicode.IsNumber(r):
		return numberKind
	}
	return otherKind
}
