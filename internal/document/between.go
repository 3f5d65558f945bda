package document

import (
	"bytes"
	"encoding/binary"
	"math"
)

// A Span is a range of terms, in the order of their bytes: From <= term < To.
type Span struct{ From, To []byte }

// Between returns the spans that hold the terms of the values between two: of numbers, or of times,
// as the bounds are. A bound that is nil is none; one must be there. Integers and other numbers have
// terms of their own, which compare as the numbers do, exactly.
func Between(low, high *Value, excludeLow, includeHigh bool) []Span {
	kinds := []valueKind{KindInt, kindFloat}
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
	case k == v.Kind && k == KindInt:
		to = binary.BigEndian.AppendUint64(to, v.num^1<<63)
	case k == v.Kind:
		to = appendFloatTerm(to, v.num)
	case k == KindInt: // and a bound that is no integer, or beyond all of them
		x, _ := v.float()
		if exclude = false; low {
			x = math.Ceil(x)
		} else {
			x = math.Floor(x)
		}
		if x < -1<<63 {
			return to
		} else if x >= 1<<63 {
			return append(to, bytes.Repeat([]byte{0xff}, 9)...)
		}
		to = binary.BigEndian.AppendUint64(to, uint64(int64(x))^1<<63)
	default: // an integer as a bound of other numbers; a large one is rounded to one beside it
		i := int64(v.num)
		x := float64(i)
		if above := x >= 1<<63 || int64(x) > i; above {
			exclude = !low
		} else if int64(x) < i {
			exclude = low
		}
		to = appendFloatTerm(to, math.Float64bits(x))
	}
	if exclude == low {
		to = append(to, 0)
	}
	return to
}

// appendFloatTerm appends the part of a term that stands for the bits of a float64.
func appendFloatTerm(dst []byte, bits uint64) []byte {
	if bits>>63 == 1 {
		return binary.BigEndian.AppendUint64(dst, ^bits)
	}
	return binary.BigEndian.AppendUint64(dst, bits^1<<63)
}
