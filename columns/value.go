package columns

import (
	"cmp"
	"encoding/binary"
	"math"
	"strings"
	"time"

	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/internal/geo"
)

// A Value is a value of any column, outside of its column: a bound of a range, a key of a sort.
// Values of all kinds have one order (Compare).
type Value struct {
	Kind Kind
	Key  uint64 // when Kind is not Terms
	Term string // when Kind is Terms: the term, as AppendTerm writes it
}

// OfInt returns an integer.
func OfInt(v int64) Value { return Value{Kind: Int, Key: IntKey(v)} }

// OfUint returns an integer.
func OfUint(v uint64) Value { return Value{Kind: Uint, Key: v} }

// OfFloat returns a number.
func OfFloat(v float64) Value { return Value{Kind: Float, Key: FloatKey(v)} }

// OfBool returns a boolean.
func OfBool(v bool) Value { return Value{Kind: Bool, Key: BoolKey(v)} }

// OfTime returns an instant. One that kind Time cannot hold has kind Terms.
func OfTime(t time.Time) Value {
	if key, ok := TimeKey(t); ok {
		return Value{Kind: Time, Key: key}
	}
	return Value{Kind: Terms, Term: string(appendTime(nil, t))}
}

// OfPlace returns a point, which geo.Point.Check accepts.
func OfPlace(p geo.Point) Value { return Value{Kind: Place, Key: geo.Key(p)} }

// OfString returns a string, such as a keyword.
func OfString(s string) Value {
	if s == "" || s[0] == 0 {
		s = stringPrefix + s
	}
	return Value{Kind: Terms, Term: s}
}

// The first bytes of terms that are not strings, and of strings that could be taken for those. They
// are in the order of the classes.
const (
	boolPrefix   = "\x00b"
	numberPrefix = "\x00n"
	placePrefix  = "\x00p"
	timePrefix   = "\x00t"
	stringPrefix = "\x00\xff"
)

// AppendTerm appends the term of the value in a column of kind Terms. The bytewise order of terms is
// that of values. See the package comment.
func (v Value) AppendTerm(dst []byte) []byte {
	switch v.Kind {
	case Terms:
		return append(dst, v.Term...)
	case Bool:
		return append(append(dst, boolPrefix...), byte(v.Key))
	case Time:
		return appendTime(dst, KeyTime(v.Key))
	case Place:
		return binary.BigEndian.AppendUint64(append(dst, placePrefix...), v.Key)
	}
	floor, rest := v.number()
	dst = binary.BigEndian.AppendUint64(append(dst, numberPrefix...), floor)
	if rest > 0 {
		dst = binary.BigEndian.AppendUint16(dst, rest)
	}
	return dst
}

func appendTime(dst []byte, t time.Time) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, timePrefix...), IntKey(t.Unix()))
	return binary.BigEndian.AppendUint32(dst, uint32(t.Nanosecond()))
}

// number splits a number: the key of the greatest float64 that is not above it, and what it has
// above that, which is less than 2,048.
func (v Value) number() (floor uint64, rest uint16) {
	switch v.Kind {
	case Int:
		i := KeyInt(v.Key)
		f := float64(i)
		if f >= 1<<63 || int64(f) > i {
			f = math.Nextafter(f, math.Inf(-1))
		}
		return FloatKey(f), uint16(i - int64(f))
	case Uint:
		f := float64(v.Key)
		if f >= 1<<64 || uint64(f) > v.Key {
			f = math.Nextafter(f, 0)
		}
		return FloatKey(f), uint16(v.Key - uint64(f))
	}
	return v.Key, 0
}

// fromNumber is the inverse of number. Integers become Int, or Uint where they must. It returns
// false for what number does not return.
func fromNumber(floor uint64, rest uint16) (v Value, ok bool) {
	f := KeyFloat(floor)
	switch {
	case f != math.Trunc(f) || f < -1<<63 || f >= 1<<64: // NaN, too
		v = Value{Kind: Float, Key: floor}
		ok = FloatKey(f) == floor && rest == 0
		return v, ok
	case f < 0:
		v = OfInt(int64(f) + int64(rest))
	case uint64(f)+uint64(rest) > math.MaxInt64:
		v = OfUint(uint64(f) + uint64(rest))
	default:
		v = OfInt(int64(f) + int64(rest))
	}
	again, left := v.number()
	return v, again == floor && left == rest
}

