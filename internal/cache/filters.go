package cache

import (
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
)

// A Filter is the set of documents of a segment that pass the filter of a query. Its bits never
// change, so that executors can identify them by their address.
type Filter struct {
	docs uint32   // of the segment; one in memory grows
	bits []uint64 // of all of them
	few  []uint32 // the same documents ascending, if they are few

	// Excerpts of the lists that are searched under the filter, unless it has too many documents.
	subset   *blockmax.Subset
	excerpts int64 // bytes of these that Lists counts; guarded by listShard.mu
	count    int   // documents
	terms    int   // that the documents come from, of a filter that is many terms

	restricts bool // it is not one of NewTermsFilter, NewRanks or NewNumbers

	ranks, rankTiles []uint16 // of NewRanks
	numbers          Numbers  // of NewNumbers

	alive atomic.Pointer[aliveFilter]
}

// An aliveFilter has the documents of a Filter that were not deleted in the view that used it last.
type aliveFilter struct {
	accept *uint64 // the first word of the bitset of documents that are not deleted
	bits   []uint64
	few    []uint32
	alive  []uint64 // the same documents by their place in the subset
}

// sparsestBits is the most documents of a segment for one of a filter that is kept as bits alone. A
// list of fewer documents takes at most as much memory as the bits.
const sparsestBits = 32

// sparsestSubset is the most documents of a segment for one of a filter with excerpts. A query under
// a filter of a tenth of 200,000 documents takes a third to a half of the time with them.
const sparsestSubset = 8

// NewFilter returns a filter of the documents whose bits are set, in a segment of docs documents.
// It takes the bits over.
func NewFilter(set []uint64, docs uint32) *Filter {
	f := NewTermsFilter(set, docs, 0)
	f.restricts = true
	count := uint32(f.count)
	if count > docs/sparsestSubset {
		return f
	}
	list := make([]uint32, 0, count)
	for i, word := range set {
		for ; word != 0; word &= word - 1 {
			list = append(list, uint32(64*i+bits.TrailingZeros64(word)))
		}
	}
	if count <= docs/sparsestBits {
		f.few = list
	}
	if count <= blockmax.MaxSubset {
		f.subset = blockmax.NewSubset(list)
	}
	return f
}

// NewTermsFilter returns the documents of a number of terms, which are a part of a query and restrict
// no other: only Documents and Terms serve them.
func NewTermsFilter(set []uint64, docs uint32, terms int) *Filter {
	f := &Filter{docs: docs, bits: set, terms: terms}
	for _, word := range set {
		f.count += bits.OnesCount64(word)
	}
	return f
}

// NewRanks returns numbers of the documents of a segment, with the highest of each tile, which are cached as
// filters are: Ranks alone serves them.
func NewRanks(ranks, tiles []uint16) *Filter {
	return &Filter{docs: uint32(len(ranks)), ranks: ranks, rankTiles: tiles}
}

// Ranks returns what NewRanks was given.
func (f *Filter) Ranks() (ranks, tiles []uint16) { return f.ranks, f.rankTiles }

// Numbers are those of the documents of a segment, which a search may add to.
type Numbers interface {
	Docs() uint32
	Bytes() int // with all numbers
}

// NewNumbers is NewRanks for numbers of any form: Numbers alone serves them.
func NewNumbers(of Numbers) *Filter { return &Filter{docs: of.Docs(), numbers: of} }

// Numbers returns what NewNumbers was given, or nil, also if there is no filter.
func (f *Filter) Numbers() Numbers {
	if f == nil {
		return nil
	}
	return f.numbers
}

// Documents returns the documents of the filter, deleted ones included: as bits, which are nil if
// there are none, and their number.
func (f *Filter) Documents() (set []uint64, count int) {
	if f.count == 0 {
		return nil, 0
	}
	return f.bits, f.count
}

// Terms is the number given to NewTermsFilter.
func (f *Filter) Terms() int { return f.terms }

// Restrict narrows the accepted documents of a segment of a plan to those that pass the filter.
func (f *Filter) Restrict(s *blockmax.Segment) {
	s.Subset = f.subset
	if len(s.Accept) == 0 {
		s.Accept, s.Few = f.bits, f.few
		return
	}
	a := f.aliveIn(s.Accept)
	s.Accept, s.Few, s.Alive = a.bits, a.few, a.alive
}

// aliveIn returns the documents of the filter that are in accept, which never changes. The result is
// kept until another accept is used.
func (f *Filter) aliveIn(accept []uint64) *aliveFilter {
	if a := f.alive.Load(); a != nil && a.accept == &accept[0] {
		return a
	}
	a := &aliveFilter{accept: &accept[0], bits: make([]uint64, len(f.bits))}
	for i, word := range f.bits {
		a.bits[i] = word & accept[i]
	}
	if f.few != nil {
		a.few = make([]uint32, 0, len(f.few))
		for _, doc := range f.few {
			if accept[doc/64]>>(doc%64)&1 == 1 {
				a.few = append(a.few, doc)
			}
		}
	}
	if f.subset != nil {
		a.alive = make([]uint64, (len(f.subset.Docs)+63)/64)
		for i, doc := range f.subset.Docs {
			a.alive[i/64] |= accept[doc/64] >> (doc % 64) & 1 << (i % 64)
		}
	}
	f.alive.Store(a)
	return a
}

// prepare makes what Restrict needs under accept: nothing for a filter that restricts no query.
func (f *Filter) prepare(accept []uint64) {
	if len(accept) > 0 && f.restricts {
		f.aliveIn(accept)
	}
}

