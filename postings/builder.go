package postings

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// A Builder takes postings in rising order of documents and makes lists of them: views while it
// grows, and the stored form at the end. The zero value is ready to use.
//
// An engine keeps one builder per term, and most terms occur once or twice. So a builder is 48
// bytes, and up to a full block it holds postings as numbers of variable length, 3 or 4 bytes each.
// It encodes a block when the block is full.
//
// A builder is for one goroutine at a time. Lists that View returned are independent of it.
type Builder struct {
	BlockSize uint8 // postings in a block, 1 to 128; 0 means 128. Tests use fewer, to get many blocks from few postings.
	Codec     Kind  // Packed, PFor, Rice or Interpolative: see the package comment
	Positions bool  // keep positions: postings come by AddPositions and AddAllPositions only

	tail  []byte // postings of the last, unfinished block: see Add
	full  *blocks
	count uint32
	last  uint32 // last document, if count > 0
}

// blocks are the full blocks of a builder. Everything in it is append-only, so a view may share
// what it has seen. The fields are as in List.
type blocks struct {
	last []uint32
	enc  []Encoding
	off  []uint32
	imp  Impacts

	extLast []uint32 // of full extents
	extImp  Impacts  // of full extents
	rows    uint32   // in all
	chunks  [][]byte // the last one is still growing
	held    int      // capacities of all chunks, including spare ones after the last

	positions  []byte   // of a Builder with positions: see grownPositions
	positionAt []uint32 // where those of each block begin

	chunkOf []uint32    // of each extent that has begun
	rowOf   []uint32    // of each chunk that has begun
	shared  atomic.Bool // a view shares parts of it; views may begin at the same time
}

// chunkTarget is the size at which a chunk takes no further extent. An extent has at most 32 KiB,
// so chunks stay below 64 KiB. They are large enough that a read from Pebble costs about as much
// per byte as a copy, and small enough for a cache.
const chunkTarget = 32 << 10

func (b *Builder) blockSize() int {
	switch {
	case b.BlockSize == 0:
		return BlockSize
	case b.BlockSize > BlockSize:
		panic(fmt.Sprintf("BUG: postings.Builder.BlockSize is %d", b.BlockSize))
	}
	return int(b.BlockSize)
}

func (b *Builder) codec() Kind {
	if !b.Codec.IsCodec() {
		panic(fmt.Sprintf("BUG: postings.Builder.Codec is %v", b.Codec))
	}
	return b.Codec
}

// Len returns the number of postings added.
func (b *Builder) Len() int { return int(b.count) }

// Last returns the last document added, if any.
func (b *Builder) Last() uint32 { return b.last }

// Add appends a posting. doc must be above all documents added before and below
// MaxDoc, tf at least 1; length is the length code of the document's field.
//
// The posting is kept as in a short entry (gap minus one with a bit for tf = 1, then tf minus two
// if it is not), followed by the length code and, with positions, by these: the first one and the
// distances between them.
func (b *Builder) Add(doc, tf uint32, length uint8) {
	b.wantPositions(false)
	b.add(doc, tf, length, nil)
}

// AddPositions is Add for a posting with positions, as many as its frequency. They do not fall, and
// are at most MaxPosition.
func (b *Builder) AddPositions(doc uint32, positions []uint32, length uint8) {
	b.wantPositions(true)
	for i, p := range positions {
		if p > MaxPosition || i > 0 && p < positions[i-1] {
			panic(fmt.Sprintf("BUG: position %d of document %d", p, doc))
		}
	}
	b.add(doc, uint32(len(positions)), length, appendPositions(nil, positions))
}

// wantPositions panics if postings with positions go to a Builder without, or the reverse.
func (b *Builder) wantPositions(positions bool) {
	if b.Positions != positions {
		panic(fmt.Sprintf("BUG: postings.Builder.Positions is %v", b.Positions))
	}
}

// add is Add, with the positions as varints.
func (b *Builder) add(doc, tf uint32, length uint8, positions []byte) {
	prev := noDoc
	if b.count > 0 {
		prev = b.last
	}
	if doc >= MaxDoc || tf == 0 || b.count > 0 && doc <= prev {
		panic(fmt.Sprintf("BUG: posting (document %d, frequency %d) after document %d", doc, tf, int32(prev)))
	}
	b.tail = append(append(appendShort(b.tail, doc-prev-1, tf), length), positions...)
	b.count++
	b.last = doc
	full := b.count%BlockSize == 0
	if b.BlockSize != 0 {
		full = int(b.count)%b.blockSize() == 0
	}
	if full {
		b.fill()
	}
}

