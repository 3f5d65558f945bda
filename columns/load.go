package columns

import (
	"encoding/binary"
	"math/bits"
)

// Load writes the least or the greatest key of each document of a tile to dst, and sets in have those
// that have one. What dst has for the others is undefined.
func (c *Column) Load(tile int, pick Pick, dst *[TileDocs]uint64, have *[64]uint64) error {
	t := c.d.tile(tile)
	if t == nil {
		clear(have[:])
		return nil
	}
	if t.single() {
		b, err := c.payload(t)
		if err != nil {
			return err
		}
		t.has(b, have)
		t.keys(b, t.layout(), dst[:t.docs])
	} else {
		d, err := c.decoder(t)
		if err != nil {
			return err
		}
		defer d.release()
		*have = d.has
		d.decode()
		for rank := range int(t.docs) {
			dst[rank&(TileDocs-1)] = d.keys[d.place(rank, pick)]
		}
	}
	if t.presence != everyone {
		spread(dst, have, int(t.docs))
	}
	return nil
}

// spread moves the first n keys to the documents in have, from the last on.
func spread(dst *[TileDocs]uint64, have *[64]uint64, n int) {
	for i := tileWords - 1; i >= 0; i-- {
		for w := have[i]; w != 0; {
			bit := 63 - bits.LeadingZeros64(w)
			w &^= 1 << bit
			n--
			dst[64*i+bit] = dst[n&(TileDocs-1)]
		}
	}
}

// Gather writes the least or the greatest key of each of some documents to dst, and to have whether
// the document has one. Documents in ascending order take the least time.
func (c *Column) Gather(docs []uint32, pick Pick, dst []uint64, have []bool) error {
	dst, have = dst[:len(docs)], have[:len(docs)]
	for i := 0; i < len(docs); {
		number := docs[i] / TileDocs
		if t := c.d.tile(int(number)); t != nil && t.form == packed && t.simple() && t.length == TileDocs && (i+packedFew >= len(docs) || docs[i+packedFew]/TileDocs != number) {
			n, err := c.gatherPacked(t, docs[i:], dst[i:], have[i:])
			if err != nil {
				return err
			}
			i += n
			continue
		}
		end := i + 1
		for end < len(docs) && docs[end]/TileDocs == number {
			end++
		}
		if err := c.gather(int(number), docs[i:end], pick, dst[i:end], have[i:end]); err != nil {
			return err
		}
		i = end
	}
	return nil
}

// packedFew documents of a simple packed tile are fewer than those for which all are decoded.
const packedFew = TileDocs/decodeAll - 1

// gatherPacked is Gather of the first documents, those of a simple packed tile, and returns how many these
// are.
func (c *Column) gatherPacked(t *tile, docs []uint32, dst []uint64, have []bool) (n int, err error) {
	b, err := c.payload(t)
	if err != nil {
		return 0, err
	}
	number, width := docs[0]/TileDocs, uint64(t.width)
	mask, least, divisor := lowBits(int(t.width)), t.least, t.divisor
	dst, have = dst[:len(docs)], have[:len(docs)]
	for i, doc := range docs {
		if doc/TileDocs != number {
			return i, nil
		}
		bit := uint64(doc%TileDocs) * width // values are the first part of the tile
		dst[i] = least + divisor*(binary.LittleEndian.Uint64(b[bit>>3:])>>(bit&7)&mask)
		have[i] = true
	}
	return len(docs), nil
}

// gather is Gather of documents of one tile.
func (c *Column) gather(tile int, docs []uint32, pick Pick, dst []uint64, have []bool) error {
	t := c.d.tile(tile)
	if t == nil {
		clear(have)
		return nil
	}
	if t.simple() && !t.dense(len(docs)) && t.length == TileDocs {
		return c.gatherFew(t, docs, dst, have)
	}
	d, err := c.decoder(t)
	if err != nil {
		return err
	}
	defer d.release()
	if cap(d.places) < len(docs) {
		d.places = make([]uint32, 0, max(len(docs), TileDocs))
	}
	d.places = d.places[:0]
	if d.simple && t.length == TileDocs {
		for i, doc := range docs {
			have[i] = true
			d.places = append(d.places, doc%TileDocs)
		}
		d.read(dst, d.places)
		return nil
	}
	for i, doc := range docs {
		in := int(doc % TileDocs)
		have[i] = d.hasValue(in)
		if have[i] {
			d.places = append(d.places, d.place(d.rank(in), pick))
		}
	}
	d.read(dst, d.places)
	if n := len(d.places); n < len(docs) {
		for i := len(docs) - 1; n > 0; i-- {
			if have[i] {
				n--
				dst[i] = dst[n]
			}
		}
	}
	return nil
}

// gatherFew is gather of a few documents of a simple tile, which needs no decoder.
func (c *Column) gatherFew(t *tile, docs []uint32, dst []uint64, have []bool) error {
	b, err := c.payload(t)
	if err != nil {
		return err
	}
	l := t.layout()
	for i, doc := range docs {
		dst[i], have[i] = t.key(b, l, int(doc%TileDocs)), true
	}
	return nil
}

// Append appends the keys of a document, in ascending order.
func (c *Column) Append(dst []uint64, doc uint32) ([]uint64, error) {
	t := c.d.tile(int(doc / TileDocs))
	if t == nil {
		return dst, nil
	}
	d, err := c.decoder(t)
	if err != nil {
		return dst, err
	}
	defer d.release()
	if in := int(doc % TileDocs); d.hasValue(in) {
		from, end := d.valuesOf(d.rank(in))
		for i := from; i < end; i++ {
			dst = append(dst, t.key(d.b, d.l, i))
		}
	}
	return dst, nil
}