// Intersect removes from set the documents that do not pass the filter. A nil set is all documents.
func (f *Filter) Intersect(set []uint64) []uint64 {
	if set == nil {
		return slices.Clone(f.bits)
	}
	for i, word := range f.bits {
		set[i] &= word
	}
	return set
}

// bytes returns the memory that the filter takes, for any deletions.
func (f *Filter) bytes() int {
	n := 8*len(f.bits) + 2*(len(f.ranks)+len(f.rankTiles))
	if f.numbers != nil {
		n += f.numbers.Bytes()
	}
	if f.subset != nil {
		n += 4*len(f.subset.Docs) + int(f.subset.Bytes())
	} else {
		n += 4 * len(f.few)
	}
	if a := f.alive.Load(); a != nil {
		n += 8*len(a.bits) + 4*len(a.few) + 8*len(a.alive)
	}
	return n
}

// shrink drops the excerpts. It reports whether there were any.
func (f *Filter) shrink() bool {
	if f.subset == nil || f.subset.Bytes() == 0 {
		return false
	}
	f.subset.Drop(false)
	return true
}

// excerptShare: excerpts may take 1/excerptShare of the budget.
const excerptShare = 4

// admitExcerpts counts the excerpts that a filter has got since its last check. It drops them, and
// the filter gets no more, when excerpts already take their share. The caller holds the lock of the
// shard.
func (c *Lists) admitExcerpts(f *Filter) {
	if f.subset == nil {
		return
	}
	bytes := f.subset.Bytes()
	grown := bytes - f.excerpts
	if grown == 0 {
		return
	}
	if c.excerpts.Add(grown) > c.budget.Load()/excerptShare && grown > 0 {
		f.subset.Drop(true)
		c.excerpts.Add(-bytes)
		bytes = 0
	}
	f.excerpts = bytes
}

// Filters marks the keys of filters in Key.Segment, which for a segment in memory has MemoryLists,
// too. Key.Term then describes the filter.
const Filters = 1 << 60

// filterUses is how often a filter must have been used on a segment to be cached, as in Lucene's
// LRUQueryCache. A filter that never comes again would only evict lists.
const filterUses = 2

// costlyTerms is how many terms a filter must come from to be cached on its first use: to make one of
// all words that begin with a letter takes as long as thousands of lists, which it would replace in
// the cache.
const costlyTerms = 256

// A useTable counts the uses of filters that are not cached. Filters whose hashes share a slot take
// it from each other, so rare ones are forgotten.
type useTable [1024]atomic.Uint64 // the upper 56 bits of the hash, and the count

// use counts a use and reports whether the filter has been used often enough to be cached.
func (t *useTable) use(hash uint64) bool {
	slot := &t[hash%uint64(len(t))]
	tag, count := hash&^0xff, uint64(1)
	if old := slot.Load(); old&^0xff == tag {
		count += old & 0xff
	}
	slot.Store(tag | min(count, 0xff))
	return count >= filterUses
}

// FilterCounts are figures about the cached filters.
type FilterCounts struct {
	Cached       int   // filters, each of one segment
	Bytes        int64 // that they take
	Hits, Misses int64 // by segment
}

// Filter returns a filter of a segment, which has docs documents in the caller's view, or nil if it
// is not cached. The caller will want the documents of accept.
func (c *Lists) Filter(segment uint64, filter string, docs uint32, accept []uint64) *Filter {
	key := Key{Segment: segment, Term: filter}
	hash := c.hash(key)
	s := c.shard(hash)
	s.mu.Lock()
	e := s.find(hash, key)
	if e == nil || e.filter.docs != docs {
		s.filters.Misses++
		s.mu.Unlock()
		return nil
	}
	s.filters.Hits++
	s.touch(e)
	s.mu.Unlock()
	e.filter.prepare(accept)
	c.settle(e)
	return e.filter
}

// KeepFilter caches a filter that Filter did not find, if it has been used often enough. It
// replaces that of a segment in memory that has grown since.
func (c *Lists) KeepFilter(segment uint64, filter string, f *Filter, accept []uint64) {
	key := Key{Segment: segment, Term: filter}
	hash := c.hash(key)
	f.prepare(accept)
	s := c.shard(hash)
	s.mu.Lock()
	other := s.find(hash, key)
	if other == nil && f.terms < costlyTerms && !c.uses.use(hash+segment*hashOdd) || other != nil && other.filter.docs >= f.docs {
		s.mu.Unlock()
		return
	}
	if other != nil {
		c.remove(s, other)
	}
	e := &List{key: Key{Segment: segment, Term: strings.Clone(filter)}, filter: f, hash: hash}
	grown := c.insert(s, e)
	s.mu.Unlock()
	c.grow(grown, e)
}

// UseFilter counts a use of a filter that is not cached, and reports whether it is cached or would be
// if it was made.
func (c *Lists) UseFilter(segment uint64, filter string) bool {
	key := Key{Segment: segment, Term: filter}
	hash := c.hash(key)
	s := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(hash, key) != nil || c.uses.use(hash+segment*hashOdd)
}

// FilterCounts returns figures about the filters.
func (c *Lists) FilterCounts() (sum FilterCounts) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		sum.Cached += s.filters.Cached
		sum.Bytes += s.filters.Bytes
		sum.Hits += s.filters.Hits
		sum.Misses += s.filters.Misses
		s.mu.Unlock()
	}
	return sum
}
