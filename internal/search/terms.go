package search

import (
	"context"

	"github.com/riffle-search/riffle/cpuexec"
)

// CountTerms counts the documents that match the planned search by the terms of a field: see
// plan.Rewriter.CountTerms.
func (x *Run) CountTerms(ctx context.Context, field, prefix string, visit func(term []byte, matching, all int) error) error {
	sets := make([][]uint64, x.view.Segments())
	for i := range sets {
		sets[i] = make([]uint64, (int(x.view.Segment(i).Reader().Docs())+63)/64)
	}
	// Goroutines visit different tiles, which share no word.
	err := x.settings.CPU.EachMatch(ctx, &x.compiled.Plan, false, func() (func(*cpuexec.Match) error, func()) {
		return func(m *cpuexec.Match) error {
			set := sets[m.Segment]
			copy(set[min(len(set), m.Tile*len(m.Set)):], m.Set[:])
			return nil
		}, nil
	})
	if err != nil {
		return at(x.view, err)
	}
	return x.Rewriter().CountTerms(ctx, field, prefix, sets, visit)
}