// ParseTerm returns the value of a term. Its kind is Terms for strings and for instants that kind
// Time cannot hold.
func ParseTerm(term []byte) (Value, error) {
	if len(term) == 0 {
		return Value{}, corrupt.New(0, "a term of no bytes")
	}
	if term[0] != 0 {
		return Value{Kind: Terms, Term: string(term)}, nil
	}
	rest := string(term[min(2, len(term)):])
	switch class := string(term[:min(2, len(term))]); {
	case class == boolPrefix && len(rest) == 1 && rest[0] <= 1:
		return Value{Kind: Bool, Key: uint64(rest[0])}, nil
	case class == numberPrefix && (len(rest) == 8 || len(rest) == 10):
		var more uint16
		if len(rest) == 10 {
			more = binary.BigEndian.Uint16(term[10:])
		}
		if v, ok := fromNumber(binary.BigEndian.Uint64(term[2:]), more); ok && (more > 0) == (len(rest) == 10) {
			return v, nil
		}
	case class == placePrefix && len(rest) == 8:
		return Value{Kind: Place, Key: binary.BigEndian.Uint64(term[2:])}, nil
	case class == timePrefix && len(rest) == 12 && binary.BigEndian.Uint32(term[10:]) < 1e9:
		return OfTime(termTime(rest)), nil
	case class == stringPrefix && (rest == "" || rest[0] == 0):
		return Value{Kind: Terms, Term: string(term)}, nil
	}
	return Value{}, corrupt.New(0, "%q is not the term of a value", term)
}

func termTime(rest string) time.Time {
	sec := KeyInt(binary.BigEndian.Uint64([]byte(rest[:8])))
	return time.Unix(sec, int64(binary.BigEndian.Uint32([]byte(rest[8:])))).UTC()
}

// Any returns the value as int64, uint64, float64, bool, string, geo.Point (as geo.Shortest returns it)
// or time.Time in UTC.
func (v Value) Any() any {
	switch v.Kind {
	case Int:
		return KeyInt(v.Key)
	case Uint:
		return v.Key
	case Float:
		return KeyFloat(v.Key)
	case Bool:
		return v.Key != 0
	case Time:
		return KeyTime(v.Key)
	case Place:
		return geo.Shortest(v.Key)
	}
	if len(v.Term) == 14 && strings.HasPrefix(v.Term, timePrefix) {
		return termTime(v.Term[2:])
	}
	if w, err := ParseTerm([]byte(v.Term)); err == nil && w.Kind != Terms {
		return w.Any()
	}
	return strings.TrimPrefix(v.Term, stringPrefix)
}

// In returns the key of exactly this value in a column of another kind, but Terms.
func (v Value) In(kind Kind) (key uint64, ok bool) {
	if v.Kind == Terms {
		w, err := ParseTerm([]byte(v.Term))
		if err != nil || w.Kind == Terms {
			return 0, false
		}
		v = w
	}
	if v.Kind == kind {
		return v.Key, true
	}
	if v.class() != numbers || classOf(kind) != numbers {
		return 0, false
	}
	floor, rest := v.number()
	if kind == Float {
		return floor, rest == 0
	}
	if v, ok = fromNumber(floor, rest); !ok {
		return 0, false
	}
	switch {
	case v.Kind == kind:
		return v.Key, true
	case v.Kind == Int && kind == Uint && KeyInt(v.Key) >= 0:
		return uint64(KeyInt(v.Key)), true
	}
	return 0, false
}

// A class is a set of values that are alike. All values of one class come before those of the next.
type class uint8

const (
	bools class = iota
	numbers
	places
	times
	strs
)

func classOf(k Kind) class {
	switch k {
	case Bool:
		return bools
	case Place:
		return places
	case Time:
		return times
	case Terms:
		return strs
	}
	return numbers
}

func (v Value) class() class {
	if v.Kind != Terms {
		return classOf(v.Kind)
	}
	for c, prefix := range [...]string{bools: boolPrefix, numbers: numberPrefix, places: placePrefix, times: timePrefix} {
		if strings.HasPrefix(v.Term, prefix) {
			return class(c)
		}
	}
	return strs
}

// Compare returns -1, 0 or +1, as a is before, equal to or after b. Booleans come first, then
// numbers in one exact order, places, instants and strings. Numbers of different kinds may be equal.
func Compare(a, b Value) int {
	if a.Kind == b.Kind {
		if a.Kind == Terms {
			return strings.Compare(a.Term, b.Term)
		}
		return cmp.Compare(a.Key, b.Key)
	}
	if a.Kind != Terms && b.Kind != Terms {
		x, y := classOf(a.Kind), classOf(b.Kind)
		if x != y {
			return cmp.Compare(x, y)
		}
		fa, ra := a.number()
		fb, rb := b.number()
		return cmp.Or(cmp.Compare(fa, fb), cmp.Compare(ra, rb))
	}
	var room [2][24]byte
	return strings.Compare(string(a.AppendTerm(room[0][:0])), string(b.AppendTerm(room[1][:0])))
}

// A Bound is an end of an interval of values.
type Bound struct {
	Value     Value
	Open      bool // without end: Value is not looked at
	Exclusive bool // without Value itself
}
