package columns

import (
	"slices"
	"sort"
)

// Count adds, for each document of a tile that is in set (nil for all), 1 to counts[key-base] of each
// of its distinct keys. counts must reach to the greatest key of the tile, and base must not be above
// the least.
func (c *Column) Count(tile int, set *[64]uint64, base uint64, counts []uint32) error {
	t := c.d.tile(tile)
	if t == nil {
		return nil
	}
	d, err := c.decoder(t)
	if err != nil {
		return err
	}
	defer d.release()
	if !t.hasNumbers() {
		if set == nil && c.apart(t) {
			d.countWhole(counts[t.least-base : t.greatest-base+1])
			return nil
		}
		d.count(set, base, counts)
		return nil
	}
	places := d.numbers(set)
	counts = counts[t.least-base:]
	switch {
	case t.form == table:
		t.countPlaces(d.b, d.l, places, counts)
	case t.divisor == 1:
		countNumbers(places, counts[:t.top+1])
	default:
		for _, q := range places {
			counts[uint64(q)*t.divisor]++
		}
	}
	return nil
}

// hasNumbers reports whether documents have one packed number of at most 32 bits each: a quotient, or a place
// in the table.
func (t *tile) hasNumbers() bool {
	return t.single() && (t.form == packed || t.form == table) && int(t.width) <= widest32
}

// numbers returns the packed numbers of the documents in set (nil for all) that have one.
func (d *decoder) numbers(set *[64]uint64) []uint32 {
	t := d.t
	d.places = slices.Grow(d.places[:0], TileDocs)
	room := (*[TileDocs]uint32)(d.places[:TileDocs])
	numbers := room[:t.values]
	if set != nil {
		if d.docs = d.wanted(set, d.docs); len(d.docs) < int(t.values) {
			numbers = room[:len(d.docs)]
		}
	}
	values, width := d.b[d.l.values:], int(t.width)
	switch {
	case len(numbers) == int(t.values):
		unpack32(numbers, values, width)
	case len(numbers)*decodeAll32 >= int(t.values):
		ranks := d.ranksOf(d.docs)
		unpack32(room[:t.values], values, width)
		for i, at := range ranks {
			numbers[i] = room[at&(TileDocs-1)] // which is not before i
		}
	default:
		gather32(numbers, values, d.ranksOf(d.docs), width)
	}
	return numbers
}

// countNumbers counts numbers below len(counts). Few of them are counted in four tables in turn, so that
// equal ones in succession do not wait for each other.
func countNumbers(numbers []uint32, counts []uint32) {
	if len(counts) > 64 || len(numbers) < 256 {
		countUp(counts, numbers)
		return
	}
	var some [4][64]uint32
	for ; len(numbers) >= 4; numbers = numbers[4:] {
		some[0][numbers[0]%64]++
		some[1][numbers[1]%64]++
		some[2][numbers[2]%64]++
		some[3][numbers[3]%64]++
	}
	for _, q := range numbers {
		some[0][q%64]++
	}
	for i := range counts {
		counts[i] += some[0][i%64] + some[1][i%64] + some[2][i%64] + some[3][i%64]
	}
}

// countPlaces counts places in the table, and then the keys in these.
func (t *tile) countPlaces(b []byte, l layout, places []uint32, counts []uint32) {
	var room [maxTable]uint32
	some := room[:t.entries]
	countNumbers(places, some)
	t.countTable(b, l, some, counts)
}

// apart reports whether a tile has several packed numbers of at most 32 bits a document, no two of which are
// equal. It looks at all of them once.
func (c *Column) apart(t *tile) bool {
	if t.data != nil || t.single() || t.form != packed && t.form != table || t.divisor != 1 && t.form == packed || int(t.width) > widest32 {
		return false
	}
	word, bit := t.bit/64, uint64(1)<<(t.bit%64)
	if c.compared[word].Load()&bit == 0 {
		d, err := c.decoder(t)
		if err != nil {
			return false // which the caller has seen, too
		}
		defer d.release()
		if d.allDiffer() {
			c.differ[word].Or(bit)
		}
		c.compared[word].Or(bit)
	}
	return c.differ[word].Load()&bit != 0
}

