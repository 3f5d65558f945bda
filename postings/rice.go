package postings

import (
	"encoding/binary"
	"math/bits"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// maxUnaryRows is the most rows that quotients may take. Where they take more than 5, widening each
// remainder by a bit, at the cost of one row, saves at least two.
const maxUnaryRows = 8

// safeRice is the widest remainder with which 128 gaps cannot sum to 1<<31, whatever the rows hold:
// remainders are below 1<<20, and quotients sum to less than 1<<10.
const safeRice = 20

// tryRice changes the plan to Rice where that takes fewer rows. Of equal plans it takes the one
// with the narrowest remainder.
func (p *plan) tryRice(values *[BlockSize]uint32) {
	for low := range p.low {
		unary := BlockSize + 8 // a one for each value, and the last byte
		for _, v := range values {
			unary += int(min(v>>low, 128*maxUnaryRows))
		}
		rows := (unary + 127) / 128
		if rows <= maxUnaryRows && low+rows < p.rows {
			*p = plan{kind: Rice, rows: low + rows, low: low}
		}
	}
}

// appendRice writes remainders and quotients: see the package comment.
func (p plan) appendRice(dst []byte, values *[BlockSize]uint32) []byte {
	var low [BlockSize]uint32
	unary := make([]byte, RowBytes*(p.rows-p.low), RowBytes*maxUnaryRows)
	at := uint32(0)
	for i, v := range values {
		low[i] = v & (1<<p.low - 1)
		at += v >> p.low
		unary[at/8] |= 1 << (at % 8)
		at++
	}
	unary[len(unary)-1] = byte(p.low)
	return append(appendPacked(dst, low[:], p.low), unary...)
}

// A rice is 128 values of kind Rice, split into its parts.
type rice struct {
	lows  []byte // rows of remainders
	unary []byte // rows of quotients, and the width of a remainder in the last byte
	low   int    // bits of a remainder
}

// readRice splits rows into the parts.
func readRice(rows []byte) (rice, error) {
	low := int(rows[len(rows)-1])
	unary := len(rows) - RowBytes*low
	if low > 31 || unary <= 0 || unary > RowBytes*maxUnaryRows {
		return rice{}, corrupt.New(len(rows)-1, "remainders of %d bits in %d rows", low, len(rows)/RowBytes)
	}
	return rice{lows: rows, unary: rows[RowBytes*low:], low: low}, nil
}

// ends writes -1 and then the bit of the string at which each quotient ends. That bit is the sum of
// the quotients up to it plus the number of quotients before it.
func (r *rice) ends(dst *[BlockSize + 1]uint32) error {
	var set [RowBytes * maxUnaryRows]byte
	n := copy(set[:], r.unary)
	set[n-1] = 0
	dst[0] = ^uint32(0)
	if ones := expandBitset((*[BlockSize]uint32)(dst[1:]), set[:n], BlockSize, 0); ones != BlockSize {
		return corrupt.New(RowBytes*r.low, "%d quotients for %d values", ones, BlockSize)
	}
	return nil
}

// docs writes the documents after prev. The values are their gaps, minus one. It sums remainders
// and quotients separately.
func (r *rice) docs(dst *[BlockSize]uint32, prev uint32) error {
	var ends [BlockSize + 1]uint32
	if err := r.ends(&ends); err != nil {
		return err
	}
	if r.low == 0 {
		consecutive(dst, prev+1)
	} else {
		unpackDocs(dst, r.lows, BlockSize, r.low, prev)
	}
	addQuotientSums(dst, &ends, r.low)
	return nil
}

// freqs writes the values, each plus one.
func (r *rice) freqs(dst *[BlockSize]uint32) error {
	var ends [BlockSize + 1]uint32
	if err := r.ends(&ends); err != nil {
		return err
	}
	unpackLow(dst, r.lows, r.low)
	addQuotients(dst, &ends, r.low)
	return nil
}

// value returns value i plus one, or 0 when the block is damaged.
func (r *rice) value(i int) uint32 {
	end, begin := r.end(i), 0
	if i > 0 {
		begin = r.end(i-1) + 1
	}
	if end < 0 {
		return 0
	}
	v := uint32(end-begin)<<r.low + 1
	if r.low > 0 {
		v += packedValue(r.lows, i, uint(r.low))
	}
	return v
}

// end returns the bit at which quotient i ends, or -1 when there are fewer quotients.
func (r *rice) end(i int) int {
	for at := 0; at < len(r.unary); at += 8 {
		w := binary.LittleEndian.Uint64(r.unary[at:])
		if at+8 == len(r.unary) {
			w &= 1<<56 - 1
		}
		if n := bits.OnesCount64(w); i >= n {
			i -= n
			continue
		}
		for ; i > 0; i-- {
			w &= w - 1
		}
		return 8*at + bits.TrailingZeros64(w)
	}
	return -1
}
