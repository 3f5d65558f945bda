package shapes

import "github.com/riffle-search/riffle/internal/geo"

// A Rect is the points of a box. A side is as exact as a stored point: it has the points that become the
// same when they are stored.
type Rect struct {
	bounds                   geo.Box
	west, south, east, north uint32 // steps
}

// NewRect returns the points of a box.
func NewRect(b geo.Box) (*Rect, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	r := &Rect{bounds: b}
	r.west, r.south = geo.Steps(geo.Key(geo.Point{Lat: b.South, Lon: b.West}))
	r.east, r.north = geo.Steps(geo.Key(geo.Point{Lat: b.North, Lon: b.East}))
	// What the steps have is a little more than the box.
	r.bounds.West, r.bounds.South = geo.StepsBox(r.west, r.south, r.west, r.south).West, geo.StepsBox(0, r.south, 0, r.south).South
	r.bounds.East, r.bounds.North = geo.StepsBox(r.east, r.north, r.east, r.north).East, geo.StepsBox(0, r.north, 0, r.north).North
	return r, nil
}

// crosses reports whether the box crosses the date line.
func (r *Rect) crosses() bool { return r.west > r.east }

// Contains implements Shape.
func (r *Rect) Contains(key uint64) bool {
	lon, lat := geo.Steps(key)
	if lat < r.south || lat > r.north {
		return false
	}
	if r.crosses() {
		return lon >= r.west || lon <= r.east
	}
	return lon >= r.west && lon <= r.east
}

// Bounds implements Shape.
func (r *Rect) Bounds() geo.Box { return r.bounds }

// Relate implements Shape. The sides of cells are sides of steps, so that comparisons are exact.
func (r *Rect) Relate(b geo.Box) Relation {
	o := r.bounds
	lat := along(b.South, b.North, o.South, o.North)
	var lon Relation
	if o.West < o.East {
		lon = along(b.West, b.East, o.West, o.East)
	} else {
		lon = max(along(b.West, b.East, o.West, 180), along(b.West, b.East, -180, o.East))
		if along(b.West, b.East, o.West, 180) == Inside || along(b.West, b.East, -180, o.East) == Inside {
			lon = Inside
		}
	}
	switch {
	case lat == Outside || lon == Outside:
		return Outside
	case lat == Inside && lon == Inside:
		return Inside
	}
	return Across
}

// along relates an interval to another. Their ends are not of them, as it were: those that only touch
// have no step in common.
func along(from, to, least, most float64) Relation {
	switch {
	case to <= least || from >= most:
		return Outside
	case from >= least && to <= most:
		return Inside
	}
	return Across
}
