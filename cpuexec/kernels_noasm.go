//go:build !amd64 || purego

package cpuexec

import "github.com/riffle-search/riffle/blockmax"

func addBounds(next, sum *sums, bounds *coarse, unit, need uint32) (reach, present uint64) {
	return addBoundsPortable(next, sum, bounds, unit, need)
}

func addPostings(to *scores, docs, freqs []uint32, norms []uint8, table *blockmax.Table, weight uint32) {
	addPostingsPortable(to, docs, freqs, norms, table, weight)
}

func (m *marks) mark(docs []uint32) { m.markPortable(docs) }

func (m *marks) flush(set *bitset) { m.flushPortable(set) }

func sift(cs *candidates, from *scores, base uint32, words uint64, rest *sums, need uint32) (scored int) {
	return siftPortable(cs, from, base, words, rest, need)
}

func hasProbe() bool { return false }

func probeBlock(*probe, bool) bool { panic("BUG: cpuexec: there is no probeBlock") }