// AddAll adds postings as Add does, one for each element of docs; lengths are the length codes of
// their fields. It encodes whole blocks at once, which is several times as fast.
func (b *Builder) AddAll(docs, tfs []uint32, lengths []uint8) {
	b.wantPositions(false)
	b.addAll(docs, tfs, lengths, nil)
}

// AddAllPositions is AddAll for postings with positions: the first one of each posting and the
// distances between them, as varints. It returns those that follow.
func (b *Builder) AddAllPositions(docs, tfs []uint32, lengths []uint8, positions []byte) (rest []byte) {
	b.wantPositions(true)
	return b.addAll(docs, tfs, lengths, positions)
}

// addAll is AddAll. It returns the positions that are left.
func (b *Builder) addAll(docs, tfs []uint32, lengths []uint8, positions []byte) []byte {
	size := b.blockSize()
	for len(docs) > 0 {
		n := min(len(docs), size-int(b.count)%size)
		if n == BlockSize {
			b.addBlock((*[BlockSize]uint32)(docs), (*[BlockSize]uint32)(tfs), (*[BlockSize]uint8)(lengths))
			if b.Positions {
				end := varintsEnd(positions, int(sumOf(tfs[:n])))
				b.full.addPositions(positions[:end])
				positions = positions[end:]
			}
		} else {
			if positions = b.addTail(docs[:n], tfs[:n], lengths[:n], positions); int(b.count)%size == 0 {
				b.fill()
			}
		}
		docs, tfs, lengths = docs[n:], tfs[n:], lengths[n:]
	}
	return positions
}

// sumOf adds up frequencies.
func sumOf(tfs []uint32) (sum uint64) {
	for _, tf := range tfs {
		sum += uint64(tf)
	}
	return sum
}

// addPositions adds the positions of the block that was added last.
func (f *blocks) addPositions(positions []byte) {
	f.positionAt = append(f.positionAt, uint32(len(f.positions)))
	f.positions = append(f.positions, positions...)
}

// addTail adds postings to the tail, which has room for them. It returns the positions of later ones.
func (b *Builder) addTail(docs, tfs []uint32, lengths []uint8, positions []byte) []byte {
	tail, prev := b.tail, noDoc
	if b.count > 0 {
		prev = b.last
	}
	for i, doc := range docs {
		tf, gap := tfs[i], doc-prev-1
		if gap >= MaxDoc || doc >= MaxDoc || tf == 0 {
			panic(fmt.Sprintf("BUG: posting (document %d, frequency %d) after document %d", doc, tf, int32(prev)))
		}
		if tf == 1 && gap < 1<<6 { // most often
			tail = append(tail, byte(gap<<1|1), lengths[i])
		} else {
			tail = append(appendShort(tail, gap, tf), lengths[i])
		}
		if b.Positions {
			end := varintsEnd(positions, int(tf))
			tail, positions = append(tail, positions[:end]...), positions[end:]
		}
		prev = doc
	}
	b.tail, b.last = tail, prev
	b.count += uint32(len(docs))
	return positions
}

// addBlock appends a full block when the tail is empty.
func (b *Builder) addBlock(docs, tfs *[BlockSize]uint32, lengths *[BlockSize]uint8) {
	if b.full == nil {
		b.full = new(blocks)
	}
	prev := b.full.lastDoc()
	p := prev
	for i, d := range docs {
		if d-p-1 >= MaxDoc || d >= MaxDoc || tfs[i] == 0 {
			panic(fmt.Sprintf("BUG: posting (document %d, frequency %d) after document %d", d, tfs[i], int32(p)))
		}
		p = d
	}
	k := block{n: BlockSize, docs: *docs, tfs: *tfs, lens: *lengths}
	b.full.add(&k, b.codec())
	b.count += BlockSize
	b.last = p
}

// appendShort writes one posting in the short form.
func appendShort(dst []byte, gap, tf uint32) []byte {
	if tf == 1 {
		return binary.AppendUvarint(dst, uint64(gap)<<1|1)
	}
	dst = binary.AppendUvarint(dst, uint64(gap)<<1)
	return binary.AppendUvarint(dst, uint64(tf-2))
}

// fill encodes the postings of the tail as a full block.
func (b *Builder) fill() {
	var k block
	positions := b.readTail(&k)
	b.tail = b.tail[:0]
	if b.full == nil {
		b.full = new(blocks)
	}
	b.full.add(&k, b.codec())
	if b.Positions {
		b.full.addPositions(positions)
	}
}

