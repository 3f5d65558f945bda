package postings

import (
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// partExtents is the number of extents in a directory part. At about 5 bytes per block, a part has
// 10 KiB.
const partExtents = 64

// minBlockBits is the least that a block takes in the directory: its last document, two bytes of
// encoding, and one pair.
const minBlockBits = 1 + 2 + 2 + firstLenBits + 1

// The low bits of the size of an extent's first coded block, and of the difference to the next.
const (
	firstSizeBits = 9
	nextSizeBits  = 5
)

// directory returns the parts of the directory of a list of two blocks or more.
func (w *Writer) directory() [][]byte {
	l := &List{Count: w.count, BlockSize: w.blockSize(), Last: w.last, Enc: w.enc}
	l.impacts.Store(&w.imp)
	extents := (len(w.last) + ExtentBlocks - 1) / ExtentBlocks
	ends := make([]extentEnd, extents)
	var blocks []byte
	for e := range ends {
		begin := len(blocks)
		blocks = l.appendExtent(blocks, e, w.codeBits)
		ends[e] = l.extentEnd(e, w.codeBits)
		ends[e].size = uint64(len(blocks) - begin)
	}
	var parts [][]byte
	part := l.appendSummary(nil, ends, len(w.codeBits) > 0)
	for e, end := range ends {
		part = append(part, blocks[:end.size]...)
		blocks = blocks[end.size:]
		if (e+1)%partExtents == 0 || e == extents-1 {
			parts = append(parts, sealPart(slices.Clip(part)))
			part = nil
		}
	}
	return parts
}

// An extentEnd is what the summary says of an extent, but for its best pairs.
type extentEnd struct {
	gap  uint64 // from the last document of the extent before to that of this one, less its postings
	rows uint64
	bits uint64 // of its blocks' code, with the codec Interpolative
	size uint64 // bytes of its blocks in the directory
}

// blocksIn returns the range [from, to) of blocks of extent e.
func (l *List) blocksIn(e int) (from, to int) {
	return e * ExtentBlocks, min((e+1)*ExtentBlocks, len(l.Last))
}

// extentEnd is the summary of an extent, but for its size.
func (l *List) extentEnd(e int, codeBits []uint32) (end extentEnd) {
	from, to := l.blocksIn(e)
	for b := from; b < to; b++ {
		end.gap += l.gap(b)
		end.rows += uint64(l.Enc[b].Rows(l.BlockLen(b)))
		if len(codeBits) > 0 {
			end.bits += uint64(codeBits[b])
		}
	}
	return end
}

// gap is the distance from the last document of the previous block to that of block b, less the
// postings of block b.
func (l *List) gap(b int) uint64 {
	return uint64(l.Last[b]-l.before(b)) - uint64(l.BlockLen(b))
}

// appendSummary writes the summary of all extents, or nothing for a single one.
func (l *List) appendSummary(dst []byte, ends []extentEnd, coded bool) []byte {
	if len(ends) == 1 {
		return dst
	}
	var sum extentEnd
	for _, end := range ends {
		sum.gap, sum.rows, sum.bits, sum.size = sum.gap+end.gap, sum.rows+end.rows, sum.bits+end.bits, sum.size+end.size
	}
	low := func(sum uint64) int { return bits.Len64(sum / uint64(len(ends))) }
	w := bitWriter{b: dst}
	for _, sum := range []uint64{sum.gap, sum.rows, sum.bits, sum.size} {
		w.put(uint32(low(sum)), 5)
	}
	var best pareto
	for e, end := range ends {
		w.gamma(end.gap, low(sum.gap))
		w.gamma(end.rows, low(sum.rows))
		if coded {
			w.gamma(end.bits, low(sum.bits))
		}
		w.gamma(end.size, low(sum.size))
		from, to := l.blocksIn(e)
		l.impacts.Load().addTo(&best, from, to)
		var pairs [8]Impact
		w.pairs(best.flush(pairs[:0]))
	}
	return w.flush()
}

// appendExtent writes the blocks of an extent. codeBits are the bits that each block takes in its
// chunk, with the codec Interpolative.
func (l *List) appendExtent(dst []byte, e int, codeBits []uint32) []byte {
	w := bitWriter{b: dst}
	from, to := l.blocksIn(e)
	low := bits.Len64(l.extentEnd(e, nil).gap / uint64(to-from))
	w.put(uint32(low), 5)
	var before Encoding
	for b := from; b < to; b++ {
		w.gamma(l.gap(b), low)
		e := l.Enc[b]
		w.near(uint8(e), uint8(before))
		w.near(uint8(e>>8), uint8(before>>8))
		switch {
		case len(codeBits) == 0:
		case b == from:
			w.gamma(uint64(codeBits[b]), firstSizeBits)
		default:
			w.gamma(uint64(zigzag(int32(codeBits[b]-codeBits[b-1]))), nextSizeBits)
		}
		w.pairs(l.impacts.Load().Of(b))
		before = e
	}
	return w.flush()
}

// zigzag maps 0, -1, 1, -2, ... to 0, 1, 2, 3, ...; unzigzag is its reverse.
func zigzag(x int32) uint32   { return uint32(x<<1 ^ x>>31) }
func unzigzag(x uint32) int32 { return int32(x>>1) ^ -int32(x&1) }

// parseDirectory reads all directory parts (without checksums) of a long list. Before it allocates
// blocks, it checks that there are enough bytes for them.
func (l *List) parseDirectory(parts [][]byte) error {
	blocks, err := l.makeBlocks(parts)
	if err != nil {
		return err
	}
	r := bitReader{b: parts[0]}
	ends, pairs, err := l.parseSummary(&r)
	if err != nil {
		return err
	}
	p := extentParser{list: l, impacts: l.impacts.Load(), pairs: make([]Impact, 0, 2*blocks)}
	if l.bits {
		p.codeBits = make([]uint32, 0, blocks)
	}
	rest := parts[0][r.at/8:]
	for e := range ends {
		if e > 0 && e%partExtents == 0 {
			rest = parts[e/partExtents]
		}
		end := &ends[e]
		if len(ends) == 1 {
			end.size = uint64(len(rest))
		}
		left, last := uint64(len(rest)), e == len(ends)-1 || (e+1)%partExtents == 0
		if end.size > left || last && end.size != left {
			return corrupt.New(-1, "extent %d takes %d bytes of a directory, %d are left", e, end.size, len(rest))
		}
		if err := p.parse(rest[:end.size], e); err != nil {
			return err
		}
		got := l.extentEnd(e, p.codeBits)
		got.size = end.size
		if len(ends) > 1 && got != *end {
			return corrupt.New(-1, "extent %d is %+v, the summary says %+v", e, got, *end)
		}
		rest = rest[end.size:]
	}
	l.impacts.Load().pairs = slices.Clone(p.pairs)
	if err := l.finishOpen(); err != nil {
		return err
	}
	if len(ends) > 1 && !slices.Equal(pairs, l.ExtImpacts.pairs) {
		return corrupt.New(-1, "the summary has other best pairs than the blocks")
	}
	if l.bits {
		return l.openCoded(p.codeBits)
	}
	return nil
}

// makeBlocks allocates the blocks of a long list.
func (l *List) makeBlocks(parts [][]byte) (blocks int, err error) {
	blocks = l.blocksByCount()
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if 8*int64(size) < int64(blocks)*minBlockBits { // an int may have 32 bits
		return 0, corrupt.New(0, "directory of %d bytes for %d blocks", size, blocks)
	}
	l.Last = make([]uint32, 0, blocks)
	l.Enc = make([]Encoding, 0, blocks)
	l.Off = make([]uint32, 0, blocks)
	l.impacts.Store(&Impacts{Start: append(make([]uint32, 0, blocks+1), 0)})
	return blocks, nil
}

// parseSummary reads the summary, and the best pairs of all extents, one after the other. A list of
// one extent has none.
func (l *List) parseSummary(r *bitReader) (ends []extentEnd, pairs []Impact, err error) {
	extents := (l.blocksByCount() + ExtentBlocks - 1) / ExtentBlocks
	ends = make([]extentEnd, extents)
	if extents == 1 {
		return ends, nil, nil
	}
	gap, rows, coded, size := int(r.take(5)), int(r.take(5)), int(r.take(5)), int(r.take(5))
	for e := range ends {
		ends[e] = extentEnd{gap: r.gamma(gap), rows: r.gamma(rows)}
		if l.bits {
			ends[e].bits = r.gamma(coded)
		}
		ends[e].size = r.gamma(size)
		pairs = r.pairs(pairs)
		if r.err != nil {
			return nil, nil, r.err
		}
	}
	if err := r.check(); err != nil {
		return nil, nil, err
	}
	for ; r.at%8 != 0; r.at++ {
		if r.peek()&1 != 0 {
			return nil, nil, corrupt.New(r.at/8, "bits behind the summary")
		}
	}
	return ends, pairs, nil
}

// An extentParser reads the blocks of extents, in order.
type extentParser struct {
	list     *List
	impacts  *Impacts // of the list
	pairs    []Impact
	rows     uint32   // of the extents so far
	codeBits []uint32 // of each block, with the codec Interpolative
}

// parse reads the blocks of extent e from the bytes that they take.
func (p *extentParser) parse(b []byte, e int) error {
	r := bitReader{b: b}
	low, before := int(r.take(5)), Encoding(0)
	from, to := e*ExtentBlocks, min((e+1)*ExtentBlocks, p.list.blocksByCount())
	for b := from; b < to; b++ {
		if err := p.block(&r, low, &before, b == from); err != nil {
			return inBlock(err, b)
		}
	}
	return r.end()
}

// block reads the next block. before is the encoding of the previous block on entry and of this one
// on return.
func (p *extentParser) block(r *bitReader, low int, before *Encoding, first bool) error {
	l := p.list
	b := len(l.Last)
	n := l.BlockLen(b)
	at := r.at / 8
	gap := r.gamma(low)
	e := Encoding(r.near(uint8(*before)))
	e |= Encoding(r.near(uint8(*before>>8))) << 8
	switch {
	case p.codeBits == nil:
	case first:
		p.codeBits = append(p.codeBits, uint32(min(r.gamma(firstSizeBits), 1<<31)))
	default:
		x := uint32(min(r.gamma(nextSizeBits), 1<<31))
		p.codeBits = append(p.codeBits, p.codeBits[b-1]+uint32(unzigzag(x)))
	}
	p.pairs = r.pairs(p.pairs)
	if err := r.check(); err != nil {
		return err
	}
	if p.codeBits != nil && p.codeBits[b] > maxBlockBits {
		return corrupt.New(at, "code of %d bits", p.codeBits[b])
	}
	prev := l.before(b)
	last := int64(int32(prev)) + int64(n) + int64(min(gap, MaxDoc))
	if last >= MaxDoc {
		return corrupt.New(at, "last document %d", last)
	}
	if fault := e.fault(n, uint32(last)-prev); fault != "" {
		return corrupt.New(at, "%s", fault)
	}
	*before = e
	l.Last = append(l.Last, uint32(last))
	l.Enc = append(l.Enc, e)
	l.Off = append(l.Off, p.rows)
	p.impacts.Start = append(p.impacts.Start, uint32(len(p.pairs)))
	p.rows += uint32(e.Rows(n))
	return nil
}
