package document

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/format"
)

// A Value is one field value of a document, flattened: arrays have become several
// values of one name, nested objects dotted names.
type Value struct {
	Name  string
	Kind  valueKind
	rules rules  // of the tag of a struct's field
	Str   string // KindText: the text; kindTime: its sortable twelve bytes; KindPlace: see Place
	num   uint64 // KindInt: two's complement; kindUint: above MaxInt64; kindFloat: IEEE 754 bits; kindBool: 0 or 1
}

type valueKind byte

const (
	KindText  valueKind = 's'
	KindInt   valueKind = 'i'
	kindUint  valueKind = 'u' // integers that are not int64
	kindFloat valueKind = 'f'
	kindBool  valueKind = 'b'
	kindTime  valueKind = 't'
	KindPlace valueKind = 'p'
)

// Type returns the type of field that holds the value unchanged.
func (v Value) Type() FieldType { return v.Kind.fieldType() }

func (k valueKind) fieldType() FieldType {
	switch k {
	case KindText:
		return TextField
	case kindBool:
		return BoolField
	case kindTime:
		return DateField
	case KindPlace:
		return PlaceField
	}
	return NumberField
}

// Text, Int, Uint, Float, Bool and Time make values.
func Text(name, s string) Value { return Value{Name: name, Kind: KindText, Str: s} }

func Int(name string, i int64) Value { return Value{Name: name, Kind: KindInt, num: uint64(i)} }

// Uint keeps a number that is an int64 as one.
func Uint(name string, u uint64) Value {
	if u <= math.MaxInt64 {
		return Int(name, int64(u))
	}
	return Value{Name: name, Kind: kindUint, num: u}
}

// Float keeps integral numbers as integers if they fit, so that 5 and 5.0 are the same.
func Float(name string, f float64) Value {
	if f == math.Trunc(f) && f >= -1<<63 && f < 1<<64 {
		if f >= 1<<63 {
			return Uint(name, uint64(f))
		}
		return Int(name, int64(f))
	}
	return Value{Name: name, Kind: kindFloat, num: math.Float64bits(f)}
}

func Bool(name string, b bool) Value {
	v := Value{Name: name, Kind: kindBool}
	if b {
		v.num = 1
	}
	return v
}

// Time keeps the instant to the nanosecond and drops the zone.
func Time(name string, t time.Time) Value {
	var b [12]byte
	binary.BigEndian.PutUint64(b[:8], uint64(t.Unix())^1<<63)
	binary.BigEndian.PutUint32(b[8:], uint32(t.Nanosecond()))
	return Value{Name: name, Kind: kindTime, Str: string(b[:])}
}

// float returns a number as float64; ok is false for other kinds.
func (v Value) float() (f float64, ok bool) {
	switch v.Kind {
	case KindInt:
		return float64(int64(v.num)), true
	case kindUint:
		return float64(v.num), true
	case kindFloat:
		return math.Float64frombits(v.num), true
	}
	return 0, false
}

// any returns the value in its public form: string, int64, uint64 (above the int64 numbers), float64,
// bool, geo.Point or time.Time in UTC.
func (v Value) any() any {
	switch v.Kind {
	case KindInt:
		return int64(v.num)
	case kindUint:
		return v.num
	case kindFloat:
		return math.Float64frombits(v.num)
	case kindBool:
		return v.num != 0
	case kindTime:
		return v.time()
	case KindPlace:
		return v.Point()
	}
	return v.Str
}

// AppendTerm appends the term under which a value other than analysed text, or a
// place, is indexed. Strings are their own bytes. The other kinds begin with a NUL and
// their kind, and sort as their values do:
//
//	00 'i' int64 with the sign bit flipped, big endian
//	00 'u' uint64 above all int64, big endian, unless it is exactly a float64
//	00 'f' float64 bits, big endian; all flipped when negative, else the sign bit
//	00 'b' 0 or 1
//	00 't' seconds since 1970 with the sign bit flipped, then nanoseconds, big endian
//
// A number has one term, whatever its type. One from 1<<63 on that is exactly a float64 has that of the
// float64, as it had when there was no 'u'.
func AppendTerm(dst []byte, v Value) []byte {
	if v.Kind == KindText {
		return append(dst, v.Str...)
	}
	if v.Kind == kindUint {
		if x := float64(v.num); x < 1<<64 && uint64(x) == v.num {
			v.Kind, v.num = kindFloat, math.Float64bits(x)
		}
	}
	dst = append(dst, 0, byte(v.Kind))
	switch v.Kind {
	case KindInt:
		return binary.BigEndian.AppendUint64(dst, v.num^1<<63)
	case kindUint:
		return binary.BigEndian.AppendUint64(dst, v.num)
	case kindFloat:
		return appendFloatTerm(dst, v.num)
	case kindBool:
		return append(dst, byte(v.num))
	}
	return append(dst, v.Str...)
}

// AppendValues appends the stored form of a document: for each value the length of its name
// (uvarint), the name, the kind (1 byte), then
//
//	's' length (uvarint) and bytes      'i' zigzag varint     'b' 1 byte
//	'f' 8 bytes, little endian          't' 12 bytes, as in the term
//	'u' 8 bytes, little endian          'p' latitude and longitude, as two 'f'
//
// From version 2 on all that follows a zero and the version (1 byte, below 0x20, which no kind is).
// A document that has only what older builds know is written without.
//
// Version 2 has values with rules of their own. Their kind has its highest bit set, and the rules
// (1 byte: 1 not indexed, 2 not stored, 4 a keyword) follow it. Version 3 has 'u', too, and version
// 4 'p'.
func AppendValues(dst []byte, vals []Value) []byte {
	version := byte(1)
	for i := range vals {
		version = max(version, vals[i].version(vals[i].rules))
	}
	if version > 1 {
		dst = append(dst, 0, version)
	}
	for i := range vals {
		dst = appendValue(dst, &vals[i], vals[i].rules)
	}
	return dst
}

