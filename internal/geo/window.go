package geo

import "math"

// The bits of a key that are a coordinate. They alone are in the order of the coordinate.
const (
	lonBits = 0xaaaaaaaaaaaaaaaa
	latBits = lonBits >> 1
)

// A Window has the keys of the points of a box, and perhaps of some that are a step beside it. It takes a key as it
// is: no coordinates are computed.
type Window struct {
	south, north, west, east uint64 // the bits of the coordinates
	wraps                    bool   // west is above east
}

// WindowOf returns the window of a box.
func WindowOf(b Box) Window {
	// A step more on each side, for the rounding of steps.
	less := func(n uint32) uint32 { return n - min(n, 1) }
	more := func(n uint32) uint32 { return n + min(math.MaxUint32-n, 1) }
	return Window{
		south: spread(less(step(b.South, -90, latStep))), north: spread(more(step(b.North, -90, latStep))),
		west: spread(less(step(b.West, -180, lonStep))) << 1, east: spread(more(step(b.East, -180, lonStep))) << 1,
		wraps: b.West > b.East,
	}
}

// Has reports whether the point of a key is in the window.
func (w *Window) Has(key uint64) bool {
	lat, lon := key&latBits, key&lonBits
	if lat < w.south || lat > w.north {
		return false
	}
	if w.wraps {
		return lon >= w.west || lon <= w.east
	}
	return lon >= w.west && lon <= w.east
}
