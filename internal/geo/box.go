package geo

import (
	"fmt"
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
	return Box{
		South: -90 + float64(float64(south)*latStep), North: -90 + float64((float64(north)+1)*latStep),
		West: -180 + float64(float64(west)*lonStep), East: -180 + float64((float64(east)+1)*lonStep),
	}
}
