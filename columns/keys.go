package columns

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A Pick chooses among the values of a document.
type Pick uint8

const (
	Least Pick = iota
	Greatest
	All // with Select alone
)

// keys writes the keys of all values of the tile, len(dst) of them.
func (t *tile) keys(b []byte, l layout, dst []uint64) {
	switch t.form {
	case constant:
		for i := range dst {
			dst[i] = t.least
		}
	case packed:
		unpackKeys(dst, b[l.values:], int(t.width), t.least, t.divisor)
	case table:
		var room [maxTable]uint64
		unpackKeys(room[:t.entries], b[l.whole:], widthOf(t.top), t.least, t.divisor)
		unpackKeys(dst, b[l.values:], int(t.width), 0, 1)
		for i, place := range dst {
			dst[i] = room[place%maxTable]
		}
	case rising:
		unpackKeys(dst, b[l.values:], int(t.width), t.gap*t.divisor, t.divisor)
		wide := widthOf(t.top)
		for run := 0; run < len(dst); run += risingRun {
			key := t.least + packedAt(b[l.whole:], run/risingRun, wide)*t.divisor
			some := dst[run:min(run+risingRun, len(dst))]
			some[0] = key
			for i := 1; i < len(some); i++ {
				key += some[i]
				some[i] = key
			}
		}
	}
}

// key returns the key of one value.
func (t *tile) key(b []byte, l layout, i int) uint64 {
	var q uint64
	switch t.form {
	case constant:
		return t.least
	case packed:
		q = packedAt(b[l.values:], i, int(t.width))
	case table:
		q = packedAt(b[l.whole:], int(packedAt(b[l.values:], i, int(t.width))), widthOf(t.top))
	case rising:
		run := i / risingRun
		q = packedAt(b[l.whole:], run, widthOf(t.top)) + uint64(i%risingRun)*t.gap
		for at := run*risingRun + 1; at <= i; at++ {
			q += packedAt(b[l.values:], at, int(t.width))
		}
	}
	return t.least + q*t.divisor
}

// A decoded has room for all keys of a tile.
type decoded struct {
	keys  []uint64
	ends  []uint32 // for each document with a value, the number of values up to its last
	has   [tileWords]uint64
	ranks [tileWords]uint16 // for each word, documents with a value before it
	t     *tile
	b     []byte
	l     layout
}

var decodedPool = sync.Pool{New: func() any { return new(decoded) }}

func (d *decoded) release() {
	d.t, d.b = nil, nil
	decodedPool.Put(d)
}

// open reads which documents have values, and where they are.
func (d *decoded) open(t *tile, b []byte) {
	d.t, d.b, d.l = t, b, t.layout()
	t.has(b, &d.has)
	n := 0
	for i, w := range d.has {
		d.ranks[i] = uint16(n)
		n += bits.OnesCount64(w)
	}
	d.ends = d.ends[:0]
	if t.single() {
		return
	}
	ends := t.endsOf(b, d.l)
	for i := range ends.words() {
		for w := ends.word(i); w != 0; w &= w - 1 {
			d.ends = append(d.ends, uint32(64*i+bits.TrailingZeros64(w)+1))
		}
	}
}

// decode reads all keys.
func (d *decoded) decode() {
	d.keys = resize(d.keys, int(d.t.values))
	d.t.keys(d.b, d.l, d.keys)
}

// rank returns the number of documents with a value before one that has.
func (d *decoded) rank(doc int) int {
	return int(d.ranks[doc/64]) + bits.OnesCount64(d.has[doc/64]&(1<<(doc%64)-1))
}

// valuesOf returns which values are those of a document, by its rank.
func (d *decoded) valuesOf(rank int) (from, end int) {
	if len(d.ends) == 0 {
		return rank, rank + 1
	}
	if rank > 0 {
		from = int(d.ends[rank-1])
	}
	return from, int(d.ends[rank])
}

