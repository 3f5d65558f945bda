package main

import (
	"fmt"
	"runtime"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
)

// countForms are the forms of queries whose matches are counted. A tree is an AND of half of the
// words, or any of the others.
var countForms = []struct {
	name string
	mode blockmax.Mode
	tree bool
}{{"or", blockmax.Or, false}, {"and", blockmax.And, false}, {"tree", blockmax.Or, true}}

// counts measures how many documents match, and nothing else: on the CPU, on the device by scores,
// as if some hits were wanted, and by bits. Without -cpu it measures bits alone.
func (b *bench) counts() error {
	for _, form := range countForms {
		all := b.c.Plans(form.mode, 1)
		for i, p := range all {
			q := *p
			q.CountAll = true
			if form.tree {
				q.Tree = halfTree(len(q.Weights))
			}
			all[i] = &q
		}
		scored, bits := &reference{plans: all}, &reference{}
		for _, p := range all {
			q := *p
			q.OnlyTotal = true
			bits.plans = append(bits.plans, &q)
		}
		if err := b.countOnCPU(form.name+" count cpu", bits); err != nil {
			return err
		}
		if len(b.gpus) == 0 {
			continue
		}
		scored.tops = make([]blockmax.TopK, len(all))
		if b.cpu {
			if err := eachPlan(all, func(i int) (err error) {
				scored.tops[i], err = cpuexec.Executor{}.TopK(b.ctx, all[i])
				return err
			}); err != nil {
				return err
			}
		}
		for _, size := range b.batch {
			for _, way := range []struct {
				name string
				of   *reference
			}{{"bits", bits}, {"scores", scored}} {
				if way.of == scored && !b.cpu {
					continue
				}
				name := fmt.Sprintf("%s count gpu by %s batch=%d", form.name, way.name, size)
				if err := b.measure("counts", name, func() ([]figure, error) {
					return b.onDevice(way.of, gpuexec.Options{Traced: b.trace}, -1, 0, size, nil)
				}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// halfTree is should(and(the first half of the terms), or(the others)).
func halfTree(terms int) *blockmax.Node {
	var first, others []blockmax.Node
	for t := range terms {
		leaf := blockmax.Node{Leaf: true, Term: t}
		if t < (terms+1)/2 {
			first = append(first, leaf)
		} else {
			others = append(others, leaf)
		}
	}
	return &blockmax.Node{Should: append([]blockmax.Node{{Must: first}}, others...)}
}

// countOnCPU measures the CPU, a count on each core, and keeps the totals in the reference.
func (b *bench) countOnCPU(name string, r *reference) error {
	r.tops = make([]blockmax.TopK, len(r.plans))
	round := func() error {
		return eachPlan(r.plans, func(i int) error {
			n, err := cpuexec.Parallel{}.Count(b.ctx, r.plans[i])
			r.tops[i] = blockmax.TopK{Total: n, Exact: true}
			return err
		})
	}
	if err := round(); err != nil || !b.cpu {
		return err
	}
	return b.measure("counts", name, func() ([]figure, error) {
		rate, err := b.rate(len(r.plans), round)
		return []figure{{"q/s", rate}, {"cores", int64(runtime.GOMAXPROCS(0))}}, err
	})
}
