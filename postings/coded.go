package postings

import (
	"sync"
	"sync/atomic"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// coded are the chunks of a list of the codec Interpolative whose directory says where each block
// begins. The list decodes single blocks, so a query that needs one block does not pay for the
// hundreds of its chunk. The rows of an extent share memory: a chunk in the sense of List.
type coded struct {
	at     []uint32 // first bit of each block in its chunk; within an extent once it has been read
	of     []uint32 // the chunk of each extent
	ends   []uint32 // bits of each chunk
	chunks []atomic.Pointer[codedChunk]
	used   []atomic.Uint32 // blocks of each extent that have been used: see Once
	locks  []sync.Mutex    // of each extent, held while one of its blocks is decoded
}

// A codedChunk is a chunk as stored, without its checksum.
type codedChunk struct {
	body []byte
	lent bool
}

// held is the memory that the chunk takes.
func (c *codedChunk) held() int64 {
	if c.lent {
		return 0
	}
	return int64(cap(c.body))
}

// openCoded makes the list decode single blocks, given the bits that the blocks of each extent take
// in its chunk.
func (l *List) openCoded(codeBits []uint64) error {
	extents, chunks := len(l.ExtLast), len(l.chunks)
	x := &coded{
		at:     make([]uint32, l.Blocks()),
		of:     l.chunkOf,
		ends:   make([]uint32, chunks),
		chunks: make([]atomic.Pointer[codedChunk], chunks),
		used:   make([]atomic.Uint32, extents),
		locks:  make([]sync.Mutex, extents),
	}
	for e, size := range codeBits {
		end := &x.ends[x.of[e]]
		sum := uint64(*end) + min(size, 1<<32)
		if sum >= 1<<32 {
			return inBlock(corrupt.New(-1, "the code of a chunk has 1<<32 bits or more"), e*ExtentBlocks)
		}
		x.at[e*ExtentBlocks] = *end
		*end = uint32(sum)
	}
	rows := l.rowOf[len(l.rowOf)-1]
	l.chunkOf, l.rowOf = make([]uint32, extents), make([]uint32, extents+1)
	for e := range extents {
		l.chunkOf[e], l.rowOf[e] = uint32(e), l.Off[e*ExtentBlocks]
	}
	l.rowOf[extents] = rows
	l.chunks = make([]atomic.Pointer[chunk], extents)
	l.coded = x
	return nil
}

// endOf is the bit after block b in its chunk.
func (x *coded) endOf(b int) uint32 {
	i := x.of[b/ExtentBlocks]
	if next := b + 1; next < len(x.at) && x.of[next/ExtentBlocks] == i {
		return x.at[next]
	}
	return x.ends[i]
}

// decodeBlock decodes block b into the rows of its extent, unless another goroutine has.
func (l *List) decodeBlock(b int) (*chunk, error) {
	e := b / ExtentBlocks
	if err := l.needExtent(e); err != nil {
		return nil, err
	}
	body, err := l.codedChunk(int(l.coded.of[e]))
	if err != nil {
		return nil, err
	}
	l.coded.locks[e].Lock()
	defer l.coded.locks[e].Unlock()
	c := l.chunks[e].Load()
	if c == nil {
		from, to := l.blocksIn(e)
		size := RowBytes * int(l.rowOf[e+1]-l.rowOf[e])
		c = &chunk{rows: make([]byte, size, size+GuardBytes), first: l.rowOf[e]}
		c.missing.Store(1<<(to-from) - 1)
		l.loaded.Add(int64(size + GuardBytes))
		l.chunks[e].Store(c)
	}
	missing := c.missing.Load()
	if missing>>(b%ExtentBlocks)&1 == 0 {
		if missing == 0 { // body may have come after it was dropped
			l.dropDecoded(int(l.coded.of[e]))
		}
		return c, nil
	}
	if err := l.decodeInto(c, body, b); err != nil {
		return nil, inBlock(err, b)
	}
	missing &^= 1 << (b % ExtentBlocks)
	c.missing.Store(missing)
	if missing == 0 {
		l.dropDecoded(int(l.coded.of[e]))
	}
	return c, nil
}

// codedChunk returns the bits of chunk i, and loads it if needed.
func (l *List) codedChunk(i int) ([]byte, error) {
	x := l.coded
	if p := x.chunks[i].Load(); p != nil {
		return p.body, nil
	}
	value, lent, err := l.storedChunk(i)
	if err != nil {
		return nil, err
	}
	body, err := l.unsealPart(value, "posting chunk")
	if err == nil {
		err = endOfBits(body, int(x.ends[i]))
	}
	if err != nil {
		return nil, err
	}
	if c := (&codedChunk{body, lent}); x.chunks[i].CompareAndSwap(nil, c) {
		l.loaded.Add(c.held())
	}
	return body, nil
}

// dropDecoded forgets the bits of chunk i when all its blocks are decoded.
func (l *List) dropDecoded(i int) {
	from, to := blocksOf(l.coded.of, i, l.Blocks())
	for e := from / ExtentBlocks; e*ExtentBlocks < to; e++ {
		if c := l.chunks[e].Load(); c == nil || c.missing.Load() != 0 {
			return
		}
	}
	l.dropChunk(i)
}

// dropChunk forgets the bits of chunk i, if they are loaded. It reports whether that frees memory.
func (l *List) dropChunk(i int) bool {
	p := l.coded.chunks[i].Swap(nil)
	if p == nil {
		return false
	}
	l.loaded.Add(-p.held())
	return !p.lent
}

// decodeInto turns the code of block b into rows.
func (l *List) decodeInto(c *chunk, body []byte, b int) error {
	var copied [blockRoom]byte
	at := int(l.coded.at[b])
	in, e, n := room(body[at/8:], &copied), l.Enc[b], l.BlockLen(b)
	rows := c.from(l.Off[b])[:RowBytes*e.Rows(n)]
	dst, mid, err := appendDocRows(rows[:0], in, at%8, e, n, l.before(b), l.Last[b])
	if err != nil {
		return err
	}
	_, end, err := appendFreqRows(dst, in, mid, e, n)
	if err != nil {
		return err
	}
	return l.endsAt(b, at-at%8+end)
}

// bytes is the memory that the positions of blocks take.
func (x *coded) bytes() int {
	if x == nil {
		return 0
	}
	return 4*(len(x.at)+len(x.of)+len(x.ends)+len(x.used)) + 8*(len(x.chunks)+len(x.locks))
}