// readTail unpacks the postings of the unfinished block, and returns their positions.
func (b *Builder) readTail(k *block) (positions []byte) {
	return k.readTail(b.tail, b.full.lastDoc(), b.Positions)
}

// readTail adds the postings of a Builder's tail, which follow the document prev. It returns a copy
// of their positions, if they have some.
func (k *block) readTail(tail []byte, prev uint32, withPositions bool) (positions []byte) {
	at := 0
	if withPositions {
		positions = make([]byte, 0, len(tail))
	}
	number := func() uint64 {
		v := uint64(tail[at])
		at++
		if v >= 0x80 {
			more, n := binary.Uvarint(tail[at:])
			v, at = v&0x7f|more<<7, at+n
		}
		return v
	}
	for at < len(tail) {
		v := number()
		tf := uint32(1)
		if v&1 == 0 {
			tf = uint32(number()) + 2
		}
		prev += uint32(v>>1) + 1
		k.add(prev, tf, tail[at])
		at++
		if withPositions {
			end := at + varintsEnd(tail[at:], int(tf))
			positions = append(positions, tail[at:end]...)
			at = end
		}
	}
	return positions
}

// lastDoc is the last document in full blocks, or noDoc.
func (f *blocks) lastDoc() uint32 {
	if f == nil || len(f.last) == 0 {
		return noDoc
	}
	return f.last[len(f.last)-1]
}

// add encodes a block with a codec and appends it.
func (f *blocks) add(k *block, codec Kind) {
	if len(f.last)%ExtentBlocks == 0 {
		f.beginExtent()
	}
	c := &f.chunks[len(f.chunks)-1]
	before := len(*c)
	rows, e := k.appendRows(*c, f.lastDoc(), codec)
	f.held += cap(rows) - cap(*c)
	*c = rows

	f.last = append(f.last, k.last())
	f.enc = append(f.enc, e)
	f.off = append(f.off, f.rows)
	f.rows += uint32(len(rows)-before) / RowBytes
	var p pareto
	for i := range k.n {
		p.add(k.tfs[i], k.lens[i])
	}
	f.imp.push(&p)
	if len(f.last)%ExtentBlocks == 0 {
		f.extLast = append(f.extLast, k.last())
		f.imp.addTo(&p, len(f.last)-ExtentBlocks, len(f.last))
		f.extImp.push(&p)
	}
}

// beginExtent puts the next extent into the current chunk, or into a new one when that is full.
func (f *blocks) beginExtent() {
	if n := len(f.chunks); n == 0 || len(f.chunks[n-1]) >= chunkTarget {
		if n < cap(f.chunks) {
			f.chunks = f.chunks[:n+1]
			f.chunks[n] = f.chunks[n][:0] // empty the chunk that Reset may have left
		} else {
			f.chunks = append(f.chunks, nil)
		}
		f.rowOf = append(f.rowOf, f.rows)
	}
	f.chunkOf = append(f.chunkOf, uint32(len(f.chunks)-1))
}

// reset makes the builder empty. It keeps its memory unless a view shares it.
func (b *Builder) reset() {
	b.tail, b.count, b.last = b.tail[:0], 0, 0
	if b.full == nil || b.full.shared.Load() {
		b.full = nil
		return
	}
	f := b.full
	*f = blocks{
		last: f.last[:0], enc: f.enc[:0], off: f.off[:0],
		imp:     Impacts{Start: f.imp.Start[:0], pairs: f.imp.pairs[:0]},
		extLast: f.extLast[:0],
		extImp:  Impacts{Start: f.extImp.Start[:0], pairs: f.extImp.pairs[:0]},
		chunks:  f.chunks[:0], chunkOf: f.chunkOf[:0], rowOf: f.rowOf[:0],
		held:      f.held,
		positions: f.positions[:0], positionAt: f.positionAt[:0],
	}
}

// Bytes returns roughly how much memory the builder holds.
func (b *Builder) Bytes() int {
	n := int(unsafe.Sizeof(*b)) + cap(b.tail)
	if f := b.full; f != nil {
		n += int(unsafe.Sizeof(*f)) + 4*(cap(f.last)+cap(f.off)+cap(f.extLast)+cap(f.chunkOf)+cap(f.rowOf)) + 2*cap(f.enc)
		n += 4*(cap(f.imp.Start)+cap(f.extImp.Start)) + int(unsafe.Sizeof(Impact{}))*(cap(f.imp.pairs)+cap(f.extImp.pairs))
		n += cap(f.positions) + 4*cap(f.positionAt)
		n += f.held + int(unsafe.Sizeof([]byte(nil)))*cap(f.chunks)
	}
	return n
}
