package cpuexec

import (
	"math/bits"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// impacts computes the impacts of a block's postings. Without norms every length
// code is 1.
func impacts(dst *[postings.BlockSize]uint16, docs []uint32, freqs *[postings.BlockSize]uint32, norms []uint8, table *blockmax.Table) {
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

// sums of bounds, for each word of a tile or each tile of a sheet.
type sums [64]uint32

// addBounds sets next to sum + unit*bounds. It returns which of the 64 then reach
// need and have a bound above 0, and which have one at all.
func addBounds(next, sum *sums, bounds *coarse, unit, need uint32) (reach, present uint64) {
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

// scatter adds what postings contribute to the scores of their documents, all of one
// tile, if they lie in one of the words.
func scatter(to *scores, docs []uint32, impacts []uint16, weight uint32, words uint64) {
	impacts = impacts[:len(docs)]
	for i, doc := range docs {
		in := uint32(words >> (doc / wordDocs % 64) & 1)
		to[doc%tileDocs] += blockmax.Contribution(weight, impacts[i]) * in
	}
}

// gather moves the documents of the words whose scores reach need, with what rest
// says is still to come in each word, to cs. It clears the scores of the words and
// returns how many were not zero.
func (cs *candidates) gather(from *scores, base uint32, words uint64, rest *sums, need uint32) (scored int) {
	n := 0
	for ; words != 0; words &= words - 1 {
		w := bits.TrailingZeros64(words)
		floor := saturatingSub(need, rest[w])
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
