package riffle

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/format"
)

// A value is one field value of a document, flattened: arrays have become several
// values of one name, nested objects dotted names.
type value struct {
	name string
	kind valueKind
	str  string // kindString: the text; kindTime: its sortable twelve bytes
	num  uint64 // kindInt: two's complement; kindFloat: IEEE 754 bits; kindBool: 0 or 1
}

type valueKind byte

const (
	kindString valueKind = 's'
	kindInt    valueKind = 'i'
	kindFloat  valueKind = 'f'
	kindBool   valueKind = 'b'
	kindTime   valueKind = 't'
)

func (k valueKind) fieldType() FieldType {
	switch k {
	case kindString:
		return TextField
	case kindBool:
		return BoolField
	case kindTime:
		return DateField
	}
	return NumberField
}

func stringValue(name, s string) value { return value{name: name, kind: kindString, str: s} }

func intValue(name string, i int64) value { return value{name: name, kind: kindInt, num: uint64(i)} }

// floatValue keeps integral numbers as integers, so that 5 and 5.0 are one term.
func floatValue(name string, f float64) value {
	if f == math.Trunc(f) && f >= -1<<63 && f < 1<<63 {
		return intValue(name, int64(f))
	}
	return value{name: name, kind: kindFloat, num: math.Float64bits(f)}
}

func boolValue(name string, b bool) value {
	v := value{name: name, kind: kindBool}
	if b {
		v.num = 1
	}
	return v
}

// timeValue keeps the instant to the nanosecond and drops the zone.
func timeValue(name string, t time.Time) value {
	var b [12]byte
	binary.BigEndian.PutUint64(b[:8], uint64(t.Unix())^1<<63)
	binary.BigEndian.PutUint32(b[8:], uint32(t.Nanosecond()))
	return value{name: name, kind: kindTime, str: string(b[:])}
}

// float returns a number as float64; ok is false for other kinds.
func (v value) float() (f float64, ok bool) {
	switch v.kind {
	case kindInt:
		return float64(int64(v.num)), true
	case kindFloat:
		return math.Float64frombits(v.num), true
	}
	return 0, false
}

// any returns the value as callers see it: string, int64, float64, bool or
// time.Time in UTC.
func (v value) any() any {
	switch v.kind {
	case kindInt:
		return int64(v.num)
	case kindFloat:
		return math.Float64frombits(v.num)
	case kindBool:
		return v.num != 0
	case kindTime:
		sec := int64(binary.BigEndian.Uint64([]byte(v.str[:8])) ^ 1<<63)
		return time.Unix(sec, int64(binary.BigEndian.Uint32([]byte(v.str[8:])))).UTC()
	}
	return v.str
}

// appendTerm appends the term under which a value other than analysed text is
// indexed. Strings are their own bytes. The other kinds begin with a NUL and
// their kind, and sort as their values do:
//
//	00 'i' int64 with the sign bit flipped, big endian
//	00 'f' float64 bits, big endian; all flipped when negative, else the sign bit
//	00 'b' 0 or 1
//	00 't' seconds since 1970 with the sign bit flipped, then nanoseconds, big endian
func appendTerm(dst []byte, v value) []byte {
	if v.kind == kindString {
		return append(dst, v.str...)
	}
	dst = append(dst, 0, byte(v.kind))
	switch v.kind {
	case kindInt:
		return binary.BigEndian.AppendUint64(dst, v.num^1<<63)
	case kindFloat:
		if v.num>>63 == 1 {
			return binary.BigEndian.AppendUint64(dst, ^v.num)
		}
		return binary.BigEndian.AppendUint64(dst, v.num^1<<63)
	case kindBool:
		return append(dst, byte(v.num))
	}
	return append(dst, v.str...)
}

// appendValues appends the stored form of a document: for each value the length
// of its name (uvarint), the name, the kind (1 byte), then
//
//	's' length (uvarint) and bytes      'i' zigzag varint     'b' 1 byte
//	'f' 8 bytes, little endian          't' 12 bytes, as in the term
//
// From version 2 on all that comes behind a zero and the version (1 byte, below 0x20, which no kind
// is). A document that has only kinds which older builds know is written without.
func appendValues(dst []byte, vals []value) []byte {
	for _, v := range vals {
		dst = binary.AppendUvarint(dst, uint64(len(v.name)))
		dst = append(dst, v.name...)
		dst = append(dst, byte(v.kind))
		switch v.kind {
		case kindString:
			dst = binary.AppendUvarint(dst, uint64(len(v.str)))
			dst = append(dst, v.str...)
		case kindInt:
			dst = binary.AppendVarint(dst, int64(v.num))
		case kindFloat:
			dst = binary.LittleEndian.AppendUint64(dst, v.num)
		case kindBool:
			dst = append(dst, byte(v.num))
		case kindTime:
			dst = append(dst, v.str...)
		}
	}
	return dst
}

// parseValues reads what appendValues wrote.
func parseValues(data []byte) ([]value, error) {
	var vals []value
	r := byteReader{data: data}
	if len(data) > 1 && data[0] == 0 && data[1] < versionBytes {
		r.off = 2
		if err := format.Document.Check(uint64(data[1])); err != nil {
			return nil, err
		}
	}
	for r.off < len(data) {
		v := value{name: r.text()}
		v.kind = valueKind(r.byte())
		switch v.kind {
		case kindString:
			v.str = r.text()
		case kindInt:
			v.num = uint64(r.varint())
		case kindFloat:
			if b := r.take(8); b != nil {
				v.num = binary.LittleEndian.Uint64(b)
			}
		case kindBool:
			v.num = uint64(r.byte())
		case kindTime:
			v.str = string(r.take(12))
		default:
			r.fail("unknown value kind %#x", byte(v.kind))
		}
		if r.err != nil {
			return nil, r.err
		}
		vals = append(vals, v)
	}
	return vals, nil
}

// A byteReader takes a record apart and remembers the first fault.
type byteReader struct {
	data []byte
	off  int
	err  error
}

func (r *byteReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = corrupt.New(r.off, format, args...)
	}
}

func (r *byteReader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n > len(r.data)-r.off {
		r.fail("%d bytes wanted, %d left", n, len(r.data)-r.off)
		return nil
	}
	b := r.data[r.off : r.off+n]
	r.off += n
	return b
}

func (r *byteReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *byteReader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	u, n := binary.Uvarint(r.data[r.off:])
	if n <= 0 {
		r.fail("bad varint")
		return 0
	}
	r.off += n
	return u
}

func (r *byteReader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *byteReader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.data)) {
		r.fail("a text of %d bytes in a record of %d", n, len(r.data))
		return ""
	}
	return string(r.take(int(n)))
}
