package bleve

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parseQueryString reads a query string as bleve does: clauses that begin with +, - or neither, each a
// word, a phrase, a pattern, a number or a range, of a field or of the default one. There are no
// operators and no groups; AND is a word.
//
//	clause = ["+" | "-"] [field ":"] (word ["~" edits] | phrase | number | (">" | "<") ["="] (number | phrase)) ["^" boost]
//
// riffle.ParseQuery reads more, and therefore some strings otherwise: this one is for requests whose
// answers must not change.
func (m *Mapping) parseQueryString(text string) (node, error) {
	if text == "" {
		return nothing{}, nil
	}
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := stringParser{m: m, tokens: tokens}
	var parts [3][]node
	for {
		if err := p.clause(&parts); err != nil {
			return nil, err
		}
		if p.peek().kind == endOfString {
			break
		}
	}
	// Clauses that are nothing are dropped; a part of which none is left is nothing itself.
	var combined [3]node
	for i, list := range parts {
		kept := []node{}
		for _, n := range list {
			if !isNothing(n) {
				kept = append(kept, n)
			}
		}
		switch {
		case len(list) == 0:
		case len(kept) == 0:
			combined[i] = nothing{}
		case i == mustPart:
			combined[i] = all(kept)
		default:
			combined[i] = some{kept, 0}
		}
	}
	return newBoolean(combined[mustPart], combined[shouldPart], combined[mustNotPart], nil), nil
}

const (
	shouldPart = iota
	mustPart
	mustNotPart
)

// Kinds of tokens of a query string. Signs are their own kinds.
const (
	endOfString = 0
	wordToken   = 'w'
	numberToken = 'n'
	phraseToken = '"'
	boostToken  = '^'
	editsToken  = '~'
)

// A stringToken is a token of a query string.
type stringToken struct {
	kind   rune
	text   string
	offset int
}

// escapable are the characters whose backslash is dropped.
const escapable = "+-=&|><!(){}[]^\"~*?:\\/ "

// scan splits a query string into tokens.
func scan(text string) (tokens []stringToken, err error) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		t := stringToken{kind: r, offset: i}
		switch {
		case r == '"':
			var closed bool
			if t.text, i, closed = take(text, i+1, func(r rune) bool { return r == '"' }); !closed {
				return nil, errorf("offset %d: the quote is not closed", t.offset)
			}
			i++
		case strings.ContainsRune("+-:><=", r):
			i += size
		case r == '^' || r == '~':
			// These run to the next space, which belongs to them.
			if t.text, i, _ = take(text, i+1, func(r rune) bool { return r == ' ' }); t.text == "" {
				t.text = "1"
			}
			i++
		case unicode.IsSpace(r):
			i += size
			continue
		case r == '\\' && i+1 == len(text):
			i++
			continue
		default:
			begin := i
			t.kind = wordToken
			if t.text, i, _ = take(text, i, func(r rune) bool { return strings.ContainsRune(" :^~", r) }); isPlainNumber(text[begin:i]) {
				t.kind = numberToken
			}
		}
		tokens = append(tokens, t)
	}
	return append(tokens, stringToken{kind: endOfString, offset: len(text)}), nil
}

// isPlainNumber reports whether a word is a number: digits with at most one dot, not at the beginning.
func isPlainNumber(word string) bool {
	dots := 0
	for i, r := range word {
		if r == '.' && i > 0 && dots == 0 {
			dots++
		} else if !unicode.IsDigit(r) {
			return false
		}
	}
	return true
}

