package columns

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// A Column reads the values of one field of one segment. It is safe for concurrent use.
type Column struct {
	d          *directory
	load       func(part uint32) ([]byte, error)
	chunks     []atomic.Pointer[[]byte]
	checked    []atomic.Uint64 // bits of tiles, by tile.bit, whose payload was found sound
	compared   []atomic.Uint64 // likewise, whose documents were searched for equal values
	differ     []atomic.Uint64 // likewise, in which there are none
	dictionary *Dictionary
	divisor    atomic.Uint64 // see Divisor; 0 until it is known

	order   atomic.Pointer[order] // or nil
	grown   func()                // of KeepOrder
	ranged  atomic.Int64          // tiles compared for ranges
	sorting atomic.Bool           // OrderDue was true
}

// Open returns the column of a directory, as a Builder emitted it. It checks the directory and copies
// what it keeps of it. load returns other parts; it is called when one is needed first, perhaps by
// several goroutines at once. The column keeps what load returned, which must not change.
func Open(data []byte, load func(part uint32) ([]byte, error)) (*Column, error) {
	d, err := parseDirectory(data)
	if err != nil {
		return nil, err
	}
	return newColumn(d, load), nil
}

func newColumn(d *directory, load func(part uint32) ([]byte, error)) *Column {
	c := &Column{
		d: d, load: load,
		chunks:   make([]atomic.Pointer[[]byte], len(d.chunks)),
		checked:  make([]atomic.Uint64, (len(d.tiles)+63)/64),
		compared: make([]atomic.Uint64, (len(d.tiles)+63)/64),
		differ:   make([]atomic.Uint64, (len(d.tiles)+63)/64),
	}
	for i := range d.tiles {
		d.tiles[i].bit = uint32(i)
	}
	if d.inlined != nil {
		c.chunks[0].Store(&d.inlined)
	}
	if d.terms != nil {
		c.dictionary = newDictionary(d.terms, load)
	}
	return c
}

// Drop forgets the parts that were loaded. They are loaded again when they are needed.
func (c *Column) Drop() {
	if c.load == nil {
		return // a view
	}
	c.forgetOrder()
	for i := range c.chunks {
		if c.d.inlined == nil {
			c.chunks[i].Store(nil)
		}
	}
	if d := c.dictionary; d != nil && d.index.inlined == nil {
		for i := range d.parts {
			d.parts[i].Store(nil)
		}
	}
}

// Kind is what the keys stand for.
func (c *Column) Kind() Kind { return c.d.kind }

// Docs is the number of documents that have a value.
func (c *Column) Docs() int { return c.d.withValue }

// Values is the number of values.
func (c *Column) Values() int64 { return c.d.values }

// SegmentDocs is the number of documents of the segment.
func (c *Column) SegmentDocs() int { return int(c.d.docs) }

// Tiles is the number of tiles of the segment.
func (c *Column) Tiles() int { return int((uint64(c.d.docs) + TileDocs - 1) / TileDocs) }

// Single reports whether no document has several values.
func (c *Column) Single() bool { return int64(c.d.withValue) == c.d.values }

// Full reports whether every document of the segment has a value.
func (c *Column) Full() bool { return c.d.withValue == int(c.d.docs) }

// Bounds returns the least and the greatest key.
func (c *Column) Bounds() (least, greatest uint64) { return c.d.least, c.d.greatest }

// Divisor returns a number that divides the distances of all keys from the least one.
func (c *Column) Divisor() uint64 {
	if d := c.divisor.Load(); d != 0 {
		return d
	}
	d := uint64(0)
	for number := range c.Tiles() {
		t := c.d.tile(number)
		if t == nil {
			continue
		}
		d = gcd(d, t.least-c.d.least)
		if t.form != constant {
			d = gcd(d, t.divisor)
		}
		if d == 1 {
			break
		}
	}
	d = max(1, d)
	c.divisor.Store(d)
	return d
}

// Dictionary returns the terms of a column of kind Terms, else nil.
func (c *Column) Dictionary() *Dictionary { return c.dictionary }

// Bytes is the size of all parts but the directory, and that of the directory in memory.
func (c *Column) Bytes() (parts, directory int64) {
	if c.d.inlined == nil {
		for _, n := range c.d.chunks {
			parts += int64(n)
		}
	}
	directory = int64(len(c.d.tiles))*tileBytes + int64(len(c.d.sheets))*32 + int64(len(c.d.inlined)) + 512
	for i := range c.d.tiles {
		directory += int64(len(c.d.tiles[i].data))
	}
	if x := c.d.terms; x != nil {
		for i, n := range x.sizes {
			if x.inlined == nil {
				parts += int64(n)
			}
			directory += int64(len(x.bounds[i])) + 40
		}
		directory += int64(len(x.inlined))
	}
	return parts, directory
}

// tileBytes is the size of a tile of the directory in memory.
const tileBytes = int64(unsafe.Sizeof(tile{}))

// A Zone is what is known of a tile without its payload.
type Zone struct {
	Least, Greatest uint64 // keys
	Docs, Values    int    // documents that have a value, and values
	Rising, Falling bool   // keys are known not to fall, or not to rise, from document to document
}