// allDiffer reports whether no document has two equal values.
func (d *decoder) allDiffer() bool {
	d.decode()
	from := 0
	for rank := range int(d.t.docs) {
		_, end := d.valuesOf(rank)
		for i := from + 1; i < end; i++ {
			if d.keys[i] == d.keys[i-1] {
				return false
			}
		}
		from = end
	}
	return true
}

// mostLanes is the number of counts up to which those of a tile are kept in several tables, which fit in the
// first cache.
const mostLanes = 2048

// countWhole counts all values of a tile, no two of which are equal in a document. counts begins with that of
// the least key.
func (d *decoder) countWhole(counts []uint32) {
	t := d.t
	if t.form == packed {
		d.countNumbers(counts[:t.top+1])
		return
	}
	var room [maxTable]uint32
	some := room[:t.entries]
	d.countNumbers(some)
	t.countTable(d.b, d.l, some, counts)
}

// countNumbers counts all packed numbers.
func (d *decoder) countNumbers(counts []uint32) {
	t := d.t
	d.places = slices.Grow(d.places[:0], TileDocs)
	room, values, width := d.places[:TileDocs], d.b[d.l.values:], int(t.width)
	var lanes []uint32
	if len(counts) <= mostLanes {
		stride := (len(counts)+15)&^15 + 16
		if stride%1024 == 0 {
			stride += 16 // addresses with the same last bits would wait for each other
		}
		if len(d.lanes) < 4*stride {
			d.lanes = make([]uint32, 4*stride)
		}
		lanes = d.lanes[:4*stride]
	}
	for left := int(t.values); left > 0; left -= TileDocs {
		numbers := room[:min(left, TileDocs)]
		unpack32(numbers, values, width)
		if lanes != nil {
			countLanes(counts, lanes, numbers)
		} else {
			countUp(counts, numbers)
		}
		if left > TileDocs {
			values = values[TileDocs/8*width:]
		}
	}
	if lanes != nil {
		foldLanes(counts, lanes)
	}
}

// CountList is Count for the documents of a tile in a list, which ascends. It is for few of them: it reads
// each by itself.
func (c *Column) CountList(tile int, docs []uint16, base uint64, counts []uint32) error {
	t := c.d.tile(tile)
	if t == nil || len(docs) == 0 {
		return nil
	}
	if docs[len(docs)-1] >= t.length || t.presence != everyone || t.form != packed && t.form != table || !t.single() && !t.regular {
		return c.countListed(t, docs, base, counts)
	}
	b, err := c.payload(t)
	if err != nil {
		return err
	}
	l := t.layout()
	every := int(t.values) / int(t.docs)
	counts = counts[t.least-base : t.greatest-base+1] // kernels rely on it
	if t.form == packed {
		countValues(b[l.values:], int(t.width), every, docs, t.divisor, counts)
		return nil
	}
	if len(docs)*every >= int(t.entries)/2 {
		var room [maxTable]uint32
		some := room[:t.entries]
		countValues(b[l.values:], int(t.width), every, docs, 1, some)
		t.countTable(b, l, some, counts)
		return nil
	}
	values, entries := b[l.values:], b[l.whole:]
	width, wide := int(t.width), widthOf(t.top)
	for _, doc := range docs {
		before := -1
		for i := every * int(doc); i < every*(int(doc)+1); i++ {
			if place := int(packedAt(values, i, width)); place != before {
				counts[packedAt(entries, place, wide)*t.divisor]++
				before = place
			}
		}
	}
	return nil
}

// countValues counts the values of documents with every values each, of ranks, among packed numbers: each
// different value of a document once, in counts[number*divisor].
func countValues(values []byte, width, every int, ranks []uint16, divisor uint64, counts []uint32) {
	switch together := every * width; {
	case every == 1:
		for _, rank := range ranks {
			counts[packedAt(values, int(rank), width)*divisor]++
		}
	case together <= widest && divisor == 1:
		countSeveral(counts, values, ranks, width, every)
	default:
		for _, rank := range ranks {
			before := ^uint64(0)
			for i := every * int(rank); i < every*(int(rank)+1); i++ {
				if v := packedAt(values, i, width); i == every*int(rank) || v != before {
					counts[v*divisor]++
					before = v
				}
			}
		}
	}
}

