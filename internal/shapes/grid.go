package shapes

import (
	"math/bits"
	"sync/atomic"

	"github.com/riffle-search/riffle/internal/geo"
)

// A grid divides the box of a shape into cells of equal size. The relation of a cell is found when a
// point of it is asked for.
type grid struct {
	west, south       uint32 // steps of the box
	width, height     uint32 // its last step
	lonShift, latLess uint   // a cell is 1<<lonShift by 1<<latLess steps
	relations         [gridSide * gridSide]atomic.Uint32
}

const (
	gridBits = 5
	gridSide = 1 << gridBits

	unknown = uint32(Across) + 1
)

func newGrid(s Shape) *grid {
	b := s.Bounds()
	g := new(grid)
	var east, north uint32
	g.west, g.south = geo.Steps(geo.Key(geo.Point{Lat: b.South, Lon: b.West}))
	east, north = geo.Steps(geo.Key(geo.Point{Lat: b.North, Lon: b.East}))
	g.width, g.height = east-g.west, north-g.south // of one that crosses the date line, too
	g.lonShift, g.latLess = shiftFor(g.width), shiftFor(g.height)
	for i := range g.relations {
		g.relations[i].Store(unknown)
	}
	return g
}

// shiftFor returns how many bits steps up to last lose, so that gridSide cells are enough.
func shiftFor(last uint32) uint { return uint(max(0, bits.Len32(last)-gridBits)) }

// relate relates the cell of a point to the shape.
func (g *grid) relate(s Shape, key uint64) Relation {
	lon, lat := geo.Steps(key)
	x, y := lon-g.west, lat-g.south
	if x > g.width || y > g.height {
		return Outside
	}
	x, y = x>>g.lonShift, y>>g.latLess
	of := &g.relations[y*gridSide+x]
	r := of.Load()
	if r == unknown {
		r = uint32(g.compute(s, x, y))
		of.Store(r)
	}
	return Relation(r)
}

// compute relates a cell to the shape.
func (g *grid) compute(s Shape, x, y uint32) Relation {
	west, south := g.west+x<<g.lonShift, g.south+y<<g.latLess
	east, north := west+(1<<g.lonShift-1), south+(1<<g.latLess-1)
	if east < west || north < south { // over the date line, or beyond a pole
		return Across
	}
	return s.Relate(geo.StepsBox(west, south, east, north))
}
