package segment

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/riffle-search/riffle/columns"
)

// Values by document lie in columns (package columns). Until a column is written its values stay as they
// came, in fieldValues: of which kind the column is depends on all of them. Terms are numbers in a
// termTable until then.

// fieldValues are the values of one field. They are append-only: a copy is a view that what is added
// later does not change.
type fieldValues struct {
	docs  []uint32       // of each value, ascending; a document may have several
	keys  []uint64       // of each value: its key, or the number of its term
	kind  columns.Kind   // of all values
	kinds []columns.Kind // of each value, once they differ
}

func (v *fieldValues) add(doc uint32, kind columns.Kind, key uint64) {
	switch {
	case len(v.docs) == 0:
		v.kind = kind
	case v.kinds != nil:
	case v.kind != kind:
		v.kinds = make([]columns.Kind, len(v.docs), len(v.docs)+1)
		for i := range v.kinds {
			v.kinds[i] = v.kind
		}
	}
	v.docs, v.keys = append(v.docs, doc), append(v.keys, key)
	if v.kinds != nil {
		v.kinds = append(v.kinds, kind)
	}
}

// len is the number of values.
func (v *fieldValues) len() int { return len(v.docs) }

// kindOf returns the kind of value i.
func (v *fieldValues) kindOf(i int) columns.Kind {
	if v.kinds != nil {
		return v.kinds[i]
	}
	return v.kind
}

// between returns the values from number i to below j.
func (v *fieldValues) between(i, j int) fieldValues {
	part := fieldValues{docs: v.docs[i:j:j], keys: v.keys[i:j:j], kind: v.kind}
	if v.kinds != nil {
		part.kinds = v.kinds[i:j:j]
	}
	return part
}

// of returns the values of the documents from first to below end.
func (v *fieldValues) of(first, end uint32) fieldValues {
	i, _ := slices.BinarySearch(v.docs, first)
	j, _ := slices.BinarySearch(v.docs, end)
	return v.between(i, max(i, j))
}

// truncate drops the values behind the first n.
func (v *fieldValues) truncate(n int) {
	v.docs, v.keys = v.docs[:n], v.keys[:n]
	if v.kinds != nil {
		v.kinds = v.kinds[:n]
	}
	if n == 0 {
		v.kinds = nil
	}
}

// bytes is the memory that the values take.
func (v *fieldValues) bytes() int64 {
	return 4*int64(cap(v.docs)) + 8*int64(cap(v.keys)) + int64(cap(v.kinds))
}

// asTerms returns the values as terms, with the table that has these.
func (v *fieldValues) asTerms(terms *termTable) (fieldValues, *termTable) {
	if v.kinds == nil && v.kind == columns.Terms {
		return *v, terms
	}
	all := fieldValues{docs: v.docs, keys: make([]uint64, v.len()), kind: columns.Terms}
	table := new(termTable)
	var term []byte
	for i := range v.docs {
		if v.kindOf(i) == columns.Terms {
			term = terms.term(uint32(v.keys[i]))
		} else {
			term = columns.Value{Kind: v.kindOf(i), Key: v.keys[i]}.AppendTerm(term[:0:0])
		}
		all.keys[i] = uint64(table.slot(term).number - 1)
	}
	return all, table
}

// A valueEncoder puts values into the builder of a column.
type valueEncoder struct {
	builder  *columns.Builder
	kind     columns.Kind
	ordinals []uint32 // of terms by number in the table, of kind Terms; unusedOrdinal for those not in the dictionary
	order    []uint32 // the numbers of the terms of the dictionary, in its order
	terms    int      // in the dictionary
	keys     []uint64 // of a document
}

// newValueEncoder returns an encoder of values of a kind.
func newValueEncoder(kind columns.Kind, emit func(part uint32, data []byte) error) *valueEncoder {
	return &valueEncoder{builder: columns.NewBuilder(kind, emit), kind: kind}
}

// unusedOrdinal stands for the ordinal of a term that no value has.
const unusedOrdinal = ^uint32(0)

// dictionary adds the terms that values have, which must be terms only. Values added later may have no
// other terms. before has the order of terms of the same table that values have, too, or is nil.
func (e *valueEncoder) dictionary(v *fieldValues, terms *termTable, before *valueEncoder) error {
	if e.kind != columns.Terms {
		return nil
	}
	e.ordinals = make([]uint32, terms.len())
	for i := range e.ordinals {
		e.ordinals[i] = unusedOrdinal
	}
	var fresh, old []uint32
	if before != nil {
		old = before.order
		for _, n := range old {
			e.ordinals[n] = 0
		}
	}
	for _, n := range v.keys {
		if e.ordinals[n] == unusedOrdinal {
			e.ordinals[n] = 0
			fresh = append(fresh, uint32(n))
		}
	}
	e.terms = len(old) + len(fresh)
	e.order = make([]uint32, 0, e.terms)
	for _, i := range sortedByBytes(len(fresh), 0, func(i uint32) []byte { return terms.term(fresh[i]) }) {
		at, _ := slices.BinarySearchFunc(old, terms.term(fresh[i]), func(n uint32, term []byte) int { return bytes.Compare(terms.term(n), term) })
		e.order = append(append(e.order, old[:at]...), fresh[i])
		old = old[at:]
	}
	e.order = append(e.order, old...)
	for ordinal, n := range e.order {
		e.ordinals[n] = uint32(ordinal)
		if err := e.builder.Term(terms.term(n)); err != nil {
			return err
		}
	}
	return nil
}

// add adds values, with first as document 0.
func (e *valueEncoder) add(v *fieldValues, first uint32) error {
	for i := 0; i < v.len(); {
		doc := v.docs[i]
		e.keys = e.keys[:0]
		for ; i < v.len() && v.docs[i] == doc; i++ {
			key, kind := v.keys[i], v.kindOf(i)
			switch {
			case e.kind == columns.Terms:
				key = uint64(e.ordinals[key])
			case kind != e.kind:
				key, _ = columns.Value{Kind: kind, Key: key}.In(e.kind)
			}
			e.keys = append(e.keys, key)
		}
		if err := e.builder.Add(doc-first, e.keys...); err != nil {
			return err
		}
	}
	return nil
}

// encodeValues adds all values of documents from first on to a new builder of a kind that holds them.
func encodeValues(v fieldValues, terms *termTable, kind columns.Kind, first uint32, emit func(part uint32, data []byte) error) (*valueEncoder, error) {
	if kind == columns.Terms {
		v, terms = v.asTerms(terms)
	}
	return encodeAfter(nil, v, terms, kind, first, emit)
}

// encodeAfter is encodeValues of values that are all terms, or not of kind Terms. Where before has encoded the
// first of them, their terms need not be sorted again.
func encodeAfter(before *valueEncoder, v fieldValues, terms *termTable, kind columns.Kind, first uint32, emit func(part uint32, data []byte) error) (*valueEncoder, error) {
	e := newValueEncoder(kind, emit)
	if err := e.dictionary(&v, terms, before); err != nil {
		return nil, err
	}
	return e, e.add(&v, first)
}

// valuesKey makes the key of a part of a column of values.
func valuesKey(column, part uint32) []byte {
	key := appendField([]byte{byte(kindValues)}, Version, column)
	return binary.BigEndian.AppendUint32(key, part)
}
