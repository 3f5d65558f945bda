package cpuexec

import (
	"math"
	"slices"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/geo"
	"github.com/riffle-search/riffle/internal/shapes"
)

// Sorting by the distance from a point. Codes are the bits of distances, which are in their order. The
// bounds of a tile's keys bound its distances, so tiles are visited from the nearest on. Once there are k
// documents, what is not within the distance of the last of them is dropped like what is not in a range.

// mostDistance is the bits of a number above all distances.
var mostDistance = math.Float64bits(geo.Farthest + 1)

// distanceOf returns the code of a distance.
func (c *component) distanceOf(metres float64) uint64 {
	if c.desc {
		return 1 + mostDistance - math.Float64bits(metres)
	}
	return 1 + math.Float64bits(metres)
}

// metres is the inverse of distanceOf.
func (c *component) metres(code uint64) float64 {
	if c.desc {
		return math.Float64frombits(mostDistance - (code - 1))
	}
	return math.Float64frombits(code - 1)
}

// distances makes a component of the distances from a point.
func (c *component) distances(from *geo.Origin) {
	c.kind, c.from = distanceCode, from
	c.hasMissing = c.column == nil || !c.column.Full()
	if !c.missingFirst {
		c.missing = math.MaxUint64 - 1
	}
}

// ofDistances returns the codes of documents with keys in least..greatest.
func (c *component) ofDistances(least, greatest uint64) (lo, hi uint64) {
	near, far := c.from.Between(least, greatest)
	x, y := c.distanceOf(near), c.distanceOf(far)
	return min(x, y), max(x, y)
}

// readDistances is read for a distanceCode.
func (c *component) readDistances(tile int, set *bitset, codes *[tileDocs]uint64, scratch *codeScratch) error {
	if c.hasMissing {
		set.each(func(d uint32) { codes[d] = c.missing })
	}
	sel := &scratch.sel
	if err := c.column.Select(tile, (*[64]uint64)(set), columns.All, sel); err != nil {
		return err
	}
	for at := 0; at < len(sel.Docs); {
		d := sel.Docs[at]
		all := scratch.metres[:0]
		for ; at < len(sel.Docs) && sel.Docs[at] == d; at++ {
			all = append(all, c.from.ToKey(sel.Keys[at]))
		}
		scratch.metres = all
		metres := all[0]
		switch {
		case len(all) == 1:
		case c.mode == LeastValue:
			metres = slices.Min(all)
		case c.mode == GreatestValue:
			metres = slices.Max(all)
		default:
			slices.Sort(all)
			metres = all[(len(all)-1)/2]
		}
		codes[d%tileDocs] = c.distanceOf(metres)
	}
	return nil
}

// shrink is by how much a radius falls before the circle is made anew, which takes some 200 µs.
const shrink = 3

// within sets to to the documents of a tile that may have codes up to hi, and reports whether it did.
func (s *sorter) within(c *component, tile int, hi uint64, to *[64]uint64) (done bool, err error) {
	if c.desc || c.column == nil || hi < 1 || hi-1 >= mostDistance {
		return false, nil
	}
	metres := c.metres(hi)
	if s.near == nil || metres > s.radius || metres*shrink < s.radius {
		circle, err := shapes.NewCircle(c.from.Point, metres)
		if err != nil {
			return false, err
		}
		s.near, s.radius = shapes.NewRegion(circle), metres
	}
	_, err = s.near.Tile(c.column, tile, to)
	return true, err
}