// picked returns the value that pick chooses, Least or Greatest.
func (d *decoded) picked(rank int, pick Pick) int {
	from, end := d.valuesOf(rank)
	if pick == Least {
		return from
	}
	return end - 1
}

// Load writes the least or the greatest key of each document of a tile to dst, and sets in have those
// that have one. What dst has for the others is undefined.
func (c *Column) Load(tile int, pick Pick, dst *[TileDocs]uint64, have *[64]uint64) error {
	t := c.d.tile(tile)
	if t == nil {
		clear(have[:])
		return nil
	}
	b, err := c.payload(t)
	if err != nil {
		return err
	}
	if t.single() {
		t.has(b, have)
		t.keys(b, t.layout(), dst[:t.docs])
		if t.presence == everyone {
			return nil
		}
		at := int(t.docs) // of what was not moved yet
		for i := tileWords - 1; i >= 0; i-- {
			for w := have[i]; w != 0; {
				bit := 63 - bits.LeadingZeros64(w)
				w &^= 1 << bit
				at--
				dst[64*i+bit] = dst[at]
			}
		}
		return nil
	}
	d := decodedPool.Get().(*decoded)
	defer d.release()
	d.open(t, b)
	d.decode()
	*have = d.has
	rank := 0
	for i, w := range have {
		for ; w != 0; w &= w - 1 {
			dst[64*i+bits.TrailingZeros64(w)] = d.keys[d.picked(rank, pick)]
			rank++
		}
	}
	return nil
}

// Gather writes the least or the greatest key of each of some documents to dst, and to have whether
// the document has one. Documents in ascending order take the least time.
func (c *Column) Gather(docs []uint32, pick Pick, dst []uint64, have []bool) error {
	d := decodedPool.Get().(*decoded)
	defer d.release()
	number := -1
	for i, doc := range docs {
		if n := int(doc / TileDocs); n != number {
			number = n
			d.t = c.d.tile(n)
			if d.t != nil {
				b, err := c.payload(d.t)
				if err != nil {
					return err
				}
				d.open(d.t, b)
			}
		}
		in := int(doc % TileDocs)
		have[i] = d.t != nil && d.has[in/64]>>(in%64)&1 == 1
		if have[i] {
			dst[i] = d.t.key(d.b, d.l, d.picked(d.rank(in), pick))
		}
	}
	return nil
}

// Append appends the keys of a document, in ascending order.
func (c *Column) Append(dst []uint64, doc uint32) ([]uint64, error) {
	t := c.d.tile(int(doc / TileDocs))
	if t == nil {
		return dst, nil
	}
	b, err := c.payload(t)
	if err != nil {
		return dst, err
	}
	d := decodedPool.Get().(*decoded)
	defer d.release()
	d.open(t, b)
	if in := int(doc % TileDocs); d.has[in/64]>>(in%64)&1 == 1 {
		from, end := d.valuesOf(d.rank(in))
		for i := from; i < end; i++ {
			dst = append(dst, t.key(b, d.l, i))
		}
	}
	return dst, nil
}

// A Selection has keys of documents of a tile, in the order of documents. It is used again and again.
type Selection struct {
	Docs []uint16 // for each key, its document within the tile
	Keys []uint64
}

// decodeAll is the share of the values of a tile, as a divisor, from which on it is cheaper to decode
// all of them than to read them one by one.
const decodeAll = 8

