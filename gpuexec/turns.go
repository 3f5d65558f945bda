package gpuexec

import (
	"context"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// Plans that are answered in two turns: what comes second runs only for those that have found fewer
// than k documents. These are trees with Else and, by windows, flat plans of mode AndOr. Other flat
// plans of that mode take one batch, in which settle decides (kernels/settle.cu).

// Run answers plans, in one batch if they fit into its memory, else in several. Answers are
// parallel to plans. An error means that nothing is answered. It comes from the device or from the
// context.
func (x *Executor) Run(ctx context.Context, plans []*Plan) ([]Answer, error) {
	first, turns := x.firstTurn(plans)
	answers, err := x.runOnce(ctx, first)
	if err != nil || len(turns) == 0 {
		return answers, err
	}
	var second []*Plan
	var of []int
	for _, i := range turns {
		switch a := &answers[i]; {
		case a.Refused != nil:
		case len(a.Open) > 0: // it is not known whether there are enough
			a.openAll(plans[i])
		case a.Top.Total < plans[i].K:
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
		if answers[i] = more[j]; len(answers[i].Open) > 0 {
			answers[i].openAll(plans[i])
		}
	}
	return answers, nil
}

// firstTurn returns plans as they run first, and which of them may have a second turn.
func (x *Executor) firstTurn(plans []*Plan) (first []*Plan, turns []int) {
	first = plans
	copied := false
	for i, p := range plans {
		byWindows := x.options.Stream && settles(p)
		if p.Else == nil && !byWindows {
			continue
		}
		turns = append(turns, i)
		if byWindows {
			if !copied {
				first, copied = slices.Clone(plans), true
			}
			and := *p
			and.Mode = blockmax.And
			first[i] = &and
		}
	}
	return first, turns
}

// secondTurn returns a plan as it runs after too few documents were found. Else stays: segments that
// are left to the CPU would leave the plan undecided (smallOf).
func secondTurn(p *Plan) *Plan {
	second := *p
	if p.Else != nil {
		second.Tree = p.Else
	} else {
		second.Mode = blockmax.Or
	}
	return &second
}
