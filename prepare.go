package riffle

import (
	"context"

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
	p.Forget(v.View)
	v.e.preparers.Put(p)
}

// prepare turns a query into a plan on a view. The plan is lent until the next call.
func (p *preparer) prepare(ctx context.Context, v view, q Query, s *searchSettings) (*plan.Compiled, error) {
	set := plan.Settings{
		K: s.K + s.From, CountAll: s.ExactTotal, Sim: s.sim, Alpha: s.alpha, Outside: s.Statistics,
		AllowUnknown: v.e.opts.AllowUnknownFields || s.Statistics != nil, // another index may have the field
	}
	if !s.After.IsZero() {
		if err := v.resume(ctx, q, s, &set); err != nil {
			return nil, err
		}
	}
	c, err := p.plan(ctx, v, q, &set)
	if err == nil && s.From > 0 {
		err = v.settle(ctx, &c.Plan, s) // it depends on the page, not on those in front of it
	}
	return c, err
}

func (p *preparer) plan(ctx context.Context, v view, q Query, set *plan.Settings) (*plan.Compiled, error) {
	if m, ok := q.(Match); ok {
		if c, err := p.Words(ctx, v.View, plan.Match(m), set); c != nil || err != nil {
			return c, err
		}
	}
	root, err := rewrite(q, p.Rewriter(v.View, set), 1)
	if err != nil {
		return nil, err
	}
	return p.Plan(ctx, v.View, root, set)
}

// settle decides which of the two a plan is that wants all words or, where fewer than K documents have them,
// some.
func (v view) settle(ctx context.Context, p *plan.Plan, s *searchSettings) error {
	mode, other := p.Mode, p.Else
	if other == nil && (p.Tree != nil || mode != ModeAndOr) {
		return nil
	}
	p.Mode, p.Else = ModeAnd, nil
	n, err := v.e.executor(s).Count(ctx, p)
	if err != nil {
		return v.at(err)
	}
	if n < s.K {
		p.Mode = ModeOr
		if other != nil {
			p.Tree = other
		}
	}
	return nil
}
