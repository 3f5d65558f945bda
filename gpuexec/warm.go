package gpuexec

import (
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/demand"
	"github.com/riffle-search/riffle/postings"
)

// Count has the cache of lists count what a query visits, without running it: mode is And or Or, need
// the score that is needed to enter its k best, beforehand or in the end. It is what a log of queries is
// read for, before Cache().Admit.
func (x *Executor) Count(f *demand.Finder, p *Plan, mode blockmax.Mode, need uint32) {
	needs := f.Needs(nil, p, mode, need, headParts)
	x.cache.Count(needs)
}

// headParts are the rows of the parts of a list's head: one part for each extent.
func headParts(l *postings.List) []uint32 {
	parts := make([]uint32, extents(l))
	for i := range parts {
		parts[i] = headRows
	}
	return parts
}

var _ demand.Head = headParts
