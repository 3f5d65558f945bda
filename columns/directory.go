package columns

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// version is the version of the directory, its first byte. Since version 2 it has checksums, and there are
// lines, regular tiles and endings of terms.
const (
	version      = 2
	firstVersion = 1
)

// The parts of a column, in ascending order: those of the dictionary from 0 on, those of the payload
// from PayloadParts on, and the directory.
const (
	PayloadParts  = 1 << 31
	DirectoryPart = 1<<32 - 1
)

// MaxDocs is the number of documents of the largest segment.
const MaxDocs = 1 << 31

const (
	chunkBytes = 64 << 10 // a chunk of the payload ends with the first tile that reaches it
	inline     = 1 << 10  // payload, or a dictionary, of at most that many bytes lies in the directory
)

// Bits of the first byte of a tile in the directory. The lowest two are its form, the highest two
// its presence.
const (
	tileFollows  = 1 << (2 + iota) // directly behind the tile before
	tileSingle                     // no document has several values
	tileDivides                    // has the divisor of the tile before
	tileFalls                      // of form rising: it counts down from the top; of form packed: it is linear
	presenceBits = 6
)

// The order of quotients of form linear, in the byte of their width.
const (
	linearRises = 1 << 6
	linearFalls = 1 << 7
)

// A directory has what Open keeps in memory. Slices do not change.
type directory struct {
	kind    Kind
	docs    uint32   // of the segment
	tiles   []tile   // that have a value, by number
	chunks  []int    // size of each chunk of the payload, with its guard
	sums    []uint32 // checksum of each, unless there are none: before version 2, or when not stored
	sheets  []sheet
	first   int    // the sheet of sheets[0]
	inlined []byte // the payload, with its guard, when it lies in the directory
	terms   *dictionaryIndex

	withValue       int
	values          int64
	least, greatest uint64
}

// A sheet is what 64 tiles have in common.
type sheet struct {
	least, greatest uint64
	has             uint64 // its tiles that have a value
	at              uint32 // the first of them, in tiles
}

// appendDirectory writes the stored form.
func appendDirectory(dst []byte, d *directory) []byte {
	dst = append(dst, version, byte(d.kind))
	dst = binary.AppendUvarint(dst, uint64(d.docs))
	dst = binary.AppendUvarint(dst, uint64(len(d.tiles)))
	if d.kind == Terms {
		dst = d.terms.append(dst)
	}
	if d.inlined != nil {
		dst = append(dst, 0)
	} else {
		dst = binary.AppendUvarint(dst, uint64(len(d.chunks)))
	}
	for i, at := 0, 0; i < len(d.chunks) && d.inlined == nil; i++ {
		n := at
		for n < len(d.tiles) && int(d.tiles[n].chunk) == i {
			n++
		}
		dst = binary.AppendUvarint(dst, uint64(n-at-1))
		dst = binary.LittleEndian.AppendUint32(dst, d.sums[i])
		at = n
	}
	before := tile{number: 1<<32 - 1, divisor: 1}
	for i := range d.tiles {
		dst = appendTile(dst, &d.tiles[i], &before)
		divisor := before.divisor
		if before = d.tiles[i]; before.form == constant {
			before.divisor = divisor // which the tile does not write
		}
	}
	if d.inlined != nil {
		dst = append(dst, d.inlined[:len(d.inlined)-guardBytes]...)
	}
	return dst
}

func appendTile(dst []byte, t, before *tile) []byte {
	at := len(dst)
	head := byte(t.form) | byte(t.presence)<<presenceBits
	switch {
	case t.form == linear:
		head = byte(packed) | byte(t.presence)<<presenceBits | tileFalls
	case t.falls:
		head |= tileFalls
	}
	dst = append(dst, 0)
	if t.number == before.number+1 {
		head |= tileFollows
	} else {
		dst = binary.AppendUvarint(dst, uint64(t.number-before.number-2))
	}
	if t.presence != everyone {
		dst = binary.AppendUvarint(dst, uint64(t.docs-1))
	}
	if t.single() {
		head |= tileSingle
	} else {
		more := 2 * (uint64(t.values) - uint64(t.docs) - 1)
		if t.regular {
			more++
		}
		dst = binary.AppendUvarint(dst, more)
	}
	dst = binary.AppendVarint(dst, int64(t.least-before.least))
	if t.form != constant {
		dst = binary.AppendUvarint(dst, t.top-1)
		if t.divisor == before.divisor {
			head |= tileDivides
		} else {
			dst = binary.AppendUvarint(dst, t.divisor-1)
		}
	}
	switch t.form {
	case rising:
		dst = append(dst, t.width)
		dst = binary.AppendUvarint(dst, t.gap)
	case table:
		dst = binary.AppendUvarint(dst, uint64(t.entries-2))
	case linear:
		width := t.width
		if t.rises {
			width |= linearRises
		} else if t.falls {
			width |= linearFalls
		}
		dst = append(dst, width)
		dst = binary.AppendVarint(dst, int64(t.slope))
		dst = binary.AppendVarint(dst, int64(t.base))
		dst = binary.AppendUvarint(dst, t.bases)
	}
	dst[at] = head
	return dst
}

