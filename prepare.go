package riffle

import (
	"context"

	"github.com/riffle-search/riffle/blockmax"
)

// A preparer turns queries into plans. Its memory, and so a plan that it has made, is
// used again from query to query.
type preparer struct {
	rw      rewriter
	planner planner
	namer   namer
}

// borrow returns a preparer, which the caller gives back when it is done with the plan.
func (e *Engine) borrow() *preparer { return e.preparers.Get().(*preparer) }

// giveBack takes a preparer back, without a reference to the view and the text that it
// worked on, and counts what the lists of the plan have come to take.
func (e *Engine) giveBack(p *preparer) {
	e.lists.Settle(p.planner.lists)
	p.planner.forget()
	p.rw.forget()
	e.preparers.Put(p)
}

// prepare turns a query into a plan on a view. The plan is lent until the next call.
func (p *preparer) prepare(ctx context.Context, v *view, q Query, s *searchSettings) (*compiled, error) {
	p.rw.n = 0
	c, err := p.prepareWords(ctx, v, q, s)
	if c == nil && err == nil {
		var root clause
		if root, err = p.rw.rewrite(q, 1); err == nil {
			c, err = v.compile(ctx, &p.planner, root, s)
		}
	}
	if err != nil {
		return nil, err
	}
	c.plan.K = s.K
	c.plan.CountAll = s.ExactTotal
	if s.After != nil {
		c.plan.After = &blockmax.Hit{Doc: s.After.doc, Score: s.After.score}
	}
	return c, nil
}

// mostWords is how many words prepareWords takes on: it looks for repeated ones by
// comparing all.
const mostWords = 32

// prepareWords plans the most frequent of queries, the words of a Match in one field, without the
// clauses in between, which take as long as the rest. The plan is the same as of other queries that
// come down to words (shapeOf); it returns nil for those and for what is in error.
func (p *preparer) prepareWords(ctx context.Context, v *view, q Query, s *searchSettings) (*compiled, error) {
	m, ok := q.(Match)
	if !ok || m.Mode > AndOr || m.Field == "" || len(m.Fields) > 0 {
		return nil, nil
	}
	words, err := p.rw.analyse(m, m.Field)
	if err != nil || len(words) == 0 || len(words) > mostWords || m.Mode != Or && hasAlternatives(words) {
		return nil, nil
	}
	b := &p.planner
	b.begin(ctx, v, s)
	for i := range words {
		b.addWord(m.Field, words[i].term)
	}
	c, err := b.finish()
	if c != nil && (m.Mode != And || len(b.terms) > 1) { // all of one is one of one
		c.plan.Mode = m.Mode
	}
	return c, err
}

// addWord adds a term that scores. One that comes several times has several times the
// boost.
func (b *planner) addWord(field, word string) {
	for i := range b.terms {
		if b.terms[i].term == word {
			b.terms[i].boost++
			return
		}
	}
	b.terms = append(b.terms, planTerm{field: field, term: word, boost: 1})
	b.scored = append(b.scored, true)
}
