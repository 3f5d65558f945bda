package bleve

import (
	"fmt"
	"math"

	"github.com/riffle-search/riffle/internal/geo"
	"github.com/riffle-search/riffle/internal/shapes"
)

// An area is a part of the Earth as bleve sees it: a box, circle or polygon. It has just the places that bleve
// finds; the rest of a shapes.Shape are bounds of them.
type area interface {
	shapes.Shape
	has(p place) bool
}

// Degrees by which bounds of areas are wider than needed: a step and rounding errors, and with what bleve
// takes for equal.
const (
	someSteps = 3e-7
	tolerance = 1e-6
	wider     = tolerance + someSteps
)

// A rect is what bleve takes for a box. It does not cross the date line.
type rect struct{ west, south, east, north float64 }

// touches reports whether the rect meets the cell of the first 28 bits of a place's number. Places in other
// cells are not looked at.
func (r rect) touches(p place) bool {
	const rest = 1<<18 - 1
	return !(lonOf(p.lon|rest) < r.west || lonOf(p.lon&^rest) > r.east || latOf(p.lat|rest) < r.south || latOf(p.lat&^rest) > r.north)
}

// contains reports whether a point is in the rect, or almost.
func (r rect) contains(lon, lat float64) bool {
	return r.west-lon <= tolerance && lon-r.east <= tolerance && r.south-lat <= tolerance && lat-r.north <= tolerance
}

// has reports whether bleve finds a place in the rect.
func (r rect) has(p place) bool {
	lon, lat := p.degrees()
	return r.touches(p) && r.contains(lon, lat)
}

// relate relates a box of riffle's to the rect.
func (r rect) relate(b geo.Box) shapes.Relation {
	switch {
	case !(b.East+wider >= r.west && b.West-wider <= r.east && b.North+wider >= r.south && b.South-wider <= r.north):
		return shapes.Outside
	case b.West-someSteps >= r.west && b.East+someSteps <= r.east && b.South-someSteps >= r.south && b.North+someSteps <= r.north:
		return shapes.Inside
	}
	return shapes.Across
}

// around returns a box of riffle's that has all places of the rect.
func (r rect) around() geo.Box {
	limit := func(v, most float64) float64 { return min(max(v, -most), most) }
	return geo.Box{South: limit(r.south-wider, 90), West: limit(r.west-wider, 180), North: limit(r.north+wider, 90), East: limit(r.east+wider, 180)}
}

// rects are one, or two at both sides of the date line.
type rects []rect

// newRects returns the rects of a box, which crosses the date line if its west is above its east.
func newRects(west, south, east, north float64) rects {
	if east < west {
		return rects{{-180, south, east, north}, {west, south, 180, north}}
	}
	return rects{{west, south, east, north}}
}

func (rs rects) has(p place) bool {
	for _, r := range rs {
		if r.has(p) {
			return true
		}
	}
	return false
}

func (rs rects) touches(p place) bool {
	for _, r := range rs {
		if r.touches(p) {
			return true
		}
	}
	return false
}

// Contains implements shapes.Shape.
func (rs rects) Contains(key uint64) bool { return rs.has(placeOfKey(key)) }

// Relate implements shapes.Shape.
func (rs rects) Relate(b geo.Box) shapes.Relation {
	relation := shapes.Outside
	for _, r := range rs {
		switch r.relate(b) {
		case shapes.Inside:
			return shapes.Inside
		case shapes.Across:
			relation = shapes.Across
		}
	}
	return relation
}

// Bounds implements shapes.Shape.
func (rs rects) Bounds() geo.Box {
	b := rs[0].around()
	if len(rs) == 2 {
		if b.West = rs[1].around().West; b.West <= b.East { // they meet: together they are a ring around the Earth
			b.West, b.East = -180, 180
		}
	}
	return b
}

// A circle is the places within a distance of a point, and in cells that meet the box around it, which bleve
// finds by another radius of the Earth.
type circle struct {
	box      rects
	lon, lat float64
	metres   float64
	origin   geo.Origin
}

// newCircle returns a circle. Its centre must be on the Earth.
func newCircle(lon, lat, metres float64) (*circle, error) {
	if err := checkPoint(lon, lat); err != nil {
		return nil, err
	}
	radLon, radLat, radius := lon*degree, lat*degree, (metres+7e-2)/earthRadius
	south, north := radLat-radius, radLat+radius
	west, east := -farthestLon*degree, farthestLon*degree
	if south > -farthestLat*degree && north < farthestLat*degree {
		delta := math.Asin(math.Sin(radius) / math.Cos(radLat))
		if west = radLon - delta; west < -farthestLon*degree {
			west += 2 * math.Pi
		}
		if east = radLon + delta; east > farthestLon*degree {
			east -= 2 * math.Pi
		}
	} else {
		south, north = math.Max(south, -farthestLat*degree), math.Min(north, farthestLat*degree)
	}
	const radian = 180 / math.Pi
	return &circle{newRects(west*radian, south*radian, east*radian, north*radian), lon, lat, metres, geo.From(geo.Point{Lat: lat, Lon: lon})}, nil
}

// The farthest coordinates. They are no constants, so that products with them are rounded as in bleve.
var farthestLon, farthestLat = 180.0, 90.0

func checkPoint(lon, lat float64) error {
	if !(lon >= -180 && lon <= 180) {
		return errorf("the longitude %v is not within -180 to 180", lon)
	}
	if !(lat >= -90 && lat <= 90) {
		return errorf("the latitude %v is not within -90 to 90", lat)
	}
	return nil
}

