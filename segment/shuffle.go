package segment

import (
	"cmp"
	"math/bits"
	"slices"
)

// A shuffle sorts the postings of one term by their new documents.
//
// It scatters a list with many postings into a bitmap and a column of frequencies, and reads it in
// order: two or three nanoseconds per posting at any length. It sorts a short list.
type shuffle struct {
	placed bool // postings come with where their positions begin

	short  []shuffled
	bits   []uint64 // of the documents of a scattered list
	freqs  []uint32 // by document; valid where the bit is set
	places []uint32 // where positions begin; as freqs, and only with placed
	docs   uint32
}

// A shuffled is a posting of a short list, and where its positions begin.
type shuffled struct{ doc, tf, at uint32 }

// scatterShare is the most documents per posting for which scanning the bitmap pays.
const scatterShare = 512

// reset empties the shuffle, for documents below docs.
func (s *shuffle) reset(docs uint32) {
	s.docs = docs
	s.short = s.short[:0]
}

// add takes a posting, and where its positions begin. Every document occurs once.
func (s *shuffle) add(doc, tf, at uint32) {
	if len(s.short) > int(s.docs/scatterShare) {
		s.scatter(shuffled{doc, tf, at})
		return
	}
	s.short = append(s.short, shuffled{doc, tf, at})
	if len(s.short) > int(s.docs/scatterShare) {
		for _, p := range s.short {
			s.scatter(p)
		}
	}
}

func (s *shuffle) scatter(p shuffled) {
	if s.freqs == nil {
		s.bits = make([]uint64, (s.docs+63)/64)
		s.freqs = make([]uint32, s.docs)
	}
	s.bits[p.doc/64] |= 1 << (p.doc % 64)
	s.freqs[p.doc] = p.tf
	if s.placed {
		if s.places == nil {
			s.places = make([]uint32, s.docs)
		}
		s.places[p.doc] = p.at
	}
}

// each calls f for all postings in the order of documents.
func (s *shuffle) each(f func(doc, tf, at uint32)) {
	if len(s.short) <= int(s.docs/scatterShare) {
		slices.SortFunc(s.short, func(a, b shuffled) int { return cmp.Compare(a.doc, b.doc) })
		for _, p := range s.short {
			f(p.doc, p.tf, p.at)
		}
		return
	}
	for i, w := range s.bits {
		for ; w != 0; w &= w - 1 {
			doc := uint32(i)*64 + uint32(bits.TrailingZeros64(w))
			at := uint32(0)
			if s.placed {
				at = s.places[doc]
			}
			f(doc, s.freqs[doc], at)
		}
		s.bits[i] = 0
	}
}
