package segment

import (
	"encoding/binary"
	"math/bits"
)

// How many documents have their places in one value: in segments with the feature smallPlaces, and in
// older ones. A hit needs one place, and finding it begins with reading the value. Segments of at most
// placeChunkDocs documents need no feature: both forms are the same.
const (
	placeChunkDocs    = 4 << 10
	oldPlaceChunkDocs = 64 << 10
)

// smallPlaces is the feature of a segment whose values of places have placeChunkDocs documents.
const smallPlaces = "places of 4,096 documents in a value"

// plainPlaces is the feature of a segment whose places are not compressed, but values of kindPlainPlace.
// So the source can lend them: a read through the store takes ten times as long as finding the place.
const plainPlaces = "places of documents in plain values"

// placeKey makes the key of a chunk of places.
func (m *meta) placeKey(chunk uint32) []byte {
	if m.plainPlaces {
		return numberKey(kindPlainPlace, chunk)
	}
	return numberKey(kindPlace, chunk)
}

// placeDocs is how many documents of the segment have their places in one value.
func (m *meta) placeDocs() uint32 {
	for _, f := range m.features {
		if f.name == smallPlaces {
			return placeChunkDocs
		}
	}
	return oldPlaceChunkDocs
}

// appendPlaces appends the places of consecutive documents among the ids of the segment, as runs of
// consecutive places:
//
//	first   varint  zigzag(first place - previous place - 1)<<1, plus 1 when the run is longer
//	length  varint  number of places - 2, of a longer one
//
// A chunk counts from place -1. Ids that rise with documents take four bytes in all. Ids that are
// numbers without leading zeros take three bytes for ten of them. Random ids take three bytes each.
func appendPlaces(dst []byte, places []uint32) []byte {
	before := int64(-1)
	for i := 0; i < len(places); {
		n := 1
		for i+n < len(places) && places[i+n] == places[i]+uint32(n) {
			n++
		}
		v := int64(places[i]) - before - 1
		first := (uint64(v)<<1 ^ uint64(v>>63)) << 1
		if n > 1 {
			dst = binary.AppendUvarint(binary.AppendUvarint(dst, first|1), uint64(n-2))
		} else {
			dst = binary.AppendUvarint(dst, first)
		}
		i += n
		before = int64(places[i-1])
	}
	return dst
}

// A placeChunk is a chunk of places as stored. It is not expanded: that would take four bytes for a
// document, and a hundred times as long as finding one place.
type placeChunk struct {
	payload         []byte
	lent            bool        // the payload is no memory of this process
	marks           []placeMark // of every markDocs documents
	least, greatest uint32      // places
}

// A placeMark says where the place of a document is in a chunk.
type placeMark struct {
	place uint32 // of the document
	left  uint32 // documents of the current run from it on
	next  uint32 // where the next run begins in the payload
}

// markDocs: a mark costs 12 bytes, and each run after it some 2 ns.
const markDocs = 16

// openPlaces checks a chunk of n places below docs.
func openPlaces(payload []byte, n int, docs uint32) (*placeChunk, error) {
	d := newDecoder(payload)
	c := &placeChunk{payload: payload, marks: make([]placeMark, 0, (n+markDocs-1)/markDocs), least: docs}
	before := int64(-1)
	for at := 0; at < n && d.err == nil; {
		v := d.uint("first place of a run", 1<<34)
		run := uint64(1)
		if v&1 != 0 {
			run = d.uint("length of a run", uint64(n-at)) + 2
		}
		first := before + 1 + (int64(v>>2) ^ -int64(v>>1&1))
		if run > uint64(n-at) || first < 0 || first+int64(run) > int64(docs) {
			d.fail("%d places from %d on, want %d at most, below %d", run, first, n-at, docs)
		}
		if d.err != nil {
			break
		}
		c.least, c.greatest = min(c.least, uint32(first)), max(c.greatest, uint32(first)+uint32(run)-1)
		for doc := len(c.marks) * markDocs; doc < at+int(run); doc += markDocs {
			in := uint32(doc - at)
			c.marks = append(c.marks, placeMark{uint32(first) + in, uint32(run) - in, uint32(d.pos)})
		}
		at, before = at+int(run), first+int64(run)-1
	}
	return c, d.end()
}

// of returns the place of document i of the chunk.
func (c *placeChunk) of(i uint32) uint32 {
	m := c.marks[i/markDocs]
	for i %= markDocs; i >= m.left; {
		i -= m.left
		m.forward(c.payload)
	}
	return m.place + i
}

// forward moves to the next run.
func (m *placeMark) forward(payload []byte) {
	v, size := runVarint(payload[m.next:])
	m.next += uint32(size)
	first := int64(m.place) + int64(m.left) + (int64(v>>2) ^ -int64(v>>1&1))
	m.place, m.left = uint32(first), 1
	if v&1 != 0 {
		v, size = runVarint(payload[m.next:])
		m.next += uint32(size)
		m.left = uint32(v) + 2
	}
}

// runVarint is binary.Uvarint of a number of at most five bytes, as those of runs are. It has no branch
// for the length, which random places change all the time.
func runVarint(b []byte) (v uint64, size int) {
	if len(b) < 8 {
		return binary.Uvarint(b)
	}
	x := binary.LittleEndian.Uint64(b)
	size = bits.TrailingZeros64(^x&0x8080808080)/8 + 1
	v = x&0x7f | x>>1&0x3f80 | x>>2&0x1fc000 | x>>3&0xfe00000 | x>>4&0x7f0000000
	return v & (1<<(7*size) - 1), size
}

// read sets dst to the places of documents from i on, a multiple of markDocs.
func (c *placeChunk) read(i uint32, dst []uint32) {
	for m := c.marks[i/markDocs]; ; m.forward(c.payload) {
		n := min(int(m.left), len(dst))
		for j := range dst[:n] {
			dst[j] = m.place + uint32(j)
		}
		if dst = dst[n:]; len(dst) == 0 {
			return
		}
	}
}

// bytes is the memory that the chunk takes.
func (c *placeChunk) bytes() int64 {
	if c.lent {
		return int64(12 * cap(c.marks))
	}
	return int64(len(c.payload) + 12*cap(c.marks))
}
