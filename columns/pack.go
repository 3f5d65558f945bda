package columns

import (
	"encoding/binary"
	"math/bits"
)

// guardBytes is the number of zeros at the end of a part of the payload. Kernels read that far
// behind packed numbers.
const guardBytes = 64

// widest is the greatest width below 64: a number of that many bits lies within eight bytes,
// whatever its first bit.
const widest = 57

// widest32 is the greatest width that unpack32 unpacks.
const widest32 = 25

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
