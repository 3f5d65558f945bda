package language

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// reserved are the characters that a backslash takes the meaning from.
const reserved = "+-=&|><!(){}[]^\"~*?:\\/ "

// A parser reads a text. Its errors do not unwind: without Lenient the first one moves it to the end
// of the text, where everything comes to its end.
type parser struct {
	Options
	text  string
	at    int
	depth int // of groups
	width int // fields of the group that is read; 0 if none names some
	err   *Error
	Result
}

func (p *parser) has(s Syntax) bool { return p.Syntax&s != 0 }

// fail reports what is wrong at an offset. With Lenient the caller goes on.
func (p *parser) fail(offset int, reason, hint string) {
	e := &Error{Offset: offset, Reason: reason, Hint: hint}
	switch {
	case !p.Lenient:
		if p.err == nil {
			p.err = e
		}
		p.at = len(p.text)
	case len(p.Notes) < MaxNotes:
		p.Notes = append(p.Notes, e)
	}
}

// rune returns the character at the current place, and its length, which is 0 at the end. A byte that
// is not UTF-8 is a character of its own.
func (p *parser) rune() (rune, int) {
	if p.at == len(p.text) {
		return 0, 0
	}
	p.Steps++
	if c := p.text[p.at]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(p.text[p.at:])
}

// next returns the byte at the current place, or 0 at the end.
func (p *parser) next() byte {
	if p.at == len(p.text) {
		return 0
	}
	p.Steps++
	return p.text[p.at]
}

// starts reports whether the rest of the text begins with some characters.
func (p *parser) starts(with string) bool {
	p.Steps++
	return strings.HasPrefix(p.text[p.at:], with)
}

// skip passes over white space, and over a backslash that ends the text.
func (p *parser) skip() {
	for {
		r, n := p.rune()
		if r == '\\' && p.at+1 == len(p.text) {
			p.at++
			return
		}
		if n == 0 || !unicode.IsSpace(r) {
			return
		}
		p.at += n
	}
}

// peek skips white space, and reports whether some character follows.
func (p *parser) peek(c byte) bool {
	p.skip()
	return p.next() == c
}

// take is peek, and passes over the character.
func (p *parser) take(c byte) bool {
	if !p.peek(c) {
		return false
	}
	p.at++
	return true
}

// ends reports whether a character ends a word, or what follows ~ or ^.
func (p *parser) ends(r rune) bool { return r == ' ' || p.has(Repairs) && unicode.IsSpace(r) }

// unescape appends what an escaped character stands for, and moves behind it. The current place is
// that of the backslash. A backslash at the end of the text stands for nothing.
func (p *parser) unescape(to []byte) []byte {
	p.at++
	r, n := p.rune()
	if n == 1 && strings.IndexByte(reserved, byte(r)) >= 0 {
		p.at++
		return append(to, byte(r))
	}
	if n > 0 {
		to = append(to, '\\')
	}
	to = append(to, p.text[p.at:p.at+n]...)
	p.at += n
	return to
}

// A word is one as it stands in the text.
type word struct {
	start, end int
	text       string
	pattern    string // if it has a * or ? with a meaning; a backslash takes it away
	regexp     bool   // between slashes
	number     bool   // digits, with at most one dot
}

// word reads a word.
func (p *parser) word() word {
	w := word{start: p.at}
	var text, pattern []byte
	wild, open, dots, number := false, 0, 0, true
	slashes := [2]bool{} // whether a slash with a meaning comes first, and last
	for {
		r, n := p.rune()
		if n == 0 || p.ends(r) || r == ':' || r == '^' || r == '~' {
			break
		}
		before := len(text)
		if r == '\\' {
			if text = p.unescape(text); len(text) == before {
				continue // it ends the text
			}
			number, slashes[1] = false, false
			for _, c := range text[before:] {
				if c == '\\' || p.has(Repairs) && (c == '*' || c == '?') {
					pattern = append(pattern, '\\')
				} else if c == '*' || c == '?' {
					wild = true
				}
				pattern = append(pattern, c)
			}
			if !p.has(Repairs) { // to bleve, what was escaped is as what was not
				slashes[1] = text[len(text)-1] == '/'
				slashes[0] = slashes[0] || before == 0 && slashes[1]
			}
			continue
		}
		switch {
		case r == '(':
			open++
		case r == ')' && p.depth > 0 && open == 0:
			n = 0
		case r == ')':
			open--
		case r == '*' || r == '?':
			wild = true
		}
		if n == 0 {
			break
		}
		if r == '.' && before > 0 {
			dots++
		} else if !unicode.IsDigit(r) {
			number = false
		}
		slashes[1] = r == '/'
		slashes[0] = slashes[0] || before == 0 && slashes[1]
		text = append(text, p.text[p.at:p.at+n]...)
		pattern = append(pattern, p.text[p.at:p.at+n]...)
		p.at += n
	}
	w.end, w.text = p.at, string(text)
	w.number = number && dots < 2 && len(text) > 0
	w.regexp = slashes[0] && slashes[1] && (len(text) > 1 || !p.has(Repairs))
	if wild {
		w.pattern = string(pattern)
	}
	return w
}

// quoted reads a text in quotes, the first of which is at the current place. It reports whether there
// is a second one; without, nothing has been read.
func (p *parser) quoted() (text string, ok bool) {
	start := p.at
	p.at++
	var b []byte
	for {
		r, n := p.rune()
		switch {
		case n == 0:
			p.at = start
			return "", false
		case r == '"':
			p.at++
			return string(b), true
		case r == '\\':
			b = p.unescape(b)
		default:
			b = append(b, p.text[p.at:p.at+n]...)
			p.at += n
		}
	}
}

// argument reads what follows ~ or ^.
func (p *parser) argument() string {
	var b []byte
	for {
		r, n := p.rune()
		switch {
		case n == 0, p.ends(r), r == ')' && p.depth > 0, (r == '^' || r == '~') && p.has(Repairs):
			return string(b)
		case r == '\\':
			b = p.unescape(b)
		default:
			b = append(b, p.text[p.at:p.at+n]...)
			p.at += n
		}
	}
}

// operator returns the operator at the current place, or "". It is a word in capitals, unless a field
// or something that belongs to a word follows.
func (p *parser) operator() string {
	if !p.has(Operators) {
		return ""
	}
	for _, op := range [...]string{"AND", "OR", "NOT"} {
		if !p.starts(op) {
			continue
		}
		at := p.at
		p.at += len(op)
		r, n := p.rune()
		is := n == 0 || p.ends(r) || p.has(Groups) && (r == '(' || r == ')' && p.depth > 0)
		if is && n > 0 {
			p.skip()
			c := p.next()
			is = c != ':' && c != '^' && c != '~'
		}
		p.at = at
		if is {
			return op
		}
	}
	return ""
}
