package postings

import (
	"fmt"
	"slices"
)

// Take appends the block that s is at, as Shift has moved it; its documents must be such as AddAll
// wants. It returns false, and does nothing, where that would be no block of this list: when it is a
// short one, or when others have left this list in the middle of a block.
//
// The block's best pairs are taken as they are: its documents must have the length codes that they had.
// Its bytes are taken if this codec would make the same ones. For that, the block must have been written by this
// codec, and the document before it must have moved as it has, as that is what its code counts from: so
// the first block of a second input is encoded again. What Scan has found sound is sound here.
func (w *Writer) Take(s *Scan) bool {
	pairs, ok := w.pairsOf(s)
	if !ok {
		return false
	}
	if len(w.imp.Start) == 0 {
		w.imp.Start = append(w.imp.Start, 0)
	}
	w.imp.pairs = append(w.imp.pairs, pairs...)
	w.imp.Start = append(w.imp.Start, uint32(len(w.imp.pairs)))
	w.count += s.N
	copies := w.copies(s)
	if !copies || len(w.last) == 0 { // Finish may want the first block
		w.k.n, w.k.docs, w.k.tfs = s.N, s.Docs, s.TFs
	}
	if copies {
		w.copyBlock(s)
	} else {
		w.encode(&w.k)
	}
	w.k.n = 0
	return true
}

// pairsOf returns the best pairs of the block that s is at, if that can be a block of this list. Pairs
// that do not go with the frequencies, which may be damage, are not taken.
func (w *Writer) pairsOf(s *Scan) (pairs []Impact, ok bool) {
	if size := w.blockSize(); w.k.n > 0 || s.N != size || s.l == nil || s.l.BlockSize != size {
		return nil, false
	}
	pairs = s.l.BlockImpacts.Of(s.b)
	return pairs, pairs[len(pairs)-1].TF == slices.Max(s.TFs[:s.N])
}

// copies reports whether the block that s is at has the bytes that it would have here.
func (w *Writer) copies(s *Scan) bool {
	if s.l.before(s.b)+s.shift != w.lastDoc() {
		return false
	}
	if w.Codec == Interpolative || s.l.bits {
		return w.Codec == Interpolative && s.l.bits
	}
	return s.l.Enc[s.b].madeBy(w.Codec)
}

// madeBy reports whether a codec of rows would write a whole block in this encoding. PFor and Rice are known by
// their own kind only: a block without it may come from a list by Packed, where they were not tried.
func (e Encoding) madeBy(codec Kind) bool {
	docs, freqs := e.Kind(), e.FreqKind()
	if codec == Packed {
		return docs < PFor && freqs == Packed
	}
	return docs == codec && (freqs == codec || freqs == Packed) || docs < PFor && freqs == codec
}

// copyBlock appends the bytes of the block that s is at.
func (w *Writer) copyBlock(s *Scan) {
	if s.Docs[0] >= MaxDoc || s.Docs[s.N-1] >= MaxDoc {
		panic(fmt.Sprintf("BUG: documents %d to %d", s.Docs[0], s.Docs[s.N-1]))
	}
	w.beginBlock()
	if w.Codec == Interpolative {
		w.coded.copyBits(s.body, s.from, s.at)
	} else {
		w.packed = append(w.packed, s.rows()...)
	}
	w.addToDirectory(s.Docs[s.N-1], s.l.Enc[s.b], s.N)
	w.taken++
}