// countTable adds how often each place in the table was counted to the counts of its key.
func (t *tile) countTable(b []byte, l layout, some, counts []uint32) {
	entries, wide := b[l.whole:], widthOf(t.top)
	for i, n := range some {
		counts[packedAt(entries, i, wide)*t.divisor] += n
	}
}

// countListed is CountList for a tile of any form.
func (c *Column) countListed(t *tile, docs []uint16, base uint64, counts []uint32) error {
	d, err := c.decoder(t)
	if err != nil {
		return err
	}
	defer d.release()
	d.docs = slices.Grow(d.docs[:0], TileDocs)
	for _, doc := range docs {
		if d.hasValue(int(doc)) {
			d.docs = append(d.docs, doc)
		}
	}
	d.countDocs(base, counts)
	return nil
}

// count is Count for any tile.
func (d *decoder) count(set *[64]uint64, base uint64, counts []uint32) {
	d.docs = d.wanted(set, d.docs)
	d.countDocs(base, counts)
}

// countDocs counts the values of the documents in docs, which have some.
func (d *decoder) countDocs(base uint64, counts []uint32) {
	t := d.t
	counts = counts[t.least-base : t.greatest-base+1] // kernels rely on it
	if t.form == constant {
		counts[0] += uint32(len(d.docs))
		return
	}
	if d.every > 0 && (t.form == packed || t.form == table) {
		ranks := d.docs
		if !d.simple && t.presence != everyone {
			ranks = d.ranksOneByOne()
		}
		values, width := d.b[d.l.values:], int(t.width)
		if t.form == packed {
			countValues(values, width, d.every, ranks, t.divisor, counts)
			return
		}
		var room [maxTable]uint32
		some := room[:t.entries]
		countValues(values, width, d.every, ranks, 1, some)
		t.countTable(d.b, d.l, some, counts)
		return
	}
	if t.dense(len(d.docs) * int(t.values) / int(t.docs)) {
		d.decode()
		for _, doc := range d.docs {
			from, end := d.valuesOf(d.rank(int(doc)))
			countKeys(d.keys[from:end], t.least, counts)
		}
		return
	}
	var room [8]uint64
	for _, doc := range d.docs {
		keys := room[:0]
		from, end := d.valuesOf(d.rank(int(doc)))
		for ; from < end; from++ {
			keys = append(keys, t.key(d.b, d.l, from))
		}
		countKeys(keys, t.least, counts)
	}
}

// ranksOneByOne returns the ranks of the documents in docs.
func (d *decoder) ranksOneByOne() []uint16 {
	d.ranks16 = slices.Grow(d.ranks16[:0], TileDocs)
	for _, doc := range d.docs {
		d.ranks16 = append(d.ranks16, uint16(d.rank(int(doc))))
	}
	return d.ranks16
}

// countKeys counts each different key of a document once.
func countKeys(keys []uint64, base uint64, counts []uint32) {
	before := keys[0]
	counts[before-base]++
	for _, k := range keys[1:] {
		if k != before {
			counts[k-base]++
			before = k
		}
	}
}

