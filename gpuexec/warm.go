package gpuexec

import (
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/demand"
	"github.com/riffle-search/riffle/postings"
)

// Count lets the list cache count what a query visits, without running it. mode is And or Or; need
// is the score needed to enter the k best, initial or final. Callers count a log of queries in this way
// before Admit.
func (x *Executor) Count(f *demand.Finder, p *Plan, mode blockmax.Mode, need uint32) {
	if x.options.Stream {
		x.countVisits(p)
		return
	}
	needs := f.Needs(nil, p, mode, need, headParts)
	x.cache.Count(needs)
}

// Admit fills the memory for lists with the lists that were visited most.
func (x *Executor) Admit() {
	if x.options.Stream {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.windows.residents.choose(&x.known, true)
		return
	}
	x.cache.Admit()
}

// countVisits counts the lists of a plan.
func (x *Executor) countVisits(p *Plan) {
	var l lookup
	x.known.mu.RLock()
	l.find(&x.known, []*Plan{p}, []int{0}, false, 0)
	x.known.mu.RUnlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, k := range l.lists {
		if k != nil && k.key != 0 && k.blocks > 0 {
			k.visits++
		}
	}
	x.windows.residents.total++
}

// headParts returns the rows of the parts of a list's head: one part for each extent.
func headParts(l *postings.List) []uint32 {
	parts := make([]uint32, extents(l))
	for i := range parts {
		parts[i] = headRows
	}
	return parts
}

var _ demand.Head = headParts
