package segment

import "encoding/binary"

const (
	// storedBlockBytes ends a block of stored documents. Pebble compresses blocks of 32 KB, so two
	// values share one; half the size would cost some 5 % in compression, and twice the size twice
	// the time to read one document.
	storedBlockBytes = 16 << 10

	// storedBlockDocs ends a block of documents that are empty or tiny.
	storedBlockDocs = 1024

	// maxStored is the most bytes that one document may store. It makes the end of a document in
	// its block fit in 32 bits.
	maxStored = 1<<31 - 1
)

// A storedBlock is the stored bytes of consecutive documents:
//
//	documents  varint
//	lengths    varint  for each document
//	bytes
//
// Its key is the number of its last document, so that the first key at or after a document finds
// it.
type storedBlock struct {
	first uint32   // number of the first document
	ends  []uint32 // where each document ends in data
	data  []byte
}

// storedWriter collects the documents of one block.
type storedWriter struct {
	lengths []int
	data    []byte
}

func (w *storedWriter) add(doc []byte) {
	w.lengths = append(w.lengths, len(doc))
	w.data = append(w.data, doc...)
}

func (w *storedWriter) full() bool {
	return len(w.data) >= storedBlockBytes || len(w.lengths) >= storedBlockDocs
}

// appendTo appends the payload of the block and empties the writer.
func (w *storedWriter) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(w.lengths)))
	for _, n := range w.lengths {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	dst = append(dst, w.data...)
	w.lengths, w.data = w.lengths[:0], w.data[:0]
	return dst
}

// decodeStored reads the block whose last document is last. The documents alias
// payload.
func decodeStored(payload []byte, last uint32) (*storedBlock, error) {
	d := newDecoder(payload)
	n := uint32(d.uint("number of documents", storedBlockDocs))
	if d.err == nil && (n == 0 || n > last+1) {
		d.fail("%d documents up to document %d", n, last)
	}
	b := &storedBlock{first: last + 1 - n, ends: make([]uint32, 0, n)}
	end := uint64(0)
	for range n {
		end += d.uint("length of a document", uint64(len(payload)))
		if end > uint64(len(payload)) {
			d.fail("documents end at %d of %d bytes", end, len(payload))
		}
		b.ends = append(b.ends, uint32(end))
	}
	b.data = d.bytes("documents", int(end))
	return b, d.end()
}

// doc returns the bytes of a document, if the block holds it.
func (b *storedBlock) doc(doc uint32) (data []byte, ok bool) {
	i := int(doc - b.first)
	if doc < b.first || i >= len(b.ends) {
		return nil, false
	}
	start := uint32(0)
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.data[start:b.ends[i]:b.ends[i]], true
}
