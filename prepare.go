package riffle

import (
	"context"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/plan"
)

// A preparer turns queries into plans and what is found into hits. Its memory is used again from
// search to search.
type preparer struct {
	plan.Preparer
	namer namer
}

// borrow returns a preparer, which the caller gives back when it is done with the plan.
func (e *Engine) borrow() *preparer { return e.preparers.Get().(*preparer) }

// giveBack takes a preparer back from a search on the view.
func (v view) giveBack(p *preparer) {
	p.Forget(v)
	v.e.preparers.Put(p)
}

// prepare turns a query into a plan on a view. The plan is lent until the next call.
func (p *preparer) prepare(ctx context.Context, v view, q Query, s *searchSettings) (*plan.Compiled, error) {
	set := plan.Settings{K: s.K, CountAll: s.ExactTotal, Sim: s.sim, Alpha: s.alpha}
	if s.After != nil {
		set.After = &blockmax.Hit{Doc: s.After.doc, Score: s.After.score}
	}
	if m, ok := q.(Match); ok {
		if c, err := p.Words(ctx, v, plan.Match(m), &set); c != nil || err != nil {
			return c, err
		}
	}
	root, err := rewrite(q, p.Rewriter(), 1)
	if err != nil {
		return nil, err
	}
	return p.Plan(ctx, v, root, &set)
}
