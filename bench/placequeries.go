package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/riffle-search/riffle/bench/protocol"
)

// A place is a row's, in degrees.
type place struct{ lat, lon float64 }

// shapeShares are how many of the documents are in a shape, about, in percent.
var shapeShares = []float64{0.01, 1, 10}

// shapeKinds are how shapes are drawn around a place.
var shapeKinds = []struct {
	name string
	draw func(rng *rand.Rand, sample []place, share float64) (text string, ok bool)
}{
	{"distance", drawCircle},
	{"box", func(rng *rand.Rand, sample []place, share float64) (string, bool) {
		return drawBox(rng, sample, nearby(rng, sample), share)
	}},
	{"box over the date line", func(rng *rand.Rand, sample []place, share float64) (string, bool) {
		return drawBox(rng, sample, place{nearby(rng, sample).lat, 180}, share)
	}},
	{"polygon", drawPolygon},
}

// placeSets are the queries of places and of scores by functions.
func placeSets(values rowValues, s shape, classes [][]string, limit int) ([]querySet, error) {
	rng := rand.New(rand.NewPCG(7, 18))
	sets, err := shapeSets(rng, values, s, classes[1], limit)
	if err != nil {
		return nil, err
	}
	// over adds a set over all documents and one for each class of words. Each query has another text of next.
	over := func(mode, name string, all bool, next func() string) {
		if all {
			sets = append(sets, drawn(mode, name+", all", limit, func(int) string { return protocol.AllDocuments + " " + next() }))
		}
		for i, class := range wordClasses {
			sets = append(sets, drawn(mode, name+", "+class.name, min(limit, wordsOfClass), func(n int) string {
				return classes[i][n%wordsOfClass] + " " + next()
			}))
		}
	}
	over("nearest", s.place, true, func() string { return s.place + " " + degrees(nearby(rng, values.places), 4) })
	numbers := values.numbers[s.numbers[0]]
	for _, mode := range []string{"sum", "multiply", "replace"} {
		text := func(column, function string) string { return fmt.Sprint(column, " ", mode, " ", function) }
		over("score", s.numbers[0]+" log1p, "+mode, mode == "replace", func() string { return text(s.numbers[0], "log1p 1") })
		over("score", s.numbers[0]+" gauss, "+mode, mode == "replace", func() string {
			origin := numbers[rng.IntN(len(numbers))]
			return text(s.numbers[0], fmt.Sprintf("gauss %d %d", origin, origin/4+1))
		})
		over("score", s.place+" gauss, "+mode, mode == "replace", func() string {
			return text(s.place, "gauss "+degrees(nearby(rng, values.places), 4)+" 2000")
		})
	}
	return sets, nil
}

// drawn returns a set of n queries, and as many others to prime with.
func drawn(mode, name string, n int, query func(i int) string) querySet {
	set := querySet{name: name, modes: []string{mode}}
	for i := range 2 * n {
		set.queries = append(set.queries, query(i))
	}
	set.queries, set.primer = set.queries[:n], set.queries[n:]
	return set
}

// shapeSets are shapes to count, and as filters of the words.
func shapeSets(rng *rand.Rand, values rowValues, s shape, words []string, limit int) (sets []querySet, err error) {
	sample := values.places
	if every := len(sample) / 200_000; every > 1 { // enough to tell 0.01 %
		sample = make([]place, 0, len(values.places)/every+1)
		for i := 0; i < len(values.places); i += every {
			sample = append(sample, values.places[i])
		}
	}
	for _, kind := range shapeKinds {
		for _, share := range shapeShares {
			name := fmt.Sprintf("%s %g %%", kind.name, share)
			var shapes []string
			for range 2 * limit {
				text, ok := "", false
				for attempts := 0; !ok && attempts < 1000; attempts++ {
					text, ok = kind.draw(rng, sample, share/100)
				}
				if !ok {
					return nil, fmt.Errorf("%s: the places are too far from each other to draw it", name)
				}
				shapes = append(shapes, s.place+" "+text)
			}
			counted := drawn("within", name, limit, func(i int) string { return protocol.AllDocuments + " " + shapes[i] })
			for _, text := range counted.queries {
				q, err := protocol.ParseColumnQuery("within", text)
				if err != nil {
					return nil, err
				}
				counted.borders = append(counted.borders, borderOf(q.Shape, values.places))
			}
			filtered := drawn("inside", name+", "+wordClasses[1].name, limit, func(i int) string {
				return words[i%len(words)] + " " + shapes[i]
			})
			filtered.borders = counted.borders
			sets = append(sets, counted, filtered)
		}
	}
	return sets, nil
}

