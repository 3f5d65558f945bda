package postings

import (
	"encoding/binary"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A Scan reads a list block by block, from the first to the last:
//
//	var s postings.Scan
//	s.Reset(list)
//	for s.Next() {
//		use(s.Docs[:s.N], s.TFs[:s.N])
//	}
//	return s.Err()
//
// It finds the damage that List.Docs and List.Freqs find. But it leaves no chunk in the list, and
// converts no chunk of the codec Interpolative to rows, which only searches need. Merges work by a
// Writer that takes blocks verbatim from a Scan.
//
// The zero value is at the end of an empty list. A Scan is about 3 KB: reuse it.
type Scan struct {
	// Positions makes the scan read positions, too. It holds from the next Reset on. A list without
	// positions then has zeros.
	Positions bool

	N    int               // postings in the current block
	Docs [BlockSize]uint32 // their documents, as moved by Shift
	TFs  [BlockSize]uint32 // and frequencies

	l      *List
	b      int    // current block
	behind int    // the block after the last one of the current chunk
	shift  uint32 // added to the documents of the current block
	err    error

	chunk *chunk // the current chunk of a list of rows

	body          []byte // the current chunk of a list of the codec Interpolative
	from, mid, at int    // bits of the current block: its documents, then its frequencies

	bestOf *Impacts // of the blocks of the current extent, of a list that reads extents on demand

	short  bool // the block in a short entry is next
	block  block
	best   []Impact
	padded [blockRoom]byte

	positions positionScan
}

// Reset positions the scan before the first block of a list.
func (s *Scan) Reset(l *List) {
	s.l, s.b, s.behind, s.N, s.err = l, -1, 0, 0, nil
	s.chunk, s.body, s.bestOf, s.short = nil, nil, nil, false
	s.positions.reset()
}

// ResetShort positions the scan before the block of a short list, given its entry. (An even first
// byte marks a short list.) It makes no List, because a merge would have to make millions. It
// returns the last document and does not keep entry. source reads the positions; it is only needed
// with Positions. An error matches corrupt.Err, or is that of source.
func (s *Scan) ResetShort(entry []byte, source ShortPositionLoader) (last uint32, err error) {
	s.Reset(nil)
	body, err := unsealEntry(entry)
	if err != nil {
		return 0, err
	}
	r := reader{b: body}
	v := r.uvarint()
	if v&1 != 0 || v>>1 >= BlockSize {
		return 0, corrupt.New(0, "no short list: %d", v)
	}
	k := &s.block
	var parts entryParts
	if s.best, err = k.parseShort(&r, int(v>>1)+1, s.best[:0], new(Sizes), &parts); err != nil {
		return 0, err
	}
	copy(s.Docs[:], k.docs[:k.n])
	copy(s.TFs[:], k.tfs[:k.n])
	s.short = true
	if s.Positions {
		err = s.positions.readShort(k.tfs[:k.n], parts, source)
	}
	return k.last(), err
}

// ResetRun positions the scan before a block of fewer than BlockSize postings, given as in a short
// entry: gaps and frequencies, without length codes. positions are theirs, as AddAllPositions takes
// them, or nil if they have none. It does not keep run and positions, which must be whole.
func (s *Scan) ResetRun(run, positions []byte) {
	s.Reset(nil)
	n, prev := 0, noDoc
	for at := 0; at < len(run); n++ {
		v, size := binary.Uvarint(run[at:])
		at += size
		s.TFs[n] = 1
		if v&1 == 0 {
			tf, size := binary.Uvarint(run[at:])
			s.TFs[n] = uint32(tf) + 2
			at += size
		}
		prev += uint32(v>>1) + 1
		s.Docs[n] = prev
	}
	s.block.n = n
	s.short = n > 0
	if !s.Positions {
		return
	}
	deltas := s.positions.make(s.TFs[:n])
	if positions == nil {
		clear(deltas)
		return
	}
	readVarints(deltas, positions)
}

// Next reads the next block. It returns false after the last block and on an error.
func (s *Scan) Next() bool {
	s.N, s.shift = 0, 0
	if s.short {
		s.N, s.short = s.block.n, false
		return true
	}
	if s.l == nil || s.err != nil || s.b+1 >= s.l.Blocks() {
		return false
	}
	s.b++
	s.err = s.read()
	if s.err == nil && s.Positions {
		s.err = inBlock(s.readPositions(), s.b)
	}
	if s.err != nil {
		return false
	}
	s.N = s.l.BlockLen(s.b)
	return true
}

// Err returns the error that ended the scan early, or nil.
func (s *Scan) Err() error { return s.err }

// Shift adds by to each document of the current block. Sums wrap around, so documents may also move
// down. The results must be valid documents.
func (s *Scan) Shift(by uint32) {
	if by == 0 {
		return
	}
	s.shift += by
	for i := range s.Docs[:s.N] {
		s.Docs[i] += by
	}
}

// impacts returns the best pairs of the current block of a list.
func (s *Scan) impacts() ([]Impact, error) {
	if s.l.OnDemand() {
		return s.bestOf.Of(s.b % ExtentBlocks), nil
	}
	m, err := s.l.BlockImpacts()
	if err != nil {
		return nil, err
	}
	return m.Of(s.b), nil
}

// read reads block b.
func (s *Scan) read() (err error) {
	if s.b%ExtentBlocks == 0 && s.l.OnDemand() {
		if s.bestOf, err = s.l.BlockImpactsOf(s.b / ExtentBlocks); err != nil {
			return err
		}
	}
	if s.b == s.behind {
		if err := s.load(); err != nil {
			return err
		}
	}
	if s.l.bits {
		err = s.readBits()
	} else {
		err = s.readRows()
	}
	return inBlock(err, s.b)
}

// load gets the chunk of block b, from the list if it is loaded there.
func (s *Scan) load() error {
	l := s.l
	s.chunk, s.body, s.behind = l.tail, nil, l.Blocks()
	if l.tail != nil {
		if s.b == s.behind-1 {
			return nil
		}
		s.behind--
	}
	of := l.storedIn()
	i := int(of[s.b/ExtentBlocks])
	_, s.behind = blocksOf(of, i, s.behind)
	if !l.bits {
		if s.chunk = l.chunks[i].Load(); s.chunk != nil {
			return nil
		}
	}
	value, err := l.load.Chunk(i)
	if err != nil {
		return err
	}
	if !l.bits {
		s.chunk, err = l.openChunk(i, value)
		return err
	}
	s.at = 0
	s.body, err = l.unsealPart(value, "posting chunk")
	return err
}

// readRows reads block b of a chunk of rows.
func (s *Scan) readRows() error {
	l, e, n := s.l, s.l.Enc[s.b], s.l.BlockLen(s.b)
	rows := s.rows()
	if err := decodeDocs(&s.Docs, rows, e, n, l.before(s.b), l.Last[s.b]); err != nil {
		return err
	}
	return decodeFreqs(&s.TFs, rows[RowBytes*e.docRows(n):], e, n)
}

// rows returns the rows of the current block.
func (s *Scan) rows() []byte {
	return s.chunk.from(s.l.Off[s.b])[:RowBytes*s.l.Enc[s.b].Rows(s.l.BlockLen(s.b))]
}

// readBits reads block b of a chunk that is a bit string.
func (s *Scan) readBits() (err error) {
	l, e, n := s.l, s.l.Enc[s.b], s.l.BlockLen(s.b)
	in := room(s.body[s.at/8:], &s.padded)
	var v [BlockSize + 1]uint32
	s.from = s.at
	begin := s.at - s.at%8
	end, err := readDocsAs(&v, in, s.at%8, e, n, l.before(s.b), l.Last[s.b])
	if err != nil {
		return err
	}
	copy(s.Docs[:], v[1:])
	s.mid = begin + end
	if e>>8 == 0 {
		ones(&s.TFs)
	} else {
		if end, err = readFreqsAs(&v, in, end, e, n); err != nil {
			return err
		}
		for i := range s.TFs {
			s.TFs[i] = v[i+1] - v[i]
		}
	}
	if s.at = begin + end; s.at > 8*len(s.body) {
		return corrupt.New(len(s.body), "%d bits, %d bytes", s.at, len(s.body))
	}
	if l.coded != nil && s.at != int(l.coded.endOf(s.b)) {
		return corrupt.New(s.at/8, "the code ends at bit %d, the directory says %d", s.at, l.coded.endOf(s.b))
	}
	if s.b+1 == s.behind {
		return endOfBits(s.body, s.at)
	}
	return nil
}
