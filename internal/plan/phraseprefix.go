package plan

import (
	"slices"
	"strings"

	"github.com/riffle-search/riffle/analysis"
	"github.com/riffle-search/riffle/internal/dictionary"
	"github.com/riffle-search/riffle/proximity"
)

// A PhrasePrefix is riffle.PhrasePrefix.
type PhrasePrefix struct {
	Field    string
	Text     string
	Slop     int
	Analyzer string
}

// Validate reports what is wrong with a phrase prefix on any index.
func (q *PhrasePrefix) Validate() error {
	switch {
	case q.Field == "":
		return Errorf("PhrasePrefix.Field", "is empty")
	case q.Slop < 0 || q.Slop > MaxSlop:
		return Errorf("PhrasePrefix.Slop", "must lie in 0 to %d, not %d", MaxSlop, q.Slop)
	}
	return nil
}

// PhrasePrefix returns the clause of a phrase whose last word is the beginning of one.
func (rw *Rewriter) PhrasePrefix(q PhrasePrefix, boost float64) (Clause, error) {
	if err := q.Validate(); err != nil {
		return Clause{}, err
	}
	tokens, last, some, err := rw.openEnded("PhrasePrefix", q.Field, q.Text, q.Analyzer)
	if err != nil || !some {
		return Clause{kind: clauseBool}, err // without words nothing matches
	}
	b := &phraseBuilder{rw: rw, part: "PhrasePrefix", field: q.Field}
	paths, err := b.phrases(tokens)
	if err != nil {
		return Clause{}, err
	}
	var alternatives []Clause
	for _, e := range paths {
		e.Max = q.Slop
		c, err := b.openEnded(e, last.term, boost)
		if err != nil {
			return Clause{}, err
		}
		alternatives = append(alternatives, c)
	}
	return DisMax(alternatives, 0), nil
}

// openEnded analyses a text whose last word is the beginning of one. last is that word, and one of the
// tokens: its term is the name of a joined term. Others at its position are what the analyzer makes of
// the word, unless they begin with it. some is false if the text has no word.
//
// The analyzer may drop the last word, or stem it; its beginning is that of the word as it is written.
func (rw *Rewriter) openEnded(part, field, text, analyzer string) (tokens []queryToken, last queryToken, some bool, err error) {
	if _, err := rw.normalized(part, field, "", true); err != nil {
		return nil, last, false, err
	}
	if !rw.isText(field) {
		last = queryToken{term: joinedMark + text, next: 1, end: len(text), open: true}
		return []queryToken{last}, last, text != "", nil
	}
	if tokens, err = rw.analyseFor(part, field, text, analyzer); err != nil {
		return nil, last, false, err
	}
	name := rw.iv.Schema.Fields[field].Analyzer
	if analyzer != "" {
		name = analyzer
	}
	a, err := rw.iv.Analyzer(name)
	if err != nil {
		return nil, last, false, err // analyse would have failed
	}
	end, next := 0, 0
	for i := range tokens {
		t := &tokens[i]
		next = max(next, t.next)
		if t.end > end || t.end == end && t.start > last.start {
			last = *t
		}
		end = max(end, t.end)
	}
	for i := range tokens {
		if t := &tokens[i]; t.start == last.start && t.end == last.end {
			last.position = min(last.position, t.position)
		}
	}
	last.next = max(next, last.position+1)
	dropped := 0 // words after the last token
	analysis.AnalyzeString(analysis.Unfiltered(a), text, func(batch []analysis.Token) {
		for i := range batch {
			if t := &batch[i]; t.Start >= end {
				last.start, last.end = t.Start, t.End
				dropped++
			}
		}
	})
	if dropped > 0 {
		last.position = next + dropped - 1
		last.next = last.position + 1
	}
	if len(tokens)+dropped == 0 {
		return nil, last, false, nil
	}
	prefix := analysis.Normalize(a, text[last.start:last.end])
	tokens = slices.DeleteFunc(slices.Clone(tokens), func(t queryToken) bool {
		return t.start == last.start && t.end == last.end && strings.HasPrefix(t.term, prefix)
	})
	at := len(tokens)
	for at > 0 && tokens[at-1].position > last.position {
		at--
	}
	last.term, last.open = joinedMark+prefix, true
	return slices.Insert(tokens, at, last), last, true, nil
}

// prefixPattern returns the pattern of a joined term of a prefix.
func prefixPattern(field, joined string) *termPattern {
	prefix := joined[len(joinedMark):]
	r := termRange{from: []byte(prefix), to: dictionary.Successor([]byte(prefix))}
	return &termPattern{field: field, kind: "prefix", text: prefix, Pattern: r.texts()}
}

// openEnded returns the clause of a phrase over the builder's terms, with the name of the joined term in
// its last part, or in none. A phrase of one word is a prefix.
func (b *phraseBuilder) openEnded(e proximity.Expr, joined string, boost float64) (Clause, error) {
	own, words := b.only(e)
	at := slices.Index(own.terms, joined)
	if at < 0 {
		return own.clause(words, boost)
	}
	pattern := prefixPattern(b.field, joined)
	before, final := words.Parts[:len(words.Parts)-1], &words.Parts[len(words.Parts)-1]
	if len(before) == 0 {
		alternatives := []Clause{{kind: clauseSet, set: pattern}}
		for _, t := range final.Terms {
			if t != at {
				c, err := b.rw.term(b.field, own.terms[t], 1)
				if err != nil {
					return Clause{}, err
				}
				alternatives = append(alternatives, c)
			}
		}
		return Constant(anyClause(alternatives), boost), nil
	}
	// Words of a sloppy phrase that share a term do not match at the same place.
	for t, term := range own.terms {
		if e.Max > 0 && strings.HasPrefix(term, pattern.text) && !slices.Contains(final.Terms, t) {
			final.Terms = append(final.Terms, t)
		}
	}
	first, lead := own.only(proximity.Expr{Op: proximity.Phrase, Parts: before, Offsets: e.Offsets[:len(before)], Max: e.Max})
	counted := b.rw.n // the words before the last are terms of the phrase, too
	some, err := first.clause(lead, 1)
	if err != nil {
		return Clause{}, err
	}
	b.rw.n = counted
	c, err := own.clause(words, boost)
	for i := range c.must {
		if c.must[i].term == joined {
			c.must[i].joined = &joinedTerm{pattern: pattern, lead: &some}
			if e.Max == 0 {
				c.must[i].joined.gap = e.Offsets[len(before)] - e.Offsets[len(before)-1]
				for _, t := range before[len(before)-1].Terms {
					c.must[i].joined.after = append(c.must[i].joined.after, own.terms[t])
				}
			}
		}
	}
	return c, err
}

// only returns a builder that has the terms of a phrase and no others, and the phrase over these.
func (b *phraseBuilder) only(e proximity.Expr) (*phraseBuilder, proximity.Expr) {
	own := &phraseBuilder{rw: b.rw, part: b.part, field: b.field}
	parts := e.Parts
	e.Parts = nil
	for i := range parts {
		var terms []string
		for _, t := range parts[i].Terms {
			terms = append(terms, b.terms[t])
		}
		e.Parts = append(e.Parts, own.word(terms...))
	}
	return own, e
}
