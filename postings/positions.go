package postings

import (
	"math/bits"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// Positions reads the positions of a list's postings, a block at a time:
//
//	var p postings.Positions
//	p.Reset(list)
//	if err := p.Load(block); err != nil {
//		return err
//	}
//	if p.Wide == nil {
//		use(p.Narrow[p.Start[i]:p.Start[i+1]]) // those of posting i of the block
//	}
//
// Positions count from 0 within a field of a document. Those of a posting never fall; several may be
// equal, where tokens at one place became the same term. They are unpacked once for all postings of a
// block.
//
// A list without positions reads as if all of them were 0. That is where an exact term is (a
// keyword, a number), and nothing else is stored for fields without words. The caller must know
// that words of a field have positions.
//
// The zero value is ready for Reset. A Positions is for one goroutine, and some KB: reuse it.
type Positions struct {
	Start [BlockSize + 1]uint32 // where the positions of each posting begin, and end

	// The positions of the current block: Narrow where all are below 1<<16, else Wide. The other is
	// nil. At least NarrowPad elements more may be read within the capacity of Narrow; they mean
	// nothing. Both are valid until another block is loaded.
	Narrow []uint16
	Wide   []uint32

	l       *List
	b       int           // the current block, or -1
	counted int           // the block of Start, or -1
	rows    *positionRows // of Of: those of the counted block, or nil
	ones    int           // postings read from them by themselves
	narrow  []uint16
	wide    []uint32
	some    []uint16 // what Of has unpacked
	width   int      // bits of the highest of Narrow
	before  []uint32 // of gatherCode
}

// NarrowPad is how many elements may be read behind those of Positions.Narrow.
const NarrowPad = 32

// maxZeros bounds the frequencies of a block without positions.
const maxZeros = 1 << 24

// A positionSource has the positions of a list in one of its forms.
type positionSource interface {
	// load loads n positions of block b. p.Start says how many each posting has.
	load(p *Positions, b, n int) error

	bytes() int64 // memory
	shrink() bool // frees what can be loaded again; false if there is nothing
}

// HasPositions reports whether the list has positions.
func (l *List) HasPositions() bool { return l.positions != nil }

// FetchedPositions returns how many bytes of positions have been read from the Loader since Open.
// Fetched includes them.
func (l *List) FetchedPositions() int64 { return l.fetchedPositions.Load() }

// PositionBytes returns the memory that positions take, as part of Bytes.
func (l *List) PositionBytes() int64 {
	if l.positions == nil {
		return 0
	}
	return l.positions.bytes()
}

// DropPositions frees the positions that can be loaded again, as Shrink does.
func (l *List) DropPositions() { l.shrinkPositions() }

// shrinkPositions frees the positions that can be loaded again.
func (l *List) shrinkPositions() bool { return l.positions != nil && l.positions.shrink() }

// Reset makes p read a list. It loads nothing.
func (p *Positions) Reset(l *List) {
	p.l, p.b, p.counted, p.rows, p.Narrow, p.Wide = l, -1, -1, nil, nil, nil
}

// Of returns the positions of posting i of block b, valid until the next call of any method. It unpacks
// few others if the block has rows, until many were asked for. It returns nil if they may have more than
// 16 bits: then Load and Append read them. Start is set for the block.
func (p *Positions) Of(b, i int) (narrow []uint16, err error) {
	if p.b != b {
		if err := p.loadRows(b); err != nil {
			return nil, err
		}
		if r := p.rows; r != nil && p.isFew() {
			from, n := p.Start[i], int(p.Start[i+1]-p.Start[i])
			if cap(p.some) < n+stepPositions+NarrowPad {
				p.some = make([]uint16, 0, n+n/4+stepPositions+NarrowPad)
			}
			if n <= unpackOnes || !unpacksSteps() {
				unpackBits(p.some[:n], r.rows, int(from)*r.width, r.width)
				return p.some[:n], nil
			}
			step := from / stepPositions
			from, n = from%stepPositions, n+int(from%stepPositions)
			unpackPositions(p.some[:n], r.rows[int(step)*stepPositions/8*r.width:], r.width)
			return p.some[from:n], nil
		}
		if p.rows != nil {
			p.unpack(p.rows, int(p.Start[BlockSize]))
			p.b = b
		} else if err := p.Load(b); err != nil {
			return nil, err
		}
	}
	if p.Wide != nil {
		return nil, nil
	}
	return p.Narrow[p.Start[i]:p.Start[i+1]], nil
}

// unpackAll is how many postings of a block are read one by one before all are unpacked, where a
// kernel does that.
const unpackAll = 8

// isFew counts another posting that is read from rows, and reports whether it is read by itself.
func (p *Positions) isFew() bool {
	p.ones++
	return p.ones <= unpackAll || !unpacksSteps()
}

// loadRows sets rows to those of a block, if there are any of at most 16 bits, and then Start.
func (p *Positions) loadRows(b int) error {
	if p.counted == b && p.rows != nil {
		return nil
	}
	r := p.rowsOf(b)
	if r == nil {
		p.rows = nil
		return nil
	}
	if err := p.Count(b); err != nil {
		return err
	}
	p.rows, p.ones = r, 0
	return nil
}

// rowsOf returns the rows of a block, if there are any of at most 16 bits.
func (p *Positions) rowsOf(b int) *positionRows {
	if s, ok := p.l.positions.(*storedPositions); ok {
		if r := s.hold().rows[b].Load(); r != nil && r.width <= 16 {
			return r
		}
	}
	return nil
}

// Count sets Start for block b of the list. It reads no positions.
func (p *Positions) Count(b int) error { return p.CountRead(b, Code{}) }

// CountRead is Count for a block whose documents List.ReadDocs has read: it makes no rows either.
func (p *Positions) CountRead(b int, rest Code) error {
	if p.counted == b {
		return nil
	}
	p.b, p.counted, p.rows, p.Narrow, p.Wide = -1, -1, nil, nil, nil
	if err := p.count(b, rest); err != nil {
		return err
	}
	p.counted = b
	return nil
}

// Load makes block b of the list the current one, if it is not. An error is the Loader's, or matches
// corrupt.Err; no block is current after it.
func (p *Positions) Load(b int) error {
	if b == p.b {
		return nil
	}
	if err := p.Count(b); err != nil {
		return err
	}
	p.b, p.rows, p.Narrow, p.Wide = -1, nil, nil, nil
	n := int(p.Start[BlockSize])
	var err error
	if src := p.l.positions; src != nil {
		err = src.load(p, b, n)
	} else {
		err = p.zeros(n)
	}
	if err != nil {
		return inBlock(err, b)
	}
	p.b = b
	return nil
}

// count sets Start.
func (p *Positions) count(b int, rest Code) error {
	tfs := (*[BlockSize]uint32)(p.Start[1:])
	postings, err := p.l.ReadFreqs(b, rest, tfs)
	if err != nil {
		return err
	}
	if width, packed := p.l.Enc[b].packedFreqs(); packed && width <= 16 && postings == BlockSize { // no sum overflows
		sumUp(tfs, 0)
		return nil
	}
	sum := uint64(0)
	for i, tf := range p.Start[1 : 1+postings] {
		sum += uint64(tf)
		p.Start[i+1] = uint32(sum)
	}
	if sum > MaxPosition {
		return inBlock(corrupt.New(-1, "frequencies of %d in a block", sum), b)
	}
	for i := postings + 1; i < len(p.Start); i++ {
		p.Start[i] = uint32(sum)
	}
	return nil
}

// Append appends the positions of posting i of the current block.
func (p *Positions) Append(dst []uint32, i int) []uint32 {
	if p.Wide != nil {
		return append(dst, p.Wide[p.Start[i]:p.Start[i+1]]...)
	}
	for _, x := range p.Narrow[p.Start[i]:p.Start[i+1]] {
		dst = append(dst, uint32(x))
	}
	return dst
}

// zeros makes n positions of 0.
func (p *Positions) zeros(n int) error {
	if n > maxZeros {
		return corrupt.New(-1, "frequencies of %d in a block without positions", n)
	}
	clear(p.makeNarrow(n))
	p.width = 0
	return nil
}

// makeNarrow makes room for n positions in Narrow.
func (p *Positions) makeNarrow(n int) []uint16 {
	if cap(p.narrow) < n+NarrowPad {
		p.narrow = make([]uint16, 0, n+n/4+NarrowPad)
	}
	p.Narrow = p.narrow[:n]
	return p.Narrow
}

// makeWide makes room for n positions in Wide, and for unaryPad more.
func (p *Positions) makeWide(n int) []uint32 {
	if cap(p.wide) < n+unaryPad {
		p.wide = make([]uint32, 0, n+n/4+unaryPad)
	}
	p.Wide = p.wide[:n]
	return p.Wide
}

// takeDeltas turns n deltas in Wide into positions, in Narrow if these suffice.
func (p *Positions) takeDeltas() (union uint32, err error) {
	narrow := p.makeNarrow(len(p.Wide))
	if union, err = sumPositions(p.Wide, narrow, p.Start[:]); err != nil || union >= 1<<16 {
		p.Narrow = nil
		return union, err
	}
	p.Wide, p.width = nil, bits.Len32(union)
	return union, nil
}

// unpack sets the positions from rows.
func (p *Positions) unpack(r *positionRows, n int) {
	if r.width > 16 {
		wide := p.makeWide(n)
		for i := range wide {
			wide[i] = uint32(r.rows[4*i]) | uint32(r.rows[4*i+1])<<8 | uint32(r.rows[4*i+2])<<16 | uint32(r.rows[4*i+3])<<24
		}
		return
	}
	unpackPositions(p.makeNarrow(n), r.rows, r.width)
	p.width = r.width
}