func (c *circle) has(p place) bool {
	lon, lat := p.degrees()
	return c.box.touches(p) && haversine(lon, lat, c.lon, c.lat) <= c.metres/1000
}

// Contains implements shapes.Shape.
func (c *circle) Contains(key uint64) bool { return c.has(placeOfKey(key)) }

// distanceError is more than the rounding error of a distance, with a step, in metres.
const distanceError = 1

// Relate implements shapes.Shape: bleve's distances are riffle's, times the ratio of the diameters.
func (c *circle) Relate(b geo.Box) shapes.Relation {
	near, far := c.origin.Bounds(b)
	south, north := (c.lat+b.South-someSteps)/2, (c.lat+b.North+someSteps)/2
	closest := max(south, -north, 0) // to the equator
	least := earthDiameter(min(max(-south, north), 90)*degree) * 1000 / (2 * geo.Radius)
	most := earthDiameter(closest*degree) * 1000 / (2 * geo.Radius)
	switch {
	case near*least-distanceError > c.metres:
		return shapes.Outside
	case far*most+distanceError <= c.metres && c.box.Relate(b) == shapes.Inside:
		return shapes.Inside
	}
	return shapes.Across
}

// Bounds implements shapes.Shape. What is in a cell that meets the box may be outside of that.
func (c *circle) Bounds() geo.Box {
	const cell = 360.0 / (1 << 14)
	var out rects
	for _, r := range c.box {
		out = append(out, rect{r.west - cell, r.south - cell/2, r.east + cell, r.north + cell/2})
	}
	b := out.Bounds()
	if len(out) == 1 && (b.West == -180 || b.East == 180) {
		b.West, b.East = -180, 180
	}
	return b
}

// A polygon is the places within a ring of straight lines on a map, whose width is the longitudes. It does
// not cross the date line.
type polygon struct {
	box  rect
	ring []corner
}

// A corner is a point in degrees.
type corner struct{ lon, lat float64 }

// newPolygon returns a polygon. Its points must be on the Earth.
func newPolygon(ring []corner) (*polygon, error) {
	if len(ring) < 3 {
		return nil, errorf("a polygon has at least three points, not %d", len(ring))
	}
	p := &polygon{rect{ring[0].lon, ring[0].lat, ring[0].lon, ring[0].lat}, ring}
	for _, c := range ring {
		if err := checkPoint(c.lon, c.lat); err != nil {
			return nil, err
		}
		p.box = rect{min(p.box.west, c.lon), min(p.box.south, c.lat), max(p.box.east, c.lon), max(p.box.north, c.lat)}
	}
	return p, nil
}

func (p *polygon) has(at place) bool {
	lon, lat := at.degrees()
	return p.box.has(at) && p.encloses(lon, lat)
}

// encloses reports whether a line from a point to the east crosses the ring an odd number of times, or the
// point is almost one of its corners.
func (p *polygon) encloses(lon, lat float64) bool {
	inside, a := false, p.ring[len(p.ring)-1]
	for _, b := range p.ring {
		if math.Abs(b.lat-lat) <= tolerance && math.Abs(b.lon-lon) <= tolerance {
			return true
		}
		if (a.lat > lat) != (b.lat > lat) && lon < (b.lon-a.lon)*(lat-a.lat)/(b.lat-a.lat)+a.lon {
			inside = !inside
		}
		a = b
	}
	return inside
}

// Contains implements shapes.Shape.
func (p *polygon) Contains(key uint64) bool { return p.has(placeOfKey(key)) }

// Relate implements shapes.Shape. If no side meets a box, all of it is on the same side of the ring.
func (p *polygon) Relate(b geo.Box) shapes.Relation {
	whole := p.box.relate(b)
	if whole == shapes.Outside {
		return whole
	}
	r := rect{b.West - 2*wider, b.South - 2*wider, b.East + 2*wider, b.North + 2*wider}
	a := p.ring[len(p.ring)-1]
	for _, c := range p.ring {
		if r.meets(a, c) {
			return shapes.Across
		}
		a = c
	}
	switch middle := b.Centre(); {
	case !p.encloses(middle.Lon, middle.Lat):
		return shapes.Outside
	case whole == shapes.Inside:
		return shapes.Inside
	}
	return shapes.Across
}

// meets reports whether a line meets the rect. It may say so of one that almost does.
func (r rect) meets(a, b corner) bool {
	if max(a.lon, b.lon) < r.west || min(a.lon, b.lon) > r.east || max(a.lat, b.lat) < r.south || min(a.lat, b.lat) > r.north {
		return false
	}
	// All corners on one side of the line?
	side := func(lon, lat float64) float64 { return (b.lon-a.lon)*(lat-a.lat) - (b.lat-a.lat)*(lon-a.lon) }
	sides := [...]float64{side(r.west, r.south), side(r.west, r.north), side(r.east, r.south), side(r.east, r.north)}
	return min(sides[0], sides[1], sides[2], sides[3]) <= 0 && max(sides[0], sides[1], sides[2], sides[3]) >= 0
}

// Bounds implements shapes.Shape.
func (p *polygon) Bounds() geo.Box { return p.box.around() }

// Texts tell areas apart.
func (rs rects) String() string   { return fmt.Sprintf("box %v", []rect(rs)) }
func (c *circle) String() string  { return fmt.Sprintf("circle %v %v %v", c.lon, c.lat, c.metres) }
func (p *polygon) String() string { return fmt.Sprintf("polygon %v", p.ring) }
