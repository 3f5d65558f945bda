package postings

import (
	"encoding/binary"
	"math/bits"
)

// A plan says how to write values (gaps or frequencies, minus one).
type plan struct {
	kind Kind
	rows int
	low  int // bits of a packed value, of the low part or of the remainder

	exceptions int // of PFor
	highWidth  int // of PFor: bits of the high parts of exceptions, minus one
}

// makePlan plans the smaller form of values: that of the codec, which needs 128 of them, or packed.
// Packed wins a tie because it decodes faster.
func makePlan(values []uint32, codec Kind) plan {
	union := uint32(0)
	for _, v := range values {
		union |= v
	}
	width := bits.Len32(union)
	p := plan{kind: Packed, low: width, rows: packedRows(len(values), width)}
	if len(values) == BlockSize {
		switch codec {
		case PFor:
			p.tryPFor((*[BlockSize]uint32)(values))
		case Rice:
			p.tryRice((*[BlockSize]uint32)(values))
		}
	}
	return p
}

// stated is the width that the Encoding states.
func (p plan) stated() int {
	if p.kind == Packed {
		return p.low
	}
	return p.rows
}

// appendTo writes values as planned. A run has no bytes.
func (p plan) appendTo(dst []byte, values []uint32) []byte {
	switch p.kind {
	case Packed:
		return appendPacked(dst, values, p.low)
	case PFor:
		return p.appendPFor(dst, (*[BlockSize]uint32)(values))
	case Rice:
		return p.appendRice(dst, (*[BlockSize]uint32)(values))
	}
	return dst
}

// unpackLow unpacks 128 values of width bits (0 to 31), each plus one.
func unpackLow(dst *[BlockSize]uint32, rows []byte, width int) {
	if width == 0 {
		ones(dst)
		return
	}
	unpackFreqs(dst, rows, BlockSize, width)
}

// packedValue returns value i of rows of packed values of width bits (1 to 32).
func packedValue(rows []byte, i int, width uint) uint32 {
	// The value begins at bit at of its lane. The bits that do not fit into a row of the lane
	// continue in the next row.
	at := uint(i/4) * width
	lane := rows[int(at/32)*RowBytes+i%4*4:]
	v := uint64(binary.LittleEndian.Uint32(lane))
	if len(lane) >= RowBytes+4 {
		v |= uint64(binary.LittleEndian.Uint32(lane[RowBytes:])) << 32
	}
	return uint32(v>>(at%32)) & uint32(1<<width-1)
}
