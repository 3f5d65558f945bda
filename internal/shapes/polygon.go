package shapes

import (
	"errors"
	"fmt"
	"sync"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"

	"github.com/riffle-search/riffle/internal/geo"
)

// MaxPolygonPoints is how many points a polygon may have, with those of its holes.
const MaxPolygonPoints = 100_000

// A Polygon is the points inside of a ring and in none of its holes. Its sides are the shortest lines
// between points, on the sphere, so it may have a pole in it, and cross the date line. Of the two parts
// into which a ring divides the sphere, the smaller one is inside, whatever its direction.
type Polygon struct {
	rings  []*s2.Loop     // the outer one, and those of holes
	index  *s2.ShapeIndex // of all sides
	bounds geo.Box
	sides  sync.Pool // of *s2.EdgeQuery
}

// NewPolygon returns a polygon. A ring may repeat its first point at its end.
func NewPolygon(ring []geo.Point, holes ...[]geo.Point) (*Polygon, error) {
	p := &Polygon{index: s2.NewShapeIndex()}
	points := 0
	for i, r := range append([][]geo.Point{ring}, holes...) {
		if points += len(r); points > MaxPolygonPoints {
			return nil, fmt.Errorf("more than %d points", MaxPolygonPoints)
		}
		loop, err := newLoop(r)
		if err != nil && i > 0 {
			err = fmt.Errorf("hole %d: %w", i-1, err)
		}
		if err != nil {
			return nil, err
		}
		p.index.Add(loop)
		p.rings = append(p.rings, loop)
	}
	p.index.Build()
	p.bounds = boundsOf(p.rings[0])
	p.sides.New = func() any {
		return s2.NewClosestEdgeQuery(p.index, s2.NewClosestEdgeQueryOptions().IncludeInteriors(false))
	}
	return p, nil
}

func newLoop(ring []geo.Point) (*s2.Loop, error) {
	if n := len(ring); n > 1 && ring[0] == ring[n-1] {
		ring = ring[:n-1]
	}
	if len(ring) < 3 {
		return nil, fmt.Errorf("a ring has at least three points, not %d", len(ring))
	}
	vertices := make([]s2.Point, len(ring))
	seen := make(map[s2.Point]int, len(ring))
	for i, p := range ring {
		if err := p.Check(); err != nil {
			return nil, fmt.Errorf("point %d: %w", i, err)
		}
		vertices[i] = vertex(p)
		if at, twice := seen[vertices[i]]; twice {
			return nil, fmt.Errorf("points %d and %d are the same", at, i)
		}
		seen[vertices[i]] = i
	}
	for i, v := range vertices {
		if v.Distance(s2.Point{Vector: vertices[(i+1)%len(vertices)].Mul(-1)}) < 1e-14 {
			return nil, fmt.Errorf("points %d and %d are opposite each other, so no line is the shortest", i, (i+1)%len(vertices))
		}
	}
	loop := s2.LoopFromPoints(vertices)
	if err := loop.Validate(); err != nil {
		return nil, err
	}
	if err := checkCrossings(loop); err != nil {
		return nil, err
	}
	loop.Normalize()
	return loop, nil
}

// checkCrossings reports sides that cross each other.
func checkCrossings(loop *s2.Loop) error {
	index := s2.NewShapeIndex()
	index.Add(loop)
	q := s2.NewCrossingEdgeQuery(index)
	for i := range loop.NumEdges() {
		e := loop.Edge(i)
		for _, j := range q.Crossings(e.V0, e.V1, loop, s2.CrossingTypeInterior) {
			return fmt.Errorf("the line from point %d crosses that from point %d", i, j)
		}
	}
	if loop.IsEmpty() || loop.IsFull() {
		return errors.New("a ring without an inside")
	}
	return nil
}

func vertex(p geo.Point) s2.Point { return s2.PointFromLatLng(s2.LatLngFromDegrees(p.Lat, p.Lon)) }

// boundsOf returns a box around a loop.
func boundsOf(loop *s2.Loop) geo.Box {
	b := loop.RectBound()
	const more = 1e-9 // degrees, far above rounding
	box := geo.Box{
		South: max(b.Lo().Lat.Degrees()-more, -90), North: min(b.Hi().Lat.Degrees()+more, 90),
		West: max(b.Lo().Lng.Degrees()-more, -180), East: min(b.Hi().Lng.Degrees()+more, 180),
	}
	if b.Lng.IsFull() {
		box.West, box.East = -180, 180
	}
	return box
}

// Contains implements Shape.
func (p *Polygon) Contains(key uint64) bool { return p.contains(vertex(geo.KeyPoint(key))) }

func (p *Polygon) contains(v s2.Point) bool {
	for i, ring := range p.rings {
		if ring.ContainsPoint(v) != (i == 0) {
			return false
		}
	}
	return true
}

// Bounds implements Shape.
func (p *Polygon) Bounds() geo.Box { return p.bounds }

// Relate implements Shape. If all sides are farther from the centre of a box than its corners, no side
// is in it.
func (p *Polygon) Relate(b geo.Box) Relation {
	if !p.bounds.Meets(b) {
		return Outside
	}
	centre := b.Centre()
	_, far := geo.From(centre).Bounds(b)
	v := vertex(centre)
	limit := s1.ChordAngleFromAngle(s1.Angle(far / geo.Radius))
	switch {
	case far >= geo.Farthest || p.near(v, limit):
		return Across
	case p.contains(v):
		return Inside
	}
	return Outside
}

// fewSides is how many sides are looked at one after the other; more are found by the index.
const fewSides = 40

// near reports whether a side has a point within a distance. It may say so of one that is a little
// farther.
func (p *Polygon) near(v s2.Point, limit s1.ChordAngle) bool {
	if p.index.NumEdges() > fewSides {
		q := p.sides.Get().(*s2.EdgeQuery)
		defer p.sides.Put(q)
		return q.IsConservativeDistanceLessOrEqual(s2.NewMinDistanceToPointTarget(v), limit)
	}
	limit = limit.Expanded(1e-14)
	for _, loop := range p.rings {
		for i := range loop.NumEdges() {
			e := loop.Edge(i)
			if _, less := s2.UpdateMinDistance(v, e.V0, e.V1, limit); less {
				return true
			}
		}
	}
	return false
}
