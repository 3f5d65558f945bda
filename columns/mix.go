package columns

import "math"

// A Mix finds the kind of a column that holds a set of values exactly. Its zero value is of no
// values. The order in which values are added does not matter.
type Mix struct {
	least, greatest int64 // of the integers below 1<<63
	any             uint8 // bits of the sorts of values below
}

const (
	anyInt     uint8 = 1 << iota // below 1<<63
	anyUint                      // from there on
	anyFloat                     // not an integer, or beyond both
	anyInexact                   // an integer that is not a float64
	anyBool
	anyTime
	anyPlace
	anyTerm // a string, or an instant that kind Time cannot hold
)

// Add adds a value.
func (m *Mix) Add(v Value) {
	if v.Kind != Terms {
		m.AddKey(v.Kind, v.Key)
		return
	}
	if w, err := ParseTerm([]byte(v.Term)); err == nil && w.Kind != Terms {
		m.AddKey(w.Kind, w.Key)
		return
	}
	m.any |= anyTerm
}

// AddKey adds the value of a key of a kind that is not Terms.
func (m *Mix) AddKey(kind Kind, key uint64) {
	switch kind {
	case Int:
		m.addInt(KeyInt(key))
	case Uint:
		if key <= math.MaxInt64 {
			m.addInt(int64(key))
			return
		}
		m.any |= anyUint
		if f := float64(key); f >= 1<<64 || uint64(f) != key {
			m.any |= anyInexact
		}
	case Float:
		v, _ := fromNumber(key, 0)
		switch v.Kind {
		case Int:
			m.addInt(KeyInt(v.Key))
		case Uint:
			m.any |= anyUint
		default:
			m.any |= anyFloat
		}
	case Bool:
		m.any |= anyBool
	case Time:
		m.any |= anyTime
	case Place:
		m.any |= anyPlace
	}
}

func (m *Mix) addInt(i int64) {
	if m.any&anyInt == 0 {
		m.any, m.least, m.greatest = m.any|anyInt, i, i
	}
	m.least, m.greatest = min(m.least, i), max(m.greatest, i)
	const exact = 1 << 53
	if i > exact || i < -exact {
		if f := float64(i); f >= 1<<63 || int64(f) != i {
			m.any |= anyInexact
		}
	}
}

// Kind returns the kind: Int for integers, Uint if some are above int64 and none is negative, Float
// for numbers that are all float64, Bool, Time and Place. All else, and no value at all, is Terms.
func (m *Mix) Kind() Kind {
	switch m.any {
	case anyInt, anyInt | anyInexact:
		return Int
	case anyBool:
		return Bool
	case anyTime:
		return Time
	case anyPlace:
		return Place
	}
	if m.any == 0 || m.any&(anyBool|anyTime|anyPlace|anyTerm) != 0 {
		return Terms
	}
	if m.any&anyFloat == 0 && (m.any&anyInt == 0 || m.least >= 0) {
		return Uint
	}
	if m.any&anyInexact == 0 {
		return Float
	}
	return Terms
}
