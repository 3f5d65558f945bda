package blockmax

import "math"

// smallTFs is how many frequencies have their impacts looked up instead of
// computed. Of the postings of English text about 99 % have a frequency below
// 16; at 512 bytes a row the few rows in use stay in the first-level cache.
const smallTFs = 16

// A Table turns frequencies and length codes into impacts for one similarity and
// one average length. It never changes, so readers share it.
type Table struct {
	key   TableKey
	small [smallTFs][256]uint16 // impacts of frequencies below smallTFs; row 0 is zero
	k     [256]float32          // K of the package comment, by length code
}

// A TableKey is equal for two tables exactly when all their impacts are: bounds
// computed under one serve the other.
type TableKey struct {
	K1, B float64
	Avg   float64 // rounded average length
}

// MakeTableKey returns the key of the table that NewTable would make. The idf is
// no part of it: it sits in the weights.
func MakeTableKey(m BM25, avg float64) TableKey {
	avg = RoundAvg(avg)
	if !(avg > 0) {
		avg = 1 // an empty field: no posting will ask
	}
	return TableKey{K1: m.K1, B: m.B, Avg: avg}
}

// NewTable makes the table for an average field length in tokens, which it
// rounds with RoundAvg. The parameters must be valid. It takes about 6 µs.
func NewTable(m BM25, avg float64) *Table {
	t := &Table{key: MakeTableKey(m, avg)}
	for c := range t.k {
		// Explicit conversions keep the compiler from fusing a multiplication
		// with an addition, which would round once instead of twice.
		length := float64(t.key.B*float64(CodeLength(uint8(c)))) / t.key.Avg
		t.k[c] = float32(float64(t.key.K1 * (1 - t.key.B + length)))
	}
	for tf := 1; tf < smallTFs; tf++ {
		for c := range t.k {
			t.small[tf][c] = t.compute(uint32(tf), uint8(c))
		}
	}
	return t
}

// Key returns what the table was made from.
func (t *Table) Key() TableKey { return t.key }

// Arrays returns what impacts are made from, for executors that compute them otherwise:
// small[tf][code] for frequencies below 16, and K by length code for others. Nobody may
// change them. Four bytes may be read where an element of small begins.
func (t *Table) Arrays() (small *[smallTFs][256]uint16, k *[256]float32) { return &t.small, &t.k }

// Impact returns the impact of a posting as a 16-bit fraction: 0 for a frequency
// of 0, at most 65535. It never falls when tf rises and never rises when the code
// does.
func (t *Table) Impact(tf uint32, code uint8) uint16 {
	if tf < smallTFs {
		return t.small[tf][code]
	}
	return t.compute(tf, code)
}

func (t *Table) compute(tf uint32, code uint8) uint16 {
	ratio := t.k[code] / float32(tf)
	x := 65536 / (1 + ratio)
	return uint16(min(65535, math.RoundToEven(float64(x))))
}
