package language

import (
	"fmt"
	"strconv"
)

// wordNode returns the node of a word, which may be a pattern, an expression or fuzzy.
func (p *parser) wordNode(w word) *Node {
	n := &Node{Kind: Word, Start: w.start, End: w.end, Text: w.text}
	switch {
	case p.peek('~') && (!w.number || p.has(Repairs)):
		p.fuzzy(n)
	case w.number:
		p.checkNumber(w)
		n.Number = true
	case w.regexp && len(w.text) < 2:
		p.fail(w.start, "an expression has two slashes", "")
	case w.regexp:
		n.Kind, n.Text = Regexp, w.text[1:len(w.text)-1]
	case w.pattern == "*" && p.has(Existence):
		n.Kind = Exists
	case w.pattern != "":
		n.Kind, n.Text = Pattern, w.pattern
	}
	return n
}

// checkNumber reports digits that are no number to bleve, such as Arabic ones.
func (p *parser) checkNumber(w word) {
	if _, err := strconv.ParseFloat(w.text, 64); err != nil && w.number && !p.has(Repairs) {
		p.fail(w.start, fmt.Sprintf("%q is not a number", w.text), "")
	}
}

// fuzzy reads what follows a word: a tilde, and the number of edits.
func (p *parser) fuzzy(n *Node) {
	at := p.at
	p.at++
	arg := p.argument()
	edits, err := 1.0, error(nil)
	switch {
	case arg == "auto" && p.has(Repairs):
		n.Kind, n.Edits = Fuzzy, AutoEdits
		return
	case arg != "":
		edits, err = strconv.ParseFloat(arg, 64)
	}
	if err != nil || !(edits > -1 && edits < 3) {
		p.fail(at, fmt.Sprintf("%q is not a number of edits", arg), "write word~1 or word~2")
		return
	}
	if edits >= 1 {
		n.Kind, n.Edits = Fuzzy, int(edits)
	}
}
