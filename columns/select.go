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
