package postings

import "github.com/riffle-search/riffle/internal/corrupt"

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
// makes no rows of chunks by the codec Interpolative, which only searches need. A Writer may take
// blocks as they are from it: that is what merges are made of.
//
// The zero value is at the end of an empty list. A Scan is about 3 KB: keep it.
type Scan struct {
	N    int               // postings of the block at hand
	Docs [BlockSize]uint32 // their documents, as Shift has moved them
	TFs  [BlockSize]uint32 // and frequencies

	l      *List
	b      int    // block at hand
	behind int    // the block behind the last one of the chunk at hand
	shift  uint32 // of the documents of the block at hand
	err    error

	chunk *chunk // at hand, of a list of rows

	body     []byte // the chunk at hand, of a list by the codec Interpolative
	from, at int    // bits of the block at hand

	short  bool // the block of an entry comes next
	block  block
	best   []Impact
	padded [maxBlockBits/8 + 8]byte
}

// Reset puts the scan before the first block of a list.
func (s *Scan) Reset(l *List) {
	s.l, s.b, s.behind, s.N, s.err = l, -1, 0, 0, nil
	s.chunk, s.body, s.short = nil, nil, false
}

// ResetShort puts the scan before the block of a short list that is given by its entry (an even first
// byte says that it is short). This makes no List, of which a merge would have to make millions.
// It returns the last document. The entry is not kept. An error matches corrupt.Err.
func (s *Scan) ResetShort(entry []byte) (last uint32, err error) {
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
	if s.best, err = k.parseShort(&r, int(v>>1)+1, s.best[:0], new(Sizes)); err != nil {
		return 0, err
	}
	copy(s.Docs[:], k.docs[:k.n])
	copy(s.TFs[:], k.tfs[:k.n])
	s.short = true
	return k.last(), nil
}

// Next reads the next block. It returns false behind the last, and when one cannot be read.
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
	if s.err != nil {
		return false
	}
	s.N = s.l.BlockLen(s.b)
	return true
}

// Err returns what ended the scan early, nil at the true end.
func (s *Scan) Err() error { return s.err }

// Shift adds the same to each document of the block at hand; a sum wraps around, so that documents
// may also move down. They must be documents still.
func (s *Scan) Shift(by uint32) {
	if by == 0 {
		return
	}
	s.shift += by
	for i := range s.Docs[:s.N] {
		s.Docs[i] += by
	}
}

// read reads block b.
func (s *Scan) read() (err error) {
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

// load gets the chunk of block b, from the list if it has it.
func (s *Scan) load() error {
	l := s.l
	s.chunk, s.body, s.behind = l.tail, nil, l.Blocks()
	if l.tail != nil {
		if s.b == s.behind-1 {
			return nil
		}
		s.behind--
	}
	i := int(l.chunkOf[s.b/ExtentBlocks])
	_, s.behind = blocksOf(l.chunkOf, i, s.behind)
	if s.chunk = l.chunks[i].Load(); s.chunk != nil && !l.bits {
		return nil
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
	s.body, err = unsealPart(value, "posting chunk")
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

// rows are those of the block at hand.
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
	if s.b+1 == s.behind {
		return endOfBits(s.body, s.at)
	}
	return nil
}
