package postings

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// Encoded is the stored form of a list. A short list has only an entry.
type Encoded struct {
	Entry     []byte
	Directory [][]byte // what Loader.Directory must return for part 0, 1, ...
	Chunks    [][]byte // what Loader.Chunk must return for chunk 0, 1, ...

	// Of a list with positions:
	PositionDirectory [][]byte // of a long list: what PositionLoader must return
	PositionChunks    [][]byte
	Positions         []byte // of a short list, whose entry points to 0: see PointTo
}

// Encode returns the stored form of all postings added; there must be at least one. The builder
// does not change, and the result is independent of it.
func (b *Builder) Encode() Encoded {
	w := Writer{Codec: b.codec(), Positions: b.Positions, size: b.blockSize()}
	if f := b.full; f != nil && len(f.last) > 0 {
		shared := f.shared.Load()
		s := Scan{Positions: b.Positions}
		s.Reset(b.View(f.lastDoc() + 1))
		for s.Next() {
			if !w.Take(&s) {
				panic("BUG: a block in memory has best pairs of others")
			}
		}
		f.shared.Store(shared) // the view ends here
	}
	var k block
	positions := b.readTail(&k)
	var deltas []uint32
	if b.Positions {
		deltas = make([]uint32, sumOf(k.tfs[:k.n]))
		readVarints(deltas, positions)
	}
	w.addAll(k.docs[:k.n], k.tfs[:k.n], k.lens[:k.n], deltas)
	return w.Finish()
}

// appendShortEntry writes the entry of a list of at most one block.
func appendShortEntry(dst []byte, k *block, pairs []Impact) []byte {
	more := uint64(0) // the sum of all frequencies, each minus one
	for _, tf := range k.tfs[:k.n] {
		more += uint64(tf - 1)
	}
	dst = binary.AppendUvarint(dst, uint64(k.n-1)<<1)
	w := bitWriter{b: dst}
	if more == 0 {
		w.b = binary.AppendUvarint(w.b, uint64(k.last())<<1|1)
		k.appendDocs(&w, noDoc)
	} else {
		w.b = binary.AppendUvarint(w.b, uint64(k.last())<<1)
		w.b = binary.AppendUvarint(w.b, min(more, unsummed)-1)
		k.appendDocs(&w, noDoc)
		if more < unsummed {
			v := k.sums()
			w.rising(&v, k.n)
		} else {
			k.appendFreqs(&w, 32)
		}
	}
	if dst = w.flush(); more == 0 || k.n == 1 {
		return sealEntry(append(dst, pairs[0].Len))
	}
	return sealEntry(appendImpacts(dst, pairs))
}

// unsummed limits the frequencies of a short list that are coded by their sums: the sum of the
// frequencies, each minus one, must be below it.
const unsummed = 1 << 31

// interpolativeShape is added to the stored block size when chunks are bit strings.
const interpolativeShape = 1 << 7

// blocksOf returns the range [from, to) of blocks in chunk i, for a list of the given number of
// blocks.
func blocksOf(chunkOf []uint32, i, blocks int) (from, to int) {
	first, _ := slices.BinarySearch(chunkOf, uint32(i))
	behind, _ := slices.BinarySearch(chunkOf, uint32(i+1))
	return first * ExtentBlocks, min(behind*ExtentBlocks, blocks)
}

// storedIn is the stored chunk of each extent.
func (l *List) storedIn() []uint32 {
	if l.coded != nil {
		return l.coded.of
	}
	return l.chunkOf
}

// layOut finds the chunk of each extent, given the first row of each and of the one that would
// follow. A chunk takes extents until it has chunkTarget bytes. The rule is part of the format: the
// layout is not stored.
func (l *List) layOut(rows []uint32) error {
	extents := len(rows) - 1
	l.chunkOf, l.rowOf = make([]uint32, 0, extents), nil
	for _, row := range rows[:extents] {
		n := len(l.rowOf)
		if n == 0 || RowBytes*(row-l.rowOf[n-1]) >= chunkTarget {
			l.rowOf = append(l.rowOf, row)
		}
		l.chunkOf = append(l.chunkOf, uint32(len(l.rowOf)-1))
	}
	l.rowOf = append(l.rowOf, rows[extents])
	if chunks := len(l.rowOf) - 1; chunks != l.stored {
		return corrupt.New(2, "%d chunks; the directory makes %d", l.stored, chunks)
	}
	l.chunks = make([]atomic.Pointer[chunk], l.stored)
	return nil
}
