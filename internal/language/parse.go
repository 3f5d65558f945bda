package language

import (
	"fmt"
	"strings"
)

// Parse reads the text of a query. An empty text is a Group without clauses. With Lenient it never
// fails: what it cannot read becomes words, and the Notes say so.
func Parse(text string, o Options) (*Result, error) {
	p := &parser{Options: o, text: text}
	p.Query = &Node{Kind: Group, End: len(text)}
	p.Query.Clauses = p.clauses()
	if len(p.Query.Clauses) == 0 && text != "" && len(p.Notes) == 0 {
		p.fail(0, "there is nothing but white space", "an empty text matches nothing")
	}
	if p.err != nil {
		return nil, p.err
	}
	return &p.Result, nil
}

// clauses reads the clauses of a group, up to its end.
func (p *parser) clauses() (list []Clause) {
	for {
		p.skip()
		if p.at == len(p.text) || p.closes() {
			return list
		}
		if c := p.clause(); c.Node != nil {
			list = append(list, c)
		}
	}
}

// closes reports whether the group ends here.
func (p *parser) closes() bool { return p.depth > 0 && p.next() == ')' }

// clause reads a clause, with all that AND and OR join to it.
func (p *parser) clause() Clause {
	start := p.at
	alternatives := [][]Clause{{p.signed()}}
	joined := false
	for {
		p.skip()
		at, op := p.at, p.operator()
		if op != "AND" && op != "OR" {
			break
		}
		joined = true
		p.at += len(op)
		p.skip()
		if p.at == len(p.text) || p.closes() {
			p.fail(at, op+" needs something after it", quoteHint(op))
			break
		}
		if c := p.signed(); op == "AND" {
			last := &alternatives[len(alternatives)-1]
			*last = append(*last, c)
		} else {
			alternatives = append(alternatives, []Clause{c})
		}
	}
	if !joined {
		return alternatives[0][0]
	}
	var either []Clause
	for _, all := range alternatives {
		if n := p.all(all, len(alternatives) > 1, start); n != nil {
			either = append(either, Clause{Should, n})
		}
	}
	switch len(either) {
	case 0:
		return Clause{}
	case 1:
		return Clause{Plain, either[0].Node}
	}
	return Clause{Plain, &Node{Kind: Group, Start: start, End: p.at, Clauses: either, operator: true}}
}

// all returns what AND has joined; or is set where it stands between ORs.
func (p *parser) all(list []Clause, or bool, start int) *Node {
	var kept []Clause
	for _, c := range list {
		if c.Node == nil {
			continue
		}
		if c.Occur == Plain {
			c.Occur = Must
		} else if or && len(list) == 1 && c.Occur != MustNot {
			p.fail(c.Node.Start, "a sign of its own is not possible between ORs", "write + before a group: +(a OR b)")
		}
		kept = append(kept, c)
	}
	switch {
	case len(kept) == 0:
		return nil
	case len(kept) == 1 && kept[0].Occur == Must:
		return kept[0].Node
	}
	return &Node{Kind: Group, Start: start, End: kept[len(kept)-1].Node.End, Clauses: kept, operator: true}
}

func quoteHint(word string) string {
	return fmt.Sprintf("write %q in quotes to search for the word", word)
}

// signed reads a unit with its sign. The Node is nil if a lenient parser has passed over something.
func (p *parser) signed() Clause {
	occur := Plain
	switch op := p.operator(); {
	case op == "NOT":
		occur = MustNot
		at := p.at
		p.at += len(op)
		if p.skip(); p.at == len(p.text) || p.closes() {
			p.fail(at, "NOT needs something after it", quoteHint(op))
			return Clause{}
		}
	case op != "":
		p.fail(p.at, op+" needs something before it", quoteHint(op))
	case p.starts("++") && p.has(Exact):
		occur = Filter
		p.at += 2
	case p.next() == '+':
		occur = Must
		p.at++
	case p.next() == '-':
		occur = MustNot
		p.at++
	}
	return Clause{occur, p.unit()}
}

