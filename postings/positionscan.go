package postings

import "github.com/riffle-search/riffle/internal/corrupt"

// A positionScan has the positions of the current block of a Scan: a code, deltas, or both.
type positionScan struct {
	code   []byte // with codeGuard bytes behind size
	size   int
	deltas []uint32
	made   bool // deltas are those of the block

	part   *positionPart // the current one of a stored list
	parts  int           // its number, plus one
	chunk  []byte        // the current one
	chunks uint32        // its number, plus one
}

func (p *positionScan) reset() {
	p.code, p.made = nil, false
	p.part, p.parts, p.chunk, p.chunks = nil, 0, nil, 0
}

// make makes room for the deltas of postings.
func (p *positionScan) make(tfs []uint32) []uint32 {
	n := int(sumOf(tfs))
	if cap(p.deltas) < n+unaryPad {
		p.deltas = make([]uint32, n+n/4+unaryPad)
	}
	p.deltas, p.code, p.made = p.deltas[:n], nil, true
	return p.deltas
}

// readPositions gets the positions of block b.
func (s *Scan) readPositions() error {
	p, tfs := &s.positions, s.TFs[:s.l.BlockLen(s.b)]
	if sumOf(tfs) > MaxPosition {
		return corrupt.New(-1, "frequencies of %d in a block", sumOf(tfs))
	}
	switch of := s.l.positions.(type) {
	case *storedPositions:
		return p.findCode(of, s.b)
	case *grownPositions:
		readVarints(p.make(tfs), of.block(s.b))
	case *shortPositions:
		return p.readShort(tfs, entryParts{positions: true, pointer: of.pointer}, of.source)
	case nil:
		return p.zeros(tfs)
	default:
		panic("BUG: positions of another form")
	}
	return nil
}

// zeros makes the positions of a list without.
func (p *positionScan) zeros(tfs []uint32) error {
	if n := sumOf(tfs); n > maxZeros {
		return corrupt.New(-1, "frequencies of %d in a block without positions", n)
	}
	clear(p.make(tfs))
	return nil
}

// readShort gets the positions of a short list.
func (p *positionScan) readShort(tfs []uint32, parts entryParts, source ShortPositionLoader) error {
	if !parts.positions {
		return p.zeros(tfs)
	}
	if source == nil {
		return corrupt.New(-1, "a list with positions, which its Loader does not read")
	}
	in, err := source.ShortPositions(parts.pointer)
	if err != nil {
		return err
	}
	if n := sumOf(tfs); n > 8*uint64(len(in)) {
		return corrupt.New(0, "%d positions in %d bytes", n, len(in))
	}
	size, err := decodeShort(p.make(tfs), in)
	p.code, p.size = in, size
	return err
}

// findCode finds the code of a block of a stored list. It reads each part and chunk once.
func (p *positionScan) findCode(of *storedPositions, b int) (err error) {
	if part := b / partBlocks; p.parts != part+1 {
		if p.part, err = of.readPart(part); err != nil {
			return err
		}
		p.parts = part + 1
	}
	at := p.part.codes[b%partBlocks]
	if p.chunks != at.chunk+1 {
		if p.chunk, err = of.readChunk(p.part, at.chunk); err != nil {
			return err
		}
		p.chunks = at.chunk + 1
	}
	p.code, p.size, p.made = p.chunk[at.from:], int(at.to-at.from), false
	return nil
}

// Deltas returns, for each posting of the current block of a scan with Positions, its first position
// and the distances between its positions. They are valid until the next call of Next or Reset.
func (s *Scan) Deltas() ([]uint32, error) {
	p := &s.positions
	if p.made {
		return p.deltas, nil
	}
	code, size := p.code, p.size
	n := int(sumOf(s.TFs[:s.N]))
	if n > 8*size {
		return nil, inBlock(corrupt.New(0, "%d positions in %d bytes", n, size), s.b)
	}
	got, err := decodeDeltas(p.make(s.TFs[:s.N]), code[:size+codeGuard])
	if err == nil && got != size {
		err = corrupt.New(got, "the code of positions has %d bytes, not %d", got, size)
	}
	return p.deltas, inBlock(err, s.b)
}

// takePositions appends the positions of the current block of s.
func (w *Writer) takePositions(s *Scan) {
	p := &s.positions
	if p.code != nil {
		w.positions.copyBlock(p.code[:p.size])
		return
	}
	w.positions.deltas = append(w.positions.deltas, p.deltas...)
	w.positions.endBlock()
}
