package gpuexec

import (
	"context"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// Plans that are answered in two turns: what comes second runs only for those that have found fewer
// than k documents. These are trees with Else and, by windows, flat plans of mode AndOr. Other flat
// plans of that mode take one batch, in which settle decides (kernels/settle.cu).
//
// A first turn leaves no small segments to the CPU (small.go): whether there are enough documents
// would remain unknown, and the CPU would have to find out. A second turn may leave them. If extents
// are missing, either turn leaves documents open, and the CPU continues from there.

// Run answers plans, in one batch if they fit into its memory, else in several. Answers are
// parallel to plans. An error means that nothing is answered. It comes from the device or from the
// context. Closing the device waits for Run.
func (x *Executor) Run(ctx context.Context, plans []*Plan) ([]Answer, error) {
	if err := x.dev.Hold(); err != nil {
		return nil, err
	}
	defer x.dev.Release()
	if err := x.dev.Lost(); err != nil { // it may still read the memory of a batch that failed
		return nil, err
	}
	first, turns := x.firstTurn(plans)
	answers, err := x.runOnce(ctx, first)
	if err != nil || len(turns) == 0 {
		return answers, err
	}
	var second []*Plan
	var of []int
	for _, i := range turns {
		a := &answers[i]
		if a.Pass = blockmax.And; a.Refused == nil && len(a.Open) == 0 && a.Top.Total < plans[i].K {
			second, of = append(second, secondTurn(plans[i])), append(of, i)
		}
	}
	if len(second) == 0 {
		return answers, nil
	}
	more, err := x.runOnce(ctx, second)
	if err != nil {
		return nil, err
	}
	for j, i := range of {
		work := answers[i].Top.Work
		answers[i] = more[j]
		answers[i].Pass = blockmax.Or
		answers[i].Top.Work.Add(work)
	}
	return answers, nil
}

// firstTurn returns plans as they run first, and which of them may have a second turn.
func (x *Executor) firstTurn(plans []*Plan) (first []*Plan, turns []int) {
	first = plans
	for i, p := range plans {
		if p.Else == nil && !(x.options.Stream && settles(p)) {
			continue
		}
		if turns = append(turns, i); len(turns) == 1 {
			first = slices.Clone(plans)
		}
		turn := *p
		turn.Undivided = true
		if p.Else == nil {
			turn.Mode = blockmax.And
		}
		first[i] = &turn
	}
	return first, turns
}

// secondTurn returns a plan as it runs after too few documents were found.
func secondTurn(p *Plan) *Plan {
	second := *p
	if p.Else != nil {
		second.Tree, second.Else = p.Else, nil
	} else {
		second.Mode = blockmax.Or
	}
	return &second
}
