package dictionary

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
)

// # Terms by their trigrams
//
// A page may have an index of its terms by the sequences of three bytes that occur in them, as Google's
// code search has of files (Cox, Regular Expression Matching with a Trigram Index, 2012). It does not say
// which terms, but which blocks of neighbors: these share most of their letters, and a set of 4,096
// blocks is 64 machine words, so that sets are united and intersected faster than lists are walked.
// The terms of the blocks that are left are compared with the pattern as they are without the index.
//
// A page gets its index when scans of pages have taken as long as that, so that no search takes much
// more than twice the time of a scan, and a dictionary that few patterns are sought in has no index.

// gramBlocks is the number of blocks of a page, at most.
const gramBlocks = 4096

// leastIndexed is the terms of a page that is worth an index. A scan of fewer takes as long as to look up
// some trigrams.
const leastIndexed = 4096

// scansOfGrams is how many scans of a page take as long as to make its index (BenchmarkGrams).
const scansOfGrams = 20

// A gramSet is a set of blocks.
type gramSet [gramBlocks / 64]uint64

// A gramIndex has the blocks of each trigram of a page.
type gramIndex struct {
	shift uint8    // term number >> shift is the block
	grams []uint32 // trigrams, ascending: the first byte is the highest
	ends  []uint32 // of their lists in lists
	lists []byte   // see longGap; a list of denseBytes is a gramSet
}

// denseBytes is the size of a list from which on it is a gramSet, in little-endian order.
const denseBytes = gramBlocks / 8

// A GramBudget bounds the memory of the trigram indexes of several dictionaries. The zero value admits
// none. All methods may be called by many goroutines at once.
type GramBudget struct{ limit, used atomic.Int64 }

// Limit sets the most bytes that indexes may take. Those that are there stay.
func (b *GramBudget) Limit(bytes int64) { b.limit.Store(bytes) }

// Used is the bytes that indexes take.
func (b *GramBudget) Used() int64 { return b.used.Load() }

// open reports whether there is any room.
func (b *GramBudget) open() bool { return b != nil && b.used.Load() < b.limit.Load() }

// take takes room for an index, if there is enough.
func (b *GramBudget) take(bytes int64) bool {
	if b.used.Add(bytes) > b.limit.Load() {
		b.used.Add(-bytes)
		return false
	}
	return true
}

// dictionaryGrams is what a dictionary knows of its indexes.
type dictionaryGrams struct {
	budget  atomic.Pointer[GramBudget]
	scanned atomic.Int64 // pages that have been scanned and for which no index has been made

	mu    sync.Mutex
	bytes int64 // taken of the budget
	ended bool
}

// IndexGrams lets searches make trigram indexes within a budget. Only the first call counts.
func (d *Dictionary) IndexGrams(b *GramBudget) { d.grams.budget.CompareAndSwap(nil, b) }

// GramBytes is the memory of trigram indexes.
func (d *Dictionary) GramBytes() int64 {
	d.grams.mu.Lock()
	defer d.grams.mu.Unlock()
	return d.grams.bytes
}

// DropGrams drops the indexes, gives their memory back to the budget and makes no more.
func (d *Dictionary) DropGrams() {
	g := &d.grams
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range d.pages {
		p.grams.Store(nil)
	}
	if g.bytes > 0 {
		g.budget.Load().used.Add(-g.bytes)
	}
	g.bytes, g.ended = 0, true
}

// keep makes an index that of a page, if there is room.
func (g *dictionaryGrams) keep(p *page, x *gramIndex) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if size := x.size(); !g.ended && g.budget.Load().take(size) {
		g.bytes += size
		p.grams.Store(x)
	}
}

// narrowed yields the parts of some terms of a page that a pattern can pick any of, until yield returns
// false, and reports whether it never did.
func (d *Dictionary) narrowed(p *page, q *gramQuery, from, to int, yield func(from, to int) bool) bool {
	if q.any() || to-from < leastIndexed {
		return yield(from, to)
	}
	x := p.grams.Load()
	if x == nil {
		x = d.scanning(p)
	}
	if x == nil {
		return yield(from, to)
	}
	set := x.within(from, to)
	q.narrow(x, &set)
	for block := set.next(0, true); block < gramBlocks; {
		end := set.next(block, false)
		if !yield(max(from, block<<x.shift), min(to, end<<x.shift)) {
			return false
		}
		block = set.next(end, true)
	}
	return true
}

// scanning counts the scan of a page, or returns its index if it is time to make it.
func (d *Dictionary) scanning(p *page) *gramIndex {
	g := &d.grams
	if !g.budget.Load().open() || p.indexing.Load() {
		return nil
	}
	if g.scanned.Add(1) < scansOfGrams || !p.indexing.CompareAndSwap(false, true) {
		return nil
	}
	g.scanned.Add(-scansOfGrams)
	g.keep(p, p.gramIndex())
	return p.grams.Load()
}

// next returns the first block from one on that is in the set, or is not, or gramBlocks.
func (s *gramSet) next(block int, in bool) int {
	for block < gramBlocks {
		word := s[block/64]
		if !in {
			word = ^word
		}
		if word >>= block % 64; word != 0 {
			return block + bits.TrailingZeros64(word)
		}
		block = block&^63 + 64
	}
	return gramBlocks
}

// within is the set of the blocks of some terms.
func (x *gramIndex) within(from, to int) (s gramSet) {
	first, last := from>>x.shift, (to-1)>>x.shift
	for w := first / 64; w <= last/64; w++ {
		s[w] = ^uint64(0)
	}
	s[first/64] &= ^uint64(0) << (first % 64)
	s[last/64] &= ^uint64(0) >> (63 - last%64)
	return s
}

// size is the memory of the index.
func (x *gramIndex) size() int64 {
	return int64(4*len(x.grams) + 4*len(x.ends) + len(x.lists) + 96)
}

// intersect leaves the blocks of a trigram in a set.
func (x *gramIndex) intersect(gram uint32, set *gramSet) {
	i, ok := slices.BinarySearch(x.grams, gram)
	if !ok {
		*set = gramSet{}
		return
	}
	start := uint32(0)
	if i > 0 {
		start = x.ends[i-1]
	}
	list := x.lists[start:x.ends[i]]
	if len(list) == denseBytes {
		for w := range set {
			set[w] &= le64(list[8*w:])
		}
		return
	}
	var own gramSet
	block := -1
	for _, gap := range list {
		block += int(gap)
		if gap < longGap {
			block++
			own[block/64] |= 1 << (block % 64)
		}
	}
	for w := range set {
		set[w] &= own[w]
	}
}

// A list is a byte for each block: how many blocks are between it and the one before. longGap stands for
// as many blocks, and none of the list after them.
const longGap = 255
