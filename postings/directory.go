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

// A directoryForm says how a directory is stored. The entry of a list has as many zeros before its
// number of chunks.
type directoryForm uint8

const (
	withoutLevels directoryForm = iota // of segments up to version 6
	pairsInline                        // the best pairs of a block lie behind its other numbers
	pairsApart                         // those of an extent lie behind its blocks
)

// directory returns the parts of the directory of a list of two blocks or more, in a form with levels.
func (w *Writer) directory(form directoryForm) [][]byte {
	l := &List{Count: w.count, BlockSize: w.blockSize(), Last: w.last, Enc: w.enc, form: form}
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
		if l.form != pairsApart {
			w.pairs(l.impacts.Load().Of(b))
		}
		before = e
	}
	if l.form == pairsApart {
		for b := from; b < to; b++ {
			w.pairs(l.impacts.Load().Of(b))
		}
	}
	return w.flush()
}

// zigzag maps 0, -1, 1, -2, ... to 0, 1, 2, 3, ...; unzigzag is its reverse.
func zigzag(x int32) uint32   { return uint32(x<<1 ^ x>>31) }
func unzigzag(x uint32) int32 { return int32(x>>1) ^ -int32(x&1) }

// loadDirectory loads the directory of a long list: of a list of the codec Interpolative the summary
// and nothing else, if there is one (see onDemand).
func (l *List) loadDirectory() error {
	if l.form == withoutLevels {
		return l.loadOldDirectory()
	}
	part, err := l.directoryPart(0)
	if err != nil {
		return err
	}
	if l.blocksByCount() <= ExtentBlocks {
		return l.parseExtent(part)
	}
	r := bitReader{b: part}
	ends, err := l.parseSummary(&r)
	if err != nil {
		return err
	}
	if err := l.openExtents(ends, part, r.at/8); err != nil || l.bits {
		return err
	}
	if err := l.Complete(); err != nil {
		return err
	}
	impacts, err := l.assembleImpacts()
	if err != nil {
		return err
	}
	l.impacts.Store(impacts)
	l.onDemand = nil
	return nil
}

// directoryPart loads a part of the directory.
func (l *List) directoryPart(i int) ([]byte, error) {
	value, err := l.load.Directory(i)
	if err != nil {
		return nil, err
	}
	return l.unsealPart(value, "posting directory")
}

// makeBlocks allocates the blocks of a long list.
func (l *List) makeBlocks() {
	blocks := l.blocksByCount()
	l.Last = make([]uint32, blocks)
	l.Enc = make([]Encoding, blocks)
	l.Off = make([]uint32, blocks)
}

// checkSize refuses a directory of size bytes that is too short for its blocks.
func checkSize(size uint64, blocks int) error {
	if 8*size < uint64(blocks)*minBlockBits {
		return corrupt.New(0, "directory of %d bytes for %d blocks", size, blocks)
	}
	return nil
}

// parseExtent reads the directory of a list of one extent.
func (l *List) parseExtent(part []byte) error {
	blocks := l.blocksByCount()
	if err := checkSize(uint64(len(part)), blocks); err != nil {
		return err
	}
	l.makeBlocks()
	r := directoryReader{bitReader: bitReader{b: part}, list: l}
	r.begin()
	var h heads
	if err := r.blocks(&h, 0, blocks, noDoc); err != nil {
		return err
	}
	if l.form == pairsApart {
		r.impacts(&h.impacts, blocks)
	}
	if err := r.end(); err != nil {
		return err
	}
	copy(l.Last, h.last[:blocks])
	copy(l.Enc, h.enc[:blocks])
	copy(l.Off, h.off[:blocks])
	l.impacts.Store(&h.impacts)
	if err := l.finishOpen(); err != nil || !l.bits {
		return err
	}
	if err := l.openCoded([]uint64{h.codeEnd()}); err != nil {
		return err
	}
	copy(l.coded.at, h.code[:blocks])
	return nil
}

// minExtentBits is the least that an extent takes in the summary: four numbers and one pair.
const minExtentBits = 4 + 2 + firstLenBits + 1

