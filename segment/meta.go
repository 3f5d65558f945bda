package segment

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/format"
)

// ErrFormat matches the error of a segment in a format of another riffle version that this one does
// not read.
var ErrFormat = format.Err

// meta is the value of kindMeta. A field's number is its index in the list. A text is its length
// (varint) and its bytes.
//
//	writer     text    the release of riffle that wrote the segment
//	features   varint  number of features
//	feature, by ascending name: see type feature
//	docs       varint
//	flags      byte    1: ranks are kept, 2: documents are stored
//	order      byte    OrderKind; ByGlobalScore is followed by alpha, k1 and b
//	                   (8 bytes each, IEEE 754, little-endian) and the idf (1 byte),
//	                   ByField by the field (text) and flags (byte, 1: descending)
//	lists      varint  number of long lists
//	fields     varint  number of fields
//	field, by ascending name:
//	  name     text
//	  flags    byte    1: norms are kept, 2: they are sparse
//	  docs, terms, postings, tokens   varint each
//
// Later versions begin with writer and features, too. Versions up to 5 have neither, and version 4
// has no sparse norms. Since version 6, an unknown flag or order is a required feature that the
// build lacks. New ones should be features, which have better names.
type meta struct {
	version     byte
	writer      string    // empty before featureVersion
	features    []feature // by name
	docs        uint32
	ranks       bool
	stored      bool
	order       Order
	lists       uint32
	fields      []FieldInfo
	sparse      []bool   // of the same fields: norms are documents and codes, as many as FieldInfo.Docs says
	whole       []bool   // of the same fields: see wholeNorms
	sums        bool     // see normSums
	plainPlaces bool     // see plainPlaces
	pages       uint32   // of positions of short lists
	columns     []string // fields with a column of values, by name
	wordsOf     []int    // of the same fields: of one of pairs, the field whose words they are; else -1
}

const (
	metaRanks  = 1
	metaStored = 2

	orderDescending = 1

	fieldNorms  = 1
	fieldSparse = 2

	maxDocs      = 1 << 31 // documents are numbered below it
	maxFields    = 1 << 31 // fields are numbered below it, too
	maxOldFields = 1 << 16 // up to oldFieldVersion
)

// appendTo appends the payload in the newest version.
func (m *meta) appendTo(dst []byte) []byte {
	dst = appendFeatures(appendText(dst, m.writer), m.features)
	dst = binary.AppendUvarint(dst, uint64(m.docs))
	dst = append(dst, bit(m.ranks, metaRanks)|bit(m.stored, metaStored))
	dst = appendOrder(dst, m.order)
	dst = binary.AppendUvarint(dst, uint64(m.lists))
	dst = binary.AppendUvarint(dst, uint64(len(m.fields)))
	for i, f := range m.fields {
		dst = appendText(dst, f.Name)
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
	switch o.Kind {
	case ByField:
		return append(appendText(dst, o.Field), bit(o.Descending, orderDescending))
	case ByGlobalScore:
	default:
		return dst
	}
	for _, x := range []float64{o.Alpha, o.BM25.K1, o.BM25.B} {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	return append(dst, byte(o.BM25.IDF))
}

// openMeta unseals and decodes the meta value. Unlike other values it may be of another version,
// which is ErrFormat and not corruption.
func openMeta(value []byte) (*meta, error) {
	version, payload, err := checkSeal(value)
	if err != nil {
		return nil, err
	}
	writer := ""
	if version > Version {
		writer = writerOf(payload)
	}
	if err := versions.CheckOf(uint64(version), writer); err != nil {
		return nil, err
	}
	return decodeMeta(payload, version)
}

func decodeMeta(payload []byte, version byte) (*meta, error) {
	d := newDecoder(payload)
	m := &meta{version: version}
	if version >= featureVersion {
		m.writer = string(d.text("writer"))
		d.features(m)
	}
	m.docs = uint32(d.uint("number of documents", maxDocs))
	has := d.flags(m, "flags", metaRanks|metaStored)
	m.ranks, m.stored = has&metaRanks != 0, has&metaStored != 0
	m.order = d.order(m)
	m.lists = uint32(d.uint("number of long lists", math.MaxUint32))
	most, flags := uint64(maxFields), byte(fieldNorms|fieldSparse)
	if version <= oldFieldVersion {
		most, flags = maxOldFields, fieldNorms
	}
	n := int(d.uint("number of fields", most))
	for i := 0; i < n && d.err == nil; i++ {
		f, sparse := d.field(m, flags)
		if i > 0 && f.Name <= m.fields[i-1].Name && d.err == nil {
			d.fail("field %q follows %q", f.Name, m.fields[i-1].Name)
		}
		m.fields, m.sparse = append(m.fields, f), append(m.sparse, sparse)
	}
	m.whole = make([]bool, len(m.fields))
	if d.err == nil {
		d.err = m.openWhole()
		m.sums, m.plainPlaces = m.brings(kindNormSums), m.brings(kindPlainPlace)
	}
	if d.err == nil {
		d.err = m.openPositions()
	}
	if d.err == nil {
		d.err = m.openPairs()
	}
	if d.err == nil {
		d.err = m.openColumns()
	}
	return m, d.end()
}

func (d *decoder) order(m *meta) Order {
	o := Order{Kind: OrderKind(d.byte("order"))}
	switch {
	case o.Kind <= ByField:
	case m.version < featureVersion:
		d.fail("order %d, want at most %d", o.Kind, ByField)
	default:
		d.lacks(m, fmt.Sprintf("order %d", o.Kind))
	}
	switch o.Kind {
	case ByField:
		o.Field = string(d.text("field of the order"))
		o.Descending = d.flags(m, "flags of the order", orderDescending) != 0
		if err := o.validate(); err != nil {
			d.fail("%v", err)
		}
		return o
	case ByGlobalScore:
	default:
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

// field reads a field with known flags, and whether its norms are sparse.
func (d *decoder) field(m *meta, known byte) (f FieldInfo, sparse bool) {
	f.Name = string(d.text("field name"))
	flags := d.flags(m, "flags of a field", known)
	if flags == fieldSparse {
		d.fail("a field has sparse norms and no norms")
	}
	f.Norms, sparse = flags&fieldNorms != 0, flags&fieldSparse != 0
	f.Docs = uint32(d.uint("documents of a field", uint64(m.docs)))
	f.Terms = d.uint("terms of a field", math.MaxUint64)
	f.Postings = d.uint("postings of a field", math.MaxUint64)
	f.Tokens = d.uint("tokens of a field", math.MaxUint64)
	return f, sparse
}