// The versions of a document with rules, of one with kindUint, and of one with KindPlace.
const (
	valuesWithRules = 2
	valuesWithUint  = 3
	valuesWithPlace = 4
)

// version returns the version that a document needs to store the value with some rules.
func (v *Value) version(r rules) byte {
	switch {
	case v.Kind == KindPlace:
		return valuesWithPlace
	case v.Kind == kindUint:
		return valuesWithUint
	case r&keptRules != 0:
		return valuesWithRules
	}
	return 1
}

// appendValue appends one value with some rules.
func appendValue(dst []byte, v *Value, r rules) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(v.Name)))
	dst = append(dst, v.Name...)
	if r &= keptRules; r == 0 {
		dst = append(dst, byte(v.Kind))
	} else {
		dst = append(dst, byte(v.Kind)|hasRules, byte(r))
	}
	switch v.Kind {
	case KindText:
		dst = binary.AppendUvarint(dst, uint64(len(v.Str)))
		dst = append(dst, v.Str...)
	case KindInt:
		dst = binary.AppendVarint(dst, int64(v.num))
	case kindFloat, kindUint:
		dst = binary.LittleEndian.AppendUint64(dst, v.num)
	case kindBool:
		dst = append(dst, byte(v.num))
	case kindTime, KindPlace:
		dst = append(dst, v.Str...)
	}
	return dst
}

// ParseValues reads what AppendValues wrote.
func ParseValues(data []byte) ([]Value, error) {
	var vals []Value
	r, version, err := openValues(data)
	if err != nil {
		return nil, err
	}
	for r.off < len(data) {
		v := r.value(version)
		if r.err != nil {
			return nil, r.err
		}
		v.Name, v.Str = strings.Clone(v.Name), strings.Clone(v.Str)
		vals = append(vals, v)
	}
	return vals, nil
}

// ParseFields returns the values of a stored document that have one of some names, as Unflatten
// does. "*" names all.
func ParseFields(data []byte, names []string) (map[string]any, error) {
	r, version, err := openValues(data)
	if err != nil {
		return nil, err
	}
	all := slices.Contains(names, "*")
	fields := make(map[string]any, 4)
	for r.off < len(data) {
		v := r.value(version)
		if r.err != nil {
			return nil, r.err
		}
		if i := slices.Index(names, v.Name); i >= 0 {
			v.Name = names[i]
		} else if all {
			v.Name = strings.Clone(v.Name)
		} else {
			continue
		}
		if v.Kind == KindText {
			v.Str = strings.Clone(v.Str)
		}
		addField(fields, v)
	}
	return fields, nil
}

// openValues begins to read a stored document, and returns its version.
func openValues(data []byte) (r byteReader, version byte, err error) {
	r, version = byteReader{data: data}, 1
	if len(data) > 1 && data[0] == 0 && data[1] < versionBytes {
		r.off, version = 2, data[1]
		err = format.Document.Check(uint64(version))
	}
	return r, version, err
}

// value reads the next value, whose strings share the memory of the data. They are valid as long as
// the data stays as it is.
func (r *byteReader) value(version byte) (v Value) {
	v.Name = r.lent()
	kind := r.byte()
	if version >= valuesWithRules && kind&hasRules != 0 {
		kind &^= hasRules
		if v.rules = rules(r.byte()); v.rules&^keptRules != 0 || v.rules == 0 {
			r.fail("unknown rules %#x", byte(v.rules))
		}
	}
	v.Kind = valueKind(kind)
	switch v.Kind {
	case KindText:
		v.Str = r.lent()
	case KindInt:
		v.num = uint64(r.varint())
	case kindFloat:
		if b := r.take(8); b != nil {
			v.num = binary.LittleEndian.Uint64(b)
		}
	case kindUint:
		if b := r.take(8); b != nil {
			v.num = binary.LittleEndian.Uint64(b)
		}
		if version < valuesWithUint || v.num <= math.MaxInt64 {
			r.fail("unsigned number %d in a document of version %d", v.num, version)
		}
	case kindBool:
		v.num = uint64(r.byte())
	case kindTime:
		b := r.take(12)
		v.Str = unsafe.String(unsafe.SliceData(b), len(b))
	case KindPlace:
		b := r.take(placeBytes)
		v.Str = unsafe.String(unsafe.SliceData(b), len(b))
		if version < valuesWithPlace {
			r.fail("a place in a document of version %d", version)
		} else if err := v.Point().Check(); err != nil && r.err == nil {
			r.fail("a place: %v", err)
		}
	default:
		r.fail("unknown value kind %#x", byte(v.Kind))
	}
	return v
}

// A byteReader decodes a record and remembers the first fault.
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

func (r *byteReader) text() string { return strings.Clone(r.lent()) }

// lent reads a text that shares the memory of the data.
func (r *byteReader) lent() string {
	n := r.uvarint()
	if n > uint64(len(r.data)) {
		r.fail("a text of %d bytes in a record of %d", n, len(r.data))
		return ""
	}
	b := r.take(int(n))
	return unsafe.String(unsafe.SliceData(b), len(b))
}