// Zone returns what is known of a tile; ok is false when none of its documents has a value.
func (c *Column) Zone(tile int) (z Zone, ok bool) {
	t := c.d.tile(tile)
	if t == nil {
		return z, false
	}
	return Zone{t.least, t.greatest, int(t.docs), int(t.values), t.form == rising && !t.falls || t.rises, t.falls}, true
}

// SheetBounds returns the least and the greatest key of 64 tiles; ok is false when they have none.
func (c *Column) SheetBounds(sheet int) (least, greatest uint64, ok bool) {
	i := sheet - c.d.first
	if i < 0 || i >= len(c.d.sheets) || c.d.sheets[i].has == 0 {
		return 0, 0, false
	}
	return c.d.sheets[i].least, c.d.sheets[i].greatest, true
}

// tile returns a tile by its number, or nil when no document of it has a value.
func (d *directory) tile(number int) *tile {
	i := number/sheetTiles - d.first
	if number < 0 || i < 0 || i >= len(d.sheets) {
		return nil
	}
	s := &d.sheets[i]
	bit := uint64(1) << (number % sheetTiles)
	if s.has&bit == 0 {
		return nil
	}
	return &d.tiles[int(s.at)+bits.OnesCount64(s.has&(bit-1))]
}

// payload returns the bytes from a tile's first on, up to the end of the guard behind its chunk. It
// loads and checks what was not needed before.
func (c *Column) payload(t *tile) ([]byte, error) {
	if t.form == constant && t.presence == everyone && t.single() {
		return nil, nil // all in the directory
	}
	if t.data != nil {
		return t.data, nil // as this process has encoded it
	}
	chunk, err := c.chunk(t.chunk)
	if err != nil {
		return nil, err
	}
	b := chunk[t.at:]
	if word, bit := &c.checked[t.bit/64], uint64(1)<<(t.bit%64); word.Load()&bit == 0 {
		if err := t.check(b); err != nil {
			return nil, corrupt.New(-1, "tile %d: %s", t.number, err)
		}
		word.Or(bit)
	}
	return b, nil
}

// chunk returns a chunk of the payload, which it loads if need be.
func (c *Column) chunk(i uint32) ([]byte, error) {
	if chunk := c.chunks[i].Load(); chunk != nil {
		return *chunk, nil
	}
	data, err := c.load(PayloadParts + i)
	if err != nil {
		return nil, err
	}
	if len(data) != c.d.chunks[i] {
		return nil, corrupt.New(-1, "chunk %d of the payload has %d bytes, the directory says %d", i, len(data), c.d.chunks[i])
	}
	c.chunks[i].Store(&data)
	return data, nil
}

// Keys returns the keys lo..hi of the values in an interval; ok is false when it has none. An open
// end, when the other is not, extends over values like the other end: numbers, instants, booleans, places
// or strings.
func (c *Column) Keys(from, to Bound) (lo, hi uint64, ok bool, err error) {
	if from.Open && to.Open {
		return 0, ^uint64(0), true, nil
	}
	switch {
	case from.Open:
		from = Bound{Value: firstOf(to.Value.class())}
	case to.Open && from.Value.class() == strs:
		to = Bound{Value: Value{Kind: Terms, Term: ""}, Open: true}
	case to.Open:
		to = Bound{Value: firstOf(from.Value.class() + 1), Exclusive: true}
	}
	lo, past, err := c.seek(from.Value, from.Exclusive)
	if err != nil || past {
		return 0, 0, false, err
	}
	hi = ^uint64(0)
	if !to.Open {
		end, past, err := c.seek(to.Value, !to.Exclusive)
		if err != nil || !past && end <= lo {
			return 0, 0, false, err
		}
		if !past {
			hi = end - 1
		}
	}
	return lo, hi, true, nil
}

// firstOf returns the lower end of a class.
func firstOf(c class) Value {
	return Value{Kind: Terms, Term: [...]string{boolPrefix, numberPrefix, placePrefix, timePrefix, stringPrefix}[c]}
}

// seek returns the least key whose value is not below v, or, with above, is above v; past is true
// when there is none.
func (c *Column) seek(v Value, above bool) (key uint64, past bool, err error) {
	if c.d.kind == Terms {
		term := v.AppendTerm(nil)
		ord, found, err := c.dictionary.Find(term)
		if found && above {
			ord++
		}
		return uint64(ord), ord == c.dictionary.Len(), err
	}
	least := 0
	if above {
		least = 1
	}
	if key, ok := v.In(c.d.kind); ok {
		key += uint64(least)
		return key, above && key == 0, nil
	}
	low, high := uint64(0), ^uint64(0)
	if Compare(Value{Kind: c.d.kind, Key: high}, v) < least {
		return 0, true, nil
	}
	for low < high {
		middle := low + (high-low)/2
		if Compare(Value{Kind: c.d.kind, Key: middle}, v) >= least {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low, false, nil
}

// Value returns the value of a key.
func (c *Column) Value(key uint64) (Value, error) {
	if c.d.kind != Terms {
		return Value{Kind: c.d.kind, Key: key}, nil
	}
	var room [64]byte
	term, err := c.dictionary.AppendTerm(room[:0], key)
	return Value{Kind: Terms, Term: string(term)}, err
}
