package gpuexec

import (
	"runtime"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec/demand"
)

// A doubt is a part for which it must be determined which extents of its lists matter.
type doubt struct {
	part int // in the batch's parts
	need uint32
}

// A finder is what one goroutine needs for that.
type finder struct {
	demand.Finder
	bits [][]uint64 // of the terms of a plan
}

// doubtsAtOnce is how many parts a goroutine takes at a time, some 100 µs of work.
const doubtsAtOnce = 8

// want records which extents of the lists of a part matter: all, or those with a block that can
// hold a document with at least the needed score. The latter are determined later.
func (b *batch) want(pt int, plan *Plan, need uint32) {
	p := &b.parts[pt]
	if !b.algorithm.prunes() || plan.CountAll || p.way == byOrTiles && need == 0 {
		b.lists.wantAll(b.termsOf(p))
		return
	}
	b.lists.doubts = append(b.lists.doubts, doubt{pt, need})
}

// termsOf are the terms of a part.
func (b *batch) termsOf(p *part) []partTerm { return b.terms[p.from:p.to] }

// findWanted determines the extents in doubt. It takes ten times as long as all else that a batch
// needs. It skips fully resident lists, and queries that can go by strips, and will, since their
// lists are not fully resident: flat lists need no blocks, and the others are short. chooseStrips
// handles flat lists that change meanwhile.
func (b *batch) findWanted() {
	l := &b.lists
	open, last := l.doubts[:0], -1
	for _, d := range l.doubts {
		p := &b.parts[d.part]
		q, terms := &b.queries[p.query], b.termsOf(p)
		if l.haveAll(terms) {
			l.wantAll(terms)
			p.resident = true
			continue
		}
		if p.query != last { // once for all of its parts
			last = p.query
			_, q.expected = b.canGoByStrips(q, (*flats).had)
		}
		if !q.expected {
			l.giveWanted(terms)
			open = append(open, d)
		}
	}
	if len(open) == 0 {
		return
	}
	workers := runtime.GOMAXPROCS(0)
	for len(l.finders) < workers {
		l.finders = append(l.finders, finder{})
	}
	share(workers, len(open), doubtsAtOnce, func(worker, from, to int) {
		for _, d := range open[from:to] {
			b.resolve(&l.finders[worker], d)
		}
	})
}

// resolve marks the extents of a part that matter.
func (b *batch) resolve(f *finder, d doubt) {
	p := &b.parts[d.part]
	plan, mode := b.queries[p.query].plan, blockmax.And
	if p.way == byOrTiles {
		mode = blockmax.Or
	}
	f.bits = slices.Grow(f.bits[:0], len(plan.Weights))[:len(plan.Weights)]
	for _, t := range b.termsOf(p) {
		f.bits[t.term] = b.lists.entries[t.entry].wanted
	}
	f.Extents(plan, p.segment, mode, d.need, f.bits)
	clear(f.bits)
}

// haveAll reports whether every list is wanted whole, fully resident, or small and travels with each
// batch: to copy an extent takes less than to find out whether it matters.
func (l *lists) haveAll(terms []partTerm) bool {
	for _, t := range terms {
		e := &l.entries[t.entry]
		if !e.all && !e.known.whole.Load() && (e.known.key != 0 || len(e.known.extents) > 1) {
			return false
		}
	}
	return true
}

func (l *lists) wantAll(terms []partTerm) {
	for _, t := range terms {
		l.entries[t.entry].all = true
	}
}

// giveWanted allocates the bits of the wanted extents of lists.
func (l *lists) giveWanted(terms []partTerm) {
	for _, t := range terms {
		if e := &l.entries[t.entry]; e.wanted == nil {
			e.wanted = l.takeWords((len(e.known.extents) + 63) / 64)
		}
	}
}

// takeWords returns n zero words.
func (l *lists) takeWords(n int) []uint64 {
	if n > cap(l.words)-len(l.words) { // earlier slices keep the old memory
		l.words = make([]uint64, 0, 2*cap(l.words)+n)
	}
	from := len(l.words)
	l.words = l.words[:from+n]
	taken := l.words[from : from+n : from+n]
	clear(taken)
	return taken
}
