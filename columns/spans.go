package columns

import (
	"math/bits"
	"slices"
	"sync"
)

// A Span is the keys lo..hi.
type Span struct{ Lo, Hi uint64 }

// Spans are the documents of a column that have a key in one of some spans. They are made tile by
// tile, when they are needed.
type Spans struct {
	column *Column
	spans  []Span
	keys   []uint64 // of many spans, the bits of the keys from spans[0].Lo on; nil if these lie too far apart

	docs  []uint32 // the documents by their keys, if they are known
	known bool
}

// fewSpans is how many spans of a tile are compared one after the other. With more, each of its keys
// is looked up.
const fewSpans = 8

// mostKeyBits bounds the bits of Spans.
const mostKeyBits = 1 << 20

// NewSpans returns the documents that have a key in one of some spans. The spans ascend, and do not
// overlap.
func NewSpans(c *Column, spans ...Span) *Spans {
	s := &Spans{column: c, spans: spans}
	if o := c.order.Load(); o != nil && len(spans) == 1 {
		s.docs, s.known = o.between(c, spans[0])
	}
	if len(spans) <= fewSpans {
		return s
	}
	first := spans[0].Lo
	if last := spans[len(spans)-1].Hi; last-first < mostKeyBits {
		s.keys = make([]uint64, (last-first)/64+1)
		for _, p := range spans {
			for key := p.Lo - first; key <= p.Hi-first; key++ {
				s.keys[key/64] |= 1 << (key % 64)
			}
		}
	}
	return s
}

// Known returns all documents, in any order, if the column has them by their keys.
func (s *Spans) Known() (docs []uint32, ok bool) { return s.docs, s.known }

// between returns the spans that have keys from least to greatest.
func (s *Spans) between(least, greatest uint64) []Span {
	if len(s.spans) == 1 {
		if s.spans[0].Lo > greatest || s.spans[0].Hi < least {
			return nil
		}
		return s.spans
	}
	from, _ := slices.BinarySearchFunc(s.spans, least, func(p Span, key uint64) int {
		if p.Hi < key {
			return -1
		}
		return 1
	})
	end := from
	for end < len(s.spans) && s.spans[end].Lo <= greatest {
		end++
	}
	return s.spans[from:end]
}

// Within returns the tiles of a sheet of 64 tiles that may have documents of the set. It reads no
// payload.
func (s *Spans) Within(sheet int) (tiles uint64) {
	least, greatest, ok := s.column.SheetBounds(sheet)
	if !ok || len(s.between(least, greatest)) == 0 {
		return 0
	}
	d := s.column.d
	of := &d.sheets[sheet-d.first]
	i := int(of.at)
	for in := of.has; in != 0; in &= in - 1 {
		if t := &d.tiles[i]; len(s.between(t.least, t.greatest)) > 0 {
			tiles |= in & -in
		}
		i++
	}
	return tiles
}

// Tile replaces set by the documents of a tile, and returns how many these are.
func (s *Spans) Tile(tile int, set *[64]uint64) (n int, err error) {
	z, ok := s.column.Zone(tile)
	if !ok {
		clear(set[:])
		return 0, nil
	}
	spans := s.between(z.Least, z.Greatest)
	switch {
	case len(spans) == 0:
		clear(set[:])
		return 0, nil
	case len(spans) == 1:
		return s.column.RangeTile(tile, spans[0].Lo, spans[0].Hi, set)
	case len(spans) <= fewSpans:
		if _, err := s.column.RangeTile(tile, spans[0].Lo, spans[0].Hi, set); err != nil {
			return 0, err
		}
		var other [64]uint64
		for _, p := range spans[1:] {
			if _, err := s.column.RangeTile(tile, p.Lo, p.Hi, &other); err != nil {
				return 0, err
			}
			for i, word := range &other {
				set[i] |= word
			}
		}
	default:
		clear(set[:])
		k := selections.Get().(*Selection)
		defer selections.Put(k)
		if err := s.column.Select(tile, nil, All, k); err != nil {
			return 0, err
		}
		for i, key := range k.Keys {
			if s.has(key) {
				set[k.Docs[i]/64&63] |= 1 << (k.Docs[i] % 64)
			}
		}
	}
	for _, word := range set {
		n += bits.OnesCount64(word)
	}
	return n, nil
}

var selections = sync.Pool{New: func() any { return new(Selection) }}

// has reports whether a key is in one of the spans.
func (s *Spans) has(key uint64) bool {
	if s.keys != nil {
		at := key - s.spans[0].Lo
		return key >= s.spans[0].Lo && at/64 < uint64(len(s.keys)) && s.keys[at/64]>>(at%64)&1 == 1
	}
	return len(s.between(key, key)) > 0
}

// mostEstimated is how many tiles Estimate looks at.
const mostEstimated = 4096

// Estimate returns roughly how many documents there are, exactly if they are known, and how many tiles may
// have some. It reads no payload, and takes the keys of a tile as evenly spread.
func (s *Spans) Estimate() (docs, tiles int) {
	all := s.column.d.tiles
	step := 1 + len(all)/mostEstimated
	sum := 0.0
	for i := 0; i < len(all); i += step {
		t := &all[i]
		spans := s.between(t.least, t.greatest)
		if len(spans) == 0 {
			continue
		}
		tiles += step
		if s.known {
			continue
		}
		share := 0.0
		for _, p := range spans {
			lo, hi := max(p.Lo, t.least), min(p.Hi, t.greatest)
			share += (float64(hi-lo) + 1) / (float64(t.greatest-t.least) + 1)
		}
		sum += min(share, 1) * float64(t.docs) * float64(step)
	}
	if s.known {
		return len(s.docs), min(tiles, len(all), len(s.docs))
	}
	if tiles > 0 {
		docs = max(int(sum), 1)
	}
	return docs, min(tiles, len(all))
}
