package cpuexec

import (
	"math/bits"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// The kernels, most of which handle a tile. Each has a variant in Go, here, and variants in
// assembly. kernels_amd64.go chooses the variant; kernels_noasm.go always runs Go:
//
//	addBounds     adds the bounds of a list to earlier sums, for 64 words of a tile
//	addPostings   adds contributions of postings to the scores of their documents
//	marks         documents into a set
//	sift          scores of words to candidates
//	probeBlock    candidates that a block holds (in Go: tileCursor.probePortable)
//	impacts       the impacts of a block
//	leadBlock     postings of a block to candidates
//	filter        candidates that bounds of words and bitmaps leave
//	dropHopeless  candidates that bounds of the lists that hold them leave
//	unite         the union of the bitmaps of lists
//	addExcerpt    adds contributions of an excerpt to the scores of its documents
//	countCommon   the number of documents that the bitmaps of lists have in common
//	alignBatch    candidates in which two words stand at a distance (in Go: alignPortable)

// sums are sums of bounds, for each word of a tile or each tile of a sheet.
type sums [64]uint32

// addBoundsPortable is addBounds in Go.
func addBoundsPortable(next, sum *sums, bounds *coarse, unit, need uint32) (reach, present uint64) {
	for i, b := range bounds {
		s := sum[i] + unit*uint32(b)
		next[i] = s
		bit := uint64(0)
		if b != 0 {
			bit = 1
		}
		present |= bit << i
		if s < need {
			bit = 0
		}
		reach |= bit << i
	}
	return reach, present
}

// siftPortable is sift in Go.
func siftPortable(cs *candidates, from *scores, base uint32, words uint64, rest *sums, need uint32) (scored int) {
	n := 0
	for ; words != 0; words &= words - 1 {
		w := bits.TrailingZeros64(words)
		floor := need - rest[w]
		word := (*[wordDocs]uint32)(from[wordDocs*w:])
		for i, s := range word {
			if s == 0 {
				continue
			}
			word[i] = 0
			scored++
			cs.docs[n%tileDocs], cs.score[n%tileDocs] = base+uint32(wordDocs*w+i), s
			if s >= floor {
				n++
			}
		}
	}
	cs.n = n
	return scored
}

// impactsPortable is impacts in Go.
func impactsPortable(dst *[postings.BlockSize]uint16, docs []uint32, freqs *[postings.BlockSize]uint32, norms []uint8, table *blockmax.Table) {
	if norms == nil {
		for i := range docs {
			dst[i&127] = table.Impact(freqs[i&127], 1)
		}
		return
	}
	for i, doc := range docs {
		dst[i&127] = table.Impact(freqs[i&127], norms[doc])
	}
}

// leadBlockPortable is leadBlock in Go.
func leadBlockPortable(cs *candidates, docs []uint32, impacts *[postings.BlockSize]uint16, weight, floor, from, to uint32) {
	n := 0
	for i, doc := range docs {
		score := blockmax.Contribution(weight, impacts[i&127])
		cs.docs[n&127], cs.score[n&127] = doc, score
		if score >= floor && doc >= from && doc < to {
			n++
		}
	}
	cs.n = n
}

// addPostingsPortable is addPostings in Go.
func addPostingsPortable(to *scores, docs, freqs []uint32, norms []uint8, table *blockmax.Table, weight uint32) {
	freqs = freqs[:len(docs)]
	if norms == nil {
		for i, doc := range docs {
			to[doc%tileDocs] += blockmax.Contribution(weight, table.Impact(freqs[i], 1))
		}
		return
	}
	for i, doc := range docs {
		to[doc%tileDocs] += blockmax.Contribution(weight, table.Impact(freqs[i], norms[doc]))
	}
}

// addExcerptPortable is addExcerpt in Go.
func addExcerptPortable(to *scores, held []uint64, impacts []uint16, weight uint32) {
	n := 0
	for w, word := range held {
		for ; word != 0; word &= word - 1 {
			to[(wordDocs*w+bits.TrailingZeros64(word))%tileDocs] += blockmax.Contribution(weight, impacts[n])
			n++
		}
	}
}

// marks are documents of a tile to be added to a set. Assembly first writes a byte for each. If it
// set bits one by one, most would wait for the store of the previous bit of the same word.
type marks struct {
	bytes [tileDocs]uint8
	bits  bitset // used by Go instead
	some  bool
}

func (m *marks) markPortable(docs []uint32) {
	m.some = m.some || len(docs) > 0
	for _, doc := range docs {
		m.bits[doc/64%64] |= 1 << (doc % 64)
	}
}

func (m *marks) flushPortable(set *bitset) {
	if m.some {
		for i, word := range m.bits {
			set[i] |= word
		}
		m.bits, m.some = bitset{}, false
	}
}

// unitePortable is unite in Go.
func unitePortable(dst []uint64, maps [][]uint64) {
	copy(dst, maps[0])
	for _, m := range maps[1:] {
		m = m[:len(dst)]
		for i, word := range m {
			dst[i] |= word
		}
	}
}

// countCommonPortable is countCommon in Go.
func countCommonPortable(maps [][]uint64) (ones int) {
	for i, word := range maps[0] {
		for _, m := range maps[1:] {
			word &= m[i]
		}
		ones += bits.OnesCount64(word)
	}
	return ones
}
