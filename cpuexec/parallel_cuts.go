package cpuexec

import (
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// cuts divide the documents of a segment into units, at tiles.
type cuts struct {
	first  int      // the segment's units are first to first+len(ends)-1 of the job
	ends   []uint32 // where each unit ends, ascending; an empty one ends where it begins
	weight int      // postings that count
}

// span returns the documents, from to to-1, of those of units u to v-1 that are the
// segment's.
func (c *cuts) span(u, v int) (from, to uint32) {
	u, v = max(u-c.first, 0), min(v-c.first, len(c.ends))
	if u >= v {
		return 0, 0
	}
	if u > 0 {
		from = c.ends[u-1]
	}
	return from, c.ends[v-1]
}

// orGrain is how many times as many postings a unit of OR has, and of a tree.
const orGrain = 64

// divide makes units of about grain postings, at most about most of them. There are
// none when the query had better stay whole.
func (j *job) divide(plan *Plan, tree *blockmax.Node, grain, most int) {
	and := plan.Tree == nil && len(tree.Must) > 0
	if !and {
		grain *= orGrain
	}
	j.cuts, j.ends, j.units = j.cuts[:0], j.ends[:0], 0
	total := 0
	for s := range plan.Segments {
		c := cuts{weight: weigh(&plan.Segments[s], and)}
		if plan.Tree != nil {
			c.weight += int(plan.Segments[s].Docs)/8 + 1 // all of them may match
		}
		j.cuts = append(j.cuts, c)
		total += c.weight
	}
	if total < 2*grain {
		return
	}
	grain = max(grain, total/most)
	for s := range plan.Segments {
		c, seg := &j.cuts[s], &plan.Segments[s]
		c.first = j.units
		if c.weight == 0 || seg.Docs == 0 {
			continue
		}
		n := min(max(1, (c.weight+grain/2)/grain), tiles(seg.Docs))
		c.ends = j.newEnds(n)
		switch {
		case and:
			cutAlong(c.ends, seg.Docs, shortest(seg).Last)
		case plan.Tree == nil:
			j.cutBalanced(c.ends, seg)
		default:
			cutEvenly(c.ends, seg.Docs, 0, seg.Docs)
		}
		j.units += n
	}
}

// divideEvenly makes a unit for each core, with as many documents in each.
func (j *job) divideEvenly(plan *Plan, cores int) {
	j.cuts, j.ends, j.units = j.cuts[:0], j.ends[:0], cores
	docs := uint32(0)
	for s := range plan.Segments {
		docs += plan.Segments[s].Docs
	}
	before := uint32(0)
	for s := range plan.Segments {
		c := cuts{ends: j.newEnds(cores)}
		cutEvenly(c.ends, plan.Segments[s].Docs, before, docs)
		before += plan.Segments[s].Docs
		j.cuts = append(j.cuts, c)
	}
}

// newEnds returns room for the ends of n units.
func (j *job) newEnds(n int) []uint32 {
	at := len(j.ends)
	j.ends = slices.Grow(j.ends, n)[:at+n] // what was handed out before stays where it is
	return j.ends[at : at+n : at+n]
}

// weigh counts the postings of a segment that matter for the time that a query
// takes: those of the shortest list for AND, else all.
func weigh(seg *blockmax.Segment[*postings.List], and bool) (sum int) {
	least := -1
	for t := range seg.Terms {
		n := 0
		if term := &seg.Terms[t]; term.Bounds != nil {
			n = term.List.Count
		}
		sum += n
		if least < 0 || n < least {
			least = n
		}
	}
	if and {
		return max(0, least)
	}
	return sum
}

// shortest returns the shortest list of a segment that lacks no term.
func shortest(seg *blockmax.Segment[*postings.List]) *postings.List {
	l := seg.Terms[0].List
	for t := range seg.Terms {
		if other := seg.Terms[t].List; other.Count < l.Count {
			l = other
		}
	}
	return l
}

func tiles(docs uint32) int { return int((uint64(docs) + windowDocs - 1) / windowDocs) }

// atTile returns the tile's beginning that is nearest to doc, but not beyond docs.
func atTile(doc, docs uint32) uint32 {
	return min(docs, (doc+windowDocs/2)&^(windowDocs-1))
}

// cutAlong cuts so that about as many blocks, whose last documents are given, lie in
// each unit.
func cutAlong(ends []uint32, docs uint32, last []uint32) {
	n := len(ends)
	for i := range n - 1 {
		if b := (i + 1) * len(last) / n; b > 0 {
			ends[i] = atTile(min(last[b-1], docs), docs)
		} else {
			ends[i] = 0
		}
	}
	ends[n-1] = docs
}

// cutEvenly cuts a segment's documents, which are before to before+docs-1 of all, as
// if all were cut into units of one size.
func cutEvenly(ends []uint32, docs, before, all uint32) {
	n := uint64(len(ends))
	for i := range ends {
		end := uint32(uint64(all) * uint64(i+1) / n)
		if end = end - min(end, before); end < docs {
			ends[i] = atTile(end, docs)
		} else {
			ends[i] = docs
		}
	}
}

// cutBalanced cuts so that about as many blocks of all lists lie in each unit. It
// looks at the long lists only.
func (j *job) cutBalanced(ends []uint32, seg *blockmax.Segment[*postings.List]) {
	var longest *postings.List
	for t := range seg.Terms {
		if term := &seg.Terms[t]; term.Bounds != nil && (longest == nil || term.List.Count > longest.Count) {
			longest = term.List
		}
	}
	long := 0
	n, all := len(ends), tiles(seg.Docs)
	cells := min(all, 4*n)
	j.cells = slices.Grow(j.cells[:0], cells)[:cells]
	clear(j.cells)
	for t := range seg.Terms {
		term := &seg.Terms[t]
		if term.Bounds == nil || term.List.Count < longest.Count/4 {
			continue
		}
		long++
		for i, b := 0, 0; i < cells; i++ {
			b = term.List.Seek(b, uint32((i+1)*all/cells)*windowDocs)
			j.cells[i] += b // blocks that end before the cell does
		}
	}
	if long == 1 {
		cutAlong(ends, seg.Docs, longest.Last)
		return
	}
	sum, cell := j.cells[cells-1], 0
	for i := range n - 1 {
		for j.cells[cell] < (i+1)*sum/n {
			cell++
		}
		ends[i] = min(seg.Docs, uint32((cell+1)*all/cells)*windowDocs)
	}
	ends[n-1] = seg.Docs
}
