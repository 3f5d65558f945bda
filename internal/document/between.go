package document

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
)

// A Span is a range of terms, in the order of their bytes: From <= term < To.
type Span struct{ From, To []byte }

// Between returns the spans that hold the terms of the values between two: of numbers, or of times,
// as the bounds are. A bound that is nil is none; one must be there. Integers and other numbers have
// terms of their own, which compare as the numbers do, exactly.
func Between(low, high *Value, excludeLow, includeHigh bool) []Span {
	kinds := []valueKind{KindInt, kindUint, kindFloat}
	if low != nil && low.Kind == kindTime || high != nil && high.Kind == kindTime {
		kinds = []valueKind{kindTime}
	}
	var spans []Span
	for _, k := range kinds {
		s := Span{[]byte{0, byte(k)}, []byte{0, byte(k) + 1}}
		if low != nil {
			s.From = appendBound(s.From, k, low, excludeLow, true)
		}
		if high != nil {
			s.To = appendBound(s.From[:2:2], k, high, !includeHigh, false)
		}
		if bytes.Compare(s.From, s.To) < 0 {
			spans = append(spans, s)
		}
	}
	return spans
}

// appendBound appends what makes the first bytes of the terms of a kind the first term from a value
// on, or without low the one behind those up to it.
func appendBound(to []byte, k valueKind, v *Value, exclude, low bool) []byte {
	switch {
	case k == kindTime:
		to = append(to, v.Str...)
	case k == KindInt && v.Kind == KindInt:
		to = binary.BigEndian.AppendUint64(to, v.num^1<<63)
	case k == kindUint && v.Kind == kindUint:
		to = binary.BigEndian.AppendUint64(to, v.num)
	case k == kindFloat && v.Kind == kindFloat:
		to = appendFloatTerm(to, v.num)
	case k == kindFloat: // an integer as a bound of other numbers; a large one is rounded to one beside it
		x, _ := v.float()
		switch above := compareFloat(x, v); {
		case above > 0:
			exclude = !low
		case above < 0:
			exclude = low
		}
		to = appendFloatTerm(to, math.Float64bits(x))
	default: // integers, and a bound that is none of them
		n, beyond := integerBound(k, v, low)
		switch {
		case beyond < 0:
			return to
		case beyond > 0:
			return append(to, bytes.Repeat([]byte{0xff}, 9)...)
		}
		exclude = false
		to = binary.BigEndian.AppendUint64(to, n)
	}
	if exclude == low {
		to = append(to, 0)
	}
	return to
}

// integerBound returns the part of a term that stands for the first integer of a kind from a value on,
// or without low for the last one up to it, or whether the value is below or above all of the kind.
func integerBound(k valueKind, v *Value, low bool) (n uint64, beyond int) {
	switch v.Kind {
	case KindInt: // as a bound of kindUint
		return 0, -1
	case kindUint: // as a bound of KindInt
		return 0, 1
	}
	x := math.Float64frombits(v.num)
	if low {
		x = math.Ceil(x)
	} else {
		x = math.Floor(x)
	}
	least, end := float64(-1<<63), float64(1<<63)
	if k == kindUint {
		least, end = 1<<63, 1<<64
	}
	switch {
	case x < least:
		return 0, -1
	case x >= end:
		return 0, 1
	case k == kindUint:
		return uint64(x), 0
	}
	return uint64(int64(x)) ^ 1<<63, 0
}

// compareFloat compares the float64 next to an integer with it: it is above 0 if the float64 is greater.
func compareFloat(x float64, v *Value) int {
	if v.Kind == kindUint {
		if x >= 1<<64 {
			return 1
		}
		return cmp.Compare(uint64(x), v.num)
	}
	if x >= 1<<63 {
		return 1
	}
	return cmp.Compare(int64(x), int64(v.num))
}

// appendFloatTerm appends the part of a term that stands for the bits of a float64.
func appendFloatTerm(dst []byte, bits uint64) []byte {
	if bits>>63 == 1 {
		return binary.BigEndian.AppendUint64(dst, ^bits)
	}
	return binary.BigEndian.AppendUint64(dst, bits^1<<63)
}
