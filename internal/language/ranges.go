package language

import (
	"fmt"
	"strings"
	"unicode"
)

// relation reads > or <, and what a value is compared with.
func (p *parser) relation() *Node {
	less := p.next() == '<'
	p.at++
	equal := p.take('=')
	b, ok := p.operand(p.has(Ranges))
	if !ok {
		return nil
	}
	n := &Node{Kind: Range, Bounds: Bounds{OneSided: true}}
	if less {
		n.Bounds.From, n.Bounds.To, n.Bounds.IncludeTo = Bound{Open: true}, b, equal
	} else {
		n.Bounds.From, n.Bounds.To, n.Bounds.ExcludeFrom = b, Bound{Open: true}, !equal
	}
	return n
}

// operand reads a value: a number, a text in quotes or, if words are allowed, any word.
func (p *parser) operand(words bool) (b Bound, ok bool) {
	p.skip()
	b.Start = p.at
	sign := ""
	switch c := p.next(); {
	case c == '"':
		if b.Text, ok = p.quoted(); !ok {
			p.unclosed(b.Start, "the quote")
		}
		b.Quoted = true
		return b, ok
	case c == '-':
		p.at++
		p.skip()
		sign = "-"
		words = words && p.next() != '"'
	case p.at == len(p.text), strings.IndexByte(":~^=<>+()", c) >= 0:
		p.fail(p.at, "a value is missing", "")
		return b, p.Lenient
	}
	w := p.word()
	if !w.number && !words || w.text == "" {
		p.fail(b.Start, fmt.Sprintf("%q is not a number", w.text), `write a date in quotes: year:>"1850-01-01"`)
	}
	p.checkNumber(w)
	b.Text = sign + w.text
	return b, true
}

// span reads a range in brackets. It returns nil if this is none, unless it must be one.
func (p *parser) span(must bool) *Node {
	start := p.at
	n := &Node{Kind: Range}
	n.Bounds.ExcludeFrom = p.text[p.at] == '{'
	p.at++
	from, ok := p.bound()
	p.skip()
	if ok = ok && p.starts("TO"); ok {
		p.at += len("TO")
		r, size := p.rune()
		ok = size > 0 && unicode.IsSpace(r)
	}
	if !ok {
		if must {
			p.fail(start, "this is not a range", `write [a TO b], or \[ for a bracket`)
		}
		return nil
	}
	to, ok := p.bound()
	p.skip()
	if c := p.next(); !ok || c != ']' && c != '}' {
		return p.unclosed(start, "the range")
	}
	n.Bounds.From, n.Bounds.To, n.Bounds.IncludeTo = from, to, p.text[p.at] == ']'
	p.at++
	return n
}

// bound reads an end of a range in brackets.
func (p *parser) bound() (b Bound, ok bool) {
	p.skip()
	b.Start = p.at
	if p.next() == '"' {
		b.Quoted = true
		b.Text, ok = p.quoted()
		return b, ok
	}
	var text []byte
	plain := true
	for {
		r, n := p.rune()
		if n == 0 || unicode.IsSpace(r) || r == ']' || r == '}' {
			break
		}
		if r == '\\' {
			text, plain = p.unescape(text), false
			continue
		}
		text = append(text, p.text[p.at:p.at+n]...)
		p.at += n
	}
	b.Text = string(text)
	b.Open = plain && b.Text == "*"
	return b, len(text) > 0
}
