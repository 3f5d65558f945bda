package gpuexec

import (
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/demand"
	"github.com/riffle-search/riffle/postings"
)

// Count has the cache of lists count the visits of a query whose answer is known, without running
// it: mode is And or Or, worst the score of its last hit, 0 when there were fewer than k. It is what a
// log of queries is read for, before Cache().Admit.
func (x *Executor) Count(f *demand.Finder, p *Plan, mode blockmax.Mode, worst uint32) {
	needs := f.Needs(nil, p, mode, worst, headParts)
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
