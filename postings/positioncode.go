package postings

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// MaxPosition is the highest position of a term in a field of a document.
const MaxPosition = 1<<31 - 1

// codeGuard is how many bytes behind a code decodeDeltas may read; their content does not matter.
const codeGuard = 8

// lowBits is the number of bits at the beginning of a code that say how many low bits its values
// have.
const lowBits = 5

// appendPositionCode appends the code of a block's positions: see the package comment. deltas are,
// for each posting, its first position and the distances between its positions.
func appendPositionCode(dst []byte, deltas []uint32) []byte {
	low, zeros := riceParameter(deltas)
	ones := lowBits + zeros + len(deltas) // the bit where the low bits begin
	size := (ones + low*len(deltas) + 7) / 8
	dst = slices.Grow(dst, size+codeGuard)
	begin := len(dst)
	dst = dst[:begin+size+codeGuard]
	code := dst[begin:]
	clear(code)
	code[0] = byte(low)
	at := lowBits
	for _, d := range deltas {
		at += int(d >> low)
		code[at>>3] |= 1 << (at & 7)
		at++
	}
	if low > 0 {
		putLow(code[at>>3:], at&7, deltas, low)
	}
	return dst[:begin+size]
}

// putLow writes the low bits of values, one after the other, from a bit of the first byte on. It
// writes whole groups of four bytes, so up to three behind the last bit.
func putLow(to []byte, bit int, values []uint32, low int) {
	held, n := uint64(to[0]), bit
	mask := uint32(1)<<low - 1
	for _, v := range values {
		held |= uint64(v&mask) << n
		if n += low; n >= 32 {
			binary.LittleEndian.PutUint32(to, uint32(held))
			to, held, n = to[4:], held>>32, n-32
		}
	}
	if n > 0 {
		binary.LittleEndian.PutUint32(to, uint32(held))
	}
}

// riceParameter returns the number of low bits with which a code of values is the shortest, of the
// three near the logarithm of their mean, and the sum of what is above these bits.
func riceParameter(values []uint32) (low, high int) {
	sum := uint64(0)
	for _, v := range values {
		sum += uint64(v)
	}
	low = min(max(bits.Len64(sum/uint64(len(values)))-2, 0), 29)
	var highs [3]uint64
	for _, v := range values {
		v >>= low
		highs[0] += uint64(v)
		highs[1] += uint64(v >> 1)
		highs[2] += uint64(v >> 2)
	}
	n := uint64(len(values))
	best := 0
	for i := 1; i < len(highs); i++ {
		if highs[i]+uint64(i)*n < highs[best]+uint64(best)*n {
			best = i
		}
	}
	return low + best, int(highs[best])
}

// decodeDeltas reads a code to all elements of dst, of which there is at least one, and returns its
// length in bytes. in may have more bytes than the code, and must have at least codeGuard more. For
// any content of in, it returns an error or numbers of at most MaxPosition.
func decodeDeltas(dst []uint32, in []byte) (size int, err error) {
	limit := len(in) - codeGuard
	if limit < 1 || len(dst) > 8*limit {
		return 0, corrupt.New(0, "%d positions in %d bytes", len(dst), max(limit, 0))
	}
	low := int(in[0] & (1<<lowBits - 1))
	if readUnary(dst, in, limit/8+1) < len(dst) {
		return 0, corrupt.New(limit, "the code of positions ends early")
	}
	begin := int(dst[len(dst)-1]) + 1 // of the low bits
	end := begin + low*len(dst)
	if size = (end + 7) / 8; size > limit {
		return 0, corrupt.New(limit, "the code of positions ends early")
	}
	if union := takeUnary(dst, in, begin, low); union > MaxPosition>>low {
		return 0, corrupt.New(0, "a position of %d<<%d", union, low)
	}
	return size, codeEnds(in, end, size)
}

// unaryPad is how many elements readUnary may write behind those wanted: the bits of a word.
const unaryPad = 64

// readUnaryPortable is readUnary in Go.
func readUnaryPortable(dst []uint32, code []byte, words int) (found int) {
	word := binary.LittleEndian.Uint64(code) &^ (1<<lowBits - 1)
	for at := 0; ; {
		for ; word != 0; word &= word - 1 {
			dst[found] = uint32(64*at + bits.TrailingZeros64(word))
			if found++; found == len(dst) {
				return found
			}
		}
		if at++; at == words {
			return found
		}
		word = binary.LittleEndian.Uint64(code[8*at:])
	}
}

// takeUnaryPortable is takeUnary in Go, given the bit before the first.
func takeUnaryPortable(dst []uint32, in []byte, begin, low int, before uint32) (union uint32) {
	mask := uint32(1)<<low - 1
	for i, end := range dst {
		high := end - before - 1
		union |= high
		dst[i] = high<<low | uint32(binary.LittleEndian.Uint64(in[begin>>3:])>>(begin&7))&mask
		before = end
		begin += low
	}
	return union
}

// codeEnds returns an error if bits are set behind the last one of a code.
func codeEnds(in []byte, at, size int) error {
	if at%8 != 0 && in[size-1]>>(at%8) != 0 {
		return corrupt.New(size-1, "bits behind the code of positions")
	}
	return nil
}

// sumPositions turns the deltas of postings, of which start says where they begin, into positions,
// in place, and returns their union. narrow takes their lowest 16 bits. A sum above MaxPosition is an
// error.
//
// How many positions a posting has is unpredictable. So no branch depends on it: the highest bit
// marks where a sum begins anew.
func sumPositions(values []uint32, narrow []uint16, start []uint32) (union uint32, err error) {
	const first = 1 << 31
	for _, at := range start {
		if int(at) < len(values) {
			values[at] |= first
		}
	}
	sum, all := uint64(0), uint64(0)
	narrow = narrow[:len(values)]
	for i, v := range values {
		again := uint64(int64(int32(v)) >> 31) // all ones where a posting begins
		sum = sum&^again + uint64(v&^first)
		all |= sum
		values[i], narrow[i] = uint32(sum), uint16(sum)
	}
	if all > MaxPosition {
		return 0, corrupt.New(0, "positions above %d", MaxPosition)
	}
	return uint32(all), nil
}
