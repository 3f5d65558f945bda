package columns

import (
	"math/bits"
	"sync"
)

// A decoder reads the values of a tile, and keeps what it has read.
type decoder struct {
	t      *tile
	b      []byte
	l      layout
	simple bool // every document has one value, so its number is that of its value

	// Unless simple:
	has   [tileWords]uint64
	ranks [tileWords]uint16 // for each word, the documents with a value before it
	every int               // values of each document that has one, or 0 if that differs
	ends  []uint32          // if every is 0: for each document with a value, where they end

	keys    []uint64 // of all values, after decode
	decoded bool
	with    [tileWords]uint64 // the documents wanted last that have a value, unless all of a simple tile can be
	docs    []uint16          // room for documents
	ranks16 []uint16          // room for ranks
	places  []uint32          // room for the numbers of values
	lanes   []uint32          // tables of counts, clear
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// decoder returns a decoder of a tile, to be released.
func (c *Column) decoder(t *tile) (*decoder, error) {
	b, err := c.payload(t)
	if err != nil {
		return nil, err
	}
	d := decoders.Get().(*decoder)
	d.t, d.b, d.l, d.decoded = t, b, t.layout(), false
	d.simple = t.simple()
	d.every = 0
	if t.single() || t.regular {
		d.every = int(t.values) / int(t.docs)
	}
	if d.simple {
		return d, nil
	}
	t.has(b, &d.has)
	n := 0
	for i, w := range d.has {
		d.ranks[i] = uint16(n)
		n += bits.OnesCount64(w)
	}
	if d.every == 0 {
		d.readEnds()
	}
	return d, nil
}

func (d *decoder) release() {
	d.t, d.b = nil, nil
	decoders.Put(d)
}

func (d *decoder) readEnds() {
	if cap(d.ends) < int(d.t.docs) {
		d.ends = make([]uint32, TileDocs)
	}
	d.ends = d.ends[:d.t.docs]
	ends := d.t.endsOf(d.b, d.l)
	n := 0
	for i := range ends.words() {
		for w := ends.word(i); w != 0; w &= w - 1 {
			d.ends[n] = uint32(64*i + bits.TrailingZeros64(w) + 1)
			n++
		}
	}
}

// decode reads all keys.
func (d *decoder) decode() {
	if !d.decoded {
		d.keys = resize(d.keys, max(TileDocs, int(d.t.values)))[:d.t.values]
		d.t.keys(d.b, d.l, d.keys)
		d.decoded = true
	}
}

// hasValue reports whether a document of the tile has a value.
func (d *decoder) hasValue(doc int) bool {
	return d.simple && doc < int(d.t.length) || !d.simple && d.has[doc/64]>>(doc%64)&1 == 1
}

// rank returns the number of documents with a value before one that has.
func (d *decoder) rank(doc int) int {
	if d.simple {
		return doc
	}
	return int(d.ranks[doc/64]) + bits.OnesCount64(d.has[doc/64]&(1<<(doc%64)-1))
}

// fewRanks is the number of documents up to which their ranks are found one by one.
const fewRanks = 48

// ranksOf returns the ranks of the documents that wanted has returned.
func (d *decoder) ranksOf(docs []uint16) []uint16 {
	if d.simple {
		return docs
	}
	if cap(d.ranks16) < TileDocs {
		d.ranks16 = make([]uint16, TileDocs)
	}
	ranks := (*[TileDocs]uint16)(d.ranks16[:TileDocs])
	if len(docs) <= fewRanks {
		for i, doc := range docs {
			ranks[i] = uint16(d.rank(int(doc)))
		}
		return ranks[:len(docs)]
	}
	// Of the documents that have a value, those that are wanted.
	var of [tileWords]uint64
	anyOf(&of, d.with[:], d.has[:])
	return ranks[:docsOf(ranks, &of)]
}

// valuesOf returns which values are those of a document, by its rank.
func (d *decoder) valuesOf(rank int) (from, end int) {
	if d.every > 0 {
		return rank * d.every, (rank + 1) * d.every
	}
	if rank > 0 {
		from = int(d.ends[rank-1])
	}
	return from, int(d.ends[rank])
}

// place returns the number of the value that pick chooses, Least or Greatest.
func (d *decoder) place(rank int, pick Pick) uint32 {
	from, end := d.valuesOf(rank)
	if pick == Least {
		return uint32(from)
	}
	return uint32(end - 1)
}

// From these shares of the values of a tile on, as divisors, it is cheaper to decode all of them than to
// read them one by one. In form rising, each takes up to 128 additions.
const (
	decodeAll       = 12
	decodeAllRising = 100
)

// decodeAll32 is decodeAll for numbers of 32 bits.
const decodeAll32 = 5

// dense reports whether so many values are best read by decoding all.
func (t *tile) dense(values int) bool {
	switch t.form {
	case constant:
		return false
	case rising:
		return values*decodeAllRising >= int(t.values)
	}
	return values*decodeAll >= int(t.values)
}

// read writes the keys of the values in places.
func (d *decoder) read(dst []uint64, places []uint32) {
	dst = dst[:len(places)]
	t := d.t
	if t.dense(len(places)) {
		d.decode()
		for i, at := range places {
			dst[i] = d.keys[at]
		}
		return
	}
	switch t.form {
	case constant:
		for i := range dst {
			dst[i] = t.least
		}
	case packed:
		values, width := d.b[d.l.values:], int(t.width)
		for i, at := range places {
			dst[i] = t.least + t.divisor*packedAt(values, int(at), width)
		}
	default:
		for i, at := range places {
			dst[i] = t.key(d.b, d.l, int(at))
		}
	}
}

// readRanks is read for a tile with one value a document.
func (d *decoder) readRanks(dst []uint64, ranks []uint16) {
	t := d.t
	if t.form == packed && !d.t.dense(len(ranks)) {
		gatherKeys(dst, d.b[d.l.values:], ranks, int(t.width), t.least, t.divisor)
		return
	}
	if t.form == constant || !d.t.dense(len(ranks)) {
		for i, at := range ranks {
			dst[i] = t.key(d.b, d.l, int(at))
		}
		return
	}
	d.decode()
	keys := (*[TileDocs]uint64)(d.keys[:TileDocs])
	for i, at := range ranks {
		dst[i] = keys[at&(TileDocs-1)]
	}
}
