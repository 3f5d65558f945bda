package language

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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
