package analysis

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Synonyms is a filter that adds synonyms to the tokens they stand for, or replaces these. Make it
// with ParseSynonyms. Many goroutines may use it at once.
//
// The longest matching rule wins, from left to right. Other rules see neither the tokens that a
// rule has matched nor those that it adds. A rule of several words matches tokens at the same
// distances as the words of the rule.
//
// A synonym has the position, Start and End of what it stands for. Where one of the alternatives
// has several words, Token.Next links the words of each, and the positions of later tokens move up.
// "dns server" with the rule "dns, domain name system":
//
//	position   0 1 2 3
//	           dns---- server      Span 3
//	           domain
//	             name
//	               system
//
// Tokens that already share a position, such as n-grams, match no rule. An analyzer has at most one
// Synonyms.
//
// Use rules of several words in the analyzer of queries (Match.Analyzer), where searches support
// them. In documents, the stored positions would separate words that a phrase expects to be
// adjacent.
type Synonyms struct {
	rules   map[string][]*synonymRule // by the first term, the longest rules first
	longest int                       // tokens of the longest rule
}

// A synonymRule says what a sequence of terms stands for.
type synonymRule struct {
	match   []relativeTerm
	keep    bool // keep the matched tokens
	outputs [][]string
}

// A relativeTerm is a term and its distance from the first one, in positions.
type relativeTerm struct {
	term string
	at   int
}

// SynonymOptions say how to read rules. The zero value is Solr's default.
type SynonymOptions struct {
	// Analyzer turns the words of rules into terms. It must do so as the filters before the
	// Synonyms do for the words of texts. The default is Standard.
	Analyzer Analyzer

	// Contract maps all words of a rule without an arrow to the first of them. By default each word
	// maps to all.
	Contract bool
}

// ParseSynonyms reads rules in the text format of Solr:
//
//	# a comment
//	laptop, notebook                 each gives both
//	tv, television => television     the right side replaces the left side
//	dns, domain name system
//
// Several rules for the same words add up. A backslash makes the next character literal: \, and \=
// and \\.
//
// An error names the line and the fault.
func ParseSynonyms(rules io.Reader, o *SynonymOptions) (*Synonyms, error) {
	p := synonymParser{analyzer: Standard(), found: map[string]*synonymRule{}}
	if o != nil {
		p.contract = o.Contract
		if o.Analyzer != nil {
			p.analyzer = o.Analyzer
		}
	}
	lines := bufio.NewScanner(rules)
	lines.Buffer(nil, maxSynonymLine)
	n := 0
	for lines.Scan() {
		n++
		if err := p.line(lines.Text()); err != nil {
			return nil, fmt.Errorf("analysis: synonyms, line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("analysis: synonyms, line %d: %w", n+1, err)
	}
	s := &Synonyms{rules: map[string][]*synonymRule{}}
	for _, r := range p.rules {
		first := r.match[0].term
		s.rules[first] = append(s.rules[first], r)
		s.longest = max(s.longest, len(r.match))
	}
	for _, rs := range s.rules {
		slices.SortStableFunc(rs, func(a, b *synonymRule) int { return len(b.match) - len(a.match) })
	}
	return s, nil
}

// maxSynonymLine is the longest line of rules, in bytes.
const maxSynonymLine = 1 << 20

// A synonymParser reads rules line by line.
type synonymParser struct {
	analyzer Analyzer
	contract bool
	rules    []*synonymRule
	found    map[string]*synonymRule // by the key of the terms that they match
}

func (p *synonymParser) line(line string) error {
	if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
		return nil
	}
	sides := splitUnescaped(line, "=>")
	if len(sides) > 2 {
		return errors.New("there are two arrows")
	}
	left, err := p.phrases(sides[0])
	if err != nil {
		return err
	}
	if len(sides) == 1 {
		for i := range left {
			if p.contract {
				p.add(left[i], left[:1], false)
				continue
			}
			p.add(left[i], slices.Concat(left[:i], left[i+1:]), true)
		}
		return nil
	}
	right, err := p.phrases(sides[1])
	if err != nil {
		return err
	}
	for _, l := range left {
		p.add(l, right, false)
	}
	return nil
}

// phrases reads one side of an arrow.
func (p *synonymParser) phrases(side string) ([][]relativeTerm, error) {
	var out [][]relativeTerm
	for _, words := range splitUnescaped(side, ",") {
		words = unescape(strings.TrimSpace(words))
		if words == "" {
			return nil, errors.New("there is nothing before or behind a comma or an arrow")
		}
		var terms []relativeTerm
		first := 0
		for t := range Tokens(p.analyzer, words) {
			if len(terms) == 0 {
				first = t.Position
			}
			at := t.Position - first
			if len(terms) > 0 && at == terms[len(terms)-1].at {
				return nil, fmt.Errorf("the analyzer %q gives %q two terms at one position", p.analyzer.Name(), words)
			}
			terms = append(terms, relativeTerm{string(t.Term), at})
		}
		if len(terms) == 0 {
			return nil, fmt.Errorf("the analyzer %q leaves nothing of %q", p.analyzer.Name(), words)
		}
		out = append(out, terms)
	}
	return out, nil
}

// add makes a rule, or extends the rule that matches the same terms.
func (p *synonymParser) add(match []relativeTerm, outputs [][]relativeTerm, keep bool) {
	var key strings.Builder
	for _, t := range match {
		fmt.Fprintf(&key, "%d %s\x00", t.at, t.term)
	}
	r := p.found[key.String()]
	if r == nil {
		r = &synonymRule{match: match}
		p.found[key.String()] = r
		p.rules = append(p.rules, r)
	}
	r.keep = r.keep || keep
	for _, o := range outputs {
		terms := make([]string, len(o))
		for i, t := range o {
			terms[i] = t.term
		}
		same := func(x []string) bool { return slices.Equal(x, terms) }
		if !slices.ContainsFunc(r.outputs, same) {
			r.outputs = append(r.outputs, terms)
		}
	}
}

// splitUnescaped cuts s at each separator without a preceding backslash.
func splitUnescaped(s, separator string) (parts []string) {
	begin := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], separator):
			parts = append(parts, s[begin:i])
			i += len(separator) - 1
			begin = i + 1
		}
	}
	return append(parts, s[begin:])
}

