// Package demand finds the extents of its posting lists that a query can need. Such an extent has a
// block that, together with the blocks of the other lists over the same documents, can hold a
// document of the top k. The package reads directories and bounds, never payload.
//
// With the threshold known in advance (blockmax.Plan.Seed), these extents must be resident for an
// answer without gaps. With the final threshold, they are what the query visits in the sense of
// Wang 2017. There, a query ends at an upper bound of everything that follows. Here, it skips any
// range whose bound is too low, wherever it lies.
package demand

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// A Plan is a query over lists of package postings.
type Plan = blockmax.Plan

// A Finder finds extents. The zero value is ready; it keeps its memory from one query to
// the next, and is not safe for concurrent use.
type Finder struct {
	plan    *Plan
	seg     *blockmax.Segment
	need    uint32
	all     bool // a document must have all terms
	rankMax uint32
	lanes   []lane
}

// A lane is one list, at the sweep's position.
type lane struct {
	list   *postings.List
	bounds *blockmax.Bounds
	weight uint32
	wanted []uint64
	extent int    // the one that reaches doc
	last   uint32 // document of it
	bound  uint32 // what it can contribute
	open   int    // no extent between the current one and this one is unmarked

	// While a range is examined by blocks.
	block      int    // no earlier one reaches doc
	blockLast  uint32 // document of it
	blockBound uint32 // what it can contribute
}

// moveBlock makes a block the current one.
func (l *lane) moveBlock(block int) {
	l.block = block
	l.bounds.Need(block, block+1)
	l.blockLast = l.list.Last[block]
	l.blockBound = blockmax.Contribution(l.weight, l.bounds.Block[block])
}

// move makes an extent the current one.
func (l *lane) move(extent int) {
	l.extent = extent
	l.last = l.list.ExtLast[extent]
	l.bound = blockmax.Contribution(l.weight, l.bounds.Extent[extent])
}

// marked reports whether the current extent is known to be needed.
func (l *lane) marked() bool {
	return atomic.LoadUint64(&l.wanted[l.extent/64])>>(l.extent%64)&1 == 1
}

// Extents sets in wanted, for each term of a segment of a flat plan, the bit of every extent that
// the query can need: bit e%64 of word e/64. mode is And or Or; need is the lowest score that can
// still enter the top k. wanted[t] must have a word for every 64 extents of the list of term t;
// those of terms that the segment lacks are ignored. Several Finders may set bits of the same words
// concurrently.
func (f *Finder) Extents(p *Plan, segment int, mode blockmax.Mode, need uint32, wanted [][]uint64) {
	f.plan, f.seg, f.need, f.all = p, &p.Segments[segment], need, mode == blockmax.And
	f.lanes = f.lanes[:0]
	defer f.forget()
	for t := range f.seg.Terms {
		if term := &f.seg.Terms[t]; term.Bounds != nil && term.List.Blocks() > 0 {
			f.lanes = append(f.lanes, lane{list: term.List, bounds: term.Bounds, weight: p.Weights[t], wanted: wanted[t]})
			f.lanes[len(f.lanes)-1].move(0)
		} else if f.all {
			return
		}
	}
	f.rankMax = f.highestRank()
	f.sweep()
}

// forget drops references to the caller's data.
func (f *Finder) forget() {
	f.plan, f.seg = nil, nil
	clear(f.lanes)
}

// highestRank bounds the contribution of the static rank.
func (f *Finder) highestRank() uint32 {
	highest := uint16(0)
	for _, r := range f.seg.RankTile {
		highest = max(highest, r)
	}
	return blockmax.Contribution(f.plan.RankWeight, highest)
}

// sweep visits the ranges of documents within which no list reaches its next extent.
func (f *Finder) sweep() {
	for doc := uint32(0); len(f.lanes) > 0; {
		if f.seg.Tail != nil && f.seg.Tail[doc/blockmax.TileDocs] < f.need {
			return // no later document is better
		}
		if f.marked() {
			next, ok := f.nextOpen()
			if !ok || !f.passTo(next) {
				return
			}
			doc = next
			continue
		}
		last, bound := ^uint32(0), f.rankMax
		for i := range f.lanes {
			last = min(last, f.lanes[i].last)
			bound += f.lanes[i].bound
		}
		if bound >= f.need && f.canEnter(doc, last) {
			f.mark()
		}
		if !f.passTo(last + 1) {
			return
		}
		doc = last + 1
	}
}

// marked reports whether the current extents are all known to be needed.
func (f *Finder) marked() bool {
	for i := range f.lanes {
		if !f.lanes[i].marked() {
			return false
		}
	}
	return true
}

func (f *Finder) mark() {
	for i := range f.lanes {
		if l := &f.lanes[i]; !l.marked() {
			atomic.OrUint64(&l.wanted[l.extent/64], 1<<(l.extent%64))
		}
	}
}

// nextOpen returns the first document after the current extents that lies in an unmarked extent. It
// reports false when there is none. Queries of a batch share lists, so most of them soon find
// everything marked.
func (f *Finder) nextOpen() (doc uint32, ok bool) {
	doc = ^uint32(0)
	for i := range f.lanes {
		l := &f.lanes[i]
		if l.findOpen(); l.open < len(l.list.ExtLast) {
			doc, ok = min(doc, l.list.ExtLast[l.open-1]+1), true
		}
	}
	return doc, ok
}

// findOpen sets open to the next unmarked extent; the current one is marked.
func (l *lane) findOpen() {
	l.open = max(l.open, l.extent+1)
	for l.open < len(l.list.ExtLast) {
		if open := ^atomic.LoadUint64(&l.wanted[l.open/64]) >> (l.open % 64); open != 0 {
			l.open += bits.TrailingZeros64(open)
			return
		}
		l.open = (l.open/64 + 1) * 64
	}
}

// seek returns the first extent after the current one that reaches a document.
func (l *lane) seek(doc uint32) int {
	ends := l.list.ExtLast
	from, step := l.extent+1, 1
	for from+step <= len(ends) && ends[from+step-1] < doc {
		from += step
		step *= 2
	}
	n, _ := slices.BinarySearch(ends[from:min(from+step, len(ends))], doc)
	return from + n
}

// passTo moves to a document. It reports false at the end.
func (f *Finder) passTo(doc uint32) bool {
	for i := 0; i < len(f.lanes); i++ {
		l := &f.lanes[i]
		if l.last >= doc {
			continue
		}
		next := l.seek(doc)
		switch {
		case next < len(l.list.ExtLast):
			l.move(next)
		case f.all:
			return false
		default:
			f.lanes = append(f.lanes[:i], f.lanes[i+1:]...)
			i--
		}
	}
	return true
}

// canEnter reports whether, for some document from first to last, the blocks over it add up to what
// is needed. The current extents span the range.
func (f *Finder) canEnter(first, last uint32) bool {
	bound := f.rankMax
	for i := range f.lanes {
		l := &f.lanes[i]
		l.moveBlock(l.list.Seek(max(l.block, postings.ExtentBlocks*l.extent), first))
		bound += l.blockBound
	}
	for bound < f.need {
		end := last
		for i := range f.lanes {
			end = min(end, f.lanes[i].blockLast)
		}
		if end == last {
			return false
		}
		for i := range f.lanes {
			if l := &f.lanes[i]; l.blockLast == end {
				bound -= l.blockBound
				l.moveBlock(l.block + 1)
				bound += l.blockBound
			}
		}
	}
	return true
}
