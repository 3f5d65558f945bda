package blockmax

import "math/bits"

// A length takes one byte per document and field, by Lucene's SmallFloat.intToByte4 (also used by
// Tantivy), so that scores can be compared with theirs. Codes 0 to 23 are the length itself; above,
// a code is a 3-bit mantissa with an implicit leading bit and an exponent, over length-24. Every
// length up to 40 is exact, and a longer one is rounded down by at most 1 in 8:
//
//	length   0 … 40   41   42   43   44 …  100   1,000   1<<20   1<<31 - 1
//	code     0 … 40   40   41   41   42 …   57      87     167         255
const freeLengthCodes = 24

// LengthCode returns the code of a length in tokens. It is monotone. Lengths of 1<<31 and above
// have the code of 1<<31 - 1, which is 255.
func LengthCode(length uint32) uint8 {
	if length < freeLengthCodes {
		return uint8(length)
	}
	v := min(length, 1<<31-1) - freeLengthCodes
	n := bits.Len32(v)
	if n < 4 {
		return uint8(freeLengthCodes + v)
	}
	shift := uint32(n - 4)
	return uint8(freeLengthCodes + (v>>shift&7 | (shift+1)<<3))
}

// CodeLength returns the shortest length that has code c. Scoring uses it for all of them.
func CodeLength(c uint8) uint32 {
	if c < freeLengthCodes {
		return uint32(c)
	}
	v := uint32(c) - freeLengthCodes
	if v < 8 {
		return freeLengthCodes + v
	}
	return freeLengthCodes + (v&7|8)<<(v>>3-1)
}
