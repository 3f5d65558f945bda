package postings

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A PositionLoader is a Loader that reads the stored positions of a long list, too, exactly as
// Encode made them. A Loader that has compared checksums (CheckedLoader) has compared these as well.
type PositionLoader interface {
	Loader
	PositionDirectory(part int) ([]byte, error)
	PositionChunk(chunk int) ([]byte, error)
}

// A ShortPositionLoader reads the stored positions of a short list, given the pointer in its entry
// (see PointTo). The result begins with Encoded.Positions, which may be followed by others.
type ShortPositionLoader interface {
	ShortPositions(pointer uint64) ([]byte, error)
}

// storedPositions are the positions of a long list that is stored. They are read when they are first
// needed.
type storedPositions struct {
	l      *List
	chunks int // as the entry says
	held   atomic.Pointer[heldPositions]
}

// heldPositions are what has been read of the positions of a list. Shrink drops them as a whole;
// those who use them meanwhile may continue.
type heldPositions struct {
	size   atomic.Int64
	parts  []atomic.Pointer[positionPart]
	chunks []atomic.Pointer[[]byte]
	left   []atomic.Int32 // blocks of each chunk without rows; negative before the chunk's first use
	rows   []atomic.Pointer[positionRows]
	used   []atomic.Uint32 // how often each block was, up to partUses or more; 4 bits each
}

// A positionPart is a part of the directory: where the codes of some blocks lie.
type positionPart struct {
	codes  []codeRange
	blocks []int32 // of each chunk that begins in the part
	first  uint32  // the first of these chunks
}

// A codeRange is the bytes of a block in its chunk.
type codeRange struct{ chunk, from, to uint32 }

func (s *storedPositions) bytes() int64 {
	n := int64(unsafe.Sizeof(*s))
	if h := s.held.Load(); h != nil {
		n += h.size.Load()
	}
	return n
}

func (s *storedPositions) shrink() bool { return s.held.Swap(nil) != nil }

// hold returns what has been read so far.
func (s *storedPositions) hold() *heldPositions {
	if h := s.held.Load(); h != nil {
		return h
	}
	blocks := s.l.Blocks()
	h := &heldPositions{
		parts:  make([]atomic.Pointer[positionPart], (blocks+partBlocks-1)/partBlocks),
		chunks: make([]atomic.Pointer[[]byte], s.chunks),
		left:   make([]atomic.Int32, s.chunks),
		rows:   make([]atomic.Pointer[positionRows], blocks),
		used:   make([]atomic.Uint32, (blocks+usesOfWord-1)/usesOfWord),
	}
	h.size.Store(int64(unsafe.Sizeof(*h)) + int64(8*len(h.parts)+12*len(h.chunks)+8*blocks+4*len(h.used)))
	if !s.held.CompareAndSwap(nil, h) {
		if other := s.held.Load(); other != nil {
			return other
		}
	}
	return h
}

// usesOfWord is the number of blocks that share a word of heldPositions.used.
const usesOfWord = 8

// use notes that block b is used, which counts as much as by says, and returns what it was before. What
// is partUses or more grows no further.
func (h *heldPositions) use(b int, by uint32) (before uint32) {
	u, shift := &h.used[b/usesOfWord], 4*(b%usesOfWord)
	for {
		old := u.Load()
		if before = old >> shift & 15; before >= partUses || u.CompareAndSwap(old, old+by<<shift) {
			return before
		}
	}
}

// load implements positionSource. The first time it decodes a block, the second time it keeps rows:
// most blocks of one pass over many queries are needed once. (As to those of which little is wanted, see
// gather.)
func (s *storedPositions) load(p *Positions, b, n int) error {
	h := s.hold()
	if r := h.rows[b].Load(); r != nil {
		p.unpack(r, n)
		return nil
	}
	code, chunk, err := s.codeOf(h, b)
	if err != nil {
		return err
	}
	if err := p.decode(code, n, len(code)-codeGuard); err != nil {
		return err
	}
	union, err := p.takeDeltas()
	if err != nil {
		return err
	}
	if h.use(b, partUses) >= partUses {
		h.keep(b, p.pack(union), chunk)
	}
	return nil
}

// codeOf returns the code of a block with codeGuard bytes behind it, and the number of its chunk.
func (s *storedPositions) codeOf(h *heldPositions, b int) (code []byte, chunk uint32, err error) {
	part, err := s.part(h, b/partBlocks)
	if err != nil {
		return nil, 0, err
	}
	at := part.codes[b%partBlocks]
	all, err := s.chunk(h, part, at.chunk)
	if err != nil {
		return nil, 0, err
	}
	return all[at.from : at.to+codeGuard], at.chunk, nil
}

