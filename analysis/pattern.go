package analysis

import (
	"bytes"
	"regexp"
	"unicode/utf8"
)

// PatternReplace replaces what a regular expression matches, in the syntax of package regexp. As a
// CharFilter it changes the text, and as a Filter each term; a term of which nothing remains is
// dropped. An empty match changes nothing. See Pattern about long texts.
type PatternReplace struct {
	Pattern *regexp.Regexp

	// With replaces a match. $1 and ${name} stand for its groups: see regexp.Regexp.Expand.
	With string
}

// Edit implements CharFilter.
func (p PatternReplace) Edit(text []byte, e *Edits) {
	var with []byte
	for from, to := 0, 0; from < len(text); from = to {
		to = patternPiece(text, from, patternBytes)
		piece := text[from:to]
		for _, m := range p.Pattern.FindAllSubmatchIndex(piece, -1) {
			with = p.Pattern.Expand(with[:0], []byte(p.With), piece, m)
			e.Replace(from+m[0], from+m[1], with)
		}
	}
}

// Filter implements Filter.
func (p PatternReplace) Filter(batch []Token) []Token {
	return keep(batch, func(t *Token) bool {
		if !p.Pattern.Match(t.Term) {
			return true
		}
		e := Edits{text: t.Term}
		p.Edit(t.Term, &e)
		if len(e.list) == 0 {
			return true
		}
		t.Term = append(e.out, t.Term[e.done:]...)
		return len(t.Term) > 0 && utf8.Valid(t.Term)
	})
}

// Pattern makes tokens of what a regular expression matches, or of what is between the matches.
//
// One match takes linear time, but all matches of a text may take quadratic time, when most attempts
// read far ahead in vain. So a text of more than 4 KB is searched in pieces that begin at white
// space, if there is any. No match crosses their ends, and ^ and $ match there.
type Pattern struct {
	Pattern *regexp.Regexp

	// Split makes the matches separators.
	Split bool
}

// Tokenize implements Tokenizer.
func (p Pattern) Tokenize(text []byte, b *Batch) {
	position, from := 0, 0
	add := func(start, end int) {
		if start < end {
			b.Add(text, start, end, position)
			position++
		}
	}
	eachMatch(matchesOf(p.Pattern), text, patternBytes, func(start, end int) {
		if p.Split {
			add(from, start)
			from = end
		} else {
			add(start, end)
		}
	})
	if p.Split {
		add(from, len(text))
	}
}

// Exceptions makes a token of each match of a regular expression, such as an address of mail, and
// leaves the text between them to another tokenizer. A text of more than 1 KB is searched in pieces: see
// Pattern.
type Exceptions struct {
	Pattern *regexp.Regexp
	Rest    Tokenizer

	// Find, if set, takes the place of Pattern: it calls found for each match in a piece of the text,
	// from the first to the last. Matches do not overlap. It may be called by many goroutines at once.
	Find func(piece []byte, found func(start, end int))
}

func (x Exceptions) withRules(r WordRules) (Tokenizer, bool) {
	if t, ok := x.Rest.(ruledTokenizer); ok {
		if t, ok := t.withRules(r); ok {
			return Exceptions{x.Pattern, t, x.Find}, true
		}
	}
	return x, false
}

// Tokenize implements Tokenizer.
func (x Exceptions) Tokenize(text []byte, b *Batch) {
	from, position := 0, 0
	find := x.Find
	if find == nil {
		find = matchesOf(x.Pattern)
	}
	eachMatch(find, text, exceptionBytes, func(start, end int) {
		if start == end {
			return
		}
		position += b.part(x.Rest, text, from, start, position)
		b.Add(text, start, end, position)
		position++
		from = end
	})
	b.part(x.Rest, text, from, len(text), position)
}

// patternBytes is about how much of a text is searched at once. Exceptions are words, so shorter
// pieces do, and cost a sixteenth where most attempts fail.
const (
	patternBytes   = 4 << 10
	exceptionBytes = 1 << 10
)

// patternPiece returns the end of the piece of text that begins at from.
func patternPiece(text []byte, from, most int) int {
	end := from + most
	if end >= len(text) {
		return len(text)
	}
	if space := bytes.LastIndexAny(text[from+most/2:end], " \t\r\n"); space >= 0 {
		return from + most/2 + space
	}
	return runeStart(text, end)
}

// eachMatch calls fn for what find finds in the pieces of a text.
func eachMatch(find func(piece []byte, found func(start, end int)), text []byte, most int, fn func(start, end int)) {
	for from, to := 0, 0; from < len(text); from = to {
		to = patternPiece(text, from, most)
		find(text[from:to], func(start, end int) { fn(from+start, from+end) })
	}
}

// matchesOf returns the function that finds the matches of an expression.
func matchesOf(re *regexp.Regexp) func(piece []byte, found func(start, end int)) {
	return func(piece []byte, found func(start, end int)) {
		for _, m := range re.FindAllIndex(piece, -1) {
			found(m[0], m[1])
		}
	}
}
