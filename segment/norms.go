package segment

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/corrupt"
)

// Norms are the length codes (blockmax.LengthCode) of one field's documents. The zero value is for
// a field that keeps no lengths: every document counts as code 1.
//
// If many documents have the field, Norms are a column with a byte for each document of the
// segment. If few have it, they are these documents and their codes, so that the cost depends on
// the field's documents. Field names that are data make thousands of fields with a few documents
// each.
type Norms struct {
	docs   uint32              // of the segment; 0 when no lengths are kept
	column []uint8             // by document; nil when sparse
	having []uint32            // documents with a code, ascending
	codes  []uint8             // of these
	ones   uint32              // documents below it without a code count as code 1
	lent   bool                // the column is no memory of this process: see Lender
	lazy   *blockmax.LazyNorms // tiles of the column that have not been checked; or nil
}

// Norms are sparse in memory when fewer than one in sparseShare documents has the field. A document
// then takes five bytes, and a lookup some tens of nanoseconds.
const sparseShare = 8

// isSparse reports whether few documents have a field.
func isSparse(having, docs uint32) bool { return having < docs/sparseShare }

// kept reports whether the field keeps lengths.
func (n *Norms) kept() bool { return n.docs > 0 }

// Sparse reports whether few documents have the field, so that there is no column.
func (n *Norms) Sparse() bool { return n.docs > 0 && n.column == nil }

// Column returns the codes by document, 0 (or 1) where a document lacks the field. It is nil when
// the field keeps no lengths, and when the norms are sparse: see Expand.
func (n *Norms) Column() []uint8 { return n.column }

// Lazy returns the tiles of Column that have not been checked, or nil when all have been.
func (n *Norms) Lazy() *blockmax.LazyNorms { return n.lazy }

// Expand makes a column of sparse norms, a byte for each document of the segment.
func (n *Norms) Expand() []uint8 {
	column := make([]uint8, n.docs)
	for doc := range min(n.ones, n.docs) {
		column[doc] = 1
	}
	for i, doc := range n.having {
		column[doc] = n.codes[i]
	}
	return column
}

// expandFrom is Expand for the documents from first on.
func (n *Norms) expandFrom(first uint32) []uint8 {
	column := make([]uint8, n.docs-first)
	for doc := first; doc < min(n.ones, n.docs); doc++ {
		column[doc-first] = 1
	}
	at, _ := slices.BinarySearch(n.having, first)
	for ; at < len(n.having); at++ {
		column[n.having[at]-first] = n.codes[at]
	}
	return column
}

// of returns the code of a document that has the field.
func (n *Norms) of(doc uint32) uint8 {
	if n.column != nil {
		return n.column[doc]
	}
	var code [1]uint8
	n.fill(code[:], []uint32{doc})
	return code[0]
}

// fill sets codes to those of docs, which have the field and ascend.
func (n *Norms) fill(codes []uint8, docs []uint32) {
	switch {
	case n.column != nil:
		for i, doc := range docs {
			codes[i] = n.column[doc]
		}
	case n.docs == 0:
		for i := range docs {
			codes[i] = 1
		}
	default:
		n.fillSparse(codes, docs)
	}
}

func (n *Norms) fillSparse(codes []uint8, docs []uint32) {
	at := 0
	for i, doc := range docs {
		at = seek(n.having, at, doc)
		switch {
		case at < len(n.having) && n.having[at] == doc:
			codes[i] = n.codes[at]
		case doc < n.ones:
			codes[i] = 1
		default:
			codes[i] = 0
		}
	}
}

// seek returns the first index, at or after at, whose document is not below doc. It finds near ones
// fastest.
func seek(docs []uint32, at int, doc uint32) int {
	step := 1
	for at+step <= len(docs) && docs[at+step-1] < doc {
		at += step
		step *= 2
	}
	n, _ := slices.BinarySearch(docs[at:min(at+step, len(docs))], doc)
	return at + n
}

// each calls f for each document that has a code, in ascending order. For a column, that includes
// documents that lack the field.
func (n *Norms) each(f func(doc uint32, code uint8)) {
	for i, doc := range n.having {
		f(doc, n.codes[i])
	}
	for doc, code := range n.column {
		if code > 0 {
			f(uint32(doc), code)
		}
	}
}