// Mark sets, for each document of a tile that is in set (nil for all), bit (key-base)/divisor of each of
// its keys. base must not be above the least key of the tile, divisor must divide all the distances from
// it, and bits must reach to the greatest key.
func (c *Column) Mark(tile int, set *[64]uint64, base, divisor uint64, bits []uint64) error {
	t := c.d.tile(tile)
	if t == nil {
		return nil
	}
	d, err := c.decoder(t)
	if err != nil {
		return err
	}
	defer d.release()
	if !t.hasNumbers() {
		d.eachKey(set, func(key uint64) {
			at := (key - base) / divisor
			bits[at/64] |= 1 << (at % 64)
		})
		return nil
	}
	first, step := (t.least-base)/divisor, t.divisor/divisor
	numbers := d.numbers(set)
	if t.form == packed {
		for _, q := range numbers {
			at := first + uint64(q)*step
			bits[at/64] |= 1 << (at % 64)
		}
		return nil
	}
	var seen [maxTable]bool
	for _, place := range numbers {
		seen[place%maxTable] = true
	}
	wide := widthOf(t.top)
	for i, s := range seen[:t.entries] {
		if s {
			at := first + packedAt(d.b[d.l.whole:], i, wide)*step
			bits[at/64] |= 1 << (at % 64)
		}
	}
	return nil
}

// Below returns how many documents of a tile have a key below another, where these are its first ones: keys
// are known not to fall (Zone.Rising), and each document has one. ok is false for other tiles.
func (c *Column) Below(tile int, key uint64) (docs int, ok bool, err error) {
	t := c.d.tile(tile)
	if t == nil || t.presence != everyone || !t.single() || t.falls || t.form != rising && !t.rises {
		return 0, false, nil
	}
	switch {
	case key <= t.least:
		return 0, true, nil
	case key > t.greatest:
		return int(t.docs), true, nil
	}
	b, err := c.payload(t)
	if err != nil {
		return 0, false, err
	}
	l := t.layout()
	from, _, _ := t.quotients(key, t.greatest)
	if t.form == rising {
		return t.search(b, l, from), true, nil
	}
	return sort.Search(int(t.docs), func(i int) bool { return t.quotient(b, l, i) >= from }), true, nil
}

// eachKey calls f for the keys of the documents in set, for a tile of any form.
func (d *decoder) eachKey(set *[64]uint64, f func(key uint64)) {
	d.docs = d.wanted(set, d.docs)
	if len(d.docs) == 0 {
		return
	}
	if d.t.form == constant {
		f(d.t.least)
		return
	}
	d.decode()
	for _, doc := range d.docs {
		from, end := d.valuesOf(d.rank(int(doc)))
		for _, k := range d.keys[from:end] {
			f(k)
		}
	}
}

// A Sum is that of the keys of documents, as distances from a key.
type Sum struct {
	Values          int
	Least, Greatest uint64 // keys
	Distances       uint64 // sum, modulo 1<<64
	Squares         uint64 // that of the squares of distances, modulo 1<<64
}

// Sum adds the keys of the documents of a tile that are in set (nil for all), as distances from the least
// key of the tile. ok is false when the form of the tile allows no more than to read each key.
func (c *Column) Sum(tile int, set *[64]uint64) (s Sum, ok bool, err error) {
	t := c.d.tile(tile)
	if t == nil || !t.hasNumbers() && !(t.form == constant && t.single()) {
		return s, t == nil, nil
	}
	d, err := c.decoder(t)
	if err != nil {
		return s, false, err
	}
	defer d.release()
	if t.form == constant {
		if s.Values = len(d.wanted(set, d.docs)); s.Values > 0 {
			s.Least, s.Greatest = t.least, t.least
		}
		return s, true, nil
	}
	numbers := d.numbers(set)
	if t.form == table {
		if widthOf(t.top) > widest32 {
			return s, false, nil
		}
		var entries [maxTable]uint32
		unpack32(entries[:t.entries], d.b[d.l.whole:], widthOf(t.top))
		for i, place := range numbers {
			numbers[i] = entries[place%maxTable]
		}
	}
	if s.Values = len(numbers); s.Values == 0 {
		return s, true, nil
	}
	lanes := sum32(numbers)
	least, greatest := uint64(slices.Min(lanes.least[:])), uint64(slices.Max(lanes.greatest[:]))
	s.Least, s.Greatest = t.least+least*t.divisor, t.least+greatest*t.divisor
	for i := range lanes.sum {
		s.Distances += lanes.sum[i]
		s.Squares += lanes.squares[i]
	}
	s.Distances *= t.divisor
	s.Squares *= t.divisor * t.divisor
	return s, true, nil
}
