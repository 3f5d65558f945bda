package geo

import (
	"fmt"
	"math"
	"strconv"
)

// A Point is a place of the Earth, in degrees.
type Point struct {
	Lat float64 `json:"lat"` // -90 to 90, north is positive
	Lon float64 `json:"lon"` // -180 to 180, east is positive
}

// Check reports a coordinate that is not a number or out of range.
func (p Point) Check() error {
	switch {
	case !(p.Lat >= -90 && p.Lat <= 90):
		return fmt.Errorf("latitude %v is not within -90 to 90", p.Lat)
	case !(p.Lon >= -180 && p.Lon <= 180):
		return fmt.Errorf("longitude %v is not within -180 to 180", p.Lon)
	}
	return nil
}

// String returns the latitude and the longitude, with a comma between.
func (p Point) String() string {
	return strconv.FormatFloat(p.Lat, 'f', -1, 64) + "," + strconv.FormatFloat(p.Lon, 'f', -1, 64)
}

// Steps of a coordinate.
const (
	latStep = 180.0 / (1 << 32)
	lonStep = 360.0 / (1 << 32)
)

// Key returns the key of a point that passes Check.
func Key(p Point) uint64 {
	return interleave(step(p.Lon, -180, lonStep), step(p.Lat, -90, latStep))
}

// KeyPoint returns the point that a key stands for. Its key is the same.
func KeyPoint(key uint64) Point {
	lon, lat := separate(key)
	return Point{Lat: coordinate(lat, -90, latStep), Lon: coordinate(lon, -180, lonStep)}
}

// Shortest returns the point with the fewest decimals that has a key: as a rule the one that was stored,
// if it had at most seven. KeyPoint is the one by which distances go.
func Shortest(key uint64) Point {
	lon, lat := separate(key)
	return Point{
		Lat: shortest(lat, -90, latStep),
		Lon: shortest(lon, -180, lonStep),
	}
}

// shortest returns the number with the fewest decimals in a step.
func shortest(n uint32, least, size float64) float64 {
	middle := coordinate(n, least, size)
	for tenth := 1.0; tenth < 1e9; tenth *= 10 {
		if v := math.Round(middle*tenth) / tenth; step(v, least, size) == n {
			return v
		}
	}
	return middle
}

// Round returns the point that p becomes when it is stored.
func (p Point) Round() Point { return KeyPoint(Key(p)) }

// Steps returns the coordinates of a key: the number of steps east of -180 and north of -90 degrees.
func Steps(key uint64) (lon, lat uint32) { return separate(key) }

// step returns the number of whole steps from least to a coordinate.
func step(v, least, size float64) uint32 {
	return uint32(min((v-least)/size, math.MaxUint32))
}

// coordinate returns the middle of a step.
func coordinate(n uint32, least, size float64) float64 {
	return least + float64((float64(n)+0.5)*size)
}

// interleave returns the Morton code of two numbers; the highest bit is of lon.
func interleave(lon, lat uint32) uint64 { return spread(lon)<<1 | spread(lat) }

// separate is the inverse of interleave.
func separate(key uint64) (lon, lat uint32) { return gather(key >> 1), gather(key) }

// spread puts a zero above each bit.
func spread(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	x = (x | x<<1) & 0x5555555555555555
	return x
}

// gather returns the even bits.
func gather(x uint64) uint32 {
	x &= 0x5555555555555555
	x = (x | x>>1) & 0x3333333333333333
	x = (x | x>>2) & 0x0f0f0f0f0f0f0f0f
	x = (x | x>>4) & 0x00ff00ff00ff00ff
	x = (x | x>>8) & 0x0000ffff0000ffff
	x = (x | x>>16) & 0x00000000ffffffff
	return uint32(x)
}