// decode reads the code of n positions to Wide, as deltas. The code has size bytes.
func (p *Positions) decode(in []byte, n, size int) error {
	if n > 8*size {
		return corrupt.New(0, "%d positions in %d bytes", n, size)
	}
	got, err := decodeDeltas(p.makeWide(n), in)
	if err == nil && got != size {
		err = corrupt.New(got, "the code of positions has %d bytes, not %d", got, size)
	}
	return err
}

// pack makes rows of the positions.
func (p *Positions) pack(union uint32) *positionRows {
	if p.Wide != nil {
		return packPositions(p.Wide, union)
	}
	wide := p.wide[:len(p.Narrow)] // takeDeltas has left them there
	return packPositions(wide, union)
}

// keep keeps the rows of a block, and drops the chunk with the last of its blocks.
func (h *heldPositions) keep(b int, r *positionRows, chunk uint32) {
	if !h.rows[b].CompareAndSwap(nil, r) {
		return
	}
	h.size.Add(r.bytes())
	if h.left[chunk].Add(-1) == 0 {
		if c := h.chunks[chunk].Swap(nil); c != nil {
			h.size.Add(-int64(len(*c)))
		}
	}
}

// part returns a part of the directory.
func (s *storedPositions) part(h *heldPositions, i int) (*positionPart, error) {
	if p := h.parts[i].Load(); p != nil {
		return p, nil
	}
	p, err := s.readPart(i)
	if err != nil {
		return nil, err
	}
	if !h.parts[i].CompareAndSwap(nil, p) {
		return h.parts[i].Load(), nil
	}
	for c, n := range p.blocks {
		h.left[int(p.first)+c].Add(n)
	}
	h.size.Add(int64(12*cap(p.codes) + 4*cap(p.blocks)))
	return p, nil
}

// readPart reads a part of the directory and finds where codes lie.
func (s *storedPositions) readPart(i int) (*positionPart, error) {
	load, err := s.loader()
	if err != nil {
		return nil, err
	}
	value, err := load.PositionDirectory(i)
	if err != nil {
		return nil, err
	}
	body, err := s.l.unsealPart(value, "directory of positions")
	if err != nil {
		return nil, err
	}
	return parsePositionPart(body, min(partBlocks, s.l.Blocks()-i*partBlocks), s.chunks)
}

// chunk returns a chunk with the codes of a part, which has been compared with the part.
func (s *storedPositions) chunk(h *heldPositions, part *positionPart, i uint32) ([]byte, error) {
	if c := h.chunks[i].Load(); c != nil {
		return *c, nil
	}
	value, err := s.readChunk(part, i)
	if err != nil {
		return nil, err
	}
	if h.chunks[i].CompareAndSwap(nil, &value) {
		h.size.Add(int64(len(value)))
	}
	return value, nil
}

// readChunk reads a chunk with its guard and its checksum.
func (s *storedPositions) readChunk(part *positionPart, i uint32) ([]byte, error) {
	load, err := s.loader()
	if err != nil {
		return nil, err
	}
	value, err := load.PositionChunk(int(i))
	if err != nil {
		return nil, err
	}
	body, err := s.l.unsealPart(value, "chunk of positions")
	if err != nil {
		return nil, err
	}
	if want := part.size(i); len(body) != want+positionGuard {
		return nil, corrupt.New(-1, "chunk %d of positions has %d bytes; the directory says %d", i, len(body)-positionGuard, want)
	}
	return value, nil
}

// loader returns the list's Loader as one of positions, which counts.
func (s *storedPositions) loader() (PositionLoader, error) {
	if _, ok := s.l.source.(PositionLoader); !ok {
		return nil, corrupt.New(-1, "a list with positions, which its Loader does not read")
	}
	return (*counted)(s.l), nil
}

// PositionDirectory implements PositionLoader.
func (l *counted) PositionDirectory(part int) ([]byte, error) {
	return l.countPositions(l.source.(PositionLoader).PositionDirectory(part))
}

// PositionChunk implements PositionLoader.
func (l *counted) PositionChunk(chunk int) ([]byte, error) {
	return l.countPositions(l.source.(PositionLoader).PositionChunk(chunk))
}

func (l *counted) countPositions(value []byte, err error) ([]byte, error) {
	l.fetchedPositions.Add(int64(len(value)))
	return l.count(value, err)
}

// positionGuard is the number of zeros that follow the codes of a chunk. With the checksum they make
// codeGuard bytes.
const positionGuard = 4

