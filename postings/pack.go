package postings

import "encoding/binary"

// lanes2 repeats a 32-bit value in both halves of a uint64, so that one scalar
// operation works on two lanes.
const lanes2 = 1<<32 | 1

// appendPacked writes values in the vertical layout: value i lies in lane i mod
// 4, and the values of a lane follow one another from its lowest bit up, width
// bits each, through as many rows as they need.
func appendPacked(dst []byte, values []uint32, width int) []byte {
	var words [BlockSize]uint32 // at most 32 rows of 4 lanes
	for i, v := range values {
		bit := i / 4 * width
		word, shift := bit/32*4+i%4, uint(bit%32)
		words[word] |= v << shift
		if int(shift)+width > 32 {
			words[word+4] |= v >> (32 - shift)
		}
	}
	for _, w := range words[:4*packedRows(len(values), width)] {
		dst = binary.LittleEndian.AppendUint32(dst, w)
	}
	return dst
}

// A lanes reads the rows of a packed run of values, four values (one per lane)
// at a time, as two uint64 of two lanes each.
type lanes struct {
	rows   []byte // what is left to load
	lo, hi uint64 // the row at hand: lanes 0 and 1, lanes 2 and 3
	shift  uint   // bits of the row at hand that have been read
	width  uint
	mask   uint64 // width ones in each half
}

func makeLanes(rows []byte, width int) lanes {
	return lanes{rows: rows, shift: 32, width: uint(width), mask: (1<<uint(width) - 1) * lanes2}
}

func (l *lanes) load() {
	l.lo = binary.LittleEndian.Uint64(l.rows[0:8])
	l.hi = binary.LittleEndian.Uint64(l.rows[8:16])
	l.rows = l.rows[16:]
}
