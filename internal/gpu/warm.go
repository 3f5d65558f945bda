package gpu

import (
	"context"
	"fmt"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/demand"
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/dispatch"
)

// warmBatch is how many queries of a log run together.
const warmBatch = 256

// Warm implements accelerator.Accelerator, after Wang 2017: it counts what all queries visit, lets
// every cache choose by these counts, and runs the log on every device, so that its lists are
// copied there.
func (a *Accelerator) Warm(ctx context.Context, n int, query func(int) (accelerator.Query, func(), error)) error {
	for i := range n {
		if err := a.countVisits(ctx, i, query); err != nil {
			return fmt.Errorf("query %d: %w", i, err)
		}
	}
	for _, x := range a.executors {
		x.Admit()
	}
	for from := 0; from < n; from += warmBatch {
		if err := a.runOnAll(ctx, from, min(n, from+warmBatch), query); err != nil {
			return err
		}
	}
	return nil
}

// countVisits lets the caches of all devices count what a query visits. When the CPU completes
// answers, that is what the final threshold leaves; otherwise it is all that must be cached before
// the query begins.
func (a *Accelerator) countVisits(ctx context.Context, i int, query func(int) (accelerator.Query, func(), error)) error {
	q, done, err := query(i)
	if err != nil {
		return err
	}
	defer done()
	parts, err := a.parts(q.Plan)
	if err != nil {
		return nil // the devices refuse it
	}
	mode, need := q.Plan.Mode, uint32(0)
	switch {
	case q.Plan.Tree != nil: // it needs all of its lists
	case a.prune:
		if mode, need, err = finalNeed(ctx, q); err != nil {
			return err
		}
	case mode == blockmax.Or:
		need = q.Plan.Seed()
	}
	var f demand.Finder
	for i, x := range a.executors {
		if parts[i] != nil {
			x.Count(&f, parts[i], mode, need)
		}
	}
	return nil
}

// parts returns what each device is asked for a plan, nil for nothing.
func (a *Accelerator) parts(p *dispatch.Plan) ([]*dispatch.Plan, error) {
	if set := a.set.Load(); set != nil {
		return set.Parts(p)
	}
	for _, x := range a.executors {
		if err := x.Refuses(p); err != nil {
			return nil, err
		}
	}
	return slices.Repeat([]*dispatch.Plan{p}, len(a.executors)), nil
}

// finalNeed runs a query on the CPU. It returns how its answer was found, and the score of the last
// hit, or 0 when there are fewer hits than k.
func finalNeed(ctx context.Context, q accelerator.Query) (mode blockmax.Mode, need uint32, err error) {
	top, err := q.CPU.TopK(ctx, q.Plan)
	if err != nil {
		return 0, 0, err
	}
	mode = q.Plan.Mode
	if len(top.Hits) == q.Plan.K {
		need = top.Hits[q.Plan.K-1].Score
	} else if mode == blockmax.AndOr {
		mode = blockmax.Or
	}
	return mode, need, nil
}

// runOnAll runs queries on every device, so that their lists are copied there. It discards answers.
func (a *Accelerator) runOnAll(ctx context.Context, from, to int, query func(int) (accelerator.Query, func(), error)) error {
	var plans []*dispatch.Plan
	for i := from; i < to; i++ {
		q, done, err := query(i)
		if err != nil {
			return err
		}
		defer done()
		plans = append(plans, q.Plan)
	}
	if set := a.set.Load(); set != nil {
		_, err := set.Partials(ctx, plans)
		return err
	}
	for _, x := range a.executors {
		if _, err := x.Partials(ctx, plans); err != nil {
			return err
		}
	}
	return nil
}
