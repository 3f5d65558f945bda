package segment

import (
	"math"
	"math/bits"
)

// Logarithms are integers here, in units of 1/logOne: their sums are the same in any order and on
// any CPU.
const (
	logBits   = 12
	logOne    = 1 << logBits
	tableBits = 10
)

// log2Table has log2(1 + i/1024).
var log2Table = func() (table [1 << tableBits]int32) {
	for i := range table {
		table[i] = int32(math.Round(logOne * math.Log2(1+float64(i)/float64(len(table)))))
	}
	return table
}()

// log2 is the binary logarithm of x, too low by less than 1/700 (exact up to 2047). log2(0) is 0.
func log2(x uint32) int32 {
	if x == 0 {
		return 0
	}
	whole := bits.Len32(x) - 1
	fraction := x << (31 - whole) << 1 >> (32 - tableBits)
	return int32(whole)<<logBits + log2Table[fraction]
}
