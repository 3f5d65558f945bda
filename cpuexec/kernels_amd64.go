//go:build !purego

package cpuexec

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/impl"
	"github.com/riffle-search/riffle/postings"
)

//go:generate env GOWORK=off go run -C _asm . -out ../kernels_amd64.s -pkg cpuexec

// Which variants this CPU has; the first that is set is used, as in package postings.
var (
	useAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL &&
		cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512VBMI2 && cpu.X86.HasAVX512VPOPCNTDQ && useAVX2
	useAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT
)

func init() {
	impl.Register("cpuexec", "avx512", &useAVX512)
	impl.Register("cpuexec", "avx2", &useAVX2)
}

// addBounds sets next to sum + unit*bounds. It returns which of the 64 sums reach need and have a
// bound above 0, and which have a bound above 0 at all.
func addBounds(next, sum *sums, bounds *coarse, unit, need uint32) (reach, present uint64) {
	switch {
	case useAVX512:
		return addBoundsAVX512((*[64]uint32)(next), (*[64]uint32)(sum), (*[64]uint8)(bounds), unit, need)
	case useAVX2:
		return addBoundsAVX2((*[64]uint32)(next), (*[64]uint32)(sum), (*[64]uint8)(bounds), unit, need)
	}
	return addBoundsPortable(next, sum, bounds, unit, need)
}

// addPostings adds the contributions of postings to the scores of their documents, all in one tile.
// Without norms every length code is 1.
func addPostings(to *scores, docs, freqs []uint32, norms []uint8, table *blockmax.Table, weight uint32) {
	if len(docs) == 0 || !useAVX512 && !useAVX2 {
		addPostingsPortable(to, docs, freqs, norms, table, weight)
		return
	}
	if norms != nil {
		_ = norms[docs[len(docs)-1]]
	}
	small, k := table.Arrays()
	addPostingsBMI2((*[tileDocs]uint32)(to), &docs[0], &freqs[0], len(docs), unsafe.SliceData(norms), small, k, uint64(weight))
}

// addExcerpt adds the contributions of some words of an excerpt, from its word first, to the scores of
// their documents.
func addExcerpt(to *scores, e *blockmax.Excerpt, first, words int, weight uint32) {
	held, impacts := e.Held[first:first+words], e.Impacts[e.Before[first]:]
	if !useAVX512 || len(held) == 0 {
		addExcerptPortable(to, held, impacts, weight)
		return
	}
	addExcerptAVX512((*[tileDocs]uint32)(to), &held[0], &impacts[0], len(held), weight)
}

// mark notes documents of a tile until flush adds them to a set.
func (m *marks) mark(docs []uint32) {
	switch {
	case len(docs) == 0:
	case useAVX512, useAVX2:
		m.some = true
		markBytesBMI2(&m.bytes, &docs[0], len(docs))
	default:
		m.markPortable(docs)
	}
}

// flush adds the noted documents to a set and empties m.
func (m *marks) flush(set *bitset) {
	switch {
	case !m.some:
	case useAVX512:
		flushMarksAVX512((*[64]uint64)(set), &m.bytes)
	case useAVX2:
		flushMarksAVX2((*[64]uint64)(set), &m.bytes)
	default:
		m.flushPortable(set)
	}
	m.some = false
}

// sift makes candidates of the documents of the words whose scores, plus rest, reach need. rest,
// which is below need, bounds further contributions in each word. sift clears the scores of the
// words and returns how many were not zero.
func sift(cs *candidates, from *scores, base uint32, words uint64, rest *sums, need uint32) (scored int) {
	switch {
	case useAVX512:
		cs.n, scored = siftAVX512(&cs.docs, &cs.score, (*[tileDocs]uint32)(from), base, words, (*[64]uint32)(rest), need)
		return scored
	case useAVX2:
		cs.n, scored = siftAVX2(&cs.docs, &cs.score, (*[tileDocs]uint32)(from), base, words, (*[64]uint32)(rest), need)
		return scored
	}
	return siftPortable(cs, from, base, words, rest, need)
}

// hasProbe reports whether probeBlock is available.
func hasProbe() bool { return useAVX512 || useAVX2 }

// probeBlock looks up the candidates from p.at that are not beyond the block, and moves p.at past
// them. When a bitset is damaged, it returns false and does nothing.
func probeBlock(p *probe, bitset bool) (ok bool) {
	words := (*[21]uint64)(unsafe.Pointer(p))
	if bitset {
		return probeBitsetBMI2(words)
	}
	if useAVX512 {
		probeSortedAVX512(words)
	} else {
		probeSortedBMI2(words)
	}
	return true
}

// impacts computes the impacts of n postings of a block. Without norms every length code
// is 1.
func impacts(dst *[postings.BlockSize]uint16, docs, freqs *[postings.BlockSize]uint32, n int, norms []uint8, table *blockmax.Table) {
	// Norms are loaded four bytes at a time.
	if n == 0 || !useAVX512 || norms != nil && int(docs[n-1])+4 > len(norms) {
		impactsPortable(dst, docs[:n], freqs, norms, table)
		return
	}
	_, k := table.Arrays()
	impactsAVX512(dst, docs, freqs, n, unsafe.SliceData(norms), k)
}

