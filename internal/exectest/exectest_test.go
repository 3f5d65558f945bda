package exectest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// A faulty executor changes the plan before a correct executor runs it, or the answer afterwards.
type faulty struct {
	cpuexec.Executor
	before func(*exectest.Plan)
	after  func(*blockmax.TopK)
}

func (f faulty) TopK(ctx context.Context, p *exectest.Plan) (top blockmax.TopK, err error) {
	defer func() { // builds with invariants panic where others give wrong answers
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	q := *p
	q.Segments = slices.Clone(p.Segments)
	for i := range q.Segments {
		q.Segments[i].Terms = slices.Clone(q.Segments[i].Terms)
	}
	if f.before != nil {
		f.before(&q)
	}
	top, err = f.Executor.TopK(ctx, &q)
	if f.after != nil {
		f.after(&top)
	}
	return top, err
}

// refine makes an executor use the lists of a plan until all that are long enough have ranges.
func refine(p *exectest.Plan) {
	q := *p
	q.Tree, q.Mode, q.K, q.After = nil, blockmax.Or, blockmax.MaxK, nil
	for range 3 {
		if _, err := (cpuexec.Executor{Algorithm: cpuexec.BMM}).TopK(context.Background(), &q); err != nil {
			panic(err)
		}
	}
}

// eachTerm calls change with a copy of the bounds of every list.
func eachTerm(p *exectest.Plan, change func(*blockmax.Bounds)) {
	for _, s := range p.Segments {
		for t := range s.Terms {
			if b := s.Terms[t].Bounds; b != nil {
				b.Need(0, len(b.Block))
				s.Terms[t].Bounds = &blockmax.Bounds{List: b.List, Extent: slices.Clone(b.Extent), Block: slices.Clone(b.Block)}
				if r := b.Refined(); r != nil {
					copied := *r
					copied.Word, copied.Tile = slices.Clone(r.Word), slices.Clone(r.Tile)
					s.Terms[t].Bounds.Refine(&copied)
				}
				change(s.Terms[t].Bounds)
			}
		}
	}
}

func lower[T uint8 | uint16](bounds []T) { lowerBy(bounds, 20) }

// lowerBy reduces the bounds by one part in part.
func lowerBy[T uint8 | uint16](bounds []T, part T) {
	for i := range bounds {
		bounds[i] -= bounds[i] / part
	}
}

// TestFaultsAreFound gives executors faults that tests would miss if they compared scores within a
// few per cent, or had no ties.
func TestFaultsAreFound(t *testing.T) {
	const rounds = 1000
	for name, f := range map[string]faulty{
		"block bounds 5 % too low": {
			Executor: cpuexec.Executor{Algorithm: cpuexec.BMW},
			before: func(p *exectest.Plan) {
				eachTerm(p, func(b *blockmax.Bounds) { lower(b.Block) })
			},
		},
		"bounds of words a quarter too low": {
			Executor: cpuexec.Executor{Algorithm: cpuexec.BMM},
			before: func(p *exectest.Plan) {
				refine(p)
				eachTerm(p, func(b *blockmax.Bounds) {
					if r := b.Refined(); r != nil {
						lowerBy(r.Word, 4)
					}
				})
			},
		},
		"bounds of tiles a quarter too low": {
			Executor: cpuexec.Executor{Algorithm: cpuexec.BMM},
			before: func(p *exectest.Plan) {
				refine(p)
				eachTerm(p, func(b *blockmax.Bounds) {
					if r := b.Refined(); r != nil {
						lowerBy(r.Tile, 4)
					}
				})
			},
		},
		"list bounds 5 % too low": {
			Executor: cpuexec.Executor{Algorithm: cpuexec.WAND},
			before: func(p *exectest.Plan) {
				eachTerm(p, func(b *blockmax.Bounds) { b.List -= b.List / 20 })
			},
		},
		"rank maxima too low": {
			Executor: cpuexec.Executor{Algorithm: cpuexec.BMM},
			before: func(p *exectest.Plan) {
				for i := range p.Segments {
					p.Segments[i].RankTile = make([]uint16, len(p.Segments[i].RankTile))
				}
			},
		},
		"tails one too low": {
			Executor: cpuexec.Executor{Algorithm: cpuexec.BMM},
			before: func(p *exectest.Plan) {
				for i := range p.Segments {
					s := &p.Segments[i]
					s.Tail = slices.Clone(s.Tail)
					for j, b := range s.Tail {
						s.Tail[j] = max(b, 1) - 1
					}
				}
			},
		},
		"deleted documents shown": {
			Executor: cpuexec.Executor{Algorithm: cpuexec.Exhaustive},
			before:   func(p *exectest.Plan) { p.Segments[0].Accept, p.Segments[0].Few = nil, nil },
		},
		"ties the other way round": {
			Executor: cpuexec.Executor{Algorithm: cpuexec.Exhaustive},
			after: func(top *blockmax.TopK) {
				if n := len(top.Hits); n > 1 && top.Hits[n-1].Score == top.Hits[n-2].Score {
					top.Hits[n-1], top.Hits[n-2] = top.Hits[n-2], top.Hits[n-1]
				}
			},
		},
		"one score one too high": {
			Executor: cpuexec.Executor{Algorithm: cpuexec.Exhaustive},
			after: func(top *blockmax.TopK) {
				if len(top.Hits) == 7 {
					top.Hits[6].Score++
				}
			},
		},
		"total one too high": {
			Executor: cpuexec.Executor{Algorithm: cpuexec.Exhaustive},
			after:    func(top *blockmax.TopK) { top.Total++ },
		},
		"inexact total": {
			Executor: cpuexec.Executor{Algorithm: cpuexec.BMM},
			before:   func(p *exectest.Plan) { p.CountAll = false },
		},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			for seed := uint64(1); err == nil && seed <= 5; seed++ { // few rounds have lists long enough for ranges
				err = exectest.Check(f, seed, rounds)
			}
			if err == nil {
				t.Fatal("not found")
			}
			if !strings.Contains(err.Error(), "replay with -exectest.seed=") {
				t.Errorf("the failure does not say how to replay it: %v", err)
			}
		})
	}
}

