package analysis

import "bytes"

// Hierarchy makes the path of a text and the paths above it terms, as bleve's filter hierarchy does:
// "fruit/apple/red" becomes fruit, fruit/apple and fruit/apple/red, so a document is found under any of
// them. It follows the tokenizer Keyword, or Pattern with NoSplit.
//
// The terms share the position of the text's first token. Each has the place from there to the part
// that it ends with, or to the end of a token that is split here after another filter has changed its
// length.
type Hierarchy struct {
	// Delimiter stands between the parts of a path. The default is a slash.
	Delimiter string

	// Levels is the most terms of a text: the rest of a deeper path is dropped. The default is 32, and
	// at most 256 are made. (A text of many levels would have terms of a length in the square of its
	// own.)
	Levels int

	// NoSplit makes each token a part of the path as it is.
	NoSplit bool
}

// Bounds of Hierarchy.Levels.
const (
	defaultLevels = 32
	maxLevels     = 256
)

func (Hierarchy) expands() {}

// Filter implements Filter: the batch is a whole text.
func (h Hierarchy) Filter(batch []Token) []Token { return h.Text()(batch, true) }

// Text implements TextFilter.
func (h Hierarchy) Text() func(batch []Token, last bool) []Token {
	delimiter := []byte(h.Delimiter)
	if len(delimiter) == 0 {
		delimiter = []byte("/")
	}
	levels := h.Levels
	if levels <= 0 {
		levels = defaultLevels
	}
	levels = min(levels, maxLevels)
	var out tokenBuffer
	var path []byte
	var first Token
	depth := 0 // of path
	return func(batch []Token, last bool) []Token {
		out.reset()
		for i := range batch {
			t := &batch[i]
			exact := len(t.Term) == t.End-t.Start
			for rest, more := t.Term, true; more && depth < levels; {
				part := rest
				if more = false; !h.NoSplit {
					part, rest, more = bytes.Cut(rest, delimiter)
				}
				if depth == 0 {
					first = *t
				} else {
					path = append(path, delimiter...)
				}
				if depth++; len(path)+len(part) > MaxKeywordBytes {
					depth = levels
					break
				}
				if path = append(path, part...); len(path) > 0 {
					token := first
					end := t.End
					if exact && more {
						end -= len(rest) + len(delimiter)
					}
					token.End = end
					out.add(token, path)
				}
			}
		}
		if last {
			path, depth = path[:0], 0
		}
		return out.result(last)
	}
}