// take reads to a character that is not escaped, and returns where it is and whether there is one.
func take(text string, from int, ends func(rune) bool) (taken string, end int, ended bool) {
	var b strings.Builder
	escaped := false
	for i, r := range text[from:] {
		switch {
		case escaped:
			if !strings.ContainsRune(escapable, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
			escaped = false
		case ends(r):
			return b.String(), from + i, true
		case r == '\\':
			escaped = true
		default:
			b.WriteRune(r)
		}
	}
	return b.String(), len(text), false
}

// A stringParser reads the clauses of a query string.
type stringParser struct {
	m      *Mapping
	tokens []stringToken
}

func (p *stringParser) peek() stringToken { return p.tokens[0] }

// next takes a token, unless it is the end.
func (p *stringParser) next() stringToken {
	t := p.tokens[0]
	if t.kind != endOfString {
		p.tokens = p.tokens[1:]
	}
	return t
}

// accept takes a token of a kind, if it comes next.
func (p *stringParser) accept(kind rune) bool {
	if p.peek().kind != kind {
		return false
	}
	p.next()
	return true
}

// unexpected reports the token that comes next.
func (p *stringParser) unexpected(want string) error {
	t := p.peek()
	switch {
	case t.kind == endOfString:
		return errorf("offset %d: %s is wanted at the end", t.offset, want)
	case t.text == "":
		return errorf("offset %d: %s is wanted, not %q", t.offset, want, t.kind)
	}
	return errorf("offset %d: %s is wanted, not %q", t.offset, want, t.text)
}

// clause reads a clause into its part.
func (p *stringParser) clause(parts *[3][]node) error {
	part := shouldPart
	if p.accept('+') {
		part = mustPart
	} else if p.accept('-') {
		part = mustNotPart
	}
	make, err := p.base()
	if err != nil {
		return err
	}
	boost := 1.0
	if t := p.peek(); t.kind == boostToken {
		p.next()
		if boost, err = strconv.ParseFloat(t.text, 64); err != nil || !(boost >= 0) {
			return errorf("offset %d: %q is no boost", t.offset, t.text)
		}
	}
	n, err := make(boost)
	if err != nil {
		return err
	}
	parts[part] = append(parts[part], n)
	return nil
}

// base reads a clause without its boost, and returns what makes its query.
func (p *stringParser) base() (func(boost float64) (node, error), error) {
	t := p.peek()
	field, wanted := p.m.defaultField, "a word, a phrase or a number"
	if p.tokens[0].kind != endOfString && p.tokens[1].kind == ':' && (t.kind == wordToken || t.kind == phraseToken) {
		p.next()
		p.next()
		if field = t.text; field == "" {
			field = p.m.defaultField
		}
		if reason := p.m.unsupported[field]; reason != "" {
			return nil, errorf("offset %d: field %q: %s", t.offset, field, reason)
		}
		switch t = p.peek(); t.kind {
		case '>', '<':
			return p.bound(field)
		case '-':
			p.next()
			if n := p.peek(); n.kind == numberToken {
				p.next()
				return p.number(field, "-"+n.text, t.offset)
			}
			return nil, p.unexpected("a number")
		}
	}
	switch t.kind {
	case wordToken:
		p.next()
		return p.word(field, t)
	case numberToken:
		p.next()
		return p.number(field, t.text, t.offset)
	case phraseToken:
		p.next()
		return func(boost float64) (node, error) { return p.m.matchPhrase(field, t.text, "", 0, boost) }, nil
	}
	return nil, p.unexpected(wanted)
}

// word makes a query of a word: an expression between slashes, a wildcard, or a text to be analyzed.
func (p *stringParser) word(field string, t stringToken) (func(float64) (node, error), error) {
	if e := p.peek(); e.kind == editsToken {
		p.next()
		edits, err := strconv.ParseFloat(e.text, 64)
		if err != nil {
			return nil, errorf("offset %d: %q is no number of edits", e.offset, e.text)
		}
		if !(edits > -1 && edits < maxEdits+1) {
			return nil, errorf("offset %d: a word has 0 to %d edits", e.offset, maxEdits)
		}
		return func(boost float64) (node, error) {
			return p.m.match(field, t.text, "", int(edits), 0, false, boost)
		}, nil
	}
	at := func(n node, err error) (node, error) {
		return n, placed(fmt.Sprintf("offset %d", t.offset), err)
	}
	return func(boost float64) (node, error) {
		switch {
		case t.text == "/":
			return at(nil, errorf("the expression is not closed"))
		case strings.HasPrefix(t.text, "/") && strings.HasSuffix(t.text, "/"):
			return at(regexpNode(field, strings.TrimPrefix(t.text[1:len(t.text)-1], "^"), boost))
		case strings.ContainsAny(t.text, "*?"):
			return at(regexpNode(field, wildcardSyntax.Replace(t.text), boost))
		}
		return p.m.match(field, t.text, "", 0, 0, false, boost)
	}, nil
}

// number makes a query for a word that is a number, or for a number.
func (p *stringParser) number(field, text string, offset int) (func(float64) (node, error), error) {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, errorf("offset %d: %q is no number", offset, text)
	}
	return func(boost float64) (node, error) {
		words, err := p.m.match(field, text, "", 0, 0, false, boost)
		if err != nil {
			return nil, err
		}
		either := some{clauses: []node{numberIs(field, value, boost)}}
		if !isNothing(words) {
			either.clauses = append(either.clauses, words)
		}
		return either, nil
	}, nil
}

// bound makes a query of a range that is open at one end, of numbers or of dates.
func (p *stringParser) bound(field string) (func(float64) (node, error), error) {
	above := p.next().kind == '>'
	inclusive := p.accept('=')
	sign := ""
	t := p.peek()
	if t.kind == '-' {
		p.next()
		sign = "-"
	}
	var at *int64
	switch v := p.peek(); {
	case v.kind == numberToken:
		p.next()
		n, err := strconv.ParseFloat(sign+v.text, 64)
		if err != nil {
			return nil, errorf("offset %d: %q is no number", v.offset, sign+v.text)
		}
		n64 := sortableFloat(n)
		at = &n64
	case v.kind == phraseToken && sign == "":
		p.next()
		var err error
		if at, err = dateBound(byLayouts(optionalLayouts), v.text); err != nil {
			return nil, placed(fmt.Sprintf("offset %d", v.offset), err)
		}
		if at == nil {
			return nil, errorf("offset %d: a date is wanted", v.offset)
		}
	default:
		return nil, p.unexpected("a number or a date in quotes")
	}
	return func(boost float64) (node, error) {
		if above {
			return rangeNode(field, at, nil, inclusive, false, boost), nil
		}
		return rangeNode(field, nil, at, true, inclusive, boost), nil
	}, nil
}
