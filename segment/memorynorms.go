package segment

import "slices"

// memoryNorms are the length codes of a field of a Memory. They grow at the end only, so that views share
// what they have seen. Where many documents have the field they are a column, else documents and codes;
// they change from one to the other as documents come, at a cost that those have paid.
type memoryNorms struct {
	column []uint8  // by document, as far as the field was used; nil when sparse
	having []uint32 // documents with a code, ascending
	codes  []uint8  // of these
	ones   uint32   // documents below it that have no code count as code 1
	count  uint32   // documents that have a code
}

// A field becomes a column when more than one in denseShare documents has it, and is sparse again when
// fewer than one in sparseShare has.
const denseShare = 4

// add takes the code of a document behind all that have one.
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

// pad fills the column up for documents without the field.
func (n *memoryNorms) pad(docs uint32) {
	if missing := int(docs) - len(n.column); missing > 0 {
		n.column = append(n.column, make([]uint8, missing)...)
	}
}

// makeSparse gives the column up. Codes of 0 and those below ones that are 1 are what a document
// without a code counts as anyway.
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
