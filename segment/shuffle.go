package segment

import (
	"math/bits"
	"slices"
)

// A shuffle sorts the postings of one term by their new documents.
//
// It scatters a list with many postings into a bitmap and a column of frequencies, and reads it in
// order: two or three nanoseconds per posting at any length. It sorts a short list.
type shuffle struct {
	short []uint64 // document<<32 | frequency
	bits  []uint64 // of the documents of a scattered list
	freqs []uint32 // by document; valid where the bit is set
	docs  uint32
}

// scatterShare is the most documents per posting for which scanning the bitmap pays.
const scatterShare = 512

// reset empties the shuffle, for documents below docs.
func (s *shuffle) reset(docs uint32) {
	s.docs = docs
	s.short = s.short[:0]
}

// add takes a posting. Every document occurs once.
func (s *shuffle) add(doc, tf uint32) {
	if len(s.short) > int(s.docs/scatterShare) {
		s.scatter(doc, tf)
		return
	}
	s.short = append(s.short, uint64(doc)<<32|uint64(tf))
	if len(s.short) > int(s.docs/scatterShare) {
		for _, p := range s.short {
			s.scatter(uint32(p>>32), uint32(p))
		}
	}
}

func (s *shuffle) scatter(doc, tf uint32) {
	if s.freqs == nil {
		s.bits = make([]uint64, (s.docs+63)/64)
		s.freqs = make([]uint32, s.docs)
	}
	s.bits[doc/64] |= 1 << (doc % 64)
	s.freqs[doc] = tf
}

// each calls f for all postings in the order of documents.
func (s *shuffle) each(f func(doc, tf uint32)) {
	if len(s.short) <= int(s.docs/scatterShare) {
		slices.Sort(s.short)
		for _, p := range s.short {
			f(uint32(p>>32), uint32(p))
		}
		return
	}
	for i, w := range s.bits {
		for ; w != 0; w &= w - 1 {
			doc := uint32(i)*64 + uint32(bits.TrailingZeros64(w))
			f(doc, s.freqs[doc])
		}
		s.bits[i] = 0
	}
}
