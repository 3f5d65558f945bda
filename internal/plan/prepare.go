package plan

import (
	"context"
	"slices"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/internal/document"
)

// Settings are the options of a search on which its plan depends.
type Settings struct {
	K        int
	CountAll bool
	After    *blockmax.Hit
	Sim      blockmax.BM25
	Alpha    float64     // of the static rank
	Outside  *Statistics // merged statistics of several indexes, instead of the index's; or nil
	Gather   *Traits     // receives what the plan found in the index that decides what the query means; or nil
	Frozen   string      // statistics instead of the index's (Compiled.AppendStatistics), or ""

	// Only the best K are wanted, and no explanation. Segments that cannot have one may be left out.
	Best bool

	// The plan has the words of phrases also where pairs of them would do, for an explanation.
	Words bool

	MaxTerms int  // that one clause may stand for; 0 for any number
	Partial  bool // of more terms, the first ones count, instead of an error

	Now time.Time // what "now" means in a query

	Analysed *time.Time // set to when the texts of the query have been analysed; or nil

	// The plan may be answered by a device, which takes filters as bits alone.
	Device bool
	Forced bool // it must be, whatever that costs

	AllowUnknown bool // fields that the index does not have match nothing, instead of being an error
}

// analysed notes that the texts of the query have been analysed.
func (s *Settings) analysed() {
	if s.Analysed != nil {
		*s.Analysed = time.Now()
	}
}

// A Preparer turns queries into plans. It reuses its memory, including that of its plan, from query
// to query.
type Preparer struct {
	rw      Rewriter
	planner planner
}

// NewPreparer returns a Preparer of queries under the rules of an inverter's schema. It takes the
// inverter over.
func NewPreparer(iv *document.Inverter) Preparer { return Preparer{rw: Rewriter{iv: iv}} }

// Forget drops references to the index and the text of the last query. It makes the index account
// for the memory that the plan's lists now take.
func (p *Preparer) Forget(x Index) {
	x.Settle(0, x.Segments(), p.planner.lists)
	p.planner.forget()
	p.rw.forget()
}

// Rewriter returns a Rewriter for the parts of another query, on an index that has the fields it
// names. Without an index they are not checked.
func (p *Preparer) Rewriter(x Index, s *Settings) *Rewriter {
	p.rw.n, p.rw.index, p.rw.allowUnknown, p.rw.now = 0, x, s.AllowUnknown, s.Now
	p.rw.gather, p.rw.outside, p.rw.numbers = s.Gather, nil, nil
	if s.Outside != nil {
		p.rw.outside, p.rw.numbers = s.Outside.Traits, s.Outside
	}
	return &p.rw
}

// Plan makes the plan of a clause on an index. The plan is lent until the next call.
func (p *Preparer) Plan(ctx context.Context, x Index, c Clause, s *Settings) (*Compiled, error) {
	s.analysed()
	q, err := p.planner.compile(ctx, x, c, s)
	if err != nil {
		return nil, err
	}
	return q.limit(s), nil
}

// limit sets the number of hits of the plan, and the hit after which they begin.
func (c *Compiled) limit(s *Settings) *Compiled {
	c.Plan.K, c.Plan.CountAll, c.Plan.After = s.K, s.CountAll, s.After
	return c
}

// mostWords is the maximum of words that Words accepts: it finds repeated ones by comparing all
// pairs.
const mostWords = 32

// Words plans the most frequent queries, the words of a Match in one field. It avoids clauses,
// which take as long as the rest. The plan is the same as that of other queries that reduce to
// words (shapeOf), and lent until the next call. Words returns nil for all other queries, for
// errors, and if the index has neither one of the words nor any other in the field.
func (p *Preparer) Words(ctx context.Context, x Index, m Match, s *Settings) (*Compiled, error) {
	p.rw.n, p.rw.index = 0, nil // fields are checked when nothing is found
	if s.Gather != nil || m.Mode > blockmax.AndOr || m.Field == "" || len(m.Fields) > 0 || len(m.Boosts) > 0 || m.Combine != CombineSum || m.Tie != 0 || m.MinShould != 0 {
		return nil, nil
	}
	words, err := p.rw.analyse(m, m.Field)
	if err != nil || len(words) == 0 || len(words) > mostWords || m.Mode != blockmax.Or && hasAlternatives(words) {
		return nil, nil
	}
	s.analysed()
	b := &p.planner
	b.begin(ctx, x, s)
	b.omits = s.Best && m.Mode != blockmax.AndOr
	for i := range words {
		b.addWord(m.Field, words[i].term)
	}
	b.required = m.Mode == blockmax.And || len(b.terms) == 1
	c, err := b.finish()
	if err != nil && b.outside != nil {
		return nil, nil // the field may have other values than texts in all indexes together
	}
	if err != nil {
		return nil, err
	}
	if !b.found() {
		if _, tokens := x.Totals(m.Field); tokens == 0 {
			return nil, nil // the field may not exist, or have no words
		}
	}
	if m.Mode != blockmax.And || len(b.terms) > 1 { // all of one is one of one
		c.Plan.Mode = m.Mode
	}
	return c.limit(s), nil
}

// found reports whether the index has one of the terms. Statistics of a cursor or from outside do not count.
func (b *planner) found() bool {
	return slices.ContainsFunc(b.later, func(n int) bool { return n > 0 }) ||
		slices.ContainsFunc(b.lists, func(l *cache.List) bool { return l != nil && l.Postings != nil })
}

// addWord adds a term that scores. A term that occurs several times has several times the boost.
func (b *planner) addWord(field, word string) {
	for i := range b.terms {
		if b.terms[i].term == word {
			b.terms[i].boost++
			return
		}
	}
	b.terms = append(b.terms, planTerm{field: field, term: word, boost: 1, counts: true})
	b.scored = append(b.scored, true)
}
