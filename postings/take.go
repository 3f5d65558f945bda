package postings

import (
	"fmt"
	"slices"
)

// Take appends the current block of s, as moved by Shift; its documents must satisfy AddAll. Take
// returns false and does nothing when the block cannot be a block of this list: when it is shorter
// than a full block, or when this list has an unfinished block.
//
// Take copies the block's best pairs, so its documents must have their original length codes. It
// copies the bytes if this codec would write the same ones. That requires that this codec wrote the
// block, and that the preceding document has moved by the same distance, because the block's code
// counts from it. So the first block of a second input is encoded again. Positions count from nothing, so
// their bytes are always copied. Take relies on the checks of Scan, which must have Positions if this
// Writer has them.
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
	if !copies || len(w.last) == 0 { // Finish may need the first block
		w.k.n, w.k.docs, w.k.tfs = s.N, s.Docs, s.TFs
	}
	if copies {
		w.copyBlock(s)
	} else {
		w.encode(&w.k)
	}
	if w.Positions {
		w.takePositions(s)
	}
	w.k.n = 0
	return true
}

// pairsOf returns the best pairs of the current block of s if it can be a block of this list. It
// rejects pairs that contradict the frequencies, which may be damage.
func (w *Writer) pairsOf(s *Scan) (pairs []Impact, ok bool) {
	if size := w.blockSize(); w.k.n > 0 || s.N != size || s.l == nil || s.l.BlockSize != size {
		return nil, false
	}
	if pairs, err := s.impacts(); err == nil {
		return pairs, pairs[len(pairs)-1].TF == slices.Max(s.TFs[:s.N])
	}
	return nil, false // the scan will meet the error, too
}

// copies reports whether the current block of s would have the same bytes in this list.
func (w *Writer) copies(s *Scan) bool {
	if s.l.before(s.b)+s.shift != w.lastDoc() {
		return false
	}
	if w.Codec == Interpolative || s.l.bits {
		return w.Codec == Interpolative && s.l.bits
	}
	return s.l.Enc[s.b].madeBy(w.Codec)
}

// madeBy reports whether a codec of rows would write a whole block in this encoding. PFor and Rice
// are known only by their own kinds: a block without them may come from a list of the codec Packed,
// which did not try them.
func (e Encoding) madeBy(codec Kind) bool {
	docs, freqs := e.Kind(), e.FreqKind()
	if codec == Packed {
		return docs < PFor && freqs == Packed
	}
	return docs == codec && (freqs == codec || freqs == Packed) || docs < PFor && freqs == codec
}

// copyBlock appends the bytes of the current block of s.
func (w *Writer) copyBlock(s *Scan) {
	if s.Docs[0] >= MaxDoc || s.Docs[s.N-1] >= MaxDoc {
		panic(fmt.Sprintf("BUG: documents %d to %d", s.Docs[0], s.Docs[s.N-1]))
	}
	w.beginBlock()
	if w.Codec == Interpolative {
		w.coded.copyBits(s.body, s.from, s.at)
		w.codeBits = append(w.codeBits, uint32(s.at-s.from))
	} else {
		w.packed = append(w.packed, s.rows()...)
	}
	w.addToDirectory(s.Docs[s.N-1], s.l.Enc[s.b], s.N)
	w.taken++
}
