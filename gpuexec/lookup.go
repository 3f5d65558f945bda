package gpuexec

import (
	"hash/maphash"
	"runtime"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// A lookup is what is looked up of the plans of a batch by several goroutines side by side: most of
// that waits for memory that is in no core's cache.
type lookup struct {
	plans []lookedUp
	lists []*knownList  // of all plans, segment by segment, term by term; nil for a term that a segment lacks
	added [][]addedList // by worker
}

type lookedUp struct {
	plan     *Plan
	answer   int
	from, to int    // range in lists, for the segments that are not small
	need     uint32 // of an OR: a lower bound on the score of the answer's last hit
	small    uint32 // segments of at most so many documents are left to the CPU
	left     []blockmax.Span
}

// plansAtOnce is how many plans a goroutine takes at a time, some 100 µs of work.
const plansAtOnce = 16

// find looks up the lists of plans among those that are known, and adds the others. The caller holds
// known.mu for reading.
func (l *lookup) find(known *knownLists, plans []*Plan, taken []int, prunes bool, smallDocs uint32) {
	l.plans = l.plans[:0]
	n := 0
	for _, i := range taken {
		from, small := n, smallOf(plans[i], smallDocs)
		for s := range plans[i].Segments {
			if seg := &plans[i].Segments[s]; seg.Docs > small {
				n += len(seg.Terms)
			}
		}
		l.plans = append(l.plans, lookedUp{plan: plans[i], answer: i, from: from, to: n, small: small})
	}
	l.lists = slices.Grow(l.lists[:0], n)[:n]
	workers, now := runtime.GOMAXPROCS(0), known.now.Add(1)
	if len(l.added) < workers {
		l.added = make([][]addedList, workers)
	}
	share(workers, len(l.plans), plansAtOnce, func(worker, from, to int) {
		var v versions
		for i := range l.plans[from:to] {
			p := &l.plans[from+i]
			if prunes {
				p.need = needOf(p.plan)
			}
			if p.small > 0 {
				p.left = leftOf(p.plan, p.small)
			}
			at := p.from
			for s := range p.plan.Segments {
				docs := p.plan.Segments[s].Docs
				if docs <= p.small {
					continue
				}
				for t := range p.plan.Segments[s].Terms {
					l.lists[at] = nil
					if term := &p.plan.Segments[s].Terms[t]; term.Bounds != nil {
						if l.lists[at] = known.find(term, docs, &v, now); l.lists[at] == nil {
							l.lists[at] = newKnown(term, &v, known.latest[term.Key])
							l.added[worker] = append(l.added[worker], addedList{at, known.identify(term, docs)})
						}
					}
					at++
				}
			}
		}
	})
	for worker, added := range l.added {
		if len(added) > 0 {
			known.add(l.lists, added)
			clear(added)
			l.added[worker] = added[:0]
		}
	}
}

// forget drops references to the caller's data.
func (l *lookup) forget() {
	clear(l.plans)
	clear(l.lists)
}

// versions number the similarities that lists and their bounds belong to. Most terms of a batch have
// the same.
type versions struct {
	last similarity
	now  version // of it
}

// A similarity is a list's table, and what its bounds of blocks and extents were computed from
// (blockmax.Bounds.Under).
type similarity struct {
	table, base *blockmax.Table
	slack       bool
}

// A version numbers a similarity, and that of bounds alone: when the mean length changes, they mostly
// stay as they are.
type version struct{ all, bounds uint64 }

var versionSeed = maphash.MakeSeed()

func (v *versions) of(t *term) version {
	s := similarity{table: t.Table, base: t.Table}
	if base, slack := t.Bounds.Base(); base != nil {
		s.base, s.slack = base, slack
	}
	if s != v.last {
		key, bounds := s.table.Key(), maphash.Comparable(versionSeed, baseKey{s.base.Key(), s.slack})
		v.last, v.now = s, version{maphash.Comparable(versionSeed, allKey{key, bounds}), bounds}
	}
	return v.now
}

// What is hashed of a similarity.
type (
	baseKey struct {
		base  blockmax.TableKey
		slack bool
	}
	allKey struct {
		table  blockmax.TableKey
		bounds uint64
	}
)
