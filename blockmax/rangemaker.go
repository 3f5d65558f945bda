package blockmax

import (
	"encoding/binary"
	"math/bits"
)

// A RangeMaker makes the ranges of a list from its postings, block by block from the first.
type RangeMaker struct {
	Next   int      // block
	Bitmap []uint64 // of the list's documents, if the caller makes one of the same blocks

	ranges *Ranges
	word   uint32 // of the last posting
	best   uint32 // impact in that word so far
	top    Collector
}

// NewRangeMaker begins the ranges of a list with documents in the given number of tiles. first is
// Ranges.First.
func NewRangeMaker(tiles int, first []uint32) *RangeMaker {
	m := &RangeMaker{ranges: &Ranges{
		Word:  make([]uint8, 64*tiles),
		Tile:  make([]uint8, (tiles+63)&^63),
		First: first,
	}}
	m.top.Reset(MaxPeaks, nil)
	return m
}

// bytes returns the memory of what is being made. Add and finish do not change it.
func (m *RangeMaker) bytes() int {
	return len(m.ranges.Word) + len(m.ranges.Tile) + 4*len(m.ranges.First) + 8*len(m.Bitmap)
}

// Add adds the postings of the next block, which has no impact above bound. As documents ascend, the
// last store to a word is of its highest impact.
func (m *RangeMaker) Add(docs []uint32, impacts []uint16, bound uint16) {
	impacts = impacts[:len(docs)]
	words, word, best := m.ranges.Word, m.word, m.best
	for i, doc := range docs {
		if doc/WordDocs != word {
			best = 0
		}
		word, best = doc/WordDocs, max(best, uint32(impacts[i]))
		words[word] = Coarse(uint16(best))
	}
	m.word, m.best = word, best
	m.Next++
	if !m.top.Takes(uint32(bound)) {
		return // as nearly always
	}
	for i, impact := range impacts {
		m.top.Offer(docs[i], uint32(impact))
	}
}

// finish returns the ranges.
func (m *RangeMaker) finish() *Ranges {
	r := m.ranges
	var tally Tally
	for at := 0; at < len(r.Word); at += 8 {
		highest := uint8(0)
		for eight := binary.LittleEndian.Uint64(r.Word[at:]); eight != 0; {
			shift := bits.TrailingZeros64(eight) &^ 7
			coarse := uint8(eight >> shift)
			eight &^= 0xff << shift
			highest = max(highest, coarse)
			tally.addCoarse(coarse)
		}
		r.Tile[at/64] = max(r.Tile[at/64], highest)
	}
	r.Best = tally.Best()
	for _, h := range m.top.Hits() {
		r.Peaks = append(r.Peaks, Peak{Doc: h.Doc, Impact: uint16(h.Score)})
	}
	return r
}