// leadBlock makes candidates of those of the n postings of a block that contribute floor or more
// under a weight and whose documents are in [from, to).
func leadBlock(cs *candidates, docs *[postings.BlockSize]uint32, impacts *[postings.BlockSize]uint16, n int, weight, floor, from, to uint32) {
	if !useAVX512 {
		leadBlockPortable(cs, docs[:n], impacts, weight, floor, from, to)
		return
	}
	cs.n = leadAVX512(&cs.docs, &cs.score, docs, impacts, n, weight, floor, from, to)
}

// filter drops the candidates that a list lacks by its bitmap, or for whose word it has no posting,
// and those that cannot reach need with rest and the bounds of their words.
func filter(cs *candidates, lists []wordFilter, rest, need uint32) {
	if !useAVX512 || len(lists) == 0 {
		filterPortable(cs, lists, rest, need)
		return
	}
	cs.n = filterAVX512(&cs.docs, &cs.score, cs.n, (*[7]uint64)(unsafe.Pointer(&lists[0])), len(lists), rest, need)
}

// dropHopeless drops the candidates that do not reach need with the bounds of the lists that hold
// them and are to be looked up for their words.
func dropHopeless(cs *candidates, hopes []hope, need uint32) {
	if !useAVX512 {
		dropHopelessPortable(cs, hopes, need)
		return
	}
	cs.n = dropHopelessAVX512(&cs.docs, &cs.score, cs.n, (*[4]uint64)(unsafe.Pointer(unsafe.SliceData(hopes))), len(hopes), need)
}

// unite sets dst to the union of the maps. There is at least one, and none is shorter than dst.
func unite(dst []uint64, maps [][]uint64) {
	switch {
	case len(dst) == 0:
	case useAVX512:
		uniteAVX512(&dst[0], &maps[0], len(maps), len(dst))
	case useAVX2:
		uniteAVX2(&dst[0], &maps[0], len(maps), len(dst))
	default:
		unitePortable(dst, maps)
	}
}

// countCommon returns how many bits are set in all of the maps. None is shorter than the first.
func countCommon(maps [][]uint64) (ones int) {
	switch {
	case useAVX512:
		return intersectAVX512(&maps[0], len(maps), len(maps[0]))
	case useAVX2:
		return intersectAVX2(&maps[0], len(maps), len(maps[0]))
	}
	return countCommonPortable(maps)
}

// hasAlign reports whether alignBatch is available.
func hasAlign() bool { return useAVX512 || useAVX2 }

// alignBatch is align for positions of up to 15 bits and at least one candidate. Two bytes before those of
// the longer list, and 32 behind those of either, may be read.
func alignBatch(a *alignment) { alignAVX2((*[28]uint64)(unsafe.Pointer(a))) }

// _asm generates the functions below.

//go:noescape
func alignAVX2(a *[28]uint64)

//go:noescape
func addBoundsAVX512(next, sum *[64]uint32, bounds *[64]uint8, unit, need uint32) (reach, present uint64)

//go:noescape
func addBoundsAVX2(next, sum *[64]uint32, bounds *[64]uint8, unit, need uint32) (reach, present uint64)

//go:noescape
func addPostingsBMI2(to *[4096]uint32, docs, freqs *uint32, n int, norms *uint8, impacts *[16][256]uint16, k *[256]float32, weight uint64)

//go:noescape
func markBytesBMI2(marks *[4096]uint8, docs *uint32, n int)

//go:noescape
func flushMarksAVX512(set *[64]uint64, marks *[4096]uint8)

//go:noescape
func flushMarksAVX2(set *[64]uint64, marks *[4096]uint8)

// siftAVX512 may write 16 candidates after those it returns.
//
//go:noescape
func siftAVX512(docs, scores *[4112]uint32, from *[4096]uint32, base uint32, words uint64, rest *[64]uint32, need uint32) (n, scored int)

//go:noescape
func siftAVX2(docs, scores *[4112]uint32, from *[4096]uint32, base uint32, words uint64, rest *[64]uint32, need uint32) (n, scored int)

// probeBitsetBMI2 and probeSortedBMI2 handle a candidate in some 45 instructions, without
// data-dependent branches unless a frequency is above 15.
//
//go:noescape
func probeBitsetBMI2(p *[21]uint64) (ok bool)

//go:noescape
func probeSortedBMI2(p *[21]uint64)

//go:noescape
func probeSortedAVX512(p *[21]uint64)

//go:noescape
func impactsAVX512(dst *[128]uint16, docs, freqs *[128]uint32, n int, norms *uint8, k *[256]float32)

//go:noescape
func leadAVX512(toDocs, toScores *[4112]uint32, docs *[128]uint32, impacts *[128]uint16, n int, weight, floor, from, to uint32) (kept int)

// addExcerptAVX512 may read 16 impacts after those it uses.
//
//go:noescape
func addExcerptAVX512(to *[4096]uint32, held *uint64, impacts *uint16, words int, weight uint32)

//go:noescape
func filterAVX512(docs, scores *[4112]uint32, n int, filters *[7]uint64, lists int, rest, need uint32) (kept int)

//go:noescape
func dropHopelessAVX512(docs, scores *[4112]uint32, n int, hopes *[4]uint64, lists int, need uint32) (kept int)

//go:noescape
func uniteAVX512(dst *uint64, maps *[]uint64, n, words int)

//go:noescape
func uniteAVX2(dst *uint64, maps *[]uint64, n, words int)

//go:noescape
func intersectAVX512(maps *[]uint64, n, words int) (ones int)

//go:noescape
func intersectAVX2(maps *[]uint64, n, words int) (ones int)
