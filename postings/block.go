package postings

import (
	"encoding/binary"
	"slices"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A block is the postings of one block, unpacked. Only the first n elements of each array are
// valid.
type block struct {
	n    int
	docs [BlockSize]uint32
	tfs  [BlockSize]uint32
	lens [BlockSize]uint8
}

func (k *block) add(doc, tf uint32, length uint8) {
	k.docs[k.n], k.tfs[k.n], k.lens[k.n] = doc, tf, length
	k.n++
}

// last is the last document of the block, which must not be empty.
func (k *block) last() uint32 { return k.docs[k.n-1] }

// appendRows writes the payload of the block in the smallest encoding that the codec (Packed, PFor
// or Rice) allows. A bitset wins a tie with gaps. It leaves room for the guard. prev is the last
// document of the previous block, or noDoc.
func (k *block) appendRows(dst []byte, prev uint32, codec Kind) ([]byte, Encoding) {
	var gaps, freqs [BlockSize]uint32 // both minus one
	p := prev
	for i, d := range k.docs[:k.n] {
		gaps[i], p = d-p-1, d
		freqs[i] = k.tfs[i] - 1
	}
	docs, tfs := makePlan(gaps[:k.n], codec), makePlan(freqs[:k.n], codec)
	switch betterKind(docs.rows, prev, k.docs[0], k.last(), k.n) {
	case Run:
		docs = plan{kind: Run}
	case Bitset:
		docs = plan{kind: Bitset, rows: bitsetRows(k.last() - prev)}
	}
	if rows := docs.rows + tfs.rows; rows > 0 {
		dst = slices.Grow(dst, RowBytes*rows+GuardBytes)
	}
	if docs.kind == Bitset {
		dst = appendBitset(dst, k.docs[:k.n], prev+1, docs.rows)
	} else {
		dst = docs.appendTo(dst, gaps[:k.n])
	}
	return tfs.appendTo(dst, freqs[:k.n]), makeEncoding(docs.kind, docs.stated(), tfs.kind, tfs.stated())
}

// betterKind returns the kind in which to write n documents from first to last, after prev, whose
// packed or coded form takes the given rows: Run, Bitset, or Packed to keep that form.
func betterKind(rows int, prev, first, last uint32, n int) Kind {
	switch {
	case last-first == uint32(n-1):
		return Run
	case bitsetRows(last-prev) <= rows:
		return Bitset
	}
	return Packed
}

// noDoc stands for the last document before the first block. It is minus one, so that the first gap
// is counted like all others.
const noDoc = ^uint32(0)

// appendBitset writes rows of 128 bits; bit i stands for document first + i.
func appendBitset(dst []byte, docs []uint32, first uint32, rows int) []byte {
	var words [64]uint64 // a bitset never has more rows than packed gaps: 32
	for _, d := range docs {
		words[(d-first)/64] |= 1 << ((d - first) % 64)
	}
	for _, w := range words[:2*rows] {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}

// safeWidth is the widest gap for which 128 gaps cannot sum to 1<<32. So documents of gaps no wider
// that end where the directory says also rise.
const safeWidth = 24

// decodeDocs writes the n documents of a block to dst. rows begin with the block's. For any content
// of rows, it returns an error or documents that rise strictly from above prev to last.
func decodeDocs(dst *[BlockSize]uint32, rows []byte, e Encoding, n int, prev, last uint32) error {
	width, safe := e.docWidth(), true
	switch e.Kind() {
	case Run:
		consecutive(dst, last-uint32(n-1))
		return nil
	case Bitset:
		if ones := expandBitset(dst, rows[:RowBytes*width], n, prev+1); ones != n {
			return corrupt.New(0, "%d bits are set for %d postings", ones, n)
		}
	case PFor:
		p, err := readPFor(rows[:RowBytes*width])
		if err == nil {
			err = p.docs(dst, prev)
		}
		if err != nil {
			return err
		}
		safe = p.low+p.highWidth < safeWidth
	case Rice:
		r, err := readRice(rows[:RowBytes*width])
		if err == nil {
			err = r.docs(dst, prev)
		}
		if err != nil {
			return err
		}
		safe = r.low <= safeRice
	default:
		safe = width <= safeWidth
		if width == 0 {
			consecutive(dst, prev+1)
		} else {
			unpackDocs(dst, rows[:RowBytes*packedRows(n, width)], n, width, prev)
		}
	}
	if dst[n-1] != last || !safe {
		return checkDocs(dst[:n], prev, last)
	}
	return nil
}

// checkDocs returns an error if unpacked documents do not rise strictly from above prev to last.
func checkDocs(docs []uint32, prev, last uint32) error {
	if end := docs[len(docs)-1]; end != last {
		return corrupt.New(0, "the last document is %d; the directory says %d", end, last)
	}
	if !rising(docs, prev) {
		return corrupt.New(0, "documents do not rise")
	}
	return nil
}

// rising reports whether the documents rise strictly from above prev.
func rising(docs []uint32, prev uint32) bool {
	p := int64(int32(prev))
	for _, d := range docs {
		if int64(d) <= p {
			return false
		}
		p = int64(d)
	}
	return true
}

// decodeFreqs writes the n frequencies of a block to dst. rows begin with the block's frequencies.
func decodeFreqs(dst *[BlockSize]uint32, rows []byte, e Encoding, n int) error {
	width, safe := e.freqWidth(), true
	switch e.FreqKind() {
	case PFor:
		p, err := readPFor(rows[:RowBytes*width])
		if err == nil {
			err = p.freqs(dst)
		}
		if err != nil {
			return err
		}
		safe = p.low+p.highWidth < 31
	case Rice:
		r, err := readRice(rows[:RowBytes*width])
		if err == nil {
			err = r.freqs(dst)
		}
		if err != nil {
			return err
		}
		safe = r.low <= safeRice
	default:
		if width == 0 {
			ones(dst)
			return nil
		}
		unpackFreqs(dst, rows[:RowBytes*packedRows(n, width)], n, width)
		safe = width < 32
	}
	if !safe {
		if i := slices.Index(dst[:n], 0); i >= 0 {
			return corrupt.New(RowBytes*e.docRows(n), "frequency %d is 1<<32", i)
		}
	}
	return nil
}
