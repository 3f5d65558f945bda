package cache

import (
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/postings"
)

// Look-ups of a list are counted in its entry. The entry of a word that all cores search for is in
// the cache of each of them, and a count that changes with every look-up would take it from the
// others. So beyond exactVisits one look-up in visitStep is counted, and counts visitStep.
const (
	exactVisits = 64
	visitStep   = 16
)

// visit counts a look-up. The caller holds the lock of the shard.
func (s *listShard) visit(e *List) {
	if e.visits < exactVisits {
		e.visits++
		return
	}
	// Numerical Recipes' generator; its highest bits are the most random ones. Every 16th look-up
	// would always be of the same lists where queries come in turn.
	if s.random = 1664525*s.random + 1013904223; s.random>>28 == 0 {
		e.visits += visitStep
	}
}

// Cached describes a cached list.
type Cached struct {
	Key
	Visits   uint64 // look-ups since it was cached, about: see visit
	Bytes    int64  // as counted in Lists.Bytes; 0 if it is not cached
	Postings int
	Held     postings.Held // part of Bytes
}

// Sealed reports whether the list is one of a sealed segment.
func (c *Cached) Sealed() bool { return c.Segment < MemoryTails }

// MostVisited returns the n lists that have been looked up most, in that order. It holds the lock
// of one shard at a time, for some 20 ns a list.
func (c *Lists) MostVisited(n int) []Cached {
	if n <= 0 {
		return nil
	}
	var best []candidate
	floor := uint64(0) // visits of the n-th of those seen so far
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for e := range s.entries {
			if e.Postings != nil && e.visits >= floor {
				best = append(best, candidate{e, e.visits})
			}
		}
		s.mu.Unlock()
		if len(best) > n {
			slices.SortFunc(best, candidate.compare)
			best = best[:n]
			floor = best[n-1].visits
		}
	}
	slices.SortFunc(best, candidate.compare)
	out := make([]Cached, len(best))
	for i, b := range best {
		out[i] = b.e.describe(b.visits)
	}
	return out
}

// A candidate is an entry with its visits when it was seen.
type candidate struct {
	e      *List
	visits uint64
}

// compare orders by falling visits.
func (a candidate) compare(b candidate) int {
	x, y := &a.e.key, &b.e.key
	return cmp.Or(cmp.Compare(b.visits, a.visits), cmp.Compare(x.Field, y.Field), cmp.Compare(x.Term, y.Term), cmp.Compare(x.Segment, y.Segment))
}

func (e *List) describe(visits uint64) Cached {
	return Cached{Key: e.key, Visits: visits, Bytes: e.size.Load(), Postings: e.Postings.Count, Held: e.Postings.Held()}
}

// Peek describes the list of a key if it is cached. It is no look-up.
func (c *Lists) Peek(key Key) Cached {
	hash := c.hash(key)
	s := c.shard(hash)
	s.mu.Lock()
	e := s.find(hash, key)
	visits := uint64(0)
	if e != nil {
		visits = e.visits
	}
	s.mu.Unlock()
	if e == nil || e.Postings == nil {
		return Cached{Key: key}
	}
	return e.describe(visits)
}

// Each calls visit for each cached list, with the lock of a shard held.
func (c *Lists) Each(visit func(Key, *postings.List)) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for e := range s.entries {
			if e.Postings != nil {
				visit(e.key, e.Postings)
			}
		}
		s.mu.Unlock()
	}
}
