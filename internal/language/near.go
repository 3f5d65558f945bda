package language

import (
	"strconv"
	"strings"
	"unicode"
)

// defaultDistance is that of NEAR without a number, as in SQLite's FTS5.
const defaultDistance = 10

// near reads NEAR(…).
func (p *parser) near() *Node {
	start := p.at
	n := &Node{Kind: Near, Distance: defaultDistance}
	p.at += len("NEAR(")
	for {
		p.skip()
		switch c := p.next(); {
		case p.at == len(p.text):
			return p.unclosed(start, "NEAR")
		case c == ')':
			p.at++
			if len(n.Phrases) == 0 {
				p.fail(start, "NEAR has no words", `write NEAR("white whale" ship, 10)`)
				return nil
			}
			return n
		case c == '"':
			at := p.at
			text, ok := p.quoted()
			if !ok {
				return p.unclosed(at, "the quote")
			}
			n.Phrases = append(n.Phrases, text)
		case c == ',':
			p.at++
			at, text := p.nearWord()
			distance, err := strconv.Atoi(text)
			if n.Distance = distance; err != nil || distance < 0 || !p.peek(')') {
				p.fail(at, "a number and ) must follow the comma", `write NEAR("white whale" ship, 10)`)
				n.Distance = defaultDistance
			}
		default:
			at, text := p.nearWord()
			if text == "" {
				p.at = at + 1 // a parenthesis
				p.fail(at, "NEAR takes words and phrases alone", `write NEAR("white whale" ship, 10)`)
				continue
			}
			n.Phrases = append(n.Phrases, text)
		}
		p.count(start, max(1, p.width))
	}
}

// nearWord reads a word of NEAR, and returns where it begins.
func (p *parser) nearWord() (at int, text string) {
	p.skip()
	at = p.at
	var b []byte
	for {
		r, n := p.rune()
		switch {
		case n == 0 || unicode.IsSpace(r) || n == 1 && strings.IndexByte(`,()"`, byte(r)) >= 0:
			return at, string(b)
		case r == '\\':
			b = p.unescape(b)
		default:
			b = append(b, p.text[p.at:p.at+n]...)
			p.at += n
		}
	}
}
