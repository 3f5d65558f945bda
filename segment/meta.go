package segment

import (
	"encoding/binary"
	"math"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/format"
)

// ErrFormat matches the error of a segment that another version of riffle wrote, in a format that this one does not read.
var ErrFormat = format.Err

// meta is the value of kindMeta. A field's number is its place in the list.
//
//	docs       varint
//	flags      byte    1: ranks are kept, 2: documents are stored
//	order      byte    OrderKind; ByGlobalScore is followed by alpha, k1 and b
//	                   (8 bytes each, IEEE 754, little-endian) and the idf (1 byte)
//	lists      varint  number of long lists
//	fields     varint  number of fields
//	field, by ascending name:
//	  name     varint length, bytes
//	  flags    byte    1: norms are kept, 2: they are sparse
//	  docs, terms, postings, tokens   varint each
//
// Version 4 has no sparse norms.
type meta struct {
	version byte
	docs    uint32
	ranks   bool
	stored  bool
	order   Order
	lists   uint32
	fields  []FieldInfo
	sparse  []bool // of the same fields: their norms are documents and codes, as many as FieldInfo.Docs says
}

const (
	metaRanks  = 1
	metaStored = 2

	fieldNorms  = 1
	fieldSparse = 2

	maxDocs      = 1 << 31 // documents are numbered below it
	maxFields    = 1 << 31 // and so are fields
	maxOldFields = 1 << 16 // up to oldFieldVersion
)

func (m *meta) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(m.docs))
	dst = append(dst, bit(m.ranks, metaRanks)|bit(m.stored, metaStored))
	dst = appendOrder(dst, m.order)
	dst = binary.AppendUvarint(dst, uint64(m.lists))
	dst = binary.AppendUvarint(dst, uint64(len(m.fields)))
	for i, f := range m.fields {
		dst = binary.AppendUvarint(dst, uint64(len(f.Name)))
		dst = append(dst, f.Name...)
		dst = append(dst, bit(f.Norms, fieldNorms)|bit(m.sparse[i], fieldSparse))
		dst = binary.AppendUvarint(dst, uint64(f.Docs))
		dst = binary.AppendUvarint(dst, f.Terms)
		dst = binary.AppendUvarint(dst, f.Postings)
		dst = binary.AppendUvarint(dst, f.Tokens)
	}
	return dst
}

func bit(set bool, b byte) byte {
	if set {
		return b
	}
	return 0
}

func appendOrder(dst []byte, o Order) []byte {
	dst = append(dst, byte(o.Kind))
	if o.Kind != ByGlobalScore {
		return dst
	}
	for _, x := range []float64{o.Alpha, o.BM25.K1, o.BM25.B} {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	return append(dst, byte(o.BM25.IDF))
}

// openMeta unseals and decodes the meta value. Unlike other values it may be of
// another version, which is ErrFormat and no corruption.
func openMeta(value []byte) (*meta, error) {
	version, payload, err := checkSeal(value)
	if err == nil {
		err = versions.Check(uint64(version))
	}
	if err != nil {
		return nil, err
	}
	return decodeMeta(payload, version)
}

func decodeMeta(payload []byte, version byte) (*meta, error) {
	d := newDecoder(payload)
	m := &meta{version: version, docs: uint32(d.uint("number of documents", maxDocs))}
	has := d.byte("flags")
	if has&^(metaRanks|metaStored) != 0 {
		d.fail("flags %#x, want some of %#x", has, metaRanks|metaStored)
	}
	m.ranks, m.stored = has&metaRanks != 0, has&metaStored != 0
	m.order = d.order()
	m.lists = uint32(d.uint("number of long lists", math.MaxUint32))
	most, flags := uint64(maxFields), byte(fieldNorms|fieldSparse)
	if version <= oldFieldVersion {
		most, flags = maxOldFields, fieldNorms
	}
	n := int(d.uint("number of fields", most))
	for i := 0; i < n && d.err == nil; i++ {
		f, sparse := d.field(m.docs, flags)
		if i > 0 && f.Name <= m.fields[i-1].Name && d.err == nil {
			d.fail("field %q follows %q", f.Name, m.fields[i-1].Name)
		}
		m.fields, m.sparse = append(m.fields, f), append(m.sparse, sparse)
	}
	return m, d.end()
}

func (d *decoder) order() Order {
	o := Order{Kind: OrderKind(d.byte("order"))}
	if o.Kind > ByGraph {
		d.fail("order %d, want at most %d", o.Kind, ByGraph)
	}
	if o.Kind != ByGlobalScore {
		return o
	}
	for _, x := range []*float64{&o.Alpha, &o.BM25.K1, &o.BM25.B} {
		if b := d.bytes("parameter of the order", 8); b != nil {
			*x = math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
	}
	o.BM25.IDF = blockmax.IDF(d.byte("idf"))
	if err := o.validate(); err != nil && d.err == nil {
		d.fail("%v", err)
	}
	return o
}

// field reads a field, which may have some flags, and whether its norms are sparse.
func (d *decoder) field(docs uint32, known byte) (f FieldInfo, sparse bool) {
	f.Name = string(d.bytes("field name", int(d.uint("length of a field name", uint64(d.left())))))
	flags := d.byte("flags of a field")
	if flags&^known != 0 || flags == fieldSparse {
		d.fail("flags %#x of a field, want some of %#x", flags, known)
	}
	f.Norms, sparse = flags&fieldNorms != 0, flags&fieldSparse != 0
	f.Docs = uint32(d.uint("documents of a field", uint64(docs)))
	f.Terms = d.uint("terms of a field", math.MaxUint64)
	f.Postings = d.uint("postings of a field", math.MaxUint64)
	f.Tokens = d.uint("tokens of a field", math.MaxUint64)
	return f, sparse
}
