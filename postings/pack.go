package postings

import "encoding/binary"

// lanes2 repeats a 32-bit value in both halves of a uint64, so that one scalar
// operation works on two lanes.
const lanes2 = 1<<32 | 1

// appendPacked writes values in the vertical layout. Value i lies in lane i mod 4. The values of a
// lane follow one another from its lowest bit up, width bits each, through as many rows as they
// need.
func appendPacked(dst []byte, values []uint32, width int) []byte {
	if width == 0 {
		return dst
	}
	var padded [BlockSize]uint32
	n := copy(padded[:], values)
	var a, b, c, d uint64 // bits of each lane that fill no word yet
	held := uint(0)       // how many
	for i := 0; i < n; i += 4 {
		a |= uint64(padded[i]) << (held & 63)
		b |= uint64(padded[i+1]) << (held & 63)
		c |= uint64(padded[i+2]) << (held & 63)
		d |= uint64(padded[i+3]) << (held & 63)
		if held += uint(width); held >= 32 {
			dst = appendRow(dst, a, b, c, d)
			a, b, c, d = a>>32, b>>32, c>>32, d>>32
			held -= 32
		}
	}
	if held > 0 {
		dst = appendRow(dst, a, b, c, d)
	}
	return dst
}

// appendRow writes the low words of the four lanes.
func appendRow(dst []byte, a, b, c, d uint64) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(uint32(a))|b<<32)
	return binary.LittleEndian.AppendUint64(dst, uint64(uint32(c))|d<<32)
}

// A lanes reads packed rows, four values (one per lane) at a time, as two uint64 of two lanes each.
type lanes struct {
	rows   []byte // not loaded yet
	lo, hi uint64 // current row: lanes 0 and 1, lanes 2 and 3
	shift  uint   // bits of the current row that have been read
	width  uint
	mask   uint64 // width one bits in each half
}

func makeLanes(rows []byte, width int) lanes {
	return lanes{rows: rows, shift: 32, width: uint(width), mask: (1<<uint(width) - 1) * lanes2}
}

func (l *lanes) load() {
	l.lo, l.hi = loadRow(l.rows)
	l.rows = l.rows[16:]
}
