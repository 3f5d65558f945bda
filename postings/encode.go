package postings

import (
	"encoding/binary"
)

// partBlocks is the number of blocks in a directory part: 64 extents. A part has
// about 12 bytes a block, so 24 KiB.
const partBlocks = 64 * ExtentBlocks

// Encoded is the stored form of a list. A short list is its entry and nothing else.
type Encoded struct {
	Entry     []byte
	Directory [][]byte // what Loader.Directory must return for part 0, 1, ...
	Chunks    [][]byte // what Loader.Chunk must return for chunk 0, 1, ...
}

// Encode returns the stored form of all postings added, which must be at least one.
// The builder stays as it is and the result is independent of it.
func (b *Builder) Encode() Encoded {
	switch {
	case b.count == 0:
		panic("BUG: encoding an empty posting list")
	case int(b.count) < b.blockSize():
		var k block
		b.readTail(&k)
		return Encoded{Entry: encodeShort(&k)}
	}
	shared := b.full.shared
	l := b.View(MaxDoc)
	b.full.shared = shared // the view ends here
	if l.Blocks() > 1 {
		return encodeLong(l)
	}
	var k block
	b.full.readBlock(&k, 0, l.BlockSize)
	return Encoded{Entry: appendShortEntry(nil, &k, l.ListImpacts)}
}

func encodeShort(k *block) []byte {
	var p pareto
	for i := range k.n {
		p.add(k.tfs[i], k.lens[i])
	}
	var pairs [8]Impact
	return appendShortEntry(nil, k, p.flush(pairs[:0]))
}

// appendShortEntry writes the entry of a list of at most one block.
func appendShortEntry(dst []byte, k *block, pairs []Impact) []byte {
	dst = binary.AppendUvarint(dst, uint64(k.n-1)<<1)
	prev := noDoc
	for i, d := range k.docs[:k.n] {
		dst = appendShort(dst, d-prev-1, k.tfs[i])
		prev = d
	}
	if k.n == 1 {
		dst = append(dst, pairs[0].Len)
	} else {
		dst = appendImpacts(dst, pairs)
	}
	return sealEntry(dst)
}

// encodeLong writes a list of two blocks or more.
func encodeLong(l *List) Encoded {
	var enc Encoded
	chunkOf, rowOf := l.layout()
	chunks := len(rowOf) - 1
	enc.Chunks = make([][]byte, chunks)
	for i := range enc.Chunks {
		enc.Chunks[i] = make([]byte, 0, RowBytes*int(rowOf[i+1]-rowOf[i])+GuardBytes)
	}
	for b := range l.Last {
		rows, err := l.Payload(b)
		if err != nil {
			panic("BUG: block in memory: " + err.Error())
		}
		c := &enc.Chunks[chunkOf[b/ExtentBlocks]]
		*c = append(*c, rows...)
	}
	for i, c := range enc.Chunks {
		enc.Chunks[i] = sealPart(append(c, make([]byte, GuardBytes-4)...))
	}

	for from := 0; from < len(l.Last); from += partBlocks {
		enc.Directory = append(enc.Directory, l.encodePart(from, min(from+partBlocks, len(l.Last))))
	}

	entry := binary.AppendUvarint(nil, uint64(l.Count-1)<<1|1)
	entry = append(entry, byte(l.BlockSize-1))
	entry = appendImpacts(entry, l.ListImpacts)
	entry = binary.AppendUvarint(entry, uint64(chunks))
	enc.Entry = sealEntry(entry)
	return enc
}

// encodePart writes the directory of blocks from to to-1.
func (l *List) encodePart(from, to int) []byte {
	dst := make([]byte, 0, 12*(to-from))
	for b := from; b < to; b++ {
		span := l.Last[b] - l.before(b)
		dst = binary.AppendUvarint(dst, uint64(span)-uint64(l.BlockLen(b)))
		dst = binary.LittleEndian.AppendUint16(dst, uint16(l.Enc[b]))
		dst = appendImpacts(dst, l.BlockImpacts.Of(b))
	}
	return sealPart(dst)
}

// layout says which chunk each extent lies in, and at which row each chunk begins
// (and the one that would follow the last). A chunk takes extents until it has
// chunkTarget bytes. The rule is part of the format: nothing stored says it again.
func (l *List) layout() (chunkOf, rowOf []uint32) {
	chunkOf = make([]uint32, 0, len(l.ExtLast))
	for b := 0; b < len(l.Last); b += ExtentBlocks {
		n := len(rowOf)
		if n == 0 || RowBytes*(l.Off[b]-rowOf[n-1]) >= chunkTarget {
			rowOf = append(rowOf, l.Off[b])
		}
		chunkOf = append(chunkOf, uint32(len(rowOf)-1))
	}
	end := len(l.Last) - 1
	return chunkOf, append(rowOf, l.Off[end]+uint32(l.Enc[end].Rows(l.BlockLen(end))))
}
