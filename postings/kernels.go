package postings

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// The kernels that decode a block. Each has a variant in Go, here and in unpack.go, and variants in
// assembly. decode_amd64.go chooses the variant; decode_noasm.go always runs Go:
//
//	unpackDocs       gaps of 1 to 31 bits to documents
//	unpackFreqs      frequencies of 1 to 32 bits
//	expandBitset     set bits to documents
//	consecutive      a run of documents
//	ones             frequencies that are all 1
//	sumUp            gaps of pfor to documents
//	addQuotients     remainders of rice to frequencies
//	addQuotientSums  sums of remainders of rice to documents
//	unpackPositions  positions of up to 16 bits (in positionrows.go)
//	readUnary        where the quotients of a code of positions end (in positioncode.go)
//	takeUnary        these ends and low bits to deltas (in positioncode.go)
//	seekBlock        the first of 128 documents that is not below another
//	seekExtent       the same among 32 blocks of a directory

// expandBitsetPortable is expandBitset in Go.
func expandBitsetPortable(dst *[BlockSize]uint32, rows []byte, n int, first uint32) (ones int) {
	for i := 0; i < len(rows); i += 8 {
		ones += bits.OnesCount64(binary.LittleEndian.Uint64(rows[i:]))
	}
	if ones != n {
		return ones
	}
	i := 0
	for ; len(rows) >= 8; rows = rows[8:] {
		for w := binary.LittleEndian.Uint64(rows); w != 0; w &= w - 1 {
			dst[i&(BlockSize-1)] = first + uint32(bits.TrailingZeros64(w))
			i++
		}
		first += 64
	}
	return ones
}

// consecutivePortable is consecutive in Go.
func consecutivePortable(dst *[BlockSize]uint32, first uint32) {
	for i := range dst {
		dst[i] = first + uint32(i)
	}
}

// onesPortable is ones in Go.
func onesPortable(dst *[BlockSize]uint32) { *dst = allOnes }

var allOnes = [BlockSize]uint32(slices.Repeat([]uint32{1}, BlockSize))

// sumUpPortable is sumUp in Go. Of every four additions, only two depend on the previous group.
func sumUpPortable(gaps *[BlockSize]uint32, prev uint32) {
	for i := 0; i < len(gaps); i += 4 {
		a, b, c, d := gaps[i], gaps[i+1], gaps[i+2], gaps[i+3]
		ab, cd := a+b, c+d
		gaps[i], gaps[i+1] = prev+a, prev+ab
		prev += ab
		gaps[i+2], gaps[i+3] = prev+c, prev+cd
		prev += cd
	}
}

// addQuotientsPortable is addQuotients in Go. It multiplies because a variable shift takes longer.
func addQuotientsPortable(values *[BlockSize]uint32, ends *[BlockSize + 1]uint32, low int) {
	unit := uint32(1) << low
	for i := range values {
		values[i] += (ends[i+1] - ends[i] - 1) * unit
	}
}

// addQuotientSumsPortable is addQuotientSums in Go.
func addQuotientSumsPortable(values *[BlockSize]uint32, ends *[BlockSize + 1]uint32, low int) {
	unit := uint32(1) << low
	for i := range values {
		values[i] += (ends[i+1] - uint32(i)) * unit
	}
}

// seekPortable returns how many numbers of a sorted slice, not empty, are below x. It halves the
// slice without branching. For unpredictable targets this takes two thirds of the time of a search
// that branches.
func seekPortable(sorted []uint32, x uint32) int {
	from, n := 0, len(sorted)
	for n > 1 {
		half := n / 2
		from += half & below(sorted[from+half-1], x)
		n -= half
	}
	return from + 1&below(sorted[from], x)
}

// below is all ones when a < b, else 0.
func below(a, b uint32) int { return int((int64(a) - int64(b)) >> 63) }
