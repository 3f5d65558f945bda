package gpuexec

import (
	"math/bits"

	"github.com/riffle-search/riffle/blockmax"
)

// Queries for many hits that go by strips append what they find to a list of their own, without a
// lock (kernels/append.cuh).

// countRanges is by how many ranges of scores their keys are counted.
const countRanges = 1024

// appendSlack is room in a list beyond k: more than a warp appends at a time (kernels/insert.cuh),
// and so much more that a list is not full again at once.
const appendSlack = 128

// appends reports whether a query appends. What byStrips says of it must be known.
func (b *batch) appends(q *query) bool {
	return (q.byStrips || q.byTree) && b.shape.appends(q.plan.K)
}

// appendRoom is how many keys the list of such a query has room for.
func (s Shape) appendRoom(k int) int { return max(k+appendSlack, s.AppendRoom*k) &^ 1 }

// found is where the keys of queries are while kernels run.
type found struct {
	empty  span     // lists and counts of queries that append, to be cleared
	lists  []uint64 // address of each query
	counts []uint64 // likewise, 0 for those that do not append
	rooms  []uint32 // keys
}

// keepFound gives the queries of a batch room for what they find.
func (b *batch) keepFound(f found) found {
	f = found{lists: f.lists[:0], counts: f.counts[:0], rooms: f.rooms[:0]}
	cleared, others := 0, 0 // bytes
	for i := range b.queries {
		k, list, counts := b.queries[i].plan.K, 0, 0
		room := keysRoom(k)
		if b.appends(&b.queries[i]) {
			room = b.shape.appendRoom(k)
			counts, list = cleared, cleared+4*countRanges
			cleared = list + 8*room
			f.counts = append(f.counts, uint64(counts))
		} else {
			list, others = others, others+8*room
			f.counts = append(f.counts, 0)
		}
		f.lists, f.rooms = append(f.lists, uint64(list)), append(f.rooms, uint32(room))
	}
	f.empty = span{b.staging.keep(cleared), cleared}
	address := b.staging.keep(others)
	for i := range b.queries {
		if b.appends(&b.queries[i]) {
			f.lists[i] += f.empty.address
			f.counts[i] += f.empty.address
		} else {
			f.lists[i] += address
		}
	}
	return f
}

// countScores says where the first range of a query's scores begins, and how wide ranges are, as a
// power of two.
func (b *batch) countScores(q *query) (lowest, shift uint32) {
	most := uint32(0)
	for _, pt := range b.parts[q.from:q.to] {
		sum := uint32(0)
		for _, t := range b.terms[pt.from:pt.to] {
			sum += blockmax.Contribution(t.weight, uint16(b.listOf(t).highest))
		}
		most = max(most, sum)
	}
	most += q.tree.constants
	if q.plan.RankWeight > 0 {
		most += q.plan.RankWeight
	}
	if q.plan.Tree != nil || q.plan.Mode == blockmax.Or {
		lowest = q.need // none below it is wanted
	}
	if most <= lowest {
		return lowest, 0
	}
	return lowest, uint32(max(0, bits.Len32((most-lowest)/countRanges)))
}
