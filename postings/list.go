package postings

import (
	"sync/atomic"
	"unsafe"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A Loader reads the stored parts of a long list, exactly as Encode made them, with checksums.
// Nobody may change the bytes afterwards. Many goroutines call it at once.
type Loader interface {
	Directory(part int) ([]byte, error)
	Chunk(chunk int) ([]byte, error)
}

// A CheckedLoader is a Loader that has compared the checksums of what it returns.
type CheckedLoader interface {
	Loader
	ChecksParts()
}

// A LendingLoader is a CheckedLoader that can lend some chunks: their bytes have been checked, stay as
// long as the loader is reachable, and are no memory of this process. ok is false for a chunk that it
// cannot lend: Chunk returns it, or says what is wrong.
type LendingLoader interface {
	CheckedLoader
	LendChunk(chunk int) (value []byte, ok bool)
}

// A List is an immutable posting list: a directory, which describes every block, and the payload,
// which holds the postings. A chunk of the payload is loaded when one of its blocks is first
// decoded, and stays until Shrink. A chunk of the codec Interpolative is turned into rows block by
// block, and one with several extents reads its directory extent by extent (onDemand). Any number of
// goroutines may use a List. The exported fields are for reading only.
type List struct {
	Count     int // postings
	BlockSize int // postings in every block but the last: 128, or fewer in tests

	// Number identifies the list among the long lists of its segment. It is 0 for a short list and
	// for one that no segment keeps. The opener of the list sets it.
	Number uint64

	// Cut is set for a view whose last block lacks some of the builder's postings. Its impacts are
	// then bounds that perhaps no posting attains.
	Cut bool

	// Of each block, once Seek has led to it, or Need:
	Last []uint32 // last document
	Enc  []Encoding
	Off  []uint32 // first row, counted from the start of the list's payload

	ExtLast     []uint32 // last document of each extent of ExtentBlocks blocks
	ExtImpacts  Impacts
	ListImpacts []Impact

	impacts atomic.Pointer[Impacts] // of the blocks; nil after Shrink

	load    Loader        // of an opened list itself, as counted
	source  Loader        // what load reads from
	fetched atomic.Int64  // bytes read so far
	lender  LendingLoader // the source, if it lends
	checked bool          // the source is a CheckedLoader
	form    directoryForm
	stored  int    // chunks, as the entry says
	bits    bool   // chunks are stored by the codec Interpolative
	coded   *coded // of such a list, where each block begins; nil if its directory does not say
	chunks  []atomic.Pointer[chunk]
	chunkOf []uint32 // the chunk of each extent
	rowOf   []uint32 // first row of each chunk, and, of a stored list, of the one that would follow
	tail    *chunk   // the last block, when it is in no chunk
	loaded  atomic.Int64
	sizes   Sizes // of a list that came from a short entry
	entry   int   // bytes of the entry, as stored
	bitmap  bitmap

	onDemand *onDemand // extents of the directory; nil when all have been read

	parted   *parted                  // of a Part
	identity atomic.Pointer[identity] // nil until a Part asks for it

	positions        positionSource // nil for a list without
	fetchedPositions atomic.Int64   // part of fetched
}

// A chunk is a loaded run of whole extents.
type chunk struct {
	rows    []byte        // with at least GuardBytes of capacity after them, unless empty
	first   uint32        // number of the first row in the list's payload
	missing atomic.Uint32 // blocks of the extent that are not decoded yet: 0 unless the list is coded
}

// Blocks returns the number of blocks.
func (l *List) Blocks() int { return len(l.Last) }

// BlockLen returns the number of postings in block b.
func (l *List) BlockLen(b int) int { return min(l.BlockSize, l.Count-b*l.BlockSize) }

// Seek returns the first block, at or after block from, whose last document is doc or later. Only
// that block can hold doc. Seek returns Blocks() if there is none.
func (l *List) Seek(from int, doc uint32) int {
	if from >= len(l.Last) {
		return len(l.Last)
	}
	e := from / ExtentBlocks
	if x := l.onDemand; (x == nil || x.has(e)) && l.Last[from] >= doc {
		return from
	}
	if l.ExtLast[e] < doc {
		if e = l.SeekExtent(e+1, doc); e == len(l.ExtLast) {
			return len(l.Last)
		}
	}
	l.Need(e*ExtentBlocks, e*ExtentBlocks+1)
	// If that has only now read the extent, blocks before block from may reach doc, too.
	blocks := l.Last[e*ExtentBlocks:]
	if len(blocks) < ExtentBlocks {
		return max(from, e*ExtentBlocks+seekPortable(blocks, doc))
	}
	return max(from, e*ExtentBlocks+seekExtent((*[ExtentBlocks]uint32)(blocks), doc))
}

// SeekExtent returns the first extent, at or after extent e, whose last document is doc or later, or
// their number if there is none. It gallops, because the target is often near.
func (l *List) SeekExtent(e int, doc uint32) int {
	for step := 1; e < len(l.ExtLast); step *= 2 {
		ahead := l.ExtLast[e:min(e+step, len(l.ExtLast))]
		if ahead[len(ahead)-1] >= doc {
			return e + seekPortable(ahead, doc)
		}
		e += len(ahead)
	}
	return e
}

// SeekBlock returns the index of the first of n documents, at least one, that is doc or later, or n
// if there is none.
func SeekBlock(docs *[BlockSize]uint32, n int, doc uint32) int {
	return seekBlock(docs, n, doc)
}

// Docs writes the documents of block b to dst, rising, and returns their number. Later elements of
// dst are undefined. An error is the Loader's, or matches corrupt.Err.
func (l *List) Docs(b int, dst *[BlockSize]uint32) (n int, err error) {
	// Handle most blocks here and the others in docs: in 10 ns there is no time for extra calls.
	if c := l.chunk(b); c != nil {
		e := l.Enc[b]
		if width := e.docWidth(); e.Kind() == Packed && 0 < width && width <= safeWidth {
			n = l.BlockLen(b)
			unpackDocs(dst, c.from(l.Off[b]), n, width, l.before(b))
			if dst[n-1] == l.Last[b] {
				return n, nil
			}
		}
	}
	return l.docs(b, dst)
}

func (l *List) docs(b int, dst *[BlockSize]uint32) (n int, err error) {
	c := l.chunk(b)
	if c == nil {
		if c, err = l.loadBlock(b); err != nil {
			return 0, err
		}
	}
	n = l.BlockLen(b)
	if err := decodeDocs(dst, c.from(l.Off[b]), l.Enc[b], n, l.before(b), l.Last[b]); err != nil {
		return 0, inBlock(err, b)
	}
	return n, nil
}

// Freqs writes the term frequencies of block b to dst, each at least 1, and returns their number.
// Later elements of dst are undefined.
func (l *List) Freqs(b int, dst *[BlockSize]uint32) (n int, err error) {
	n = l.BlockLen(b)
	c := l.chunk(b)
	if c == nil {
		if err := l.needExtent(b / ExtentBlocks); err != nil {
			return 0, err
		}
	}
	e := l.Enc[b]
	width, packed := e.packedFreqs()
	if width == 0 {
		ones(dst)
		return n, nil
	}
	if c == nil {
		if c, err = l.loadBlock(b); err != nil {
			return 0, err
		}
	}
	rows := c.from(l.Off[b] + uint32(e.docRows(n)))
	if packed && width < 32 {
		unpackFreqs(dst, rows, n, width)
		return n, nil
	}
	if err := decodeFreqs(dst, rows, e, n); err != nil {
		return 0, inBlock(err, b)
	}
	return n, nil
}

// Payload returns the rows of block b: those of its documents, then those of its frequencies.
// Unless there are none, GuardBytes more bytes may be read after them, within the capacity; these
// mean nothing. The caller must not write to them.
func (l *List) Payload(b int) ([]byte, error) {
	c := l.chunk(b)
	if c == nil {
		if l.parted != nil {
			return l.parted.payload(l, b)
		}
		var err error
		if c, err = l.loadBlock(b); err != nil {
			return nil, err
		}
	}
	return c.from(l.Off[b])[:RowBytes*l.Enc[b].Rows(l.BlockLen(b))], nil
}

// chunk returns the chunk of block b if it has the rows of the block.
func (l *List) chunk(b int) *chunk {
	if l.tail != nil && b == len(l.Last)-1 {
		return l.tail
	}
	c := l.chunks[l.chunkOf[b/ExtentBlocks]].Load()
	if c != nil && c.missing.Load()>>(uint(b)%ExtentBlocks)&1 != 0 {
		return nil
	}
	return c
}

// from returns the rows of the chunk from the given row of the list.
func (c *chunk) from(row uint32) []byte { return c.rows[RowBytes*int(row-c.first):] }

// PayloadRows is the number of rows of the whole list.
func (l *List) PayloadRows() int {
	n := len(l.Last)
	switch {
	case n == 0:
		return 0
	case l.onDemand != nil:
		return int(l.rowOf[len(l.rowOf)-1])
	}
	return int(l.Off[n-1]) + l.Enc[n-1].Rows(l.BlockLen(n-1))
}

// ExtentRows is the number of rows of extent e.
func (l *List) ExtentRows(e int) uint32 {
	end := l.PayloadRows()
	if next := (e + 1) * ExtentBlocks; next < len(l.Off) {
		end = int(l.Off[next])
	}
	return uint32(end) - l.Off[e*ExtentBlocks]
}

// First returns the lowest document that block b can hold.
func (l *List) First(b int) uint32 { return l.before(b) + 1 }

// before returns the last document of the block before b, or noDoc.
func (l *List) before(b int) uint32 {
	if b == 0 {
		return noDoc
	}
	return l.Last[b-1]
}

// loadBlock gets the rows of block b.
func (l *List) loadBlock(b int) (*chunk, error) {
	if l.parted != nil {
		return l.parted.block(l, b)
	}
	if l.coded != nil {
		return l.decodeBlock(b)
	}
	return l.loadChunk(b)
}

// loadChunk loads the chunk of block b. When several readers need it at once, each loads it and all
// but one discard their copies.
func (l *List) loadChunk(b int) (*chunk, error) {
	i := int(l.chunkOf[b/ExtentBlocks])
	value, err := l.load.Chunk(i)
	if err != nil {
		return nil, err
	}
	c, err := l.openChunk(i, value)
	if err != nil {
		return nil, err
	}
	if !l.chunks[i].CompareAndSwap(nil, c) {
		return l.chunks[i].Load(), nil
	}
	l.loaded.Add(int64(len(c.rows) + GuardBytes))
	return c, nil
}

// openChunk checks a stored chunk and converts a bit string to rows.
func (l *List) openChunk(i int, value []byte) (*chunk, error) {
	body, err := l.unsealPart(value, "posting chunk")
	if err != nil {
		return nil, err
	}
	c := &chunk{first: l.rowOf[i]}
	rows := int(l.rowOf[i+1] - l.rowOf[i])
	if l.bits {
		from, to := blocksOf(l.chunkOf, i, l.Blocks())
		c.rows, err = l.decodeBits(body, from, to, rows)
		return c, err
	}
	size := RowBytes * rows
	if len(value) != size+GuardBytes {
		return nil, corrupt.New(0, "posting chunk %d has %d bytes; the directory says %d", i, len(value), size+GuardBytes)
	}
	c.rows = value[: size : size+GuardBytes]
	return c, nil
}

// Shrink frees what the list can load again: the payload, the stored directory and the best pairs of
// the blocks. What has been read of the directory remains. Readers keep what they already have.
// Shrink returns false when there is nothing to free, as in a list that no Loader serves.
func (l *List) Shrink() bool {
	if l.load == nil {
		return l.shrinkPositions()
	}
	freed := l.impacts.Swap(nil) != nil
	freed = l.onDemand.shrink(l) || freed
	freed = l.shrinkPositions() || freed
	for i := range l.chunks {
		if c := l.chunks[i].Swap(nil); c != nil {
			l.loaded.Add(-int64(len(c.rows) + GuardBytes))
			freed = true
		}
	}
	if l.coded != nil {
		for i := range l.coded.chunks {
			freed = l.dropChunk(i) || freed
		}
	}
	return freed
}

// Bytes returns the memory that the list holds. Chunks that a view shares with a Builder count as the
// Builder's.
func (l *List) Bytes() int {
	n := l.headBytes() + 8*len(l.Bitmap())
	if l.tail != nil {
		n += cap(l.tail.rows)
	}
	if l.positions != nil {
		n += int(l.positions.bytes())
	}
	return n + int(l.loaded.Load())
}

// headBytes is what remains after Shrink.
func (l *List) headBytes() int {
	n := int(unsafe.Sizeof(*l)) + 4*len(l.Last) + 2*len(l.Enc) + 4*len(l.Off) + 4*len(l.ExtLast)
	n += l.impacts.Load().bytes() + l.ExtImpacts.bytes() + len(l.ListImpacts)*int(unsafe.Sizeof(Impact{}))
	return n + 12*len(l.chunks) + 4*len(l.chunkOf) + l.coded.bytes() + l.onDemand.bytes()
}

// Held divides the memory of a list, in bytes.
type Held struct {
	Heads  int64 // where blocks lie and how they are encoded, best pairs, parts of the stored directory
	Code   int64 // chunks as stored, of the codec Interpolative
	Rows   int64 // chunks as they are searched
	Bitmap int64

	Positions int64 // as stored, as they are searched, and where they lie
}

// Held divides Bytes. It takes some nanoseconds for each extent.
func (l *List) Held() (h Held) {
	for i := range l.chunks {
		if c := l.chunks[i].Load(); c != nil && l.load != nil {
			h.Rows += int64(len(c.rows) + GuardBytes)
		}
	}
	if l.coded != nil {
		for i := range l.coded.chunks {
			if p := l.coded.chunks[i].Load(); p != nil {
				h.Code += p.held()
			}
		}
	}
	if l.tail != nil {
		h.Rows += int64(cap(l.tail.rows))
	}
	h.Bitmap = int64(8 * len(l.Bitmap()))
	if l.positions != nil {
		h.Positions = l.positions.bytes()
	}
	h.Heads = max(0, int64(l.Bytes())-h.Code-h.Rows-h.Bitmap-h.Positions) // others may load chunks meanwhile
	return h
}

// Fetched returns how many bytes have been read from the Loader since Open.
func (l *List) Fetched() int64 { return l.fetched.Load() }

// counted is a List as the Loader of itself: it counts what is read.
type counted List

func (l *counted) Directory(part int) ([]byte, error) { return l.count(l.source.Directory(part)) }
func (l *counted) Chunk(chunk int) ([]byte, error) {
	value, _, err := (*List)(l).storedChunk(chunk)
	return value, err
}

// storedChunk returns a chunk as stored, and whether it is lent.
func (l *List) storedChunk(i int) (value []byte, lent bool, err error) {
	if l.lender != nil {
		if value, ok := l.lender.LendChunk(i); ok {
			l.fetched.Add(int64(len(value)))
			return value, true, nil
		}
	}
	value, err = (*counted)(l).count(l.source.Chunk(i))
	return value, false, err
}

func (l *counted) count(value []byte, err error) ([]byte, error) {
	l.fetched.Add(int64(len(value)))
	return value, err
}
