package search

import (
	"context"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/accelerator"
)

// Count counts the documents that match, on the CPU or on the accelerator. The CPU knows a single
// list's length, so it counts that.
func (x *Run) Count(ctx context.Context) (int, error) {
	a, o := x.searcher.accelerator, &x.settings
	if a == nil || o.On == accelerator.OnCPU || len(x.compiled.Plan.Weights) < 2 {
		return x.count(ctx)
	}
	p := countingPlan(&x.compiled.Plan)
	whole := o.CPU
	whole.Pool = nil
	t, err := a.Submit(accelerator.Query{Plan: &p, CPU: counter{o.CPU}, Whole: counter{whole}, On: o.On, Count: true, Decision: x.decision()})
	if err != nil {
		return 0, err
	}
	answer, err := t.Wait(ctx)
	return answer.Total, at(x.view, err)
}

// Unranked answers a search for no hits: it counts the documents that match. The run must not be
// submitted.
func (x *Run) Unranked(ctx context.Context) (Answer, error) {
	n, err := x.Count(ctx)
	return Answer{blockmax.TopK{Total: n, Exact: true}, nameOf(x.settings.CPU, blockmax.Work{})}, err
}

// count is Count on the CPU.
func (x *Run) count(ctx context.Context) (int, error) {
	n, err := x.settings.CPU.Count(ctx, &x.compiled.Plan)
	return n, at(x.view, err)
}

// countingPlan is a plan with the same documents that an executor without a count of its own can
// answer: it asks for the total, and for as few hits as can be.
func countingPlan(of *blockmax.Plan) blockmax.Plan {
	p := *of
	p.CountAll, p.OnlyTotal, p.After, p.RankWeight = true, true, nil, 0
	if p.Else == nil && (p.Tree != nil || p.Mode != blockmax.AndOr) { // of others, K decides what matches
		p.K = 1
	}
	return p
}

// A counter is a CPU for plans whose total alone is wanted.
type counter struct{ cpu cpuexec.Parallel }

// TopK implements dispatch.CPU.
func (c counter) TopK(ctx context.Context, p *blockmax.Plan) (blockmax.TopK, error) {
	n, err := c.cpu.Count(ctx, p)
	return blockmax.TopK{Total: n, Exact: true}, err
}

// Finish implements dispatch.CPU. It counts all documents again, which bitmaps make cheap.
func (c counter) Finish(ctx context.Context, p *blockmax.Plan, _ *blockmax.Partial) (blockmax.TopK, error) {
	return c.TopK(ctx, p)
}