// A byteReader reads a directory and remembers the first fault.
type byteReader struct {
	data    []byte
	at      int
	version byte
	err     error
}

func (r *byteReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = corrupt.New(r.at, format, args...)
	}
}

func (r *byteReader) byte() byte {
	if r.err != nil || r.at >= len(r.data) {
		r.fail("ends too early")
		return 0
	}
	r.at++
	return r.data[r.at-1]
}

func (r *byteReader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.data[r.at:])
	if n <= 0 {
		r.fail("bad varint")
		return 0
	}
	r.at += n
	return v
}

// varint reads a signed number, modulo 1<<64.
func (r *byteReader) varint() uint64 {
	v := r.uvarint() // zigzag
	return v>>1 ^ -(v & 1)
}

// below reads a number that is less than a limit.
func (r *byteReader) below(limit uint64, what string) uint64 {
	v := r.uvarint()
	if r.err == nil && v >= limit {
		r.fail("%s %d, must be below %d", what, v, limit)
		return 0
	}
	return v
}

func (r *byteReader) take(n uint64) []byte {
	if r.err != nil || n > uint64(len(r.data)-r.at) {
		r.fail("%d bytes wanted, %d left", n, len(r.data)-r.at)
		return nil
	}
	r.at += int(n)
	return r.data[r.at-int(n) : r.at : r.at]
}

// parseDirectory is the inverse of appendDirectory. It checks all that can be checked without the
// payload, so readers need not.
func parseDirectory(data []byte) (*directory, error) {
	r := &byteReader{data: data}
	if r.version = r.byte(); r.err == nil && (r.version < firstVersion || r.version > version) {
		r.at = 0
		r.fail("version %d of a column, this build reads %d to %d", r.version, firstVersion, version)
	}
	d := &directory{kind: Kind(r.byte())}
	if r.err == nil && (d.kind < Int || d.kind > Place) {
		r.fail("kind %d of a column", d.kind)
	}
	d.docs = uint32(r.below(MaxDocs+1, "documents"))
	tiles := r.below((uint64(d.docs)+TileDocs-1)/TileDocs+1, "tiles")
	if r.err == nil && tiles > uint64(len(data)) {
		r.fail("%d tiles in %d bytes", tiles, len(data))
	}
	if d.kind == Terms {
		d.terms = parseDictionaryIndex(r)
	}
	ends := parseChunks(r, tiles, d) // of chunks, in tiles
	if r.err == nil && tiles > 0 {
		d.tiles = make([]tile, 0, tiles)
	}
	before := tile{number: 1<<32 - 1, divisor: 1}
	for i := uint64(0); i < tiles && r.err == nil; i++ {
		d.tiles = append(d.tiles, parseTile(r, &before, d))
		before = d.tiles[i]
	}
	if r.err != nil {
		return nil, r.err
	}
	if err := d.layOut(ends); err != nil {
		return nil, err
	}
	if len(ends) == 0 && tiles > 0 {
		r.inlined(d)
	}
	if r.err == nil && r.at != len(data) {
		r.fail("%d bytes are left", len(data)-r.at)
	}
	if r.err != nil {
		return nil, r.err
	}
	d.sumUp()
	return d, nil
}

// inlined takes the payload from the end of the directory.
func (r *byteReader) inlined(d *directory) {
	if size := uint64(d.chunks[0] - guardBytes); size > inline {
		r.fail("%d bytes of payload in a directory, at most %d", size, inline)
	} else if b := r.take(size); r.err == nil {
		d.inlined = append(make([]byte, 0, d.chunks[0]), b...)[:d.chunks[0]]
	}
}

// parseChunks reads the number of tiles up to the end of each chunk, and the checksums.
func parseChunks(r *byteReader, tiles uint64, d *directory) []uint64 {
	n := r.below(tiles+1, "chunks")
	if r.err != nil {
		return nil
	}
	ends := make([]uint64, 0, n)
	at := uint64(0)
	for range n {
		at += r.below(tiles, "tiles of a chunk") + 1
		ends = append(ends, at)
		if r.version > 1 {
			if sum := r.take(4); r.err == nil {
				d.sums = append(d.sums, binary.LittleEndian.Uint32(sum))
			}
		}
	}
	if r.err == nil && n > 0 && at != tiles {
		r.fail("chunks of %d tiles, there are %d", at, tiles)
	}
	return ends
}

