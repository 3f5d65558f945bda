package segment

import (
	"encoding/binary"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// makeTiles makes the tiles of a field. best[d] is the highest term frequency of
// document d in the field, 0 when it lacks the field. norms and ranks may be nil,
// as Reader.Norms and Reader.Rank return them.
func makeTiles(best []uint32, norms []uint8, ranks []uint16) []Tile {
	tiles := make([]Tile, chunksOf(uint32(len(best)), blockmax.TileDocs))
	var highest [256]uint32
	for i := range tiles {
		first := i * blockmax.TileDocs
		end := min(first+blockmax.TileDocs, len(best))
		clear(highest[:])
		for d := first; d < end; d++ {
			code := codeOf(norms, uint32(d))
			highest[code] = max(highest[code], best[d])
			if ranks != nil {
				tiles[i].Rank = max(tiles[i].Rank, ranks[d])
			}
		}
		tiles[i].Best = appendPareto(nil, &highest)
	}
	return tiles
}

// appendPareto appends the Pareto-best pairs of a table of the highest frequency
// at each length code: ascending in both.
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

// codeOf is the length code that scoring uses for a document.
func codeOf(norms []uint8, doc uint32) uint8 {
	if norms == nil {
		return 1
	}
	return norms[doc]
}

// appendTiles appends the payload of a field's tiles:
//
//	tile:
//	  rank   varint  highest static rank
//	  pairs  varint  number of pairs
//	  pair:
//	    tf   varint  minus that of the pair before
//	    len  byte    length code, above that of the pair before
func appendTiles(dst []byte, tiles []Tile) []byte {
	for _, t := range tiles {
		dst = binary.AppendUvarint(dst, uint64(t.Rank))
		dst = binary.AppendUvarint(dst, uint64(len(t.Best)))
		tf := uint32(0)
		for _, p := range t.Best {
			dst = binary.AppendUvarint(dst, uint64(p.TF-tf))
			dst = append(dst, p.Len)
			tf = p.TF
		}
	}
	return dst
}

// decodeTiles reads the tiles of a field of a segment of docs documents.
func decodeTiles(payload []byte, docs uint32) ([]Tile, error) {
	d := newDecoder(payload)
	n := chunksOf(docs, blockmax.TileDocs)
	var tiles []Tile
	for i := uint32(0); i < n && d.err == nil; i++ {
		t := Tile{Rank: uint16(d.uint("rank", 1<<16-1))}
		pairs := int(d.uint("number of pairs", 256))
		var p postings.Impact
		for j := range pairs {
			rise := uint32(d.uint("frequency", uint64(1<<32-1-p.TF)))
			code := d.byte("length code")
			if rise == 0 || j > 0 && code <= p.Len {
				d.fail("pair (%d, code %d) follows (%d, code %d)", p.TF+rise, code, p.TF, p.Len)
			}
			p.TF += rise
			if d.err != nil {
				break
			}
			p.Len = code
			t.Best = append(t.Best, p)
		}
		tiles = append(tiles, t)
	}
	return tiles, d.end()
}
