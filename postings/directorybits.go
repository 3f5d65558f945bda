package postings

import (
	"encoding/binary"
	"math/bits"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// The number of low bits of a rise of length codes that are written verbatim: for the first pair of
// a block, and for later ones.
const (
	firstLenBits = 6
	nextLenBits  = 1
)

// gamma writes x: first its low bits verbatim, then Elias' gamma code of the rest plus 1. The code
// has as many zeros as that number has bits after its highest, then a one, then these bits.
func (w *bitWriter) gamma(x uint64, low int) {
	w.put(uint32(x&(1<<low-1)), low)
	x = x>>low + 1
	n := bits.Len64(x) - 1
	w.put(0, n)
	w.put(1, 1)
	w.put(uint32(x&(1<<n-1)), n)
}

// near writes a byte that often equals the previous one or differs from it by one.
func (w *bitWriter) near(x, before uint8) {
	switch x {
	case before:
		w.put(1, 1)
	case before + 1:
		w.put(0b010, 3)
	case before - 1:
		w.put(0b110, 3)
	default:
		w.put(uint32(x)<<2, 10)
	}
}

// pairs writes best pairs.
func (w *bitWriter) pairs(pairs []Impact) {
	tf, length, low := uint32(0), -1, firstLenBits
	for i, m := range pairs {
		more := uint32(1)
		if i == len(pairs)-1 {
			more = 0
		}
		w.put(more, 1)
		w.gamma(uint64(m.TF-tf-1), 0)
		w.gamma(uint64(int(m.Len)-length-1), low)
		tf, length, low = m.TF, int(m.Len), nextLenBits
	}
}

// A bitReader reads what a bitWriter wrote. Past the end it reads zeros; check tests for the end
// once for many numbers. Its first error stays.
type bitReader struct {
	b   []byte
	at  int // next bit
	err error
}

// peek returns the next 57 bits or more.
func (r *bitReader) peek() uint64 {
	if at := r.at / 8; at+8 <= len(r.b) {
		return binary.LittleEndian.Uint64(r.b[at:]) >> (r.at % 8)
	}
	return r.peekEnd()
}

// peekEnd is peek for fewer than 8 remaining bytes.
func (r *bitReader) peekEnd() uint64 {
	var padded [8]byte
	copy(padded[:], r.b[min(r.at/8, len(r.b)):])
	return binary.LittleEndian.Uint64(padded[:]) >> (r.at % 8)
}

// check returns an error if the reader has passed the end.
func (r *bitReader) check() error {
	if r.at > 8*len(r.b) {
		r.fail()
	}
	return r.err
}

func (r *bitReader) fail() {
	if r.err == nil {
		r.err = corrupt.New(min(r.at/8, len(r.b)), "number without end")
	}
}

func (r *bitReader) take(n int) uint32 {
	v := uint32(r.peek() & (1<<n - 1))
	r.at += n
	return v
}

func (r *bitReader) gamma(low int) uint64 {
	x := uint64(r.take(low))
	w := r.peek()
	n := bits.TrailingZeros64(w | 1<<33)
	switch {
	case n <= 28:
		r.at += 2*n + 1
		return x | (1<<n|w>>(n+1)&(1<<n-1)-1)<<low
	case n <= 32:
		r.at += n + 1
		return x | (1<<n|uint64(r.take(n))-1)<<low
	}
	r.fail()
	return 0
}

func (r *bitReader) near(before uint8) uint8 {
	w := r.peek()
	switch {
	case w&1 != 0:
		r.at++
		return before
	case w&2 != 0:
		r.at += 3
		return before + 1 - uint8(w>>1&2)
	}
	r.at += 10
	return uint8(w >> 2)
}

// pairs reads best pairs. Most take two dozen bits, so one peek reads them.
func (r *bitReader) pairs(dst []Impact) []Impact {
	tf, length, low := uint64(0), uint64(0), firstLenBits
	for more := true; more && r.err == nil; {
		w := r.peek()
		more = w&1 != 0
		n := bits.TrailingZeros64(w>>1 | 1<<10)
		at := 2*n + 2
		v := w >> at
		m := bits.TrailingZeros64(v>>low | 1<<10)
		if n < 10 && m < 10 {
			tf += 1<<n | w>>(n+2)&(1<<n-1)
			length += (1<<m|v>>(low+m+1)&(1<<m-1)-1)<<low | v&(1<<low-1) + 1
			r.at += at + low + 2*m + 1
		} else {
			r.at++
			tf += r.gamma(0) + 1
			length += r.gamma(low) + 1 // counted from -1
		}
		if tf > 1<<32-1 || length > 256 {
			r.fail()
		}
		dst = append(dst, Impact{TF: uint32(tf), Len: uint8(length - 1)})
		low = nextLenBits
	}
	return dst
}

// end returns an error if bits are left over.
func (r *bitReader) end() error {
	if r.check() == nil && ((r.at+7)/8 != len(r.b) || r.peek() != 0) {
		r.err = corrupt.New(r.at/8, "%d bits, %d bytes", r.at, len(r.b))
	}
	return r.err
}
