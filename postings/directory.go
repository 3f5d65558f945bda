package postings

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// The number of low bits of a rise of length codes that are written verbatim: for the first pair of
// a block, and for later ones.
const (
	firstLenBits = 6
	nextLenBits  = 1
)

// minBlockBits is the least that a block takes in the directory: its last document, two bytes of
// encoding, and one pair.
const minBlockBits = 1 + 2 + 2 + firstLenBits + 1

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

// encodePart writes the directory of blocks [from, to).
func (l *List) encodePart(from, to int) []byte {
	w := bitWriter{b: make([]byte, 0, 8*(to-from))}
	low := l.gapBits(from, to)
	w.put(uint32(low), 5)
	var before Encoding
	for b := from; b < to; b++ {
		w.gamma(l.gap(b), low)
		e := l.Enc[b]
		w.near(uint8(e), uint8(before))
		w.near(uint8(e>>8), uint8(before>>8))
		w.pairs(l.BlockImpacts.Of(b))
		before = e
	}
	return sealPart(w.flush())
}

// gap is the distance from the last document of the previous block to that of block b, less the
// postings of block b.
func (l *List) gap(b int) uint64 {
	return uint64(l.Last[b]-l.before(b)) - uint64(l.BlockLen(b))
}

// gapBits is the number of bits of the average gap.
func (l *List) gapBits(from, to int) int {
	sum := uint64(0)
	for b := from; b < to; b++ {
		sum += l.gap(b)
	}
	return bits.Len64(sum / uint64(to-from))
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

// parseDirectory reads all directory parts (without checksums) of a long list with the given number
// of chunks. Before it allocates blocks, it checks that there are enough bytes for them.
func (l *List) parseDirectory(parts [][]byte, chunks int) error {
	blocks := l.blocksByCount()
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if 8*int64(size) < int64(blocks)*minBlockBits { // an int may have 32 bits
		return corrupt.New(0, "directory of %d bytes for %d blocks", size, blocks)
	}
	l.Last = make([]uint32, 0, blocks)
	l.Enc = make([]Encoding, 0, blocks)
	l.Off = make([]uint32, 0, blocks)
	l.BlockImpacts.Start = append(make([]uint32, 0, blocks+1), 0)
	pairs := make([]Impact, 0, 2*blocks)

	rows := uint32(0)
	for i, p := range parts {
		r := bitReader{b: p}
		low, before := int(r.take(5)), Encoding(0)
		for b := i * partBlocks; b < min((i+1)*partBlocks, blocks); b++ {
			var err error
			if pairs, err = l.parseBlock(&r, low, &before, pairs, &rows); err != nil {
				return inBlock(err, b)
			}
		}
		if err := r.end(); err != nil {
			return err
		}
	}
	l.BlockImpacts.pairs = slices.Clone(pairs)
	return l.finishOpen(chunks)
}

// parseBlock reads the directory of the next block. before is the encoding of the previous block on
// entry and of this block on return. rows is where the block's payload begins on entry, and where
// it ends on return.
func (l *List) parseBlock(r *bitReader, low int, before *Encoding, pairs []Impact, rows *uint32) ([]Impact, error) {
	b := len(l.Last)
	n := l.BlockLen(b)
	at := r.at / 8
	gap := r.gamma(low)
	e := Encoding(r.near(uint8(*before)))
	e |= Encoding(r.near(uint8(*before>>8))) << 8
	pairs = r.pairs(pairs)
	if err := r.check(); err != nil {
		return nil, err
	}
	prev := l.before(b)
	last := int64(int32(prev)) + int64(n) + int64(min(gap, MaxDoc))
	if last >= MaxDoc {
		return nil, corrupt.New(at, "last document %d", last)
	}
	if fault := e.fault(n, uint32(last)-prev); fault != "" {
		return nil, corrupt.New(at, "%s", fault)
	}
	*before = e
	l.Last = append(l.Last, uint32(last))
	l.Enc = append(l.Enc, e)
	l.Off = append(l.Off, *rows)
	l.BlockImpacts.Start = append(l.BlockImpacts.Start, uint32(len(pairs)))
	*rows += uint32(e.Rows(n))
	return pairs, nil
}