// size is the number of bytes of codes in a chunk of the part.
func (p *positionPart) size(chunk uint32) int {
	behind := 0
	for _, n := range p.blocks[:chunk-p.first+1] {
		behind += int(n)
	}
	return int(p.codes[behind-1].to)
}

// firstSizeLow is the number of low bits of the difference of the sizes of two codes.
const firstSizeLow = 5

// appendPositionPart appends a part of the directory: the sizes of some codes, of which the first
// begins the given chunk.
func appendPositionPart(dst []byte, sizes []uint32, chunk uint32) []byte {
	sum := uint64(0)
	for i, n := range sizes[1:] {
		sum += uint64(zigzag(int32(n - sizes[i])))
	}
	low := 0
	for sum>>low > uint64(len(sizes)) {
		low++
	}
	w := bitWriter{b: dst}
	w.gamma(uint64(chunk), 0)
	w.put(uint32(low), firstSizeLow)
	w.gamma(uint64(sizes[0]), firstSizeBits)
	for i, n := range sizes[1:] {
		w.gamma(uint64(zigzag(int32(n-sizes[i]))), low)
	}
	return w.flush()
}

// maxCodeBytes bounds the code of a block. MaxPosition positions take no more.
const maxCodeBytes = 1 << 30

// parsePositionPart reads a part of the directory, of some blocks of a list of so many chunks.
func parsePositionPart(body []byte, blocks, chunks int) (*positionPart, error) {
	if 8*len(body) < blocks {
		return nil, corrupt.New(0, "directory of positions of %d bytes for %d blocks", len(body), blocks)
	}
	r := bitReader{b: body}
	first := r.gamma(0)
	low := int(r.take(firstSizeLow))
	if r.err == nil && first >= uint64(chunks) {
		return nil, corrupt.New(0, "positions in chunk %d of %d", first, chunks)
	}
	p := &positionPart{first: uint32(first), codes: make([]codeRange, blocks)}
	chunk, at, size := uint32(first), uint32(0), uint32(0)
	for i := range p.codes {
		if i == 0 {
			size = uint32(min(r.gamma(firstSizeBits), maxCodeBytes+1))
		} else {
			size += uint32(unzigzag(uint32(r.gamma(low))))
		}
		if r.check() != nil {
			return nil, r.err
		}
		if size == 0 || size > maxCodeBytes {
			return nil, corrupt.New(r.at/8, "a block with a code of %d bytes", size)
		}
		if i == 0 || at >= chunkTarget {
			if i > 0 {
				chunk, at = chunk+1, 0
			}
			p.blocks = append(p.blocks, 0)
		}
		p.codes[i] = codeRange{chunk, at, at + size}
		p.blocks[len(p.blocks)-1]++
		at += size
	}
	if uint64(chunk) >= uint64(chunks) {
		return nil, corrupt.New(-1, "positions in chunk %d of %d", chunk, chunks)
	}
	p.blocks = slices.Clip(p.blocks)
	return p, r.end()
}

// shortPositions are the positions of a short list that is stored.
type shortPositions struct {
	l       *List
	source  ShortPositionLoader // nil if there is none
	pointer uint64
	rows    atomic.Pointer[positionRows]
}

func (s *shortPositions) bytes() int64 {
	n := int64(unsafe.Sizeof(*s))
	if r := s.rows.Load(); r != nil {
		n += r.bytes()
	}
	return n
}

func (s *shortPositions) shrink() bool { return s.rows.Swap(nil) != nil }

// load implements positionSource.
func (s *shortPositions) load(p *Positions, _, n int) error {
	if r := s.rows.Load(); r != nil {
		p.unpack(r, n)
		return nil
	}
	if s.source == nil {
		return corrupt.New(-1, "a list with positions, which its Loader does not read")
	}
	in, err := s.source.ShortPositions(s.pointer)
	if err != nil {
		return err
	}
	size, err := decodeShort(p.makeWide(n), in)
	if err != nil {
		return err
	}
	union, err := p.takeDeltas()
	if err != nil {
		return err
	}
	s.l.fetched.Add(int64(size))
	s.l.fetchedPositions.Add(int64(size))
	s.rows.CompareAndSwap(nil, p.pack(union))
	return nil
}

// decodeShort is decodeDeltas for a code that others follow, or nothing.
func decodeShort(dst []uint32, in []byte) (size int, err error) {
	most := 5*len(dst) + codeGuard // no code is longer
	code := make([]byte, min(len(in), most)+codeGuard)
	copy(code[:len(code)-codeGuard], in)
	return decodeDeltas(dst, code)
}
