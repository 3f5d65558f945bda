package language

import (
	"fmt"
	"math"
	"strconv"
)

// suffixes reads what follows a unit: the slop of a phrase, how many clauses of a group are required,
// boosts.
func (p *parser) suffixes(n *Node) {
	if p.peek('~') {
		p.tilde(n)
	}
	for p.peek('^') {
		if len(n.Factors) > 0 && !p.has(Repairs) {
			p.unexpected()
			return
		}
		f := Factor{By: 1, Start: p.at}
		p.at++
		if p.has(Exact) && p.next() == '=' {
			f.Constant = true
			p.at++
		}
		if arg := p.argument(); arg != "" {
			var err error
			if f.By, err = strconv.ParseFloat(arg, 64); err != nil || math.IsNaN(f.By) {
				p.fail(f.Start, fmt.Sprintf("%q is not a number", arg), "write word^2")
				continue
			}
		}
		if len(n.Factors) == p.MaxDepth {
			p.fail(f.Start, "there are too many boosts", "")
			continue
		}
		n.Factors = append(n.Factors, f)
	}
	n.End = p.at
}

// tilde reads the tilde of a phrase or group.
func (p *parser) tilde(n *Node) {
	at := p.at
	var to *int
	switch {
	case (n.Kind == Phrase || n.Kind == PhrasePrefix) && p.has(Slop):
		to = &n.Slop
	case n.Kind == Group:
		to = &n.Least
	default:
		p.unexpected()
		return
	}
	p.at++
	i, err := strconv.Atoi(p.argument())
	if err != nil || i < 0 {
		p.fail(at, "a number must follow ~", `write "two words"~3`)
		return
	}
	*to = i
}