// unit reads a word, phrase, group and so on, with its field and what follows it.
func (p *parser) unit() *Node {
	p.skip()
	start := p.at
	if p.at == len(p.text) {
		p.fail(start, "a word is missing", "")
		return nil
	}
	if !p.count(start, max(1, p.width)) {
		return nil
	}
	n, fields := (*Node)(nil), p.severalFields()
	if fields != nil {
		if !p.count(start, len(fields)-1) {
			return nil
		}
	} else {
		switch c := p.next(); {
		case c == '"':
			text, ok := p.quoted()
			if !ok {
				n = p.unclosed(start, "the quote")
			} else if p.peek(':') {
				fields = []Field{{Name: text, Start: start}}
			} else {
				n = p.phrase(start, text)
			}
		case strings.IndexByte(":~^=<>+-", c) >= 0, c == ')' && p.has(Groups):
			p.unexpected()
			return nil
		default:
			if n = p.bracketed(nil); n != nil || p.at != start {
				break
			}
			w := p.word()
			if !p.peek(':') {
				n = p.wordNode(w)
			} else if w.number {
				p.fail(p.at, "a number is not the name of a field", `write \: for a colon, or the name in quotes`)
				p.take(':')
			} else {
				fields = []Field{{Name: w.text, Start: start}}
			}
		}
	}
	if fields != nil && p.take(':') {
		n = p.value(fields)
	}
	if n != nil {
		n.Start, n.End = start, p.at
		p.suffixes(n)
		n.operator = n.operator && n.Fields == nil && n.Factors == nil && n.Least == 0
	}
	return n
}

// TooMany says that a query has more clauses than the most of Options.
func TooMany(most int) string { return fmt.Sprintf("there are more than %d words and phrases", most) }

// count adds clauses, of which each field that is searched has its own. It reports whether these are not too
// many; else the parser is at the end of the text.
func (p *parser) count(start, clauses int) bool {
	if p.Result.Count += clauses; p.Result.Count <= p.MaxClauses {
		return true
	}
	p.fail(start, TooMany(p.MaxClauses), "")
	p.at = len(p.text)
	return false
}

// unexpected reports a character that cannot stand here. A lenient parser passes over it.
func (p *parser) unexpected() {
	c := string(p.text[p.at])
	hint := fmt.Sprintf(`write \%s to search for it`, c)
	switch c {
	case ":":
		hint = `write \: for a colon`
	case "<", ">", "=":
		hint = "write a field before it: year:>1850"
	}
	p.fail(p.at, fmt.Sprintf("%q is not possible here", c), hint)
	if p.at < len(p.text) {
		p.at++
	}
}

// unclosed reports that something which begins at an offset has no end. A lenient parser takes the
// rest of the text as words.
func (p *parser) unclosed(start int, what string) *Node {
	hint := "close it"
	if p.text[start] == '"' {
		hint = `write \" for a quote`
	}
	p.fail(start, what+" has no end", hint)
	p.at = len(p.text)
	return &Node{Kind: Word, Text: p.text[start:]}
}

// phrase returns the node of a phrase that has been read.
func (p *parser) phrase(start int, text string) *Node {
	n := &Node{Kind: Phrase, Start: start, Text: text}
	if p.has(PhrasePrefixes) && p.next() == '*' {
		p.at++
		n.Kind = PhrasePrefix
	}
	return n
}

// bracketed reads a group, a range, NEAR or JSON. It returns nil, and reads nothing, if there is none
// of them here.
func (p *parser) bracketed(fields []Field) *Node {
	start := p.at
	switch c := p.next(); {
	case c == '(' && p.has(Groups):
		width := p.width
		if fields != nil {
			p.width = len(fields)
		}
		n := p.group()
		p.width = width
		return n
	case (c == '[' || c == '{') && p.has(Ranges):
		if n := p.span(fields != nil); n != nil || p.err != nil {
			return n
		}
		p.at = start
	case c == 'N' && p.has(Nearness) && p.starts("NEAR("):
		return p.near()
	}
	if fields == nil && p.has(Exact) && p.starts(`{"`) {
		return p.json()
	}
	return nil
}

// group reads a group.
func (p *parser) group() *Node {
	start := p.at
	p.at++
	if p.depth == p.MaxDepth {
		p.fail(start, fmt.Sprintf("there are more than %d groups in each other", p.MaxDepth), "")
		p.at = len(p.text)
		return nil
	}
	p.depth++
	n := &Node{Kind: Group, Clauses: p.clauses()}
	if p.next() == ')' {
		p.at++
	} else {
		p.fail(start, "the group has no end", `write \( for a parenthesis`)
	}
	p.depth--
	if len(n.Clauses) == 0 {
		p.fail(start, "the group is empty", `write \( for a parenthesis`)
		return nil
	}
	// (a OR b) is what OR has made, and not a group of one clause.
	if one := n.Clauses[0]; len(n.Clauses) == 1 && one.Occur == Plain && one.Node.operator {
		return one.Node
	}
	return n
}

// json reads an object, of which it only finds the end. It counts as one clause.
func (p *parser) json() *Node {
	start, open := p.at, 0
	for quoted := false; p.at < len(p.text); {
		c := p.next()
		p.at++
		switch {
		case c == '\\' && quoted && p.at < len(p.text):
			p.at++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			open++
		case c == '}':
			if open--; open == 0 {
				return &Node{Kind: JSON, Text: p.text[start:p.at]}
			}
		}
	}
	return p.unclosed(start, "the JSON object")
}
