package columns

import "slices"

// A Selection has keys of documents of a tile, in the order of documents. It is used again and again.
type Selection struct {
	Docs []uint16 // for each key, its document within the tile
	Keys []uint64
}

// Select replaces s by the keys of the documents of a tile that are in set (nil for all): the least,
// the greatest, or All, which are ascending within a document.
func (c *Column) Select(tile int, set *[64]uint64, pick Pick, s *Selection) error {
	s.Docs, s.Keys = s.Docs[:0], s.Keys[:0]
	t := c.d.tile(tile)
	if t == nil {
		return nil
	}
	d, err := c.decoder(t)
	if err != nil {
		return err
	}
	defer d.release()
	s.Docs = d.wanted(set, s.Docs)
	if pick == All && !t.single() {
		d.all(s)
		return nil
	}
	n := len(s.Docs)
	s.Keys = resize(s.Keys, n)
	if n == int(t.docs) && t.single() {
		t.keys(d.b, d.l, s.Keys)
		return nil
	}
	if t.single() {
		d.readRanks(s.Keys, d.ranksOf(s.Docs))
		return nil
	}
	d.places = slices.Grow(d.places[:0], n)[:n]
	for i, doc := range s.Docs {
		d.places[i] = d.place(d.rank(int(doc)), pick)
	}
	d.read(s.Keys, d.places)
	return nil
}

// wanted returns the documents in set that have a value.
func (d *decoder) wanted(set *[64]uint64, room []uint16) []uint16 {
	if cap(room) < TileDocs {
		room = make([]uint16, TileDocs)
	}
	docs := (*[TileDocs]uint16)(room[:TileDocs])
	switch {
	case d.simple && set != nil && d.t.length == TileDocs:
		return docs[:docsOf(docs, set)]
	case d.simple:
		fill(&d.with, int(d.t.length))
	default:
		d.with = d.has
	}
	if set != nil {
		for i := range d.with {
			d.with[i] &= set[i]
		}
	}
	return docs[:docsOf(docs, &d.with)]
}

// all replaces documents by all values of each.
func (d *decoder) all(s *Selection) {
	d.docs = append(d.docs[:0], s.Docs...)
	d.places, s.Docs = d.places[:0], s.Docs[:0]
	for _, doc := range d.docs {
		from, end := d.valuesOf(d.rank(int(doc)))
		for ; from < end; from++ {
			d.places = append(d.places, uint32(from))
			s.Docs = append(s.Docs, doc)
		}
	}
	s.Keys = resize(s.Keys, len(d.places))
	d.read(s.Keys, d.places)
}

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
	if t.form == constant || !t.single() || t.form == rising || t.form == linear || int(t.width) > widest32 {
		d.count(set, base, counts)
		return nil
	}
	d.places = slices.Grow(d.places[:0], TileDocs)
	room := (*[TileDocs]uint32)(d.places[:TileDocs])
	places := room[:t.values]
	counts = counts[t.least-base:]
	if set != nil {
		if d.docs = d.wanted(set, d.docs); len(d.docs) < int(t.values) {
			places = room[:len(d.docs)]
		}
	}
	values, width := d.b[d.l.values:], int(t.width)
	switch {
	case len(places) == int(t.values):
		unpack32(places, values, width)
	case len(places)*decodeAll32 >= int(t.values):
		ranks := d.ranksOf(d.docs)
		unpack32(room[:t.values], values, width)
		for i, at := range ranks {
			places[i] = room[at&(TileDocs-1)] // which is not before i
		}
	default:
		gather32(places, values, d.ranksOf(d.docs), width)
	}
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

// countNumbers counts numbers below len(counts). Few of them are counted in four tables in turn, so that
// equal ones in succession do not wait for each other.
func countNumbers(numbers []uint32, counts []uint32) {
	if len(counts) > 64 || len(numbers) < 256 {
		for _, q := range numbers {
			counts[q]++
		}
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
	wide := widthOf(t.top)
	for i, n := range some {
		counts[packedAt(b[l.whole:], i, wide)*t.divisor] += n
	}
}

// count is Count for any tile.
func (d *decoder) count(set *[64]uint64, base uint64, counts []uint32) {
	d.docs = d.wanted(set, d.docs)
	if d.t.form == constant {
		counts[d.t.least-base] += uint32(len(d.docs))
		return
	}
	d.decode()
	for _, doc := range d.docs {
		from, end := d.valuesOf(d.rank(int(doc)))
		before := d.keys[from]
		counts[before-base]++
		for _, k := range d.keys[from+1 : end] {
			if k != before {
				counts[k-base]++
				before = k
			}
		}
	}
}
