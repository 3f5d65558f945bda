package function

import (
	"math"
	"math/bits"

	"github.com/riffle-search/riffle/columns"
)

// tileWords is the number of words of 64 documents in a tile.
const tileWords = columns.TileDocs / 64

// Words bounds the numbers of the words of 64 documents of a tile. It is nil while these bounds are not
// known; with make they are found, by the keys of the tile's documents and two values of the function for
// each word. After a read error it is nil, too.
func (s *Segment) Words(tile uint32, make bool) *[tileWords]uint32 {
	if int(tile) >= len(s.table.tiles) {
		return nil
	}
	of := &s.table.tiles[tile]
	if known := of.words.Load(); known != nil || !make {
		return known
	}
	words := s.makeWords(tile)
	if words != nil {
		of.words.CompareAndSwap(nil, words) // another goroutine may have found the numbers themselves
	}
	return words
}

func (s *Segment) makeWords(tile uint32) *[tileWords]uint32 {
	w := rooms.Get().(*room)
	defer rooms.Put(w)
	most := make([][tileWords]float64, len(s.sources))
	for i := range s.sources {
		if src := &s.sources[i]; !src.None {
			if err := src.boundWords(int(tile), &most[i], w); err != nil {
				s.fail(err)
				return nil
			}
		}
	}
	words := new([tileWords]uint32)
	values := make([]float64, len(s.sources))
	for at := range words {
		for i := range values {
			values[i] = most[i][at]
		}
		words[at] = s.roundUp(s.f.bound(values, s.always))
	}
	return words
}

// boundWords bounds the values of each word of a tile.
func (s *source) boundWords(tile int, to *[tileWords]float64, w *room) error {
	of := s.bound(tile)
	for i := range to {
		to[i] = of
	}
	c := s.Column
	if s.part.Kind != Factor && s.part.Kind != Decay || c == nil || c.Kind() == columns.Terms ||
		s.part.Kind == Decay && !c.Single() {
		return nil
	}
	if _, ok := c.Zone(tile); !ok {
		return nil
	}
	if err := c.Load(tile, columns.Least, &w.keys, &w.have); err != nil {
		return err
	}
	length := min(columns.TileDocs, c.SegmentDocs()-tile*columns.TileDocs)
	for i := range to {
		first := 64 * i
		if first >= length {
			to[i] = 0
			continue
		}
		least, greatest, have := uint64(math.MaxUint64), uint64(0), w.have[i]
		keys := (*[64]uint64)(w.keys[first:])
		if have == math.MaxUint64 {
			for _, k := range keys {
				least, greatest = min(least, k), max(greatest, k)
			}
		} else {
			for in := have; in != 0; in &= in - 1 {
				k := keys[bits.TrailingZeros64(in)&63]
				least, greatest = min(least, k), max(greatest, k)
			}
		}
		b := 0.0
		if have != 0 {
			b = s.between(least, greatest)
		}
		if bits.OnesCount64(have) < min(64, length-first) {
			b = max(b, s.missing())
		}
		to[i] = min(b, of)
	}
	return nil
}
