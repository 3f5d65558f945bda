package postings

import "slices"

// A positionWriter makes the stored positions of a list.
type positionWriter struct {
	deltas []uint32 // of the unfinished block
	code   []byte   // the current chunk
	first  uint32   // the chunk with the first block of the current part
	sizes  []uint32 // of the codes of the blocks of the current part
	parts  [][]byte // earlier ones, sealed
	chunks [][]byte // the same
}

// endBlock encodes the unfinished block.
func (w *positionWriter) endBlock() {
	w.begin()
	before := len(w.code)
	w.code = appendPositionCode(w.code, w.deltas)
	w.sizes = append(w.sizes, uint32(len(w.code)-before))
	w.deltas = w.deltas[:0]
}

// copyBlock appends a block by its code.
func (w *positionWriter) copyBlock(code []byte) {
	w.begin()
	w.code = append(w.code, code...)
	w.sizes = append(w.sizes, uint32(len(code)))
}

// begin ends the current part or chunk when the next block does not belong to it.
func (w *positionWriter) begin() {
	switch {
	case len(w.sizes) == partBlocks:
		w.endPart()
	case len(w.code) >= chunkTarget:
		w.endChunk()
	}
}

func (w *positionWriter) endChunk() {
	value := make([]byte, len(w.code)+positionGuard, len(w.code)+codeGuard)
	copy(value, w.code)
	w.chunks = append(w.chunks, sealPart(value))
	w.code = w.code[:0]
}

func (w *positionWriter) endPart() {
	w.endChunk()
	w.parts = append(w.parts, sealPart(appendPositionPart(nil, w.sizes, w.first)))
	w.sizes, w.first = w.sizes[:0], uint32(len(w.chunks))
}

// short returns the code of a list that is one block.
func (w *positionWriter) short() []byte {
	if len(w.sizes) == 1 {
		return slices.Clone(w.code)
	}
	return appendPositionCode(nil, w.deltas)
}

// long returns the directory and the chunks, of which there is at least one.
func (w *positionWriter) long() (directory, chunks [][]byte) {
	w.endPart()
	return slices.Clone(w.parts), slices.Clone(w.chunks)
}

// reset makes the writer empty.
func (w *positionWriter) reset() {
	w.deltas, w.code, w.sizes, w.first = w.deltas[:0], w.code[:0], w.sizes[:0], 0
	clear(w.parts) // the caller owns them
	clear(w.chunks)
	w.parts, w.chunks = w.parts[:0], w.chunks[:0]
}
