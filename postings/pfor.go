package postings

import (
	"encoding/binary"
	"math/bits"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// maxExceptions is how many of 128 values may be exceptions. Their number, minus one, takes 6 bits.
// More would pay only for values of two kinds far apart.
const maxExceptions = 64

// pforRows is the number of rows of 128 values: low bits of each, packed, and the given number of
// exceptions with high parts of highWidth bits.
func pforRows(low, exceptions, highWidth int) int {
	return low + pforHead(exceptions, highWidth)
}

// pforHead is the number of rows of the header and the exceptions.
func pforHead(exceptions, highWidth int) int {
	return (2 + exceptions + (exceptions*highWidth+7)/8 + RowBytes - 1) / RowBytes
}

// tryPFor changes the plan to PFor where that takes fewer rows. Of equal plans it takes the one
// with the fewest exceptions, which cost time.
func (p *plan) tryPFor(values *[BlockSize]uint32) {
	var ofWidth [33]int // number of values by their bits
	highest := uint32(0)
	for _, v := range values {
		ofWidth[bits.Len32(v)]++
		highest = max(highest, v)
	}
	exceptions := 0
	for low := p.low - 1; low >= 0; low-- {
		if exceptions += ofWidth[low+1]; exceptions > maxExceptions {
			return
		}
		highWidth := bits.Len32(highest>>low - 1)
		if rows := pforRows(low, exceptions, highWidth); rows < p.rows && highWidth < 32 {
			*p = plan{kind: PFor, rows: rows, low: low, exceptions: exceptions, highWidth: highWidth}
		}
	}
}

// appendPFor writes the header, exceptions and low parts: see the package comment.
func (p plan) appendPFor(dst []byte, values *[BlockSize]uint32) []byte {
	head := make([]byte, RowBytes*pforHead(p.exceptions, p.highWidth), 32*RowBytes)
	binary.LittleEndian.PutUint16(head, uint16(p.low|p.highWidth<<5|(p.exceptions-1)<<10))
	positions, high := head[2:2], head[2+p.exceptions:]
	var low [BlockSize]uint32
	for i, v := range values {
		low[i] = v & (1<<p.low - 1)
		if above := v >> p.low; above > 0 {
			putBits(high, len(positions)*p.highWidth, above-1)
			positions = append(positions, byte(i))
		}
	}
	return appendPacked(append(dst, head...), low[:], p.low)
}

// putBits adds the bits of v to a bit string that is zero from bit at onward.
func putBits(b []byte, at int, v uint32) {
	for rest := uint64(v) << (at % 8); rest > 0; rest >>= 8 {
		b[at/8] |= byte(rest)
		at += 8
	}
}

// bitsAt returns 32 bits of a bit string, beginning with bit at, and zeros past its end.
func bitsAt(b []byte, at int) uint32 {
	if b = b[at/8:]; len(b) >= 8 {
		return uint32(binary.LittleEndian.Uint64(b) >> (at % 8))
	}
	var padded [8]byte
	copy(padded[:], b)
	return uint32(binary.LittleEndian.Uint64(padded[:]) >> (at % 8))
}

// A pfor is 128 values of kind PFor, split into its parts.
type pfor struct {
	positions []byte // of the exceptions, rising
	high      []byte // a bit string: the high part of each exception, minus one (and after that the low parts)
	lows      []byte // rows
	low       int    // bits of a low part
	highWidth int    // bits of a high part
}

// readPFor splits rows into the parts. They must have as many bytes as the header says.
func readPFor(rows []byte) (pfor, error) {
	h := int(binary.LittleEndian.Uint16(rows))
	p := pfor{low: h & 31, highWidth: h >> 5 & 31}
	exceptions := h>>10 + 1
	if pforRows(p.low, exceptions, p.highWidth)*RowBytes != len(rows) {
		return p, corrupt.New(0, "%d exceptions of %d bits above %d in %d rows", exceptions, p.highWidth, p.low, len(rows)/RowBytes)
	}
	p.positions, p.high = rows[2:2+exceptions], rows[2+exceptions:]
	p.lows = rows[len(rows)-RowBytes*p.low:]
	return p, nil
}

// freqs writes the values, each plus one.
func (p *pfor) freqs(dst *[BlockSize]uint32) error {
	unpackLow(dst, p.lows, p.low)
	mask, unit := uint32(1)<<p.highWidth-1, uint32(1)<<p.low
	before := -1
	for i, at := range p.positions {
		if int(at) <= before || at >= BlockSize {
			return corrupt.New(2+i, "exception %d is value %d, behind value %d", i, at, before)
		}
		before = int(at)
		dst[at] += (bitsAt(p.high, i*p.highWidth)&mask + 1) * unit
	}
	return nil
}

// docs writes the documents after prev. The values are their gaps, minus one.
func (p *pfor) docs(dst *[BlockSize]uint32, prev uint32) error {
	if err := p.freqs(dst); err != nil {
		return err
	}
	sumUp(dst, prev)
	return nil
}

// value returns value i plus one, or 0 when the block is damaged.
func (p *pfor) value(i int) uint32 {
	v := uint32(1)
	if p.low > 0 {
		v += packedValue(p.lows, i, uint(p.low))
	}
	for j, at := range p.positions {
		if int(at) == i {
			return v + (bitsAt(p.high, j*p.highWidth)&(1<<p.highWidth-1)+1)<<p.low
		}
	}
	return v
}