// bytes is the memory that the norms hold.
func (n *Norms) bytes() int64 {
	if n.lent {
		return 0
	}
	return int64(cap(n.column) + 4*cap(n.having) + cap(n.codes))
}

// sparseNorms makes norms of a segment of docs documents: a column if many of them have the field.
func sparseNorms(docs uint32, having []uint32, codes []uint8) Norms {
	n := Norms{docs: docs, having: having, codes: codes}
	if !isSparse(uint32(len(having)), docs) {
		n = Norms{docs: docs, column: n.Expand()}
	}
	return n
}

// A normsEncoder takes the documents of a field in ascending order and chooses how to store its
// norms: as documents and codes when less than half of all documents have the field and that form
// is shorter, else as chunks of a column.
type normsEncoder struct {
	docs   uint32 // of the segment
	having []uint32
	codes  []uint8
	many   bool // half of the documents have the field, so it is a column

	column   int // bytes of the chunks before the current one
	chunk    uint32
	inChunk  int
	uniform  bool // all codes of the current chunk equal that of its first document
	lastCode uint8
}

// add takes the next document that has the field.
func (e *normsEncoder) add(doc uint32, code uint8) {
	if e.many = e.many || uint32(len(e.having)) >= e.docs/2; e.many {
		return
	}
	if chunk := doc / normChunkDocs; chunk != e.chunk || len(e.having) == 0 {
		e.endChunk()
		e.chunk, e.inChunk, e.uniform, e.lastCode = chunk, 0, true, code
	}
	e.inChunk++
	e.uniform = e.uniform && code == e.lastCode
	e.having, e.codes = append(e.having, doc), append(e.codes, code)
}

// endChunk adds the bytes that the current chunk would have in a column.
func (e *normsEncoder) endChunk() {
	if len(e.having) == 0 {
		return
	}
	n := chunkLen(e.docs, e.chunk, normChunkDocs)
	if e.inChunk == n && e.uniform {
		n = 1
	}
	e.column += n
}

// finish returns the payloads of sparse norms, or nil when a column is at most as long.
func (e *normsEncoder) finish() [][]byte {
	if e.many {
		return nil
	}
	e.endChunk()
	var payloads [][]byte
	size := 0
	having, codes := e.having, e.codes
	for len(having) > 0 {
		n := min(len(having), normChunkDocs)
		p := appendSparseNorms(nil, having[:n], codes[:n])
		if size += len(p); size >= e.column {
			return nil
		}
		payloads = append(payloads, p)
		having, codes = having[n:], codes[n:]
	}
	return payloads
}

// appendSparseNorms appends a chunk of sparse norms, of at most normChunkDocs documents with the
// field:
//
//	gaps   varint each: documents between this one and the previous one; for the first of the
//	       chunk, between it and the start of the segment
//	codes  byte each, or one byte for all when they are the same
func appendSparseNorms(dst []byte, docs []uint32, codes []uint8) []byte {
	next := uint32(0)
	for _, doc := range docs {
		dst = binary.AppendUvarint(dst, uint64(doc-next))
		next = doc + 1
	}
	return appendNorms(dst, codes)
}

// decodeSparseNorms appends the count documents of a chunk, none below next, and their codes.
func decodeSparseNorms(payload []byte, count int, next, docs uint32, having []uint32, codes []uint8) ([]uint32, []uint8, error) {
	d := newDecoder(payload)
	if count > len(payload) { // a document takes at least a byte
		return nil, nil, corrupt.New(1, "%d documents in %d bytes", count, len(payload))
	}
	least := next
	next = 0
	for range count {
		gap := d.uint("gap between documents", math.MaxUint32)
		doc := uint64(next) + gap
		if d.err == nil && (doc >= uint64(docs) || doc < uint64(least)) {
			d.fail("document %d, want %d to %d", doc, least, int64(docs)-1)
		}
		if d.err != nil {
			return nil, nil, d.err
		}
		having = append(having, uint32(doc))
		next = uint32(doc) + 1
	}
	at := len(codes)
	codes = append(codes, make([]uint8, count)...)
	if err := decodeNorms(d.bytes("codes", d.left()), codes[at:]); err != nil {
		return nil, nil, err
	}
	return having, codes, d.err
}