// parseSummary reads the summary of a list of several extents, and sets ExtImpacts.
func (l *List) parseSummary(r *bitReader) (ends []extentEnd, err error) {
	extents := (l.blocksByCount() + ExtentBlocks - 1) / ExtentBlocks
	if 8*len(r.b) < extents*(minExtentBits-1) { // a list of rows has one number less
		return nil, corrupt.New(0, "directory part of %d bytes for a summary of %d extents", len(r.b), extents)
	}
	ends = make([]extentEnd, extents)
	gap, rows, coded, size := int(r.take(5)), int(r.take(5)), int(r.take(5)), int(r.take(5))
	m := Impacts{Start: make([]uint32, 1, extents+1), pairs: make([]Impact, 0, 2*extents)}
	for e := range ends {
		ends[e] = extentEnd{gap: r.gamma(gap), rows: r.gamma(rows)}
		if l.bits {
			ends[e].bits = r.gamma(coded)
		}
		ends[e].size = r.gamma(size)
		m.pairs = r.pairs(m.pairs)
		m.Start = append(m.Start, uint32(len(m.pairs)))
		if r.err != nil {
			return nil, r.err
		}
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	for ; r.at%8 != 0; r.at++ {
		if r.peek()&1 != 0 {
			return nil, corrupt.New(r.at/8, "bits behind the summary")
		}
	}
	l.ExtImpacts = m
	return ends, l.checkImpacts()
}

// heads are the blocks of an extent, as its directory has them.
type heads struct {
	last    [ExtentBlocks]uint32
	enc     [ExtentBlocks]Encoding
	off     [ExtentBlocks]uint32 // first row, counted from the first of the extent
	code    [ExtentBlocks]uint32 // first bit of the code, counted so, too
	impacts Impacts              // unless they lie behind the blocks

	n        int
	rows     uint32 // of all n
	codeSize uint32 // of the last one
}

// codeEnd is the number of bits of the code of all blocks.
func (h *heads) codeEnd() uint64 { return uint64(h.code[h.n-1]) + uint64(h.codeSize) }

// A directoryReader reads the blocks of extents, in order.
type directoryReader struct {
	bitReader
	list   *List
	low    int
	before Encoding // of the previous block
}

// begin reads what comes before the blocks of an extent.
func (r *directoryReader) begin() { r.low, r.before = int(r.take(5)), 0 }

// blocks reads blocks [from, to), at most an extent, to h. before is the last document before them.
func (r *directoryReader) blocks(h *heads, from, to int, before uint32) error {
	h.n, h.rows, h.codeSize = 0, 0, 0
	if r.list.form != pairsApart {
		h.impacts = newImpacts(to - from)
	}
	for b := from; b < to; b++ {
		if err := r.block(h, r.list.BlockLen(b), before); err != nil {
			return inBlock(err, b)
		}
		before = h.last[h.n-1]
	}
	return nil
}

// newImpacts returns Impacts with room for those of n blocks.
func newImpacts(n int) Impacts {
	return Impacts{Start: make([]uint32, 1, n+1), pairs: make([]Impact, 0, 3*n)}
}

// impacts reads the best pairs of n blocks.
func (r *directoryReader) impacts(m *Impacts, n int) {
	*m = newImpacts(n)
	for range n {
		m.pairs = r.pairs(m.pairs)
		m.Start = append(m.Start, uint32(len(m.pairs)))
	}
}

// block reads the next block, of n postings, after document prev.
func (r *directoryReader) block(h *heads, n int, prev uint32) error {
	i := h.n
	at := r.at / 8
	gap := r.gamma(r.low)
	e := Encoding(r.near(uint8(r.before)))
	e |= Encoding(r.near(uint8(r.before>>8))) << 8
	if r.list.bits && r.list.form != withoutLevels {
		if i == 0 {
			h.code[0], h.codeSize = 0, uint32(min(r.gamma(firstSizeBits), 1<<31))
		} else {
			h.code[i] = h.code[i-1] + h.codeSize
			h.codeSize += uint32(unzigzag(uint32(min(r.gamma(nextSizeBits), 1<<31))))
		}
		if h.codeSize > maxBlockBits {
			return corrupt.New(at, "code of %d bits", h.codeSize)
		}
	}
	if r.list.form != pairsApart {
		h.impacts.pairs = r.pairs(h.impacts.pairs)
		h.impacts.Start = append(h.impacts.Start, uint32(len(h.impacts.pairs)))
	}
	if err := r.check(); err != nil {
		return err
	}
	last := int64(int32(prev)) + int64(n) + int64(min(gap, MaxDoc))
	if last >= MaxDoc {
		return corrupt.New(at, "last document %d", last)
	}
	if fault := e.fault(n, uint32(last)-prev); fault != "" {
		return corrupt.New(at, "%s", fault)
	}
	r.before = e
	h.last[i], h.enc[i], h.off[i] = uint32(last), e, h.rows
	h.rows += uint32(e.Rows(n))
	h.n++
	return nil
}
