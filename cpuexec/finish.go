package cpuexec

import (
	"context"

	"github.com/riffle-search/riffle/blockmax"
)

// Finish completes a partial answer to a plan: it searches only the documents of part.Open,
// beginning with the threshold of part.Top, and adds its hits. The answer is that of TopK, to the
// last bit. Work is the sum of both, except for blocks skipped, which are those that Finish did not
// decode either.
//
// An error is from Plan.Check or Partial.Check, the context's, or a *ListError.
func (e Executor) Finish(ctx context.Context, p *blockmax.Plan, part *blockmax.Partial) (blockmax.TopK, error) {
	if err := e.checkPlan(p); err != nil {
		return blockmax.TopK{}, err
	}
	docs := func(s int) uint32 { return p.Segments[s].Docs }
	if err := part.Check(len(p.Segments), docs); err != nil {
		return blockmax.TopK{}, err
	}
	r := newRun(ctx, p)
	defer r.release()
	if err := r.finish(e.resolve(), part); err != nil {
		return blockmax.TopK{}, err
	}
	return r.answer()
}

// finish fills the collector from part, and then from its open spans.
func (r *run) finish(a Algorithm, part *blockmax.Partial) error {
	r.out.work, r.out.total, r.out.pruned = part.Top.Work, part.Top.Total, !part.Top.Exact
	for _, h := range part.Top.Hits {
		r.out.top.Offer(h.Doc, h.Score)
	}
	mode := r.query.plan.Mode
	if mode == blockmax.AndOr {
		mode = part.Pass
	}
	switch {
	case r.query.plan.Else != nil:
		return r.finishElse(a, part)
	case r.query.plan.Tree != nil:
		return r.passSpans(treeAlgorithm(a), r.query.plan.Tree, part.Open)
	case mode == blockmax.Or:
		if a != Exhaustive {
			r.out.seed = r.query.plan.Seed()
		}
		return r.passSpans(orAlgorithm(a), r.query.flatTree(blockmax.Or), part.Open)
	}
	if err := r.passSpans(andAlgorithm(a), r.query.flatTree(blockmax.And), part.Open); err != nil {
		return err
	}
	if r.query.plan.Mode == blockmax.And || r.out.total >= r.query.plan.K {
		return nil
	}
	r.out.restart(r.query.plan)
	return r.or(a)
}

// finishElse is finish for a tree with Else.
func (r *run) finishElse(a Algorithm, part *blockmax.Partial) error {
	p := r.query.plan
	if part.Pass == blockmax.Or {
		if a != Exhaustive {
			r.out.seed = p.SeedOf(p.Else)
		}
		return r.passSpans(treeAlgorithm(a), p.Else, part.Open)
	}
	if err := r.passSpans(treeAlgorithm(a), p.Tree, part.Open); err != nil || r.out.total >= p.K {
		return err
	}
	return r.orElse(a)
}

// passSpans is pass over the documents of spans only.
func (r *run) passSpans(visit segmentPass, tree *blockmax.Node, spans []blockmax.Span) error {
	r.query.tree = tree
	r.out.beginPass(visit.name)
	for i := range r.query.plan.Segments {
		r.out.listBlocks += blocksBelow(tree, &r.query.plan.Segments[i])
	}
	hopeless := false
	for i, s := range spans {
		if i == 0 || s.Segment != spans[i-1].Segment {
			if err := r.enter(s.Segment); err != nil {
				return err
			}
			hopeless = r.hopeless(visit)
		}
		if hopeless {
			continue
		}
		r.at.from, r.at.to = s.From, s.To
		if err := visit.run(r); err != nil {
			return err
		}
	}
	return nil
}

// Finish is Executor.Finish, on the calling goroutine alone.
func (x Parallel) Finish(ctx context.Context, p *blockmax.Plan, part *blockmax.Partial) (blockmax.TopK, error) {
	if x.Pool == nil {
		return x.whole().Finish(ctx, p, part)
	}
	if err := x.begin(); err != nil {
		return blockmax.TopK{}, err
	}
	defer x.end()
	return x.whole().Finish(ctx, p, part)
}
