package columns

import (
	"encoding/binary"
	"math/bits"
)

// The kernels, which handle a tile. Each has a variant in Go, here, and variants in assembly.
// kernels_amd64.go chooses the variant; kernels_noasm.go always runs Go:
//
//	rangePacked  packed numbers in a range, as bits
//	unpackKeys   keys of packed quotients
//	unpack32     packed numbers, as 32 bits
//	gatherKeys   keys of the packed quotients at some places
//	gather32     packed numbers at some places, as 32 bits
//	stepsOf      steps of keys
//	stepsOf32    steps of packed numbers of 32 bits
//	countUp      counts of numbers
//	countLanes   the same, where equal numbers follow each other
//	countSeveral counts of the packed numbers of documents with several
//	sum32        sums of numbers and of their squares
//	deposit      bits of documents with a value, to bits of all documents
//	anyOf        bits of values to bits of documents
//	docsOf       bits of documents to their numbers
//	onesOf       the number of bits of a set

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

// unpackKeysPortable is unpackKeys in Go.
func unpackKeysPortable(dst []uint64, b []byte, width int, least, divisor uint64) {
	mask := lowBits(width)
	bit := uint64(0)
	for i := range dst {
		dst[i] = least + divisor*(binary.LittleEndian.Uint64(b[bit>>3:])>>(bit&7)&mask)
		bit += uint64(width)
	}
}

// unpack32Portable is unpack32 in Go.
func unpack32Portable(dst []uint32, b []byte, width int) {
	mask := uint32(lowBits(width))
	bit := uint64(0)
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint32(b[bit>>3:]) >> (bit & 7) & mask
		bit += uint64(width)
	}
}

// gatherPortable is gatherKeys in Go.
func gatherPortable(dst []uint64, b []byte, places []uint16, width int, least, divisor uint64) {
	for i, at := range places {
		dst[i] = least + divisor*packedAt(b, int(at), width)
	}
}

// gather32Portable is gather32 in Go.
func gather32Portable(dst []uint32, b []byte, places []uint16, width int) {
	for i, at := range places {
		dst[i] = uint32(packedAt(b, int(at), width))
	}
}

// countPortable is countUp in Go.
func countPortable(counts, numbers []uint32) {
	for _, q := range numbers {
		counts[q]++
	}
}

// severalPortable is countSeveral in Go.
func severalPortable(counts []uint32, b []byte, ranks []uint16, width, every int) {
	mask, together := lowBits(width), uint64(every)*uint64(width)
	for _, rank := range ranks {
		bit := uint64(rank) * together
		x := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7)
		before := x & mask
		counts[before]++
		for range every - 1 {
			x >>= width & 63
			if v := x & mask; v != before {
				counts[v]++
				before = v
			}
		}
	}
}

// sums32 are numbers of 32 bits as sum32 adds them: in lanes. A lane of least without a number has all bits
// set.
type sums32 struct {
	sum, squares    [4]uint64
	least, greatest [8]uint32
}

// noLeast is sums32.least of no number.
var noLeast = [8]uint32{1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 1<<32 - 1}

// sum32Portable adds to the first lanes.
func (s *sums32) sum32Portable(numbers []uint32) {
	least, greatest := s.least[0], s.greatest[0]
	for _, v := range numbers {
		least, greatest = min(least, v), max(greatest, v)
		s.sum[0] += uint64(v)
		s.squares[0] += uint64(v) * uint64(v)
	}
	s.least[0], s.greatest[0] = least, greatest
}

// depositPortable is deposit in Go.
func depositPortable(set, has *[tileWords]uint64) {
	from := *set
	at := 0
	for i, mask := range has {
		var y uint64
		n := bits.OnesCount64(mask)
		if n == 64 && at%64 == 0 {
			y = from[at/64]
		} else if n > 0 {
			x := from[at/64] >> (at % 64)
			if at%64+n > 64 {
				x |= from[at/64+1] << (64 - at%64)
			}
			x &= 1<<n - 1
			for m := mask; x != 0; m &= m - 1 {
				if x&1 == 1 {
					y |= m & -m
				}
				x >>= 1
			}
		}
		set[i] = y
		at += n
	}
}

// anyPortable is anyOf in Go.
func anyPortable(set *[tileWords]uint64, found, ends []uint64) {
	at, carry := 0, uint64(0) // documents so far; whether the last one, which goes on, has a value found
	for i, f := range found {
		end := ends[i]
		// Adding the values found to all values that are not last carries into the bit of the last one.
		sum, over := bits.Add64(f&^end, ^end, carry)
		carry = over
		any := extract((sum|f)&end, end)
		n := bits.OnesCount64(end)
		if n > 0 {
			set[at/64] |= any << (at % 64)
		}
		if at%64+n > 64 {
			set[at/64+1] |= any >> (64 - at%64)
		}
		at += n
	}
}

// extract returns the bits of x under a mask, one behind the other.
func extract(x, mask uint64) (y uint64) {
	if mask == ^uint64(0) {
		return x
	}
	for i := 0; mask != 0; i++ {
		y |= x >> bits.TrailingZeros64(mask) & 1 << i
		mask &= mask - 1
	}
	return y
}

// docsPortable is docsOf in Go.
func docsPortable(dst *[TileDocs]uint16, set *[tileWords]uint64) (n int) {
	for i, w := range set {
		base := uint16(64 * i)
		for ; w != 0; w &= w - 1 {
			dst[n&(TileDocs-1)] = base + uint16(bits.TrailingZeros64(w))
			n++
		}
	}
	return n
}

// onesPortable is onesOf in Go.
func onesPortable(set *[tileWords]uint64) (n int) {
	for _, w := range set {
		n += bits.OnesCount64(w)
	}
	return n
}