func parseTile(r *byteReader, before *tile, d *directory) (t tile) {
	head := r.byte()
	t.form, t.presence = form(head&3), presence(head>>presenceBits)
	switch {
	case head&tileFalls == 0:
	case t.form == rising:
		t.falls = true
	case t.form == packed && r.version > 1:
		t.form = linear
	default:
		r.fail("form %d of a tile that falls", t.form)
	}
	number := uint64(before.number + 1)
	tiles := (uint64(d.docs) + TileDocs - 1) / TileDocs
	if head&tileFollows == 0 {
		number += r.below(tiles, "distance between tiles") + 1
	}
	if r.err == nil && number >= tiles {
		r.fail("tile %d of %d", number, tiles)
	}
	if r.err != nil {
		return t
	}
	t.number = uint32(number)
	t.length = uint16(min(TileDocs, uint64(d.docs)-number*TileDocs))
	t.docs = t.length
	if t.presence != everyone {
		t.docs = uint16(r.below(uint64(t.length)-1, "documents of a tile, minus one,")) + 1
	}
	t.values = uint32(t.docs)
	if head&tileSingle == 0 {
		r.several(&t)
	}
	parseQuotients(r, head, before, &t)
	limit := ^uint64(0)
	switch {
	case d.kind == Bool:
		limit = 1
	case d.kind == Terms && d.terms != nil:
		limit = uint64(d.terms.n) - 1
	}
	if r.err == nil && (t.greatest > limit || d.kind == Terms && d.terms.n == 0) {
		r.fail("key %d in a column of kind %s, at most %d", t.greatest, d.kind, limit)
	}
	return t
}

// several reads the number of values of a tile where some document has several.
func (r *byteReader) several(t *tile) {
	more := r.below(2*(maxValues-TileDocs), "further values")
	if r.version > 1 {
		t.regular = more&1 == 1
		more >>= 1
	}
	if t.values += uint32(more) + 1; r.err == nil && (t.values >= maxValues || t.regular && t.values%uint32(t.docs) != 0) {
		r.fail("%d values of %d documents", t.values, t.docs)
	}
}

// parseQuotients reads the keys' part of a tile.
func parseQuotients(r *byteReader, head byte, before, t *tile) {
	t.least = before.least + r.varint()
	t.greatest, t.divisor = t.least, before.divisor
	if t.form == constant {
		return
	}
	t.top = r.below(^uint64(0), "quotient minus one") + 1
	if head&tileDivides == 0 {
		t.divisor = r.below(^uint64(0), "divisor minus one") + 1
	}
	if r.err != nil {
		return
	}
	if t.top > (^uint64(0)-t.least)/t.divisor {
		r.fail("%d times %d behind %d is beyond 64 bits", t.top, t.divisor, t.least)
		return
	}
	t.greatest = t.least + t.top*t.divisor
	t.width = uint8(widthOf(t.top))
	switch t.form {
	case rising:
		t.width = r.byte()
		t.gap = r.uvarint()
		if r.err == nil && (t.width > widest && t.width != 64 || !t.single()) {
			r.fail("gaps of %d bits, %d values of %d documents", t.width, t.values, t.docs)
		}
	case table:
		t.entries = uint16(r.below(maxTable-1, "entries of a table, minus two,")) + 2
		t.width = uint8(placeBits(int(t.entries)))
	case linear:
		width := r.byte()
		t.width, t.rises, t.falls = width&(linearRises-1), width&linearRises != 0, width&linearFalls != 0
		t.slope, t.base, t.bases = r.varint(), r.varint(), r.uvarint()
		if r.err == nil && (t.width > widest || t.rises && t.falls || !t.single()) {
			r.fail("lines with the byte %d for width and order, %d values of %d documents", width, t.values, t.docs)
		}
	}
}

// layOut gives tiles their places. ends has the number of tiles up to the end of each chunk.
func (d *directory) layOut(ends []uint64) error {
	if len(ends) == 0 && len(d.tiles) > 0 {
		ends = []uint64{uint64(len(d.tiles))}
	}
	at := uint64(0)
	for c, end := range ends {
		size := uint64(0)
		for ; at < end; at++ {
			t := &d.tiles[at]
			t.chunk, t.at = uint32(c), uint32(size)
			if size += t.layout().size; size >= 1<<32-guardBytes {
				return corrupt.New(-1, "chunk %d of the payload has %d bytes", c, size)
			}
		}
		d.chunks = append(d.chunks, int(size)+guardBytes)
	}
	return nil
}

// castagnoli is the polynomial of checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumUp fills in what follows from the tiles.
func (d *directory) sumUp() {
	if len(d.tiles) == 0 {
		return
	}
	d.first = int(d.tiles[0].number) / sheetTiles
	d.sheets = make([]sheet, int(d.tiles[len(d.tiles)-1].number)/sheetTiles-d.first+1)
	d.least, d.greatest = d.tiles[0].least, d.tiles[0].greatest
	for i := range d.tiles {
		t := &d.tiles[i]
		s := &d.sheets[int(t.number)/sheetTiles-d.first]
		if s.has == 0 {
			s.least, s.greatest, s.at = t.least, t.greatest, uint32(i)
		}
		s.has |= 1 << (t.number % sheetTiles)
		s.least, s.greatest = min(s.least, t.least), max(s.greatest, t.greatest)
		d.least, d.greatest = min(d.least, t.least), max(d.greatest, t.greatest)
		d.withValue += int(t.docs)
		d.values += int64(t.values)
	}
}
