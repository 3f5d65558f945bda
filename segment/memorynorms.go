package segment

import "slices"

// memoryNorms are the length codes of a field of a Memory. They are append-only, so that views
// share what they have seen. If many documents have the field they are a column, else documents and
// codes. They change form as documents come; the amortized cost is small.
type memoryNorms struct {
	column []uint8  // by document, up to the last one with the field; nil when sparse
	having []uint32 // documents with a code, ascending
	codes  []uint8  // of these
	ones   uint32   // documents below it without a code count as code 1
	count  uint32   // documents that have a code
}

// A field becomes a column when more than one in denseShare documents has it. It becomes sparse
// again when fewer than one in sparseShare has it.
const denseShare = 4

// add takes the code of a document above all that have one.
func (n *memoryNorms) add(doc uint32, code uint8) {
	n.count++
	switch dense := n.count > doc/denseShare; {
	case n.column == nil && !dense:
		n.having, n.codes = append(n.having, doc), append(n.codes, code)
		return
	case n.column == nil:
		all := Norms{docs: doc, having: n.having, codes: n.codes, ones: n.ones}
		n.column, n.having, n.codes = all.Expand(), nil, nil
	case isSparse(n.count, doc):
		n.makeSparse()
		n.having, n.codes = append(n.having, doc), append(n.codes, code)
		return
	}
	n.pad(doc)
	n.column = append(n.column, code)
}

// pad extends the column for documents without the field.
func (n *memoryNorms) pad(docs uint32) {
	if missing := int(docs) - len(n.column); missing > 0 {
		n.column = append(n.column, make([]uint8, missing)...)
	}
}

// makeSparse replaces the column by documents and codes. It drops codes of 0, and codes of 1 below
// ones, because a document without a code counts the same.
func (n *memoryNorms) makeSparse() {
	for doc, code := range n.column {
		if code > 1 || code == 1 && uint32(doc) >= n.ones {
			n.having, n.codes = append(n.having, uint32(doc)), append(n.codes, code)
		}
	}
	n.column = nil
}

// upTo returns the norms of the first docs documents.
func (n *memoryNorms) upTo(docs uint32) Norms {
	if n.column != nil && isSparse(n.count, docs) {
		n.makeSparse()
	}
	if n.column != nil {
		n.pad(docs)
		return Norms{docs: docs, column: n.column[:docs:docs]}
	}
	end, _ := slices.BinarySearch(n.having, docs)
	return Norms{docs: docs, having: n.having[:end:end], codes: n.codes[:end:end], ones: min(n.ones, docs)}
}

// bytes is the memory that the norms take.
func (n *memoryNorms) bytes() int64 { return int64(cap(n.column) + 4*cap(n.having) + cap(n.codes)) }
