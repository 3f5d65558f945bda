package postings

import (
	"encoding/binary"
	"math/bits"
)

// positionRows are the positions of a block as searches use them: absolute, one after the other in
// as many bits as the highest takes, from the lowest bit up. Positions of more than 16 bits take 32.
type positionRows struct {
	width int
	rows  []byte
}

// A step of unpackPositions takes stepPositions values, of which 32 bits each lie in width words, and
// may read unpackReads bytes, or two more than it takes.
const (
	stepPositions = 32
	unpackReads   = 64
)

// packPositions makes rows of positions with the given union.
func packPositions(positions []uint32, union uint32) *positionRows {
	r := &positionRows{width: bits.Len32(union)}
	if r.width > 16 {
		r.width = 32
		r.rows = make([]byte, 4*len(positions))
		for i, p := range positions {
			binary.LittleEndian.PutUint32(r.rows[4*i:], p)
		}
		return r
	}
	step := stepPositions / 8 * r.width // bytes
	steps := (len(positions) + stepPositions - 1) / stepPositions
	r.rows = make([]byte, step*(steps-1)+max(step+2, unpackReads))
	held, n, to := uint64(0), 0, r.rows
	for _, p := range positions {
		held |= uint64(p) << n
		if n += r.width; n >= 32 {
			binary.LittleEndian.PutUint32(to, uint32(held))
			to, held, n = to[4:], held>>32, n-32
		}
	}
	if n > 0 {
		binary.LittleEndian.PutUint32(to, uint32(held))
	}
	return r
}

// bytes is the memory that the rows take.
func (r *positionRows) bytes() int64 { return int64(cap(r.rows)) + 32 }

// unpackOnes is the most positions of a posting that are read one by one where a kernel unpacks steps.
const unpackOnes = 8

// unpackPositionsPortable is unpackPositions in Go.
func unpackPositionsPortable(dst []uint16, rows []byte, width int) { unpackBits(dst, rows, 0, width) }

// unpackBits unpacks positions from a bit of rows on.
func unpackBits(dst []uint16, rows []byte, at, width int) {
	mask := uint16(1<<width - 1)
	for i := range dst {
		dst[i] = uint16(binary.LittleEndian.Uint32(rows[at>>3:])>>(at&7)) & mask
		at += width
	}
}