// boasting wrongly claims to prune.
type boasting struct{ cpuexec.Executor }

func (boasting) Prunes() bool { return true }

func TestIdlePrunerIsFound(t *testing.T) {
	err := exectest.Check(boasting{cpuexec.Executor{Algorithm: cpuexec.Exhaustive}}, 1, 100)
	if err == nil || !strings.Contains(err.Error(), "skipped no block") {
		t.Errorf("the error is %v", err)
	}
}

func TestErrorsAreReported(t *testing.T) {
	broken := errors.New("broken")
	f := faulty{before: func(*exectest.Plan) { panic(broken) }}
	if err := exectest.Check(f, 1, 1); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("the error is %v", err)
	}
}

// TestPairs counts the plans with pairs of words, and with leaves that exclude one another, that documents
// match.
func TestPairs(t *testing.T) {
	var phrases, wholes, either, heavy int
	var count func(p *exectest.Plan, n *blockmax.Node)
	count = func(p *exectest.Plan, n *blockmax.Node) {
		switch {
		case n.Proximity != nil && len(n.Proximity.Pairs) > 0:
			phrases++
		case n.Either && n.Should[0].Leaf && len(n.Should) == 2:
			wholes++
		case n.Either && n.Should[0].Leaf:
			either++
			if p.Weights[n.Should[0].Term] > 1<<30 {
				heavy++
			}
		}
		for _, nodes := range [...][]blockmax.Node{n.Must, n.Should, n.Filter, n.Not} {
			for i := range nodes {
				count(p, &nodes[i])
			}
		}
	}
	const rounds = 400
	for round := range rounds {
		exectest.Plans(1, round, func(ix *exectest.Index, p *exectest.Plan) bool {
			if p.Tree == nil {
				return true
			}
			if err := p.Check(); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if len(exectest.Oracle(ix, p).Hits) > 0 {
				count(p, p.Tree)
			}
			return true
		})
	}
	if least := rounds / 40; phrases < least || wholes == 0 || either < least || heavy < least/2 {
		t.Errorf("%d phrases with pairs, %d that are a pair, %d leaves that exclude one another, %d of them heavy", phrases, wholes, either, heavy)
	}
}
