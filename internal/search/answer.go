package search

import (
	"context"
	"errors"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/internal/accelerator"
	"github.com/riffle-search/riffle/internal/live"
)

// An Answer is the result of an executor, with the executor's name.
type Answer struct {
	blockmax.TopK
	Executor string // such as "cpu/bmm/adaptive"
}

// Submit submits a planned search to the accelerator, if there is one and the search may run there
// or has a deadline. Without an accelerator, a search with a deadline gets in line for a core.
// Other searches run in Answer.
func (x *Run) Submit() (err error) {
	if x.Sorted() {
		return x.submitSorted()
	}
	a, o := x.searcher.accelerator, &x.settings
	if o.Due.IsZero() && (a == nil || o.On == accelerator.OnCPU) {
		return nil
	}
	whole := o.CPU
	whole.Pool = nil
	q := accelerator.Query{Plan: &x.compiled.Plan, CPU: o.CPU, Whole: whole, On: o.On, Due: o.Due, FailLate: o.FailLate, Prompt: o.Prompt, Decision: x.decision()}
	if a == nil {
		x.ticket, err = x.searcher.onCores().Submit(q)
	} else {
		x.ticket, err = a.Submit(q)
	}
	x.waiting = err == nil
	return err
}

// Answer answers a planned search. A submitted search must be answered before it ends.
func (x *Run) Answer(ctx context.Context) (Answer, error) {
	if x.Sorted() && !x.waiting {
		top, err := x.sorting.TopK(ctx, &x.compiled.Plan)
		return Answer{top, x.sortedName(top.Work)}, at(x.view, err)
	}
	if !x.waiting {
		top, err := x.settings.CPU.TopK(ctx, &x.compiled.Plan)
		return Answer{top, nameOf(x.settings.CPU, top.Work)}, at(x.view, err)
	}
	x.waiting = false
	answer, err := x.ticket.Wait(ctx)
	name := nameOf(x.settings.CPU, answer.Work)
	if x.Sorted() {
		name = x.sortedName(answer.Work)
	}
	switch answer.By {
	case accelerator.OnGPU:
		name = x.searcher.accelerator.Name()
	case accelerator.OnBoth:
		name = x.searcher.accelerator.Name() + "+" + name
	}
	return Answer{answer.TopK, name}, at(x.view, err)
}

// nameOf names what ran a search on the CPU: x, or its algorithm alone if no other core helped.
func nameOf(x cpuexec.Parallel, w blockmax.Work) string {
	if w.Tasks == 0 {
		x.Pool = nil
	}
	return x.Name()
}

// at adds the segment, and the term if there is one, of a view to an executor's error.
func at(v View, err error) error {
	if err == nil {
		return nil
	}
	var le *cpuexec.ListError
	if errors.As(err, &le) && le.Segment < v.Segments() {
		return v.Segment(le.Segment).At(le.Err)
	}
	var ce *cpuexec.ColumnError
	if errors.As(err, &ce) && ce.Segment < v.Segments() {
		return v.Segment(ce.Segment).At(ce.Err)
	}
	return err
}

// Warm fills the accelerator's memory with what a log of n searches on a view needs most. begin
// plans the i-th.
func (s *Searcher) Warm(ctx context.Context, v *live.View, n int, begin func(i int) (*Run, error)) error {
	return at(v, s.accelerator.Warm(ctx, n, func(i int) (accelerator.Query, func(), error) {
		x, err := begin(i)
		if err != nil {
			return accelerator.Query{}, nil, err
		}
		return accelerator.Query{Plan: &x.compiled.Plan, CPU: x.settings.CPU}, x.End, nil
	}))
}
