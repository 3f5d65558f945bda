package riffle

import (
	"encoding/json"

	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/geo"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/internal/shapes"
)

// A Point is a place of the Earth, in degrees: a value of a document. As JSON it is
// {"lat": 52.52, "lon": 13.405}. A text "52.52,13.405", a geohash, an object with "lng", and
// [13.405, 52.52] as in GeoJSON are read, too.
//
//	type Point struct {
//		Lat float64 // -90 to 90, north is positive
//		Lon float64 // -180 to 180, east is positive
//	}
//
// An index keeps the coordinates in steps of 360/2^32 and 180/2^32 degrees, so that a point is at most
// 5 mm from the one that was put, in each direction. Queries, sorting and aggregations go by that.
type Point = geo.Point

// ParsePoint reads a point from a text: "52.52,13.405", which is latitude and longitude, or a geohash,
// which stands for the middle of its cell.
func ParsePoint(text string) (Point, error) { return geo.ParsePoint(text) }

// WithinDistance matches the documents with a place at most so far from a point. Every document that
// matches scores 1, times the boosts around the query.
//
// Distances are those on a sphere of the mean radius of the Earth, 6,371,008.77 m, by the haversine
// formula. They differ by at most 0.5 % from those on the ellipsoid.
type WithinDistance struct {
	Field  string  `json:"field"`
	Point  Point   `json:"point"`
	Metres float64 `json:"metres"` // from 0 on
}

// WithinBox matches the documents with a place between two latitudes and two longitudes, in degrees.
// The sides are part of the box. A West above East is a box over the date line. Every document that
// matches scores 1, times the boosts around the query.
type WithinBox struct {
	Field string  `json:"field"`
	South float64 `json:"south"`
	West  float64 `json:"west"`
	North float64 `json:"north"`
	East  float64 `json:"east"`
}

// WithinPolygon matches the documents with a place in a polygon and in none of its holes. Every
// document that matches scores 1, times the boosts around the query.
//
// Its sides are the shortest lines on the sphere, not lines of a map: between points of one latitude
// they bend towards the pole. So a polygon may contain a pole, and cross the date line. Inside is the
// smaller part of the Earth, whatever the direction of the points. A ring may repeat its first point.
// Sides must not cross. All rings have at most 100,000 points together.
type WithinPolygon struct {
	Field  string    `json:"field"`
	Points []Point   `json:"points"`
	Holes  [][]Point `json:"holes,omitempty"`
}

func (q WithinDistance) shape() (shapes.Shape, error) { return plan.WithinDistance(q.Point, q.Metres) }

func (q WithinBox) shape() (shapes.Shape, error) {
	return plan.WithinBox(geo.Box{South: q.South, West: q.West, North: q.North, East: q.East})
}

func (q WithinPolygon) shape() (shapes.Shape, error) { return plan.WithinPolygon(q.Points, q.Holes) }

func (q WithinDistance) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rewriteWithin(rw, "WithinDistance", q.Field, q, boost)
}

func (q WithinBox) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rewriteWithin(rw, "WithinBox", q.Field, q, boost)
}

func (q WithinPolygon) rewrite(rw *plan.Rewriter, boost float64) (plan.Clause, error) {
	return rewriteWithin(rw, "WithinPolygon", q.Field, q, boost)
}

// withinQuery is a query for the places within a shape.
type withinQuery interface {
	Query
	shape() (shapes.Shape, error)
}

func rewriteWithin(rw *plan.Rewriter, part, field string, q withinQuery, boost float64) (plan.Clause, error) {
	s, err := q.shape()
	if err != nil {
		return plan.Clause{}, err
	}
	return rw.Within(part, field, s, q, boost)
}

// Validate implements Query.
func (q WithinDistance) Validate() error { return q.validate(1) }

// Validate implements Query.
func (q WithinBox) Validate() error { return q.validate(1) }

// Validate implements Query.
func (q WithinPolygon) Validate() error { return q.validate(1) }

func (q WithinDistance) validate(float64) error {
	return validateWithin("WithinDistance", q.Field, q)
}

func (q WithinBox) validate(float64) error { return validateWithin("WithinBox", q.Field, q) }

func (q WithinPolygon) validate(float64) error { return validateWithin("WithinPolygon", q.Field, q) }

func validateWithin(part, field string, q withinQuery) error {
	if field == "" {
		return plan.Errorf(part+".Field", "is empty")
	}
	_, err := q.shape()
	return err
}

func (WithinDistance) dependsOnK() bool { return false }
func (WithinBox) dependsOnK() bool      { return false }
func (WithinPolygon) dependsOnK() bool  { return false }

func (q WithinDistance) String() string { return queryText(q) }
func (q WithinBox) String() string      { return queryText(q) }
func (q WithinPolygon) String() string  { return queryText(q) }

// The JSON form of a query has the members of its struct.
type (
	withinDistanceJSON WithinDistance
	withinBoxJSON      WithinBox
	withinPolygonJSON  WithinPolygon
)

// MarshalJSON writes the query as {"within_distance": …}; see UnmarshalQuery.
func (q WithinDistance) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"within_distance": withinDistanceJSON(q)})
}

// MarshalJSON writes the query as {"within_box": …}; see UnmarshalQuery.
func (q WithinBox) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"within_box": withinBoxJSON(q)})
}

// MarshalJSON writes the query as {"within_polygon": …}; see UnmarshalQuery.
func (q WithinPolygon) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"within_polygon": withinPolygonJSON(q)})
}

// unmarshalWithin reads the body of one of these queries; ok is false for another kind.
func unmarshalWithin(kind string, body []byte) (q Query, ok bool, err error) {
	switch kind {
	case "within_distance":
		var j withinDistanceJSON
		err = document.DecodeObject(body, &j)
		q = WithinDistance(j)
	case "within_box":
		var j withinBoxJSON
		err = document.DecodeObject(body, &j)
		q = WithinBox(j)
	case "within_polygon":
		var j withinPolygonJSON
		err = document.DecodeObject(body, &j)
		q = WithinPolygon(j)
	default:
		return nil, false, nil
	}
	return q, true, err
}
