package blockmax

import (
	"math"
	"sync"

	"github.com/riffle-search/riffle/postings"
)

// smallTFs is the number of frequencies whose impacts are looked up instead of computed. About 99 %
// of the postings of English text have a frequency below 16. At 512 bytes per row, the few rows in
// use stay in the first-level cache.
const smallTFs = 16

// A Table maps frequencies and length codes to impacts, for one similarity and one average length.
// Its impacts never change, so readers share it.
type Table struct {
	key   TableKey
	small [smallTFs][256]uint16 // impacts of frequencies below smallTFs; row 0 is zero
	k     [256]float32          // K of the package comment, by length code

	mu       sync.Mutex
	weighted []*Table // see Weighted
}

// A TableKey is equal for two tables exactly when all their impacts are. So bounds computed under
// one are valid for the other.
type TableKey struct {
	K1, B float64
	Avg   float64 // rounded average length

	Weight uint64 // of a table that Weighted has made; otherwise 0
}

// MakeTableKey returns the key of the table that NewTable would make. The idf is not part of it,
// because it is in the weights.
func MakeTableKey(m BM25, avg float64) TableKey {
	avg = RoundAvg(avg)
	if !(avg > 0) {
		avg = 1 // an empty field has no postings
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
	t.fill()
	return t
}

// fill computes the impacts of small frequencies.
func (t *Table) fill() {
	for tf := 1; tf < smallTFs; tf++ {
		for c := range t.k {
			t.small[tf][c] = t.compute(uint32(tf), uint8(c))
		}
	}
}

// Key returns the parameters of the table.
func (t *Table) Key() TableKey { return t.key }

// Arrays returns the data from which impacts are made, for executors that compute them in another
// way: small[tf][code] for frequencies below 16, and K by length code for others. Nobody may change
// them. Four bytes may be read at the beginning of any element of small.
func (t *Table) Arrays() (small *[smallTFs][256]uint16, k *[256]float32) { return &t.small, &t.k }

// Impact returns the impact of a posting as a 16-bit fraction: 0 for a frequency of 0, at most
// 65535. It never falls when tf rises and never rises when the code does.
func (t *Table) Impact(tf uint32, code uint8) uint16 {
	if tf < smallTFs {
		return t.small[tf][code]
	}
	return t.compute(tf, code)
}

// Highest returns the highest impact of the pairs.
func (t *Table) Highest(pairs []postings.Impact) uint16 {
	top := uint16(0)
	for _, p := range pairs {
		top = max(top, t.Impact(p.TF, p.Len))
	}
	return top
}

func (t *Table) compute(tf uint32, code uint8) uint16 {
	ratio := t.k[code] / float32(tf)
	x := 65536 / (1 + ratio)
	return uint16(min(65535, math.RoundToEven(float64(x))))
}
