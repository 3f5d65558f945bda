package geo

import (
	"fmt"
	"math"
	"math/bits"
)

// A Box is all points between two latitudes and two longitudes, in degrees, both inclusive. One whose
// West is above its East crosses the date line.
type Box struct {
	South, West, North, East float64
}

// Check reports a coordinate out of range, and a South above North.
func (b Box) Check() error {
	for _, p := range [...]Point{{b.South, b.West}, {b.North, b.East}} {
		if err := p.Check(); err != nil {
			return err
		}
	}
	if b.South > b.North {
		return fmt.Errorf("latitude %v of the south is above %v of the north", b.South, b.North)
	}
	return nil
}

// hasLon reports whether the box has points of a longitude.
func (b Box) hasLon(lon float64) bool {
	if b.West <= b.East {
		return b.West <= lon && lon <= b.East
	}
	return b.West <= lon || lon <= b.East
}

// Centre returns the point in the middle of a box that does not cross the date line.
func (b Box) Centre() Point { return Point{Lat: (b.South + b.North) / 2, Lon: (b.West + b.East) / 2} }

// Meets reports whether two boxes have a point in common. It may say so of boxes that only nearly touch.
func (b Box) Meets(o Box) bool {
	return b.South <= o.North && o.South <= b.North &&
		(b.hasLon(o.West) || o.hasLon(b.West) || b.hasLon(180) && o.hasLon(-180) || b.hasLon(-180) && o.hasLon(180))
}

// Around returns a box that has all points within a distance of one. It is a little larger than needed.
func Around(p Point, metres float64) Box {
	angle := (metres + slack) / Radius
	degrees := angle * (180 / math.Pi) * (1 + 1e-12)
	b := Box{South: max(p.Lat-degrees, -90), North: min(p.Lat+degrees, 90), West: -180, East: 180}
	if b.South == -90 || b.North == 90 {
		return b // a pole is in it, and so are all longitudes
	}
	// The meridian that touches the circle.
	lon := math.Asin(min(math.Sin(angle)/math.Cos(radians(p.Lat)), 1))*(180/math.Pi)*(1+1e-12) + 1e-9
	if lon >= 90 {
		return b
	}
	b.West, b.East = p.Lon-lon, p.Lon+lon
	if b.West < -180 {
		b.West += 360
	}
	if b.East > 180 {
		b.East -= 360
	}
	return b
}

// BoxOf returns the box of the smallest cell that has all keys of least..greatest.
func BoxOf(least, greatest uint64) Box {
	return cellBox(least, bits.LeadingZeros64(least^greatest))
}

// cellBox returns the box of the cell of a key's first bits.
func cellBox(key uint64, n int) Box {
	rest := ^uint64(0) >> n // all ones below
	if n == 64 {
		rest = 0
	}
	west, south := separate(key &^ rest)
	east, north := separate(key | rest)
	return StepsBox(west, south, east, north)
}

// StepsBox returns the box of the points with given steps (Steps), both ends included.
func StepsBox(west, south, east, north uint32) Box {
	return Box{
		South: -90 + float64(float64(south)*latStep), North: -90 + float64((float64(north)+1)*latStep),
		West: -180 + float64(float64(west)*lonStep), East: -180 + float64((float64(east)+1)*lonStep),
	}
}
