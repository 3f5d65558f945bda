package plan

import (
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/proximity"
	"github.com/riffle-search/riffle/segment"
)

// A segment may have lists of pairs of frequent words (segment.PairField). There the list of a pair is the
// phrase of its two words, with the same frequencies, so that with the weight of the phrase the scores are
// the same, too. Of a longer phrase, the pairs are required instead of their words: "to be or not to be"
// has few documents with to-be, be-or, or-not and not-to, and low bounds. The positions of the words decide.
//
// Segments without the pairs answer by the words alone. In each segment, the plan has the lists of one way
// only, so there are terms for both.

// phrasePairs are the pairs of a phrase.
type phrasePairs struct {
	expr   *proximity.Expr // over words
	words  []int           // numbers of the plan's terms
	pairs  []int           // of the pairs
	single []int           // of the words that stand in no pair
	whole  bool            // a pair is the whole phrase
	in     []bool          // by segment: the pairs answer it
	some   bool            // segments that have the field lack the pairs
}

// collectPairs finds the pairs of the last proximity, which is that of a clause, and numbers their terms.
func (b *planner) collectPairs(c *Clause) {
	e := c.together
	if !b.usesPairs || e.Op != proximity.Phrase || e.Max != 0 || !c.plainWords() {
		return
	}
	of, words := b.pairWords(c.field)
	if len(words) == 0 {
		return
	}
	number := len(b.proximities) - 1
	p := &b.proximities[number]
	term := func(i int) string { return c.must[e.Parts[i].Terms[0]].term }
	frequent := func(i int) bool {
		_, ok := slices.BinarySearch(words, term(i))
		return ok
	}
	pairs := &phrasePairs{expr: e}
	add := func(field, term string, word int) int {
		b.terms = append(b.terms, planTerm{field: field, term: term, paired: word + 1, phrase: number + 1})
		b.scored = append(b.scored, false)
		return len(b.terms) - 1
	}
	named := map[string]bool{}
	covered := make([]bool, len(c.must)) // by word
	for i := range len(e.Parts) - 1 {
		if e.Offsets[i+1] != e.Offsets[i]+1 || !frequent(i) || !frequent(i+1) {
			continue
		}
		covered[e.Parts[i].Terms[0]], covered[e.Parts[i+1].Terms[0]] = true, true
		if name := string(segment.PairTerm(nil, term(i), term(i+1))); !named[name] {
			named[name] = true
			pairs.pairs = append(pairs.pairs, add(segment.PairField(c.field), name, p.terms[e.Parts[i].Terms[0]]))
		}
	}
	if len(pairs.pairs) == 0 {
		return
	}
	pairs.whole = len(e.Parts) == 2
	for w := range c.must {
		if pairs.whole {
			break
		}
		t := add(c.field, c.must[w].term, p.terms[w])
		if pairs.words = append(pairs.words, t); !covered[w] {
			pairs.single = append(pairs.single, t)
		}
	}
	var used []string
	for i := range e.Parts {
		if frequent(i) {
			used = append(used, term(i))
		}
	}
	pairs.in = make([]bool, b.index.Segments())
	for i := range pairs.in {
		info, ok := b.index.Segment(i).Reader().Field(c.field)
		pairs.in[i] = ok && (info.Pairs == of || hasAll(info.PairWords(), used))
		pairs.some = pairs.some || ok && !pairs.in[i]
	}
	for _, t := range p.terms {
		b.terms[t].phrase = number + 1
	}
	p.pairs = pairs
}

// plainWords reports whether a proximity is of words, one at a place, that stand for themselves.
func (c *Clause) plainWords() bool {
	for i := range c.together.Parts {
		if w := &c.together.Parts[i]; w.Op != proximity.Word || len(w.Terms) != 1 {
			return false
		}
	}
	return !slices.ContainsFunc(c.must, func(w Clause) bool {
		return w.kind != clauseTerm || w.joined != nil || w.combined != nil
	})
}

// pairWords returns the words of which most documents have pairs, among the segments that have pairs of a
// field, and the same as segment.FieldInfo.Pairs has them.
func (b *planner) pairWords(field string) (of string, words []string) {
	most := uint32(0)
	for i := range b.index.Segments() {
		r := b.index.Segment(i).Reader()
		if info, ok := r.Field(field); ok && info.Pairs != "" && (of == "" || r.Docs() > most) {
			of, words, most = info.Pairs, info.PairWords(), r.Docs()
		}
	}
	return of, words
}

// hasAll reports whether sorted words have all of some words.
func hasAll(words, some []string) bool {
	return !slices.ContainsFunc(some, func(w string) bool {
		_, ok := slices.BinarySearch(words, w)
		return !ok
	})
}

// node returns the node of the phrase for segments with its pairs.
func (p *phrasePairs) node(weight uint32) blockmax.Node {
	if p.whole {
		return blockmax.Node{Leaf: true, Term: p.pairs[0]}
	}
	return blockmax.NewProximity(&blockmax.Proximity{Expr: p.expr, Terms: p.words, Weight: weight, Pairs: p.pairs, Single: p.single})
}

// lendTables gives the terms of phrases over pairs the impact tables of the words.
func (b *planner) lendTables() {
	for i := range b.terms {
		if p := b.terms[i].paired; p > 0 {
			b.terms[i].table = b.terms[p-1].table
		}
	}
}

// weighPairs gives a pair that is a whole phrase the weight of the phrase.
func (b *planner) weighPairs() {
	for i := range b.proximities {
		if p := b.proximities[i].pairs; p != nil && p.whole {
			b.ints[p.pairs[0]] = b.ints[len(b.terms)+len(b.constants)+i]
		}
	}
}

// uses reports whether the plan has the list of a term in a segment.
func (b *planner) uses(segment, t int) bool {
	term := &b.terms[t]
	if term.phrase == 0 {
		return true
	}
	return b.proximities[term.phrase-1].pairs.in[segment] == (term.paired > 0)
}
