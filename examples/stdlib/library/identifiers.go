package library

import (
	"unicode"
	"unicode/utf8"

	"github.com/riffle-search/riffle/analysis"
)

// goAnalyzer is for Go source and names. An identifier becomes a term, and so do its words:
// ServeHTTP gives servehttp, serve and http. All are stemmed, so that "cancel" also finds canceled
// and Cancels.
var goAnalyzer = analysis.New("go", identifiers{}, analysis.Lowercase{}, analysis.Porter{})

// identifiers is a Tokenizer for runs of letters, digits and underscores. It emits each run whole
// (without leading underscores) and by its words. The whole has the position of its first word.
type identifiers struct{}

// Tokenize implements analysis.Tokenizer.
func (identifiers) Tokenize(text []byte, b *analysis.Batch) {
	position := 0
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		if !isIdent(r) {
			at += n
			continue
		}
		end := at + n
		for end < len(text) {
			r, n := utf8.DecodeRune(text[end:])
			if !isIdent(r) {
				break
			}
			end += n
		}
		position = addIdentifier(text, at, end, position, b)
		at = end
	}
}

func isIdent(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// addIdentifier adds text[start:end] and its words and returns the position after them. Tokens are
// added by ascending start, and by ascending end if starts are equal.
func addIdentifier(text []byte, start, end, position int, b *analysis.Batch) int {
	first := true
	for at := start; at < end; {
		from, to := nextWord(text[:end], at)
		if from == to {
			break
		}
		if !first && from > start {
			position++
		}
		b.Add(text, from, to, position)
		if first && to-from < end-start {
			b.Add(text, from, end, position)
		}
		first, at = false, to
	}
	return position + 1
}

// nextWord returns the first word of an identifier at or after an offset. It ends at an underscore,
// at a capital after a small letter or digit (with|Cancel, sha256|Sum), or at the last of several
// capitals if a small letter follows (HTTP|Server). from == to means that there is none.
func nextWord(text []byte, at int) (from, to int) {
	for at < len(text) && text[at] == '_' {
		at++
	}
	from = at
	var last rune // the one before at
	for at < len(text) && text[at] != '_' {
		r, n := utf8.DecodeRune(text[at:])
		if at > from && unicode.IsUpper(r) {
			next, _ := utf8.DecodeRune(text[at+n:])
			if !unicode.IsUpper(last) || unicode.IsLower(next) {
				break
			}
		}
		last = r
		at += n
	}
	return from, at
}
