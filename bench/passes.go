package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/riffle-search/riffle/bench/protocol"
)

// measurePasses times each query once in each of several new processes, which other queries have
// primed. The last process then goes on for best-of times, if these are asked for.
// Processes come by turns, and each ends before the next begins.
func measurePasses(ctx context.Context, field []contestant, sets []querySet, tasks []task, tm timing, log io.Writer) ([]cell, error) {
	var cells []cell
	for i, set := range sets {
		for _, t := range tasks {
			if !set.takes(t) {
				continue
			}
			primer, err := primerOf(sets, i, t)
			if err != nil {
				return nil, err
			}
			once, best, err := passCells(ctx, field, set, primer, t, tm)
			if err != nil {
				return nil, err
			}
			for _, c := range append(once, best...) {
				fmt.Fprintf(log, "%-14s %-24s %-12s mean %9.1f µs  p99 %10.1f µs  peak %.0f MB\n",
					set.name, c.Task, c.Engine, c.Mean, c.P99, float64(c.PeakBytes)/1e6)
			}
			cells = append(append(cells, once...), best...)
		}
	}
	return cells, nil
}

// primerOf returns the queries to prime a process with that is to answer sets[i]: others of the list, or
// those of the next set.
func primerOf(sets []querySet, i int, t task) ([]string, error) {
	if primer := sets[i].primer; primer != nil {
		return primer, nil
	}
	for _, next := range slices.Concat(sets[i+1:], sets[:i]) {
		if next.takes(t) {
			return next.queries, nil
		}
	}
	return nil, errors.New("one pass needs two files of queries: one to measure, another to prime with")
}

// passCells fills the cells of all engines for one file and task: those of a query's one time,
// and of its best.
func passCells(ctx context.Context, field []contestant, set querySet, primer []string, t task, tm timing) (once, best []cell, err error) {
	least := make([][]int64, len(field)) // of each query, over the passes
	for pass := range tm.passes {
		for i := range field {
			c := &field[i]
			if !c.can(t) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			first, warm, err := onePass(c, set, primer, t, tm, pass == tm.passes-1)
			if err != nil {
				return nil, nil, err
			}
			least[i] = leastOf(least[i], first.ns)
			if pass == tm.passes-1 {
				first.Task, first.Reps = t.String()+", once", tm.passes
				first.Mean, first.P50, first.P95, first.P99 = figures(least[i])
				once = append(once, first)
			}
			if warm != nil {
				warm.Task = fmt.Sprintf("%s, best of %d", t, tm.reps)
				best = append(best, *warm)
			}
		}
	}
	return once, best, nil
}

// onePass runs one process: primes it, times each query once, and then, for the last one, gets
// best-of times.
func onePass(c *contestant, set querySet, primer []string, t task, tm timing, last bool) (once cell, best *cell, err error) {
	if err := c.start(); err != nil {
		return once, nil, err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	request := t.request(primer)
	request.Warm, request.Clock = tm.prime, tm.clock
	if _, err := c.proc.call(request); err != nil {
		return once, nil, err
	}
	if once, err = measureCell(c, set, t, timing{reps: 1, clock: tm.clock}); err != nil {
		return once, nil, err
	}
	if last && tm.reps > 0 {
		warm, err := measureCell(c, set, t, timing{reps: tm.reps, budget: tm.budget, clock: tm.clock})
		if err != nil {
			return once, nil, err
		}
		best = &warm
	}
	return once, best, nil
}

// leastOf returns the lesser time of each query; a may be nil.
func leastOf(a, b []int64) []int64 {
	if a == nil {
		return slices.Clone(b)
	}
	for i := range a {
		a[i] = min(a[i], b[i])
	}
	return a
}

// request asks for a task, without saying how it is timed.
func (t task) request(queries []string) protocol.Request {
	return protocol.Request{Op: "run", Mode: t.mode, Filter: t.filter, Want: t.want, K: t.k, Queries: queries}
}
