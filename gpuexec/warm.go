package gpuexec

import (
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/demand"
	"github.com/riffle-search/riffle/postings"
)

// Count lets the list cache count what a query visits, without running it. mode is And or Or; need
// is the score needed to enter the k best, initial or final. Callers count a log of queries in this
// way before Admit.
func (x *Executor) Count(f *demand.Finder, p *Plan, mode blockmax.Mode, need uint32) {
	if x.streams(p) {
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
	l := lists{known: &x.known, keyless: keyless{byTerm: map[listIdentity]*knownList{}}}
	x.known.mu.RLock()
	var all []*knownList
	for i := range p.Segments {
		for t := range p.Segments[i].Terms {
			if k := l.know(&p.Segments[i].Terms[t]); k != nil && k.key != 0 {
				all = append(all, k)
			}
		}
	}
	x.known.mu.RUnlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, k := range all {
		k.visits++
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
