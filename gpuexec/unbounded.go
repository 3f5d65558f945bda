package gpuexec

import (
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// ANDs that go by blocks do so with bounds or without.
//
// With bounds, an AND whose shortest list is much shorter than another is led by its blocks (and_lead), which
// begins when and_tile has ended. When this was measured, each block of the lead was one warp's (since then warps
// share some, leadshare.go). It decodes the blocks of the other lists that its documents fall into one after the
// other: of 256 ANDs over 10,000, 60,000, 200,000 and a million documents, the slowest warp decodes 18, 53, 127
// and 111, while by tiles, where 16 warps share the blocks, none decodes more than 9, 12, 18 and 14 (140 of these
// ANDs have a lead, of 142 to 1,230 blocks). On an H100 their batches took 81, 97, 282 and 84 µs longer than
// without bounds: some 2 µs for each block that the slowest warp decodes, but for the largest, where bounds
// spared as much elsewhere.
// So in a batch of little work, whose time is that of its longest query, all go by tiles, and without
// bounds, which have nothing to spare. Nor has a threshold, so if all its ANDs are such no tiles are visited
// before the others to find one.

// unboundedMost is how many postings a batch may have that goes without bounds.
//
// On an H100, batches of 256 ANDs with 38 million postings were 1.08 times as fast without bounds, and of 2,048 with 115
// and 305 million 0.90 and 0.59 times.
const unboundedMost = 40_000_000

// unboundedLongest is how many postings a query of such a batch may have, since the batch takes as long as its longest.
// Where going without bounds was measured to be better, the longest had 1,050,042.
const unboundedLongest = 1_250_000

// A blockLoad is what those ANDs of a batch come to that may go without bounds.
type blockLoad struct {
	queries  int
	postings int // of all lists
	longest  int // of the lists of one query
}

// unbounded reports whether ANDs that go by blocks do without bounds.
//
// Thousand queries/s on an H100 with k = 10, by blocks (gpubench, -algorithms auto,exhaustive
// -strip-tiles 1000000000; Auto had bounds and and_lead, Exhaustive has neither):
//
//	documents  postings of a query    1 query         16            256          2,048
//	   10,000                1,470    10.7  11.7                    617  837     991 1146
//	   60,000                8,953    12.6  13.4    86.8 129.5      655  713    1319 1423
//	  200,000               56,000    10.0   9.1                    308  483     959  866
//	1,000,000              148,827     8.2   6.4    29.8  47.2      208  224     485  286
//	5,000,000              745,000     4.8   2.2                     94   59     141   67
//
// A query alone waits for no other's longest list, and is at most 9 % slower with bounds. Batches of 2
// to 15 have not been measured.
func (s Shape) unbounded(l blockLoad) bool {
	return l.queries > 1 && l.longest <= unboundedLongest && l.postings <= s.UnboundedPostings*l.queries && l.postings <= unboundedMost
}

// chooseBounds decides whether ANDs that go by blocks do without bounds. Those keep them of whose lists
// not all is resident: bounds spare copies.
func (b *batch) chooseBounds() {
	if b.algorithm != Auto {
		return
	}
	var all blockLoad
	for i := range b.queries {
		q := &b.queries[i]
		if q.unbounded = b.mayDoWithoutBounds(q); q.unbounded {
			all.queries++
			n := b.postingsOf(q)
			all.postings, all.longest = all.postings+n, max(all.longest, n)
		}
	}
	without := b.shape.unbounded(all)
	for i := range b.queries {
		q := &b.queries[i]
		if q.unbounded = q.unbounded && without; !q.unbounded {
			continue
		}
		b.work.unbounded++
		for p := q.from; p < q.to; p++ {
			b.parts[p].way = byAndTiles
		}
	}
}

// mayDoWithoutBounds reports whether a query is an AND that goes by blocks, all of which are there.
func (b *batch) mayDoWithoutBounds(q *query) bool {
	if q.plan.Mode != blockmax.And || q.byStrips || q.byTree || q.counted {
		return false
	}
	return q.from < q.to && !slices.ContainsFunc(b.parts[q.from:q.to], func(pt part) bool { return !pt.resident })
}

// postingsOf is how many postings the lists of a query have.
func (b *batch) postingsOf(q *query) (n int) {
	for _, pt := range b.parts[q.from:q.to] {
		for _, t := range b.terms[pt.from:pt.to] {
			n += int(b.listOf(t).count)
		}
	}
	return n
}
