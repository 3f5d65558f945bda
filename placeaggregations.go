package riffle

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/riffle-search/riffle/internal/aggregate"
	"github.com/riffle-search/riffle/internal/document"
	"github.com/riffle-search/riffle/internal/geo"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/internal/shapes"
)

// GeohashAggregation makes a bucket of each cell of a grid over the Earth that has places of a field. Cells
// are those of geohashes: of one character 5,000 km wide, of 5 characters 5 km, of 8 characters 38 m. The
// key of a bucket is the geohash; the largest bucket comes first, and of equal ones that whose geohash
// does. See GeohashBox.
type GeohashAggregation struct {
	Field     string
	Precision int // characters, 1 to 12

	// Size is the maximum number of buckets to return. The default is 1,000.
	Size int

	// MinCount is how many documents a bucket must have. The default is 1.
	MinCount int

	Sub map[string]Aggregation
}

// DistanceAggregation makes a bucket of the documents with a place at each of some ranges of distances from
// a point: those of WithinDistance. They may overlap.
type DistanceAggregation struct {
	Field  string
	From   Point
	Ranges []DistanceRange
	Sub    map[string]Aggregation
}

// A DistanceRange is the distances from From to below To, in metres.
type DistanceRange struct {
	Name string  `json:"name,omitempty"` // becomes the key of the bucket; by default "FROM..TO"
	From float64 `json:"from,omitempty"`
	To   float64 `json:"to,omitempty"` // 0 for no bound
}

// GeohashBox returns the south-western and the north-eastern corner of the cell of a geohash.
func GeohashBox(geohash string) (southWest, northEast Point, err error) {
	b, err := geo.GeohashBox(geohash)
	return Point{Lat: b.South, Lon: b.West}, Point{Lat: b.North, Lon: b.East}, err
}

// defaultGeohashes is the default of GeohashAggregation.Size.
const defaultGeohashes = 1000

func (a GeohashAggregation) spec(b *aggregationBuilder, place string) (*aggregate.Spec, error) {
	k := aggregate.Geohashes{Precision: a.Precision, Size: a.Size, MinCount: max(1, a.MinCount)}
	switch {
	case a.Precision < 1 || a.Precision > geo.MaxGeohash:
		return nil, plan.Errorf(place+".Precision", "must lie in 1 to %d, not %d", geo.MaxGeohash, a.Precision)
	case a.Size < 0 || a.Size > maxAggregationSize:
		return nil, plan.Errorf(place+".Size", "must lie in 0 to %d, not %d", maxAggregationSize, a.Size)
	case a.MinCount < 0:
		return nil, plan.Errorf(place+".MinCount", "must not be negative, as %d is", a.MinCount)
	case a.Size == 0:
		k.Size = defaultGeohashes
	}
	if err := b.checkPlaces(place+".Field", a.Field); err != nil {
		return nil, err
	}
	return b.of(place, a.Field, k, a.Sub)
}

func (a DistanceAggregation) spec(b *aggregationBuilder, place string) (*aggregate.Spec, error) {
	if err := a.From.Check(); err != nil {
		return nil, plan.Errorf(place+".From", "%w", err)
	}
	if len(a.Ranges) == 0 {
		return nil, plan.Errorf(place+".Ranges", "are none")
	}
	if err := b.checkPlaces(place+".Field", a.Field); err != nil {
		return nil, err
	}
	k := make(aggregate.Rings, len(a.Ranges))
	for i, r := range a.Ranges {
		if !(r.From >= 0) || !(r.To >= 0) || math.IsInf(r.From+r.To, 0) || r.To > 0 && r.To <= r.From {
			return nil, plan.Errorf(fmt.Sprintf("%s.Ranges[%d]", place, i), "must be from a distance to a greater one, not %v to %v", r.From, r.To)
		}
		k[i] = aggregate.Ring{Origin: geo.From(a.From), From: r.From, To: r.To}
		for _, end := range [...]struct {
			metres float64
			to     **shapes.Region
		}{{r.From, &k[i].Inner}, {r.To, &k[i].Outer}} {
			if end.metres == 0 {
				continue
			}
			below, err := shapes.NewCircle(a.From, math.Nextafter(end.metres, 0))
			if err != nil {
				return nil, plan.Errorf(place, "%w", err)
			}
			*end.to = shapes.NewRegion(below)
		}
	}
	return b.of(place, a.Field, k, a.Sub)
}

func (a GeohashAggregation) resultOf(b *aggregationBuilder, r *aggregate.Result) (AggregationResult, error) {
	return b.buckets(r, a.Sub, asItIs)
}

func (a DistanceAggregation) resultOf(b *aggregationBuilder, r *aggregate.Result) (AggregationResult, error) {
	return b.buckets(r, a.Sub, func(i any) any { return a.Ranges[i.(int)].key() })
}

// key returns the name of the range.
func (r DistanceRange) key() string {
	if r.Name != "" {
		return r.Name
	}
	text := strconv.FormatFloat(r.From, 'f', -1, 64) + ".."
	if r.To > 0 {
		text += strconv.FormatFloat(r.To, 'f', -1, 64)
	}
	return text
}

// The JSON forms; sub is Aggregation when written, json.RawMessage when read.
type geohashAggregationJSON[sub any] struct {
	Field     string         `json:"field"`
	Precision int            `json:"precision"`
	Size      int            `json:"size,omitempty"`
	MinCount  int            `json:"min_count,omitempty"`
	Sub       map[string]sub `json:"sub,omitempty"`
}

type distanceAggregationJSON[sub any] struct {
	Field  string          `json:"field"`
	From   Point           `json:"from"`
	Ranges []DistanceRange `json:"ranges"`
	Sub    map[string]sub  `json:"sub,omitempty"`
}

// MarshalJSON writes the aggregation as {"geohash": …}; see UnmarshalAggregation.
func (a GeohashAggregation) MarshalJSON() ([]byte, error) {
	return aggregationJSON("geohash", geohashAggregationJSON[Aggregation](a))
}

// MarshalJSON writes the aggregation as {"distance": …}; see UnmarshalAggregation.
func (a DistanceAggregation) MarshalJSON() ([]byte, error) {
	return aggregationJSON("distance", distanceAggregationJSON[Aggregation](a))
}

func unmarshalGeohashes(body []byte, depth int) (Aggregation, error) {
	var j geohashAggregationJSON[json.RawMessage]
	if err := document.DecodeObject(body, &j); err != nil {
		return nil, err
	}
	sub, err := unmarshalSub(j.Sub, depth)
	return GeohashAggregation{j.Field, j.Precision, j.Size, j.MinCount, sub}, err
}

func unmarshalDistances(body []byte, depth int) (Aggregation, error) {
	var j distanceAggregationJSON[json.RawMessage]
	if err := document.DecodeObject(body, &j); err != nil {
		return nil, err
	}
	sub, err := unmarshalSub(j.Sub, depth)
	return DistanceAggregation{j.Field, j.From, j.Ranges, sub}, err
}
