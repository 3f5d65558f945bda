package shapes

import (
	"fmt"
	"math"

	"github.com/riffle-search/riffle/internal/geo"
)

// A Circle is the points within a distance of one.
type Circle struct {
	origin geo.Origin
	metres float64
	bounds geo.Box
}

// NewCircle returns a circle.
func NewCircle(p geo.Point, metres float64) (*Circle, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if !(metres >= 0) || math.IsInf(metres, 0) {
		return nil, fmt.Errorf("a distance is a number of metres from 0 on, not %v", metres)
	}
	return &Circle{origin: geo.From(p), metres: metres, bounds: geo.Around(p, metres)}, nil
}

// Contains implements Shape.
func (c *Circle) Contains(key uint64) bool { return c.origin.ToKey(key) <= c.metres }

// Bounds implements Shape.
func (c *Circle) Bounds() geo.Box { return c.bounds }

// Relate implements Shape.
func (c *Circle) Relate(b geo.Box) Relation {
	if !c.bounds.Meets(b) {
		return Outside
	}
	near, far := c.origin.Bounds(b)
	switch {
	case near > c.metres:
		return Outside
	case far <= c.metres:
		return Inside
	}
	return Across
}
