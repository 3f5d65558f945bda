package main

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/collection"
)

// plans are all queries in one form.
type plans struct {
	mode blockmax.Mode
	k    int
}

func (p plans) String() string { return fmt.Sprintf("%s k=%d", modeNames[p.mode], p.k) }

// asTree is a form of plans beside the modes: trees (halfTree).
const asTree blockmax.Mode = 1 << 7

var modeNames = map[blockmax.Mode]string{blockmax.Or: "or", blockmax.And: "and", blockmax.AndOr: "andor", asTree: "tree"}

// in returns the queries of a collection in a form.
func (p plans) in(c *collection.Collection) []*collection.Plan {
	if p.mode != asTree {
		return c.Plans(p.mode, p.k)
	}
	all := c.Plans(blockmax.Or, p.k)
	for i, plan := range all {
		tree := *plan
		tree.Tree = halfTree(len(plan.Weights))
		all[i] = &tree
	}
	return all
}

// A reference is the CPU's answers, measured first.
type reference struct {
	plans []*collection.Plan
	from  int             // the first that is answered
	tops  []blockmax.TopK // of plans
}

// reference answers all queries on the CPU, by the best algorithm.
func (b *bench) reference(p plans) (*reference, error) { return b.referenceFrom(p, 0) }

// referenceFrom answers the queries from one on.
func (b *bench) referenceFrom(p plans, from int) (*reference, error) {
	if r := b.answers[p]; r != nil && r.from <= from {
		return r, nil
	}
	r := &reference{plans: p.in(b.c), from: from}
	r.tops = make([]blockmax.TopK, len(r.plans))
	defer b.progress(time.Now(), "the CPU's answers")
	err := eachPlan(r.plans[from:], func(i int) (err error) {
		r.tops[from+i], err = cpuexec.Executor{}.TopK(b.ctx, r.plans[from+i])
		return err
	})
	if err == nil {
		b.answers[p] = r
	}
	return r, err
}

// check compares an answer to query i with the CPU's.
func (r *reference) check(i int, top *blockmax.TopK) error {
	want := &r.tops[i]
	if !slices.Equal(top.Hits, want.Hits) {
		at := 0
		for at < min(len(top.Hits), len(want.Hits)) && top.Hits[at] == want.Hits[at] {
			at++
		}
		return fmt.Errorf("query %d: MISMATCH with the CPU from hit %d on: %v, want %v",
			i, at, top.Hits[at:min(at+3, len(top.Hits))], want.Hits[at:min(at+3, len(want.Hits))])
	}
	if top.Exact && want.Exact && top.Total != want.Total {
		return fmt.Errorf("query %d: MISMATCH with the CPU: %d documents match, want %d", i, top.Total, want.Total)
	}
	return nil
}

// eachPlan calls do for all plans on all cores, and returns the first error.
func eachPlan(all []*collection.Plan, do func(i int) error) error {
	var once sync.Once
	var first error
	collection.InParallel(len(all), 0, func(i int) {
		if err := do(i); err != nil {
			once.Do(func() { first = err })
		}
	})
	return first
}

// measureCPU runs all queries repeatedly on all cores, each query on one core.
func (b *bench) measureCPU(part string, p plans, algorithm cpuexec.Algorithm) error {
	return b.measure(part, fmt.Sprintf("%v cpu/%v", p, algorithm), func() ([]figure, error) {
		r, err := b.reference(p)
		if err != nil {
			return nil, err
		}
		x := cpuexec.Executor{Algorithm: algorithm}
		works := make([]blockmax.Work, len(r.plans))
		round := func() error {
			return eachPlan(r.plans, func(i int) error {
				top, err := x.TopK(b.ctx, r.plans[i])
				if err == nil {
					works[i] = top.Work
					err = r.check(i, &top)
				}
				return err
			})
		}
		rate, err := b.rate(len(r.plans), round)
		if err != nil {
			return nil, err
		}
		var w blockmax.Work
		for i := range works {
			w.Add(works[i])
		}
		return append([]figure{{"q/s", rate}, {"cores", int64(runtime.GOMAXPROCS(0))}}, b.work(&w, len(r.plans))...), nil
	})
}

// rate does a round to warm up, and then rounds for the time of a measurement, at least one. It
// returns queries a second of the fastest.
func (b *bench) rate(queries int, round func() error) (float64, error) {
	best := 0.0
	start := time.Time{}
	for first := true; first || best == 0 || time.Since(start) < b.seconds; {
		began := time.Now()
		if err := round(); err != nil {
			return 0, err
		}
		if first {
			first, start = false, time.Now()
			continue
		}
		best = max(best, float64(queries)/time.Since(began).Seconds())
	}
	return best, nil
}

// work reports the work of an average query.
func (b *bench) work(w *blockmax.Work, queries int) (fs []figure) {
	if w.BlocksDecoded > 0 {
		fs = append(fs, figure{"blocks decoded, %", 100 * float64(w.BlocksDecoded) / float64(w.BlocksDecoded+w.BlocksSkipped)})
	}
	return append(fs, figure{"documents scored", float64(w.DocsScored) / float64(queries)})
}
