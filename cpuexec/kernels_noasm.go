//go:build !amd64 || purego

package cpuexec

import (
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

func addBounds(next, sum *sums, bounds *coarse, unit, need uint32) (reach, present uint64) {
	return addBoundsPortable(next, sum, bounds, unit, need)
}

func addPostings(to *scores, docs, freqs []uint32, norms []uint8, table *blockmax.Table, weight uint32) {
	addPostingsPortable(to, docs, freqs, norms, table, weight)
}

func addExcerpt(to *scores, e *blockmax.Excerpt, first, words int, weight uint32) {
	addExcerptPortable(to, e.Held[first:first+words], e.Impacts[e.Before[first]:], weight)
}

func (m *marks) mark(docs []uint32) { m.markPortable(docs) }

func (m *marks) flush(set *bitset) { m.flushPortable(set) }

func sift(cs *candidates, from *scores, base uint32, words uint64, rest *sums, need uint32) (scored int) {
	return siftPortable(cs, from, base, words, rest, need)
}

func hasProbe() bool { return false }

func probeBlock(*probe, bool) bool { panic("BUG: cpuexec: there is no probeBlock") }

func hasAlign() bool { return false }

func alignBatch(*alignment) { panic("BUG: cpuexec: there is no alignBatch") }

func impacts(dst *[postings.BlockSize]uint16, docs, freqs *[postings.BlockSize]uint32, n int, norms []uint8, table *blockmax.Table) {
	impactsPortable(dst, docs[:n], freqs, norms, table)
}

func leadBlock(cs *candidates, docs *[postings.BlockSize]uint32, impacts *[postings.BlockSize]uint16, n int, weight, floor, from, to uint32) {
	leadBlockPortable(cs, docs[:n], impacts, weight, floor, from, to)
}

func filter(cs *candidates, lists []wordFilter, rest, need uint32) {
	filterPortable(cs, lists, rest, need)
}

func dropHopeless(cs *candidates, hopes []hope, need uint32) { dropHopelessPortable(cs, hopes, need) }

func unite(dst []uint64, maps [][]uint64) { unitePortable(dst, maps) }

func countCommon(maps [][]uint64) (ones int) { return countCommonPortable(maps) }
