package shapes

import "github.com/riffle-search/riffle/internal/geo"

// A Shape is a set of points. It is safe for concurrent use.
type Shape interface {
	// Contains reports whether the point of a key is in the shape.
	Contains(key uint64) bool

	// Relate says where the points of a box are, which does not cross the date line. It may say Across
	// of any.
	Relate(b geo.Box) Relation

	// Bounds returns a box that has all points of the shape.
	Bounds() geo.Box
}

// A Relation is that of a box to a shape.
type Relation uint8

const (
	Outside Relation = iota // no point of the box is in the shape
	Inside                  // all are
	Across                  // some may be
)
