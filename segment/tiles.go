package segment

import (
	"encoding/binary"
	"math"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// A tileMaker makes the tiles of a field from its documents, which ascend.
type tileMaker struct {
	tiles   []Tile
	highest [256]uint32 // of the current tile: the highest frequency at each length code
	tile    uint32
	any     bool // the current tile has a document
}

// add takes the next document that has the field, with its highest frequency and its length code.
func (m *tileMaker) add(doc, tf uint32, code uint8) {
	if tile := doc / blockmax.TileDocs; tile != m.tile || !m.any {
		m.endTile()
		m.tile, m.any = tile, true
	}
	m.highest[code] = max(m.highest[code], tf)
}

func (m *tileMaker) endTile() {
	if m.any {
		m.tiles = append(m.tiles, Tile{m.tile, appendPareto(nil, &m.highest)})
		clear(m.highest[:])
		m.any = false
	}
}

// finish returns the tiles and prepares for another field.
func (m *tileMaker) finish() []Tile {
	m.endTile()
	tiles := m.tiles
	m.tiles = nil
	return tiles
}

// appendPareto appends the Pareto-best pairs of a table of the highest frequency at each length
// code. They ascend in both.
func appendPareto(dst []postings.Impact, highest *[256]uint32) []postings.Impact {
	top := uint32(0)
	for code, tf := range highest {
		if tf > top {
			top = tf
			dst = append(dst, postings.Impact{TF: tf, Len: uint8(code)})
		}
	}
	return dst
}

// appendTiles appends the payload of a field's tiles:
//
//	tile that has a document with the field, in ascending order:
//	  gap    varint  tiles between it and the previous one
//	  pairs  varint  number of pairs, at least 1
//	  pair:
//	    tf   varint  minus that of the previous pair
//	    len  byte    length code, above that of the previous pair
//
// Version 4 has every tile, each with its highest static rank (varint) instead of gap.
func appendTiles(dst []byte, tiles []Tile) []byte {
	next := uint32(0)
	for _, t := range tiles {
		dst = binary.AppendUvarint(dst, uint64(t.number-next))
		next = t.number + 1
		dst = binary.AppendUvarint(dst, uint64(len(t.best)))
		tf := uint32(0)
		for _, p := range t.best {
			dst = binary.AppendUvarint(dst, uint64(p.TF-tf))
			dst = append(dst, p.Len)
			tf = p.TF
		}
	}
	return dst
}

// decodeTiles reads the tiles of a field of a segment of docs documents.
func decodeTiles(payload []byte, docs uint32, version byte) ([]Tile, error) {
	d := newDecoder(payload)
	n := chunksOf(docs, blockmax.TileDocs)
	tiles := []Tile{}
	if version == oldTilesVersion {
		for number := range n {
			d.uint("rank", math.MaxUint16)
			t := Tile{number, d.pairs(0)}
			if d.err != nil {
				break
			}
			if len(t.best) > 0 {
				tiles = append(tiles, t)
			}
		}
		return tiles, d.end()
	}
	for next := uint64(0); d.left() > 0 && d.err == nil; {
		number := next + d.uint("tiles between", math.MaxUint32)
		if number >= uint64(n) {
			d.fail("tile %d of %d", number, n)
			break
		}
		tiles = append(tiles, Tile{uint32(number), d.pairs(1)})
		next = number + 1
	}
	return tiles, d.end()
}

// pairs reads the best pairs of a tile, which must have at least least of them.
func (d *decoder) pairs(least int) []postings.Impact {
	n := int(d.uint("number of pairs", 256))
	if n < least {
		d.fail("%d pairs, want at least %d", n, least)
	}
	var best []postings.Impact
	var p postings.Impact
	for j := range n {
		rise := uint32(d.uint("frequency", uint64(math.MaxUint32-p.TF)))
		code := d.byte("length code")
		if rise == 0 || j > 0 && code <= p.Len {
			d.fail("pair (%d, code %d) follows (%d, code %d)", p.TF+rise, code, p.TF, p.Len)
		}
		if d.err != nil {
			return nil
		}
		p = postings.Impact{TF: p.TF + rise, Len: code}
		best = append(best, p)
	}
	return best
}
