package columns

import (
	"encoding/binary"
	"math/bits"
)

// GuardBytes is the number of zeros at the end of a part of the payload. Kernels read that far
// behind packed numbers.
const guardBytes = 64

// widest is the greatest width below 64: a number of that many bits lies within eight bytes,
// whatever its first bit.
const widest = 57

// widthOf returns the width at which numbers up to top are packed.
func widthOf(top uint64) int {
	if w := bits.Len64(top); w <= widest {
		return w
	}
	return 64
}

// packedBytes is the size of n packed numbers.
func packedBytes(n uint64, width int) uint64 {
	hi, lo := bits.Mul64(n, uint64(width))
	if hi > 0 || lo > 1<<62 {
		return 1 << 62
	}
	return (lo + 7) / 8
}

// appendPacked appends numbers of width bits, one behind the other from the lowest bit of the first
// byte on.
func appendPacked(dst []byte, v []uint64, width int) []byte {
	if width == 0 {
		return dst
	}
	var held uint64
	n := 0 // bits in held
	for _, x := range v {
		held |= x << n
		if n += width; n < 64 {
			continue
		}
		dst = binary.LittleEndian.AppendUint64(dst, held)
		n -= 64
		held = x >> (width - n) // 0 for a shift by 64
	}
	for ; n > 0; n -= 8 {
		dst = append(dst, byte(held))
		held >>= 8
	}
	return dst
}

// packedAt returns packed number i. It reads eight bytes at its first one.
func packedAt(b []byte, i, width int) uint64 {
	bit := uint64(i) * uint64(width)
	return binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & lowBits(width)
}

// lowBits has the lowest bits set.
func lowBits(width int) uint64 { return 1<<width - 1 }

// unpackPortable is unpack in Go.
func unpackPortable(dst []uint64, b []byte, width int) {
	mask := lowBits(width)
	bit := uint64(0)
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & mask
		bit += uint64(width)
	}
}

// rangePortable is rangePacked in Go.
func rangePortable(set []uint64, b []byte, n, width int, lo, span uint64) {
	mask := lowBits(width)
	bit := uint64(0)
	for w := range set {
		var word uint64
		for i := range min(64, n-64*w) {
			x := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & mask
			_, above := bits.Sub64(span, x-lo, 0)
			word |= (above ^ 1) << i
			bit += uint64(width)
		}
		set[w] = word
	}
}
