package postings

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// A Writer makes the stored form of lists, one after the other. It encodes blocks as they are
// stored, and keeps nothing that only a view needs. It takes postings (AddAll) and whole blocks of
// other lists (Take). The zero value is ready to use.
//
// A Writer is for one goroutine at a time. It is about 3 KB and keeps room for the directory and
// for a chunk: reuse it.
type Writer struct {
	Codec Kind // Packed, PFor, Rice or Interpolative: see the package comment

	// Positions makes the lists keep positions: postings come by AddPositions, and blocks from a Scan
	// with positions. It may change between lists.
	Positions bool

	size  int   // postings in a block, fewer than BlockSize in tests; 0 for BlockSize
	k     block // the unfinished block. When it is empty, its arrays still hold the previous block if that is the first.
	count int   // postings, including those of k
	taken int

	last     []uint32 // of each block, as in List
	enc      []Encoding
	codeBits []uint32 // of each block, with the codec Interpolative
	imp      Impacts
	best     pareto // empty between calls

	rows   uint32    // of the blocks of the current chunk
	packed []byte    // these rows, unless the codec is Interpolative
	coded  bitWriter // the current chunk of the codec Interpolative
	chunks [][]byte  // earlier ones, sealed

	positions positionWriter
}

// Len returns the number of postings added since the last Finish.
func (w *Writer) Len() int { return w.count }

// Taken returns how many blocks of other lists the Writer has copied byte for byte in its lifetime.
func (w *Writer) Taken() int { return w.taken }

func (w *Writer) blockSize() int {
	if w.size == 0 {
		return BlockSize
	}
	return w.size
}

// lastDoc is the last document in blocks, or noDoc.
func (w *Writer) lastDoc() uint32 {
	if len(w.last) == 0 {
		return noDoc
	}
	return w.last[len(w.last)-1]
}

// AddAll appends postings, one for each element of docs. Documents rise strictly from above all
// documents added before and are below MaxDoc. Frequencies are at least 1. lengths are the length
// codes of the documents' fields.
func (w *Writer) AddAll(docs, tfs []uint32, lengths []uint8) {
	if w.Positions {
		panic("BUG: postings.Writer.Positions is set, and postings come without")
	}
	w.addAll(docs, tfs, lengths, nil)
}

// AddPositions is AddAll for postings with positions: the first one of each posting, and the
// distances between them, which are at most MaxPosition together.
func (w *Writer) AddPositions(docs, tfs []uint32, lengths []uint8, deltas []uint32) {
	if sum := sumOf(tfs); !w.Positions || sum != uint64(len(deltas)) {
		panic(fmt.Sprintf("BUG: %d positions for frequencies of %d, and postings.Writer.Positions is %v", len(deltas), sum, w.Positions))
	}
	w.addAll(docs, tfs, lengths, deltas)
}

func (w *Writer) addAll(docs, tfs []uint32, lengths []uint8, deltas []uint32) {
	size := w.blockSize()
	w.count += len(docs)
	for k := &w.k; len(docs) > 0; {
		n := copy(k.docs[k.n:size], docs)
		copy(k.tfs[k.n:], tfs[:n])
		copy(k.lens[k.n:], lengths[:n])
		if w.Positions {
			of := int(sumOf(tfs[:n]))
			w.positions.deltas = append(w.positions.deltas, deltas[:of]...)
			deltas = deltas[of:]
		}
		docs, tfs, lengths = docs[n:], tfs[n:], lengths[n:]
		if k.n += n; k.n == size {
			w.endBlock()
		}
	}
}

// check panics when postings do not satisfy AddAll.
func (k *block) check(prev uint32) {
	for i, d := range k.docs[:k.n] {
		if d-prev-1 >= MaxDoc || d >= MaxDoc || k.tfs[i] == 0 {
			panic(fmt.Sprintf("BUG: posting (document %d, frequency %d) after document %d", d, k.tfs[i], int32(prev)))
		}
		prev = d
	}
}

// endBlock encodes the unfinished block.
func (w *Writer) endBlock() {
	w.addPairs(&w.k)
	w.imp.push(&w.best)
	w.encode(&w.k)
	if w.Positions {
		w.positions.endBlock()
	}
	w.k.n = 0
}

func (w *Writer) addPairs(k *block) {
	for i := range k.n {
		w.best.add(k.tfs[i], k.lens[i])
	}
}

