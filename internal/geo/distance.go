package geo

import "math"

// Radius is the mean radius of the Earth in metres (IUGG, R1), as Lucene and Elasticsearch have it.
const Radius = 6_371_008.7714

// Farthest is the distance of opposite points, in metres.
const Farthest = math.Pi * Radius

// slack is more than the rounding error of a distance, in metres.
const slack = 1e-5

// Distance returns the distance of two points in metres, by the haversine formula. On one processor it
// returns the same bits for the same points.
func Distance(a, b Point) float64 { return From(a).To(b) }

// An Origin is a point that many distances are measured from.
type Origin struct {
	Point
	lat, lon float64 // in radians
	cosLat   float64
}

// From returns an origin.
func From(p Point) Origin {
	lat := radians(p.Lat)
	return Origin{Point: p, lat: lat, lon: radians(p.Lon), cosLat: math.Cos(lat)}
}

// To returns the distance to a point in metres.
func (o Origin) To(p Point) float64 { return o.radians(radians(p.Lat), radians(p.Lon)) }

// ToKey returns the distance to the point of a key in metres.
func (o Origin) ToKey(key uint64) float64 { return o.To(KeyPoint(key)) }

// radians is To for coordinates in radians.
func (o Origin) radians(lat, lon float64) float64 {
	cosines := o.cosLat * math.Cos(lat)
	sinLat, sinLon := math.Sin((lat-o.lat)/2), math.Sin((lon-o.lon)/2)
	if h := float64(sinLat*sinLat) + float64(cosines*float64(sinLon*sinLon)); h <= 0.5 {
		return 2 * Radius * math.Asin(math.Sqrt(h))
	}
	// More than a quarter of the Earth: the distance to the opposite point has no rounding error to
	// speak of, where the other has decimetres.
	sinLat, cosLon := math.Sin((lat+o.lat)/2), math.Cos((lon-o.lon)/2)
	h := float64(sinLat*sinLat) + float64(cosines*float64(cosLon*cosLon))
	return Farthest - 2*Radius*math.Asin(math.Sqrt(min(h, 1)))
}

// Between returns the least and the greatest distance, in metres, that a point with a key of
// least..greatest can have. Both are bounds, which rounding does not break.
func (o Origin) Between(least, greatest uint64) (near, far float64) {
	return o.Bounds(BoxOf(least, greatest))
}

// Bounds returns the least and the greatest distance to the points of a box, in metres. Both are
// bounds, which rounding does not break.
func (o Origin) Bounds(b Box) (near, far float64) {
	opposite := From(Point{Lat: -o.Lat, Lon: math.Remainder(o.Lon+180, 360)})
	return max(o.nearest(b)-slack, 0), min(Farthest-opposite.nearest(b)+slack, Farthest)
}

// nearest returns the distance of the nearest point of a box. That lies due north or south, or else on
// the western or the eastern side: along a parallel, distance grows with the difference of longitudes.
func (o Origin) nearest(b Box) float64 {
	if b.hasLon(o.Lon) {
		lat := min(max(o.Lat, b.South), b.North)
		return Radius * math.Abs(radians(lat-o.Lat))
	}
	return min(o.toMeridian(b.West, b.South, b.North), o.toMeridian(b.East, b.South, b.North))
}

// toMeridian returns the distance to the points of a meridian between two latitudes. With the
// difference of longitudes d, the cosine of the angle to latitude x is
//
//	sin(lat) sin(x) + cos(lat) cos(d) cos(x)
//
// which is greatest for the x of that sine and cosine, and in an interval without it at an end.
func (o Origin) toMeridian(lon, south, north float64) float64 {
	lonR := radians(lon)
	best := math.Atan2(math.Sin(o.lat), o.cosLat*math.Cos(lonR-o.lon))
	southR, northR := radians(south), radians(north)
	if best > southR && best < northR {
		return o.radians(best, lonR)
	}
	return min(o.radians(southR, lonR), o.radians(northR, lonR))
}

func radians(degrees float64) float64 { return degrees * (math.Pi / 180) }