// nearby returns a place within some 100 metres of one of the places.
func nearby(rng *rand.Rand, places []place) place {
	p := places[rng.IntN(len(places))]
	return place{p.lat + 0.001*(rng.Float64()-0.5), min(180, max(-180, p.lon+0.001*(rng.Float64()-0.5)))}
}

func degrees(p place, digits int) string {
	return strconv.FormatFloat(p.lat, 'f', digits, 64) + " " + strconv.FormatFloat(p.lon, 'f', digits, 64)
}

// between is a text of degrees that no place has: they are millionths, and this is a half of one more. So no place is
// at the border of a box.
func between(degrees float64) string {
	return strconv.FormatFloat((math.Floor(degrees*1e6)+0.5)/1e6, 'f', 7, 64)
}

// nth returns the key that a share of the places has at most.
func nth(sample []place, share float64, key func(p place) float64) float64 {
	keys := make([]float64, len(sample))
	for i, p := range sample {
		keys[i] = key(p)
	}
	slices.Sort(keys)
	return keys[max(1, int(share*float64(len(keys))))-1]
}

func drawCircle(rng *rand.Rand, sample []place, share float64) (string, bool) {
	centre := nearby(rng, sample)
	text := degrees(centre, 4)
	if _, err := fmt.Sscan(text, &centre.lat, &centre.lon); err != nil {
		return "", false
	}
	return fmt.Sprintf("distance %s %.0f", text, math.Ceil(nth(sample, share, centre.metres))), true
}

func drawBox(rng *rand.Rand, sample []place, centre place, share float64) (string, bool) {
	wide := math.Exp2(2*rng.Float64()-1) / math.Cos(centre.lat*math.Pi/180) // degrees of longitude by one of latitude
	half := nth(sample, share, func(p place) float64 {
		return max(math.Abs(p.lat-centre.lat), math.Abs(math.Remainder(p.lon-centre.lon, 360))/wide)
	})
	if half*wide > 170 {
		return "", false
	}
	south, north := max(-89, centre.lat-half), min(89, centre.lat+half)
	west, east := math.Remainder(centre.lon-half*wide, 360), math.Remainder(centre.lon+half*wide, 360)
	return strings.Join([]string{"box", between(south), between(west), between(north), between(east)}, " "), true
}

// corners of a polygon.
const corners = 32

// drawPolygon draws a star-like outline. It stays on one side of the date line.
func drawPolygon(rng *rand.Rand, sample []place, share float64) (string, bool) {
	centre := nearby(rng, sample)
	var outline [corners + 1]float64 // how far it is, relatively, by the direction
	for i := range corners {
		outline[i] = 0.5 + 0.5*rng.Float64()
	}
	outline[corners] = outline[0]
	flat := math.Cos(centre.lat * math.Pi / 180)
	scale := nth(sample, share, func(p place) float64 {
		x, y := (p.lon-centre.lon)*flat, p.lat-centre.lat
		at := (math.Atan2(y, x)/(2*math.Pi) + 0.5) * corners
		i := min(int(at), corners-1)
		step, of := 2*math.Pi/corners, (at-float64(i))*2*math.Pi/corners
		side := outline[i] * outline[i+1] * math.Sin(step) / (outline[i]*math.Sin(of) + outline[i+1]*math.Sin(step-of))
		return math.Hypot(x, y) / side
	})
	text := "polygon"
	for i := range corners {
		y, x := math.Sincos((float64(i)/corners - 0.5) * 2 * math.Pi)
		lat, lon := centre.lat+y*scale*outline[i], centre.lon+x*scale*outline[i]/flat
		if math.Abs(lat) > 85 || math.Abs(lon) > 179 || scale > 40 { // 40: far less than half of the Earth
			return "", false
		}
		text += " " + between(lat) + " " + between(lon)
	}
	return text, true
}