// encode appends a block whose best pairs are already in w.
func (w *Writer) encode(k *block) {
	k.check(w.lastDoc())
	w.beginBlock()
	var e Encoding
	if w.Codec == Interpolative {
		before := w.coded.len()
		e = k.appendBits(&w.coded, w.lastDoc())
		w.codeBits = append(w.codeBits, uint32(w.coded.len()-before))
	} else {
		w.packed, e = k.appendRows(w.packed, w.lastDoc(), w.Codec)
	}
	w.addToDirectory(k.last(), e, k.n)
}

// beginBlock ends the current chunk when the next block does not belong to it: see List.layout.
func (w *Writer) beginBlock() {
	if !w.Codec.IsCodec() {
		panic(fmt.Sprintf("BUG: postings.Writer.Codec is %v", w.Codec))
	}
	if len(w.last)%ExtentBlocks == 0 && RowBytes*w.rows >= chunkTarget {
		w.endChunk()
	}
}

func (w *Writer) addToDirectory(last uint32, e Encoding, n int) {
	w.last = append(w.last, last)
	w.enc = append(w.enc, e)
	w.rows += uint32(e.Rows(n))
}

// endChunk seals the current chunk.
func (w *Writer) endChunk() {
	body, guard := w.packed, GuardBytes-4
	if w.Codec == Interpolative {
		body, guard = w.coded.flush(), 0
	}
	value := make([]byte, len(body)+guard, len(body)+guard+4)
	copy(value, body)
	w.chunks = append(w.chunks, sealPart(value))
	w.packed, w.coded.b, w.rows = w.packed[:0], w.coded.b[:0], 0
}

// Finish returns the stored form of all postings added, of which there must be at least one, and
// empties the Writer. The result is independent of it.
func (w *Writer) Finish() Encoded {
	defer w.reset()
	switch len(w.last) {
	case 0:
		if w.count == 0 {
			panic("BUG: encoding an empty posting list")
		}
		w.k.check(noDoc)
		w.addPairs(&w.k)
		var pairs [8]Impact
		return w.short(w.best.flush(pairs[:0]))
	case 1:
		if w.k.n == 0 {
			w.k.n = w.count
			return w.short(w.imp.Of(0))
		}
	}
	if w.k.n > 0 {
		w.endBlock()
	}
	w.endChunk()
	return w.long()
}

// short is Finish for a list that is the unfinished block.
func (w *Writer) short(best []Impact) Encoded {
	enc := Encoded{Entry: appendShortEntry(nil, &w.k, best)}
	if w.Positions {
		enc.Entry = sealEntry(append(enc.Entry[:len(enc.Entry)-1], 0)) // see PointTo
		enc.Positions = w.positions.short()
	}
	return enc
}

// long is Finish for a list of two or more blocks, all of them encoded.
func (w *Writer) long() Encoded {
	enc := Encoded{Directory: w.directory(pairsApart), Chunks: slices.Clone(w.chunks)}
	entry := binary.AppendUvarint(nil, uint64(w.count-1)<<1|1)
	shape := byte(w.blockSize() - 1)
	if w.Codec == Interpolative {
		shape |= interpolativeShape
	}
	entry = append(entry, shape)
	w.best.addAll(w.imp.pairs)
	var pairs [8]Impact
	entry = appendImpacts(entry, w.best.flush(pairs[:0]))
	entry = append(entry, make([]byte, pairsApart)...) // the form of the directory
	entry = binary.AppendUvarint(entry, uint64(len(enc.Chunks)))
	if w.Positions {
		enc.PositionDirectory, enc.PositionChunks = w.positions.long()
		entry = binary.AppendUvarint(entry, uint64(len(enc.PositionChunks)))
	}
	enc.Entry = sealEntry(entry)
	return enc
}

// reset empties the Writer.
func (w *Writer) reset() {
	w.k.n, w.count, w.rows = 0, 0, 0
	w.last, w.enc, w.codeBits = w.last[:0], w.enc[:0], w.codeBits[:0]
	w.imp.Start, w.imp.pairs = w.imp.Start[:0], w.imp.pairs[:0]
	clear(w.chunks) // the caller owns them
	w.packed, w.chunks = w.packed[:0], w.chunks[:0]
	w.coded = bitWriter{b: w.coded.b[:0]}
	w.positions.reset()
}
