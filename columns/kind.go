package columns

import (
	"math"
	"time"
)

// A Kind says what the keys of a column stand for. The unsigned order of keys is that of values.
type Kind uint8

const (
	Int   Kind = 1 + iota // int64, with the sign bit flipped
	Uint                  // uint64
	Float                 // float64; see FloatKey
	Time                  // nanoseconds since 1970 UTC as an int64, with the sign bit flipped
	Bool                  // 0 or 1
	Terms                 // ordinals of the terms of the column's dictionary
	Place                 // keys of points, as geo.Key makes them
)

func (k Kind) String() string {
	if k < Int || k > Place {
		return "unknown"
	}
	return [...]string{"int", "uint", "float", "time", "bool", "terms", "place"}[k-Int]
}

const signBit = 1 << 63

// IntKey returns the key of a value of kind Int.
func IntKey(v int64) uint64 { return uint64(v) ^ signBit }

// KeyInt is the inverse of IntKey.
func KeyInt(key uint64) int64 { return int64(key ^ signBit) }

// FloatKey returns the key of a value of kind Float. -0 and 0 have one key, and so have all NaNs,
// which come after +Inf.
func FloatKey(v float64) uint64 {
	switch {
	case v == 0:
		return signBit
	case v != v:
		return math.Float64bits(math.NaN()) | signBit
	case v < 0:
		return ^math.Float64bits(v)
	}
	return math.Float64bits(v) ^ signBit
}

// KeyFloat is the inverse of FloatKey.
func KeyFloat(key uint64) float64 {
	if key&signBit == 0 {
		return math.Float64frombits(^key)
	}
	return math.Float64frombits(key ^ signBit)
}

// TimeKey returns the key of a value of kind Time; ok is false when the nanoseconds since 1970 are
// not an int64: before September 1677, and after April 2262.
func TimeKey(t time.Time) (key uint64, ok bool) {
	ns := t.UnixNano()
	return IntKey(ns), time.Unix(0, ns).Equal(t)
}

// KeyTime is the inverse of TimeKey, in UTC.
func KeyTime(key uint64) time.Time { return time.Unix(0, KeyInt(key)).UTC() }

// BoolKey returns the key of a value of kind Bool.
func BoolKey(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}