const earthRadius = 6_371_008.77 // metres, on average

// metres is the distance of two places on a sphere.
func (p place) metres(q place) float64 {
	const radian = math.Pi / 180
	x, y := math.Sin((q.lat-p.lat)*radian/2), math.Sin((q.lon-p.lon)*radian/2)
	return 2 * earthRadius * math.Asin(min(1, math.Sqrt(x*x+math.Cos(p.lat*radian)*math.Cos(q.lat*radian)*y*y)))
}

// A border says how many documents may be counted in a shape: those that are inside for sure, and those that are so
// near to the border that it depends on the engine. Engines keep coordinates in steps of a centimetre, and the sides
// of a polygon are straight on a map in some and on the Earth in others.
type border struct {
	least, most           int
	leastLoose, mostLoose int // in bleve, see loose

	perhaps []int // documents that are not inside for sure, ascending; loose ones are not among them
}

func (b border) has(n int) bool { return b.least <= n && n <= b.most }

func (b border) of(loose bool) border {
	if loose {
		b.least, b.most = b.leastLoose, b.mostLoose
	}
	return b
}

// without returns hits without documents that are not inside for sure.
func (b border) without(hits []protocol.Hit) []protocol.Hit {
	return slices.DeleteFunc(slices.Clone(hits), func(h protocol.Hit) bool {
		_, found := slices.BinarySearch(b.perhaps, h.ID)
		return found
	})
}

// How far engines may be from a distance: by the steps of coordinates, and by how bleve's ellipsoid differs from a
// sphere. bleve's formula makes up to 0.2 m of 0, and its boxes are wider by a millionth of a degree.
const (
	stepMetres, stepShare   = 0.02, 1e-8
	looseMetres, looseShare = 0.2, 0.006
	looseDegrees            = 1.1e-6
)

// sameMetres says whether two distances are the same.
func sameMetres(loose bool) func(x, y float64) bool {
	return func(x, y float64) bool {
		if loose {
			return math.Abs(x-y) <= looseMetres+looseShare*x
		}
		return math.Abs(x-y) <= stepMetres+1e-6*x // Lucene's arc sine is of 1e-7
	}
}

func borderOf(s protocol.PlaceShape, places []place) (b border) {
	n := s.Numbers
	switch s.Kind {
	case "distance":
		centre := place{n[0], n[1]}
		off, loose := stepMetres+stepShare*n[2], looseMetres+looseShare*n[2]
		for row, p := range places {
			if math.Abs(p.lat-n[0]) > (n[2]+loose)/110_000 {
				continue
			}
			d := centre.metres(p)
			b.add(row, d <= n[2]-off, d <= n[2]+off)
			b.addLoose(d <= n[2]-loose, d <= n[2]+loose)
		}
		return b
	case "box":
		for row, p := range places {
			in := inBox(n, p, 0)
			b.add(row, in, in)
			b.addLoose(inBox(n, p, -looseDegrees), inBox(n, p, looseDegrees))
		}
		return b
	case "polygon":
		sides := sidesOf(n)
		for row, p := range places {
			surely, perhaps := sides.has(p)
			b.add(row, surely, perhaps)
		}
	}
	b.leastLoose, b.mostLoose = b.least, b.most
	return b
}

