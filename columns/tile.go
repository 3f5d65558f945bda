package columns

import "math/bits"

// TileDocs is the number of documents of a tile, as in package blockmax. Only a segment's last tile
// has fewer.
const TileDocs = 4096

const (
	tileWords  = TileDocs / 64
	sheetTiles = 64
)

// A form says how the quotients of a tile are stored.
type form uint8

const (
	constant form = iota // all are 0
	packed               // each in width bits
	rising               // gaps between them, and every 128th whole: they never fall, or never rise
	table                // places in a sorted table of them
	linear               // distances from lines, one for each 128 of them
)

// A presence says how the documents of a tile that have a value are stored.
type presence uint8

const (
	everyone presence = iota // all have one
	bitmap                   // a bit for each document
	present                  // the documents that have one
	missing                  // the documents that have none
)

const (
	docBits   = 12  // of a document within its tile
	runValues = 128 // values from one whole quotient to the next, or of a line
	maxTable  = 1024
	maxValues = 1 << 28 // of a tile, so that its size is far below 1<<32
)

// A tile is what the directory says of a tile. A quotient is (key - least) / divisor.
type tile struct {
	least, greatest uint64 // keys
	divisor         uint64
	top             uint64 // the quotient of greatest
	gap             uint64 // of form rising: the least gap between two quotients
	slope           uint64 // of form linear: what lines rise by from value to value, modulo 1<<64
	base            uint64 // of form linear: the lowest beginning of a line, modulo 1<<64
	bases           uint64 // of form linear: how far above it the highest is
	data            []byte // the payload, with a guard, of a tile that Replace has made; else nil
	at              uint32 // its first byte in the chunk
	chunk           uint32
	bit             uint32 // its bit in Column.checked
	number          uint32
	values          uint32
	docs            uint16 // that have a value
	length          uint16 // all documents
	entries         uint16 // of form table
	form            form
	rises           bool // of form linear: quotients never fall
	falls           bool // quotients never rise; in form rising, what is stored is top - quotient
	regular         bool // all documents with a value have as many, and more than one
	presence        presence
	width           uint8 // of a packed number: a quotient, a gap, a place in the table
}

// single reports whether no document has several values.
func (t *tile) single() bool { return uint32(t.docs) == t.values }

// simple reports whether every document has one value, so its number is that of its value.
func (t *tile) simple() bool { return t.presence == everyone && t.single() }

// A layout has the first bytes of the parts of a tile, counted from the tile's.
type layout struct {
	ends   uint64 // bits of the last values of documents, behind the presence
	whole  uint64 // every 128th quotient, the beginnings of lines, or the table
	values uint64
	size   uint64
}

// layout follows from the directory alone. So the directory has no offsets, and payload of another
// length is damaged.
func (t *tile) layout() (l layout) {
	switch t.presence {
	case bitmap:
		l.ends = bitmapBytes(int(t.length))
	case present:
		l.ends = packedBytes(uint64(t.docs), docBits)
	case missing:
		l.ends = packedBytes(uint64(t.length-t.docs), docBits)
	}
	l.whole = l.ends
	if !t.single() && !t.regular {
		l.whole += (uint64(t.values) + 7) / 8
	}
	l.values = l.whole + packedBytes(t.wholes(), t.wide())
	l.size = l.values
	if t.form != constant {
		l.size += packedBytes(uint64(t.values), int(t.width))
	}
	return l
}

// wide is the width of whole quotients, or of beginnings of lines.
func (t *tile) wide() int {
	if t.form == linear {
		return widthOf(t.bases)
	}
	return widthOf(t.top)
}

// line returns the quotient that a line begins with, modulo 1<<64.
func (t *tile) line(b []byte, l layout, run int) uint64 {
	return t.base + packedAt(b[l.whole:], run, widthOf(t.bases))
}

// wholes is the number of whole quotients, apart from packed ones.
func (t *tile) wholes() uint64 {
	switch t.form {
	case rising, linear:
		return (uint64(t.values) + runValues - 1) / runValues
	case table:
		return uint64(t.entries)
	}
	return 0
}

// quotients returns the quotients of the keys in lo..hi, which must touch least..greatest: from..to,
// or none.
func (t *tile) quotients(lo, hi uint64) (from, to uint64, any bool) {
	to = t.top
	if hi < t.greatest {
		to = (hi - t.least) / t.divisor
	}
	if lo > t.least {
		d := lo - t.least
		if from = d / t.divisor; from*t.divisor != d {
			from++
		}
	}
	return from, to, from <= to
}

// presenceOf returns the smallest form of presence, and its bytes.
func presenceOf(docs, length int) (p presence, size uint64) {
	if docs == length {
		return everyone, 0
	}
	p, size = bitmap, bitmapBytes(length)
	if s := packedBytes(uint64(docs), docBits); s < size {
		p, size = present, s
	}
	if s := packedBytes(uint64(length-docs), docBits); s < size {
		p, size = missing, s
	}
	return p, size
}

// bitmapBytes is the size of a bit for each document, in whole words.
func bitmapBytes(length int) uint64 { return uint64(length+63) / 64 * 8 }

// placeBits is the width of places in a table.
func placeBits(entries int) int { return bits.Len(uint(entries - 1)) }
