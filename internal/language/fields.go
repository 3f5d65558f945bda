package language

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// value reads what follows the colon of a field.
func (p *parser) value(fields []Field) *Node {
	p.skip()
	start := p.at
	var n *Node
	switch c := p.next(); {
	case p.at == len(p.text), p.closes():
		p.fail(start, "nothing follows the field", `write \: for a colon`)
		return &Node{Kind: Word, Text: fields[0].Name}
	case c == '"':
		if text, ok := p.quoted(); ok {
			n = p.phrase(start, text)
		} else {
			n = p.unclosed(start, "the quote")
		}
	case c == '<' || c == '>':
		n = p.relation()
	case c == '=' && p.has(Exact):
		p.at++
		b, ok := p.operand(true)
		if !ok {
			return nil
		}
		n = &Node{Kind: ExactValue, Text: b.Text, Quoted: b.Quoted}
	case c == '-':
		p.at++
		p.skip()
		w := p.word()
		if !w.number {
			p.fail(start, "only a number may follow the minus", `write \- for a minus in a word, or - before the field`)
		}
		p.checkNumber(w)
		n = &Node{Kind: Word, Text: "-" + w.text, Number: true}
	case strings.IndexByte(":~^=+", c) >= 0:
		p.unexpected()
		return &Node{Kind: Word, Text: fields[0].Name}
	default:
		if n = p.bracketed(fields); n == nil && p.at == start {
			w := p.word()
			if n = p.wordNode(w); n.Kind == Exists && len(fields) == 1 && fields[0].Name == "*" && !fields[0].Boosted {
				return &Node{Kind: All}
			}
		}
	}
	if n != nil {
		n.Fields = fields
	}
	return n
}

// severalFields reads the names before a colon if there is more than one. Otherwise it returns nil,
// and has read nothing.
func (p *parser) severalFields() (fields []Field) {
	if !p.has(SeveralFields) {
		return nil
	}
	start := p.at
	for {
		f := Field{Start: p.at, Boost: 1}
		if f.Name = p.until(",:^"); f.Name == "" {
			break
		}
		if p.next() == '^' {
			p.at++
			var err error
			if f.Boost, err = strconv.ParseFloat(p.until(",:^"), 64); err != nil || math.IsNaN(f.Boost) {
				break
			}
			f.Boosted = true
		}
		fields = append(fields, f)
		if c := p.next(); c == ':' && len(fields) > 1 {
			return fields
		} else if c != ',' {
			break
		}
		p.at++
	}
	p.at = start
	return nil
}

// until reads up to one of some characters, or returns "" where a character comes first that has a
// meaning of its own. Names that have such characters are written in quotes.
func (p *parser) until(one string) string {
	start := p.at
	if c := p.next(); c == '+' || c == '-' {
		return "" // a sign
	}
	for {
		r, n := p.rune()
		if n == 1 && strings.IndexByte(one, byte(r)) >= 0 {
			return p.text[start:p.at]
		}
		if n == 0 || unicode.IsSpace(r) || r < utf8.RuneSelf && strings.IndexByte("\"~()[]{}\\<>=*?,:^", byte(r)) >= 0 {
			return ""
		}
		p.at += n
	}
}