// inBox says whether a place is in a box that is wider on each side.
func inBox(box []float64, p place, wider float64) bool {
	south, west, north, east := box[0]-wider, box[1]-wider, box[2]+wider, box[3]+wider
	if p.lat < south || p.lat > north {
		return false
	}
	if box[1] > box[3] {
		return p.lon >= west || p.lon <= east
	}
	return p.lon >= west && p.lon <= east
}

func (b *border) add(row int, surely, perhaps bool) {
	switch {
	case surely:
		b.least++
		b.most++
	case perhaps:
		b.most++
		b.perhaps = append(b.perhaps, row)
	}
}

func (b *border) addLoose(surely, perhaps bool) {
	if surely {
		b.leastLoose++
	}
	if perhaps {
		b.mostLoose++
	}
}

// sides are those of a polygon, each between two longitudes, and the latitudes and longitudes beyond which no place can
// be inside.
type sides struct {
	list                     []side
	south, west, north, east float64
}

type side struct{ a, b place } // a is not east of b

// stepDegrees is a little more than the steps of coordinates.
const stepDegrees = 2e-7

func sidesOf(ring []float64) sides {
	s := sides{south: 90, west: 180, north: -90, east: -180}
	for i := 0; i < len(ring); i += 2 {
		next := (i + 2) % len(ring)
		one := side{place{ring[i], ring[i+1]}, place{ring[next], ring[next+1]}}
		if one.a.lon > one.b.lon {
			one.a, one.b = one.b, one.a
		}
		s.list = append(s.list, one)
		s.west, s.east = min(s.west, one.a.lon-stepDegrees), max(s.east, one.b.lon+stepDegrees)
		for at := range 33 { // a side on the Earth is beyond its ends by little
			_, bent := one.at(one.a.lon + float64(at)/32*(one.b.lon-one.a.lon))
			s.south, s.north = min(s.south, bent), max(s.north, bent)
		}
		s.south, s.north = min(s.south, one.a.lat, one.b.lat), max(s.north, one.a.lat, one.b.lat)
	}
	margin := 0.01 * (s.north - s.south) // of which 32 steps miss the greatest part by less
	s.south, s.north = s.south-margin, s.north+margin
	return s
}

// at returns the latitudes of a side at a longitude: of a straight line on a map, and on the Earth.
func (s side) at(lon float64) (straight, bent float64) {
	width := s.b.lon - s.a.lon
	if width < stepDegrees { // both are a part of a meridian
		return s.a.lat, s.b.lat
	}
	lon = min(s.b.lon, max(s.a.lon, lon))
	const radian = math.Pi / 180
	straight = s.a.lat + (lon-s.a.lon)/width*(s.b.lat-s.a.lat)
	bent = math.Atan((math.Tan(s.a.lat*radian)*math.Sin((s.b.lon-lon)*radian)+math.Tan(s.b.lat*radian)*math.Sin((lon-s.a.lon)*radian))/
		math.Sin(width*radian)) / radian
	return straight, bent
}

// has says whether a place is inside surely, and whether perhaps.
func (s sides) has(p place) (surely, perhaps bool) {
	if p.lat < s.south || p.lat > s.north || p.lon < s.west || p.lon > s.east {
		return false, false
	}
	inside := false
	for _, one := range s.list {
		if p.lon < one.a.lon-stepDegrees || p.lon > one.b.lon+stepDegrees {
			continue
		}
		straight, bent := one.at(p.lon)
		// A step to the side is more to the north, the steeper the side.
		off := stepDegrees * (1 + math.Abs(one.b.lat-one.a.lat)/max(stepDegrees, one.b.lon-one.a.lon))
		if p.lat >= min(straight, bent)-off && p.lat <= max(straight, bent)+off {
			return false, true
		}
		if one.a.lon <= p.lon && p.lon < one.b.lon && p.lat < straight {
			inside = !inside
		}
	}
	return inside, inside
}