// Select replaces s by the keys of the documents of a tile that are in set (nil for all): the least,
// the greatest, or All, which are ascending within a document.
func (c *Column) Select(tile int, set *[64]uint64, pick Pick, s *Selection) error {
	s.Docs, s.Keys = s.Docs[:0], s.Keys[:0]
	t := c.d.tile(tile)
	if t == nil {
		return nil
	}
	b, err := c.payload(t)
	if err != nil {
		return err
	}
	d := decodedPool.Get().(*decoded)
	defer d.release()
	d.open(t, b)
	wanted := d.has
	if set != nil {
		for i := range wanted {
			wanted[i] &= set[i]
		}
	}
	n := 0
	for _, w := range wanted {
		n += bits.OnesCount64(w)
	}
	s.Docs, s.Keys = slices.Grow(s.Docs, n), slices.Grow(s.Keys, n)
	whole := n*decodeAll >= int(t.docs)
	if whole {
		d.decode()
	}
	for i, w := range wanted {
		for ; w != 0; w &= w - 1 {
			doc := 64*i + bits.TrailingZeros64(w)
			from, end := d.valuesOf(d.rank(doc))
			switch pick {
			case Least:
				end = from + 1
			case Greatest:
				from = end - 1
			}
			for ; from < end; from++ {
				s.Docs = append(s.Docs, uint16(doc))
				if whole {
					s.Keys = append(s.Keys, d.keys[from])
				} else {
					s.Keys = append(s.Keys, t.key(b, d.l, from))
				}
			}
		}
	}
	return nil
}

// Count adds, for each document of a tile that is in set (nil for all), 1 to counts[key-base] of each
// of its distinct keys. counts must reach to the greatest key of the tile, and base must not be above
// the least.
func (c *Column) Count(tile int, set *[64]uint64, base uint64, counts []uint32) error {
	t := c.d.tile(tile)
	if t == nil {
		return nil
	}
	b, err := c.payload(t)
	if err != nil {
		return err
	}
	d := decodedPool.Get().(*decoded)
	defer d.release()
	d.open(t, b)
	if t.form == constant {
		n := uint32(0)
		for i, w := range d.has {
			if set != nil {
				w &= set[i]
			}
			n += uint32(bits.OnesCount64(w))
		}
		counts[t.least-base] += n
		return nil
	}
	d.decode()
	for i, w := range d.has {
		if set != nil {
			w &= set[i]
		}
		for ; w != 0; w &= w - 1 {
			from, end := d.valuesOf(d.rank(64*i + bits.TrailingZeros64(w)))
			for at := from; at < end; at++ {
				if at == from || d.keys[at] != d.keys[at-1] {
					counts[d.keys[at]-base]++
				}
			}
		}
	}
	return nil
}

// Check reads the whole column and reports what an encoder would not have written.
func (c *Column) Check() error {
	d := decodedPool.Get().(*decoded)
	defer d.release()
	for i := range c.d.tiles {
		t := &c.d.tiles[i]
		b, err := c.payload(t)
		if err != nil {
			return err
		}
		d.open(t, b)
		d.decode()
		if least, greatest := slices.Min(d.keys), slices.Max(d.keys); least != t.least || greatest != t.greatest {
			return corrupt.New(-1, "tile %d has keys %d to %d, the directory says %d to %d", t.number, least, greatest, t.least, t.greatest)
		}
		for rank := range int(t.docs) {
			if from, end := d.valuesOf(rank); !slices.IsSorted(d.keys[from:end]) {
				return corrupt.New(-1, "tile %d: the keys of document %d of those with a value do not ascend", t.number, rank)
			}
		}
	}
	if c.dictionary != nil {
		return c.dictionary.check()
	}
	return nil
}

// check reads all terms.
func (d *Dictionary) check() error {
	var before []byte
	part := 0
	return d.Each(0, d.Len(), func(ord int, term []byte) error {
		if ord > 0 && string(before) >= string(term) {
			return corrupt.New(-1, "term %d, %q, behind %q", ord, term, before)
		}
		if _, err := ParseTerm(term); err != nil {
			return fmt.Errorf("term %d: %w", ord, err)
		}
		if part < len(d.index.firsts) && int(d.index.firsts[part]) == ord {
			if bound := string(d.index.bounds[part]); bound > string(term) || ord > 0 && bound <= string(before) {
				return corrupt.New(-1, "term %d, %q, is the first of a part with the bound %q", ord, term, bound)
			}
			part++
		}
		before = append(before[:0], term...)
		return nil
	})
}
