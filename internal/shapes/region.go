package shapes

import (
	"slices"
	"sort"
	"sync"

	"github.com/riffle-search/riffle/columns"
)

// A Region is a shape that is prepared for comparisons with columns. It is safe for concurrent use.
type Region struct {
	Shape
	pieces []piece
	spans  []columns.Span // of the pieces
	coarse []columns.Span
	grid   *grid
}

// NewRegion prepares a shape.
func NewRegion(s Shape) *Region {
	r := &Region{Shape: s, pieces: cover(s), grid: newGrid(s)}
	r.spans = make([]columns.Span, len(r.pieces))
	for i, p := range r.pieces {
		r.spans[i] = p.Span
	}
	r.coarse = coarse(r.pieces)
	return r
}

// Spans returns ranges of keys, ascending and apart, that have all points of the shape, and others.
func (r *Region) Spans() []columns.Span { return r.spans }

// has reports whether a point is in the shape.
func (r *Region) has(key uint64) bool {
	switch r.grid.relate(r.Shape, key) {
	case Inside:
		return true
	case Outside:
		return false
	}
	return r.Contains(key)
}

// between relates the keys least..greatest to the shape by the cover.
func (r *Region) between(least, greatest uint64) Relation {
	i := sort.Search(len(r.pieces), func(i int) bool { return r.pieces[i].Hi >= least })
	switch {
	case i == len(r.pieces) || r.pieces[i].Lo > greatest:
		return Outside
	case r.pieces[i].inside && r.pieces[i].Lo <= least && greatest <= r.pieces[i].Hi:
		return Inside
	}
	return Across
}

// Tile replaces set by the documents of a tile of a column that have a point in the shape, and returns
// how many these are.
func (r *Region) Tile(c *columns.Column, tile int, set *[64]uint64) (n int, err error) {
	z, ok := c.Zone(tile)
	relation := Outside
	if ok {
		relation = r.between(z.Least, z.Greatest)
	}
	switch relation {
	case Outside:
		clear(set[:])
		return 0, nil
	case Inside:
		return c.Have(tile, set)
	}
	if n, err = r.candidates(c, tile, z, set); n == 0 || err != nil {
		return 0, err
	}
	s := selections.Get().(*columns.Selection)
	defer selections.Put(s)
	if err := c.Select(tile, set, columns.All, s); err != nil {
		return 0, err
	}
	clear(set[:])
	n, last := 0, -1
	for i, key := range s.Keys {
		doc := s.Docs[i]
		if int(doc) != last && r.has(key) {
			set[doc/64&63] |= 1 << (doc % 64)
			n++
			last = int(doc)
		}
	}
	return n, nil
}

var selections = sync.Pool{New: func() any { return new(columns.Selection) }}

// candidates replaces set by the documents of a tile that have a key in one of the coarse ranges.
func (r *Region) candidates(c *columns.Column, tile int, z columns.Zone, set *[64]uint64) (n int, err error) {
	from, _ := slices.BinarySearchFunc(r.coarse, z.Least, func(p columns.Span, key uint64) int {
		if p.Hi < key {
			return -1
		}
		return 1
	})
	clear(set[:])
	var some [64]uint64
	for i := from; i < len(r.coarse) && r.coarse[i].Lo <= z.Greatest; i++ {
		m, err := c.RangeTile(tile, r.coarse[i].Lo, r.coarse[i].Hi, &some)
		if err != nil {
			return 0, err
		}
		if m == 0 {
			continue
		}
		n += m // some twice, of documents with several points
		for j := range some {
			set[j] |= some[j]
		}
	}
	return n, nil
}

// Within returns the documents of a column that have a point in the shape, and keys in spans, which must
// be those of Spans.
func (r *Region) Within(c *columns.Column, spans *columns.Spans) Documents {
	return Documents{spans, r, c}
}

// Documents are those of a column that have a point in a shape. They are made tile by tile.
type Documents struct {
	*columns.Spans // which have them, and others
	region         *Region
	column         *columns.Column
}

// Tile replaces set by the documents of a tile, and returns how many these are.
func (d Documents) Tile(tile int, set *[64]uint64) (int, error) {
	return d.region.Tile(d.column, tile, set)
}