// unescape removes backslashes, except those that another backslash escapes.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Filter implements Filter: the batch is a whole text.
func (s *Synonyms) Filter(batch []Token) []Token { return s.Text()(batch, true) }

// Text implements TextFilter.
func (s *Synonyms) Text() func(batch []Token, last bool) []Token {
	return (&synonymText{s: s}).next
}

// A synonymText is the state of Synonyms for a text.
type synonymText struct {
	s     *Synonyms
	held  []Token // pending, because a rule may begin here that ends in the next batch
	terms []byte  // of held
	in    []Token // held tokens and the batch
	out   []Token
	added []byte // terms of synonyms in out
	shift int    // by how much positions have moved up
	free  int    // the first position that no token has taken yet
}

func (x *synonymText) next(batch []Token, last bool) []Token {
	if len(x.held) > 0 {
		x.in = append(append(x.in[:0], x.held...), batch...)
		batch = x.in
	}
	x.out, x.added = x.out[:0], x.added[:0]
	i := 0
	for i < len(batch) && (last || i+x.s.longest < len(batch)) { // the token after the longest match shows whether its last one shares its position
		var r *synonymRule
		if batch[i].Position >= x.free {
			r = x.s.longestMatch(batch[i:])
		}
		if r != nil {
			x.expand(r, batch[i:i+len(r.match)])
			i += len(r.match)
		} else {
			t := batch[i]
			t.Position += x.shift
			x.out = append(x.out, t)
			i++
		}
		x.free = batch[i-1].Next()
	}
	x.hold(batch[i:])
	if last {
		x.shift, x.free = 0, 0
	}
	return x.out
}

// hold keeps tokens for the next call.
func (x *synonymText) hold(tokens []Token) {
	terms := make([]byte, 0, 64)
	if len(x.held) == 0 {
		terms = x.terms[:0] // else tokens may be stored there
	}
	for i := range tokens {
		terms = append(terms, tokens[i].Term...)
	}
	x.held, x.terms = append(x.held[:0], tokens...), terms
	for i := range x.held {
		n := len(x.held[i].Term)
		x.held[i].Term, terms = terms[:n:n], terms[n:]
	}
}

// longestMatch returns the longest rule that matches the first tokens, or nil.
func (s *Synonyms) longestMatch(tokens []Token) *synonymRule {
	for _, r := range s.rules[string(tokens[0].Term)] {
		if r.matches(tokens) {
			return r
		}
	}
	return nil
}

func (r *synonymRule) matches(tokens []Token) bool {
	if len(r.match) > len(tokens) {
		return false
	}
	for i, m := range r.match {
		if t := &tokens[i]; t.Position-tokens[0].Position != m.at || string(t.Term) != m.term {
			return false
		}
	}
	n := len(r.match)
	return n == len(tokens) || tokens[n].Position >= tokens[n-1].Next()
}

// expand adds the output of a rule for the tokens it matches. The positions from the first matched
// token up to the token after the match are divided: each synonym of several words gets its own,
// and the matched tokens get the last ones, so that starts never fall.
func (x *synonymText) expand(r *synonymRule, matched []Token) {
	first, behind := matched[0], matched[len(matched)-1].Next()
	begin := first.Position + x.shift
	inner := 0 // positions between
	for _, o := range r.outputs {
		inner += len(o) - 1
	}
	kept := behind - first.Position - 1 // positions between the matched tokens
	if !r.keep {
		kept = 0
	}
	end := begin + inner + kept + 1
	at := len(x.out)
	if r.keep {
		for i, t := range matched {
			next := end
			if i+1 < len(matched) {
				next = matched[i+1].Position - first.Position + begin + inner
			}
			if i == 0 {
				t.Position = begin
			} else {
				t.Position += begin + inner - first.Position
			}
			x.emit(t, next)
		}
	}
	free := begin + 1
	for _, o := range r.outputs {
		t := Token{Start: first.Start, End: matched[len(matched)-1].End, Position: begin}
		for i, term := range o {
			next := end
			if i+1 < len(o) {
				next = free
				free++
			}
			n := len(x.added)
			x.added = append(x.added, term...)
			t.Term = x.added[n:len(x.added):len(x.added)]
			x.emit(t, next)
			t.Position = next
		}
	}
	slices.SortStableFunc(x.out[at:], func(a, b Token) int {
		if a.Position != b.Position {
			return a.Position - b.Position
		}
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return a.End - b.End
	})
	x.shift += end - begin - (behind - first.Position)
}

// emit adds a token whose Next is the position next.
func (x *synonymText) emit(t Token, next int) {
	if t.Span = int32(next - t.Position); t.Span == 1 {
		t.Span = 0
	}
	x.out = append(x.out, t)
}
