package cpuexec

import (
	"context"
	"fmt"

	"github.com/riffle-search/riffle/blockmax"
)

// An Algorithm is a way to answer OR. All give the same answer.
type Algorithm uint8

const (
	Auto       Algorithm = iota // the fastest by measurement, for any k and lists: BMM
	Exhaustive                  // score every matching document, in every mode
	WAND                        // document at a time, pivots from list bounds
	BMW                         // WAND with block bounds
	MaxScore                    // document at a time, essential and other lists by list bounds
	BMM                         // MaxScore tile by tile, with the bounds of blocks and of words of 64 documents
	algorithms                  // their number
)

var algorithmNames = [algorithms]string{"auto", "exhaustive", "wand", "bmw", "maxscore", "bmm"}

// executorNames are the names of the executors, so that searches need not build them.
var executorNames = func() (names [algorithms]string) {
	for a, n := range algorithmNames {
		names[a] = "cpu/" + n
	}
	return names
}()

func (a Algorithm) String() string {
	if a < algorithms {
		return algorithmNames[a]
	}
	return fmt.Sprintf("Algorithm(%d)", uint8(a))
}

// ParseAlgorithm is the inverse of String.
func ParseAlgorithm(name string) (Algorithm, error) {
	for a, n := range algorithmNames {
		if n == name {
			return Algorithm(a), nil
		}
	}
	return 0, fmt.Errorf("unknown algorithm %q, want one of %v", name, algorithmNames)
}

// An Executor runs plans on the calling goroutine. The zero value is ready to use and safe for
// concurrent use.
type Executor struct {
	Algorithm Algorithm // for OR; Exhaustive applies to every mode
}

// Name names the executor, with the algorithm that Auto stands for: "cpu/bmm".
func (e Executor) Name() string {
	if e.Algorithm < algorithms {
		return executorNames[e.resolve()]
	}
	return "cpu/" + e.Algorithm.String()
}

// Prunes reports whether the executor skips blocks that cannot matter.
func (e Executor) Prunes() bool { return e.resolve() != Exhaustive }

func (e Executor) resolve() Algorithm {
	if e.Algorithm == Auto {
		return BMM
	}
	return e.Algorithm
}

// TopK answers a plan. An error is from Plan.Check, the context's, or a
// *ListError.
//
// Total is exact when the plan asks for it or when nothing was pruned; otherwise
// it is the number of matching documents that were seen.
func (e Executor) TopK(ctx context.Context, p *blockmax.Plan) (blockmax.TopK, error) {
	return e.topK(ctx, p, Parallel{})
}

// topK is TopK, shared according to x.
func (e Executor) topK(ctx context.Context, p *blockmax.Plan, x Parallel) (blockmax.TopK, error) {
	if err := e.checkPlan(p); err != nil {
		return blockmax.TopK{}, err
	}
	r := newRun(ctx, p)
	defer r.release()
	r.parallel = x
	if err := r.search(e.resolve()); err != nil {
		return blockmax.TopK{}, err
	}
	return r.answer()
}

// checkPlan returns an error for a plan that cannot be run.
func (e Executor) checkPlan(p *blockmax.Plan) error {
	if e.Algorithm >= algorithms {
		return fmt.Errorf("cpuexec: there is no %v", e.Algorithm)
	}
	return check(p)
}

// check returns an error for a plan that the CPU cannot run.
func check(p *blockmax.Plan) error {
	for i := range p.Segments {
		if p.Segments[i].Skip > 0 {
			return fmt.Errorf("cpuexec: segment %d is a part of one, for a GPU", i)
		}
	}
	return p.Check()
}

// answer returns the result of the run. If the plan needs an exact total, it first counts the
// pruned documents.
func (r *run) answer() (blockmax.TopK, error) {
	top := blockmax.TopK{Hits: r.out.top.Hits(), Total: r.out.total, Exact: !r.out.pruned}
	skipped := r.out.skipped()
	if r.query.plan.CountAll && r.out.pruned {
		total, err := r.countMatches(r.query.tree)
		if err != nil {
			return blockmax.TopK{}, err
		}
		top.Total, top.Exact = total, true
	}
	top.Work = r.out.work
	top.Work.BlocksSkipped = skipped
	return top, nil
}

// search fills the collector according to the plan's tree or mode.
func (r *run) search(a Algorithm) error {
	if r.query.plan.Tree != nil {
		if a != Exhaustive && r.query.plan.Else == nil { // whether Else runs depends on the total, which pruning must not affect
			r.out.seed = r.query.plan.SeedOf(r.query.plan.Tree)
		}
		if err := r.pass(treeAlgorithm(a), r.query.plan.Tree); err != nil {
			return err
		}
		if r.query.plan.Else == nil || r.out.total >= r.query.plan.K { // as below
			return nil
		}
		return r.orElse(a)
	}
	if r.query.plan.Mode != blockmax.Or {
		if err := r.pass(andAlgorithm(a), r.query.flatTree(blockmax.And)); err != nil {
			return err
		}
		// Pruning begins only once k documents match, so total decides.
		if r.query.plan.Mode == blockmax.And || r.out.total >= r.query.plan.K {
			return nil
		}
		r.out.restart(r.query.plan)
	}
	return r.or(a)
}

// orElse drops what the tree has found, which is too little, and makes the pass of Else.
func (r *run) orElse(a Algorithm) error {
	r.out.restart(r.query.plan)
	if a != Exhaustive {
		r.out.seed = r.query.plan.SeedOf(r.query.plan.Else)
	}
	return r.pass(treeAlgorithm(a), r.query.plan.Else)
}

// or is the pass that finds documents with at least one of the terms.
func (r *run) or(a Algorithm) error {
	if a != Exhaustive {
		r.out.seed = r.query.plan.Seed()
	}
	return r.pass(orAlgorithm(a), r.query.flatTree(blockmax.Or))
}

func treeAlgorithm(a Algorithm) segmentPass {
	if a == Exhaustive {
		return segmentPass{name: "exhaustive", run: (*run).treeExhaustive, byTiles: true, prunes: false}
	}
	return segmentPass{name: "tree", run: (*run).treePruned, byTiles: true, prunes: true}
}

func andAlgorithm(a Algorithm) segmentPass {
	if a == Exhaustive {
		return segmentPass{name: "exhaustive", run: (*run).treeExhaustive, byTiles: true, prunes: false}
	}
	return segmentPass{name: "and", run: (*run).and, byTiles: true, prunes: true}
}

func orAlgorithm(a Algorithm) segmentPass {
	switch a {
	case WAND:
		return segmentPass{name: "wand", run: (*run).wand, byTiles: false, prunes: true}
	case BMW:
		return segmentPass{name: "bmw", run: (*run).bmw, byTiles: false, prunes: true}
	case MaxScore:
		return segmentPass{name: "maxscore", run: (*run).maxScore, byTiles: false, prunes: true}
	case BMM:
		return segmentPass{name: "bmm", run: (*run).bmm, byTiles: true, prunes: true}
	}
	return segmentPass{name: "exhaustive", run: (*run).exhaustive, byTiles: true, prunes: false}
}
