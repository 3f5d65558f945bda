package shapes

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/golang/geo/s2"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/geo"
)

var (
	many = flag.Bool("many", false, "a million documents in TestRegions")
	seed = flag.Uint64("seed", 5, "of the points and shapes of TestRegions")
)

// somePoint returns a random point; some are at poles, at the date line, on round degrees or near Berlin.
func somePoint(rng *rand.Rand) geo.Point {
	p := geo.Point{Lat: math.Asin(2*rng.Float64()-1) * 180 / math.Pi, Lon: rng.Float64()*360 - 180}
	switch rng.IntN(16) {
	case 0:
		p.Lat = math.Copysign(90-math.Abs(rng.NormFloat64())/100, p.Lat)
	case 1:
		p.Lon = math.Copysign(180-math.Abs(rng.NormFloat64())/100, p.Lon)
	case 2:
		p.Lat, p.Lon = math.Round(p.Lat), math.Round(p.Lon)
	case 3:
		p.Lat = []float64{-90, 0, 90}[rng.IntN(3)]
	case 4:
		p.Lon = []float64{-180, 0, 180}[rng.IntN(3)]
	case 5, 6, 7:
		p = geo.Point{Lat: 52.5 + rng.NormFloat64()/10, Lon: 13.4 + rng.NormFloat64()/10}
	}
	return geo.Point{Lat: min(max(p.Lat, -90), 90), Lon: min(max(p.Lon, -180), 180)}
}

// A slowShape says of a point as it is stored whether it is in a shape, in the plainest way.
type slowShape struct {
	what  string
	shape Shape
	has   func(p geo.Point) bool
}

// haversine is the distance by the textbook's formula.
func haversine(a, b geo.Point) float64 {
	const degree = math.Pi / 180
	h := math.Pow(math.Sin((b.Lat-a.Lat)*degree/2), 2) +
		math.Cos(a.Lat*degree)*math.Cos(b.Lat*degree)*math.Pow(math.Sin((b.Lon-a.Lon)*degree/2), 2)
	return 2 * geo.Radius * math.Asin(math.Sqrt(math.Min(h, 1)))
}

func someShape(t *testing.T, rng *rand.Rand) slowShape {
	at := somePoint(rng)
	switch rng.IntN(3) {
	case 0:
		metres := math.Exp(rng.Float64() * math.Log(geo.Farthest))
		if rng.IntN(20) == 0 {
			metres = []float64{0, geo.Farthest, geo.Farthest / 2, 1e9}[rng.IntN(4)]
		}
		c, err := NewCircle(at, metres)
		if err != nil {
			t.Fatal(err)
		}
		return slowShape{fmt.Sprintf("%v m around %v", metres, at), c, func(p geo.Point) bool {
			d := haversine(at, p)
			if rounding := 1e-7 + 0.3*math.Pow(d/geo.Farthest, 40); math.Abs(d-metres) < rounding {
				return c.Contains(geo.Key(p)) // too near to say by this formula
			}
			return d <= metres
		}}
	case 1:
		b := geo.Box{South: at.Lat, West: at.Lon, North: somePoint(rng).Lat, East: somePoint(rng).Lon}
		if rng.IntN(2) == 0 {
			b.North, b.East = min(b.South+rng.Float64(), 90), b.West+rng.Float64()
			if b.East > 180 {
				b.East -= 360
			}
		}
		b.South, b.North = min(b.South, b.North), max(b.South, b.North)
		r, err := NewRect(b)
		if err != nil {
			t.Fatal(err)
		}
		low := geo.Point{Lat: b.South, Lon: b.West}.Round()
		high := geo.Point{Lat: b.North, Lon: b.East}.Round()
		return slowShape{fmt.Sprintf("box %+v", b), r, func(p geo.Point) bool {
			inLon := low.Lon <= p.Lon && p.Lon <= high.Lon
			if low.Lon > high.Lon {
				inLon = low.Lon <= p.Lon || p.Lon <= high.Lon
			}
			return low.Lat <= p.Lat && p.Lat <= high.Lat && inLon
		}}
	}
	return somePolygon(t, rng, at)
}

// somePolygon returns a star around a point, perhaps with a smaller one as a hole.
func somePolygon(t *testing.T, rng *rand.Rand, at geo.Point) slowShape {
	star := func(radius float64) []geo.Point {
		n := 3 + rng.IntN(30)
		if rng.IntN(4) == 0 {
			n = 200
		}
		ring := make([]geo.Point, n)
		frame := s2.PointFromLatLng(s2.LatLngFromDegrees(at.Lat, at.Lon))
		x := s2.Point{Vector: frame.Ortho()}
		y := s2.Point{Vector: frame.Cross(x.Vector)}
		for i := range ring {
			a := 2 * math.Pi * float64(i) / float64(n)
			r := radius * (0.5 + rng.Float64()/2)
			v := frame.Mul(math.Cos(r)).Add(x.Mul(math.Sin(r) * math.Cos(a))).Add(y.Mul(math.Sin(r) * math.Sin(a)))
			ll := s2.LatLngFromPoint(s2.Point{Vector: v})
			ring[i] = geo.Point{Lat: ll.Lat.Degrees(), Lon: ll.Lng.Degrees()}
		}
		if rng.IntN(2) == 0 {
			slices.Reverse(ring)
		}
		return ring
	}
	radius := math.Exp(rng.Float64()*12-12) * 1.4
	rings := [][]geo.Point{star(radius)}
	if rng.IntN(2) == 0 {
		rings = append(rings, star(radius/3))
	}
	p, err := NewPolygon(rings[0], rings[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	// The slow twin counts the sides that are crossed on the way from the middle of the star.
	from := vertex(at)
	vertices := make([][]s2.Point, len(rings))
	for i, ring := range rings {
		for _, q := range ring {
			vertices[i] = append(vertices[i], vertex(q))
		}
	}
	return slowShape{fmt.Sprintf("polygon around %v of radius %v, %d rings", at, radius, len(rings)), p, func(q geo.Point) bool {
		v := vertex(q)
		in := true // the middle
		for i, ring := range vertices {
			crossed := false
			crosser := s2.NewChainEdgeCrosser(from, v, ring[0])
			for j := range ring {
				if crosser.EdgeOrVertexChainCrossing(ring[(j+1)%len(ring)]) {
					crossed = !crossed
				}
			}
			if i == 0 {
				in = !crossed
			} else if !crossed {
				in = false
			}
		}
		return in
	}}
}

// column returns a column of the points of documents.
func column(t testing.TB, docs [][]uint64) *columns.Column {
	b := columns.NewBuilder(columns.Place, nil)
	for i, keys := range docs {
		if err := b.Add(uint32(i), keys...); err != nil {
			t.Fatal(err)
		}
	}
	c, err := b.View(uint32(len(docs)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func within(r *Region, c *columns.Column) Documents {
	return r.Within(c, columns.NewSpans(c, r.Spans()...))
}

// TestRegions compares regions with slow twins over all points of columns: in random order, and in that
// of keys; with one point a document, several, or none. For a million documents, in 15 s of CPU time:
//
//	go test ./internal/shapes -run TestRegions -v -many -seed 6
func TestRegions(t *testing.T) {
	n, shapes := 6_000, 24
	switch {
	case *many:
		n, shapes = 1_000_000, 40
	case testing.Short():
		n, shapes = 5_000, 12
	}
	rng := rand.New(rand.NewPCG(*seed, 5))
	docs := make([][]uint64, n)
	for i := range docs {
		for range []int{1, 1, 1, 0, 3}[rng.IntN(1+i%5)] {
			docs[i] = append(docs[i], geo.Key(somePoint(rng)))
		}
	}
	var arrival, sorted []int // the documents of the columns
	for i := range docs {
		arrival = append(arrival, i)
	}
	sorted = slices.Clone(arrival)
	slices.SortFunc(sorted, func(i, j int) int { return slices.Compare(docs[i], docs[j]) })
	orders := [2][]int{arrival, sorted}
	var cols [2]*columns.Column
	for i, order := range orders {
		ordered := make([][]uint64, n)
		for to, from := range order {
			ordered[to] = docs[from]
		}
		cols[i] = column(t, ordered)
	}
	inside := make([]bool, n) // what the slow twin says
	found := 0
	for range shapes {
		s := someShape(t, rng)
		for i, keys := range docs {
			inside[i] = slices.ContainsFunc(keys, func(k uint64) bool { return s.has(geo.KeyPoint(k)) })
		}
		r := NewRegion(s.shape)
		for i, c := range cols {
			d, order := within(r, c), orders[i]
			for tile := range c.Tiles() {
				var set [64]uint64
				got, err := d.Tile(tile, &set)
				if err != nil {
					t.Fatal(err)
				}
				want := 0
				for i := range min(columns.TileDocs, n-tile*columns.TileDocs) {
					doc := order[tile*columns.TileDocs+i]
					in := inside[doc]
					if is := set[i/64]>>(i%64)&1 == 1; is != in {
						var points []geo.Point
						for _, k := range docs[doc] {
							points = append(points, geo.KeyPoint(k))
						}
						t.Fatalf("%s: points %v: within %v, want %v", s.what, points, is, in)
					}
					if in {
						want++
					}
				}
				if got != want {
					t.Fatalf("%s: tile %d has %d documents, the set says %d", s.what, tile, want, got)
				}
				if want > 0 && d.Spans.Within(tile/64)>>(tile%64)&1 == 0 {
					t.Fatalf("%s: tile %d is left out", s.what, tile)
				}
				found += want
			}
		}
	}
	if found == 0 {
		t.Error("no shape had a point")
	}
	t.Logf("%d shapes, %d documents, %d found in two orders", shapes, n, found)
}

// TestRelate: no box that is related to a shape has a point of the other side.
func TestRelate(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	var seen [3]int
	for range 60 {
		s := someShape(t, rng)
		for range 40 {
			key, n := geo.Key(somePoint(rng)), rng.IntN(64)
			c := cell{key &^ (^uint64(0) >> n), n}
			relation := s.shape.Relate(c.box())
			seen[relation]++
			for range 10 {
				p := c.least | rng.Uint64()&(c.greatest()-c.least)
				if in := s.has(geo.KeyPoint(p)); relation == Inside && !in || relation == Outside && in {
					t.Fatalf("%s: %+v is %d, but point %v is in it: %v", s.what, c.box(), relation, geo.KeyPoint(p), in)
				}
			}
		}
	}
	if seen[Inside] == 0 || seen[Outside] == 0 || seen[Across] == 0 {
		t.Errorf("relations %v", seen)
	}
}

// TestCover: pieces ascend and are apart, and few points need to be compared with a circle.
func TestCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 60 {
		s := someShape(t, rng)
		r := NewRegion(s.shape)
		for i, p := range r.pieces {
			if p.Lo > p.Hi || i > 0 && p.Lo <= r.pieces[i-1].Hi {
				t.Fatalf("%s: pieces %v", s.what, r.pieces)
			}
		}
		if len(r.coarse) > mostCompared+1 || len(r.coarse) == 0 && len(r.pieces) > 0 {
			t.Fatalf("%s: %d coarse ranges of %d pieces", s.what, len(r.coarse), len(r.pieces))
		}
		for _, p := range r.pieces {
			if !slices.ContainsFunc(r.coarse, func(c columns.Span) bool { return c.Lo <= p.Lo && p.Hi <= c.Hi }) {
				t.Fatalf("%s: no coarse range has %x..%x", s.what, p.Lo, p.Hi)
			}
		}
	}
	c, err := NewCircle(geo.Point{Lat: 52.5, Lon: 13.4}, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	g, across, inside := newGrid(c), 0, 0
	for range 10_000 {
		p := geo.Point{Lat: 52.5 + rng.Float64()*0.18 - 0.09, Lon: 13.4 + rng.Float64()*0.3 - 0.15}
		switch g.relate(c, geo.Key(p)) {
		case Across:
			across++
		case Inside:
			inside++
		}
	}
	if across > 2000 || inside < 6000 {
		t.Errorf("of 10,000 points %d are in cells across the border, %d in cells inside", across, inside)
	}
}

func TestBadShapes(t *testing.T) {
	p := func(lat, lon float64) geo.Point { return geo.Point{Lat: lat, Lon: lon} }
	for what, err := range map[string]error{
		"negative": second(NewCircle(p(0, 0), -1)),
		"NaN":      second(NewCircle(p(0, 0), math.NaN())),
		"infinite": second(NewCircle(p(0, 0), math.Inf(1))),
		"latitude": second(NewCircle(p(91, 0), 1)),
		"upside":   second(NewRect(geo.Box{South: 2, North: 1})),
		"two":      second(NewPolygon([]geo.Point{p(0, 0), p(0, 1), p(0, 0)})),
		"bow":      second(NewPolygon([]geo.Point{p(0, 0), p(1, 1), p(1, 0), p(0, 1)})),
		"twice":    second(NewPolygon([]geo.Point{p(0, 0), p(0, 1), p(1, 1), p(0, 1), p(-1, 1)})),
		"opposite": second(NewPolygon([]geo.Point{p(0, 0), p(0, 180), p(45, 90)})),
		"point":    second(NewPolygon([]geo.Point{p(0, 0), p(0, 181), p(45, 90)})),
		"hole":     second(NewPolygon([]geo.Point{p(0, 0), p(0, 1), p(1, 1)}, []geo.Point{p(0, 0)})),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// BenchmarkTiles counts 2 million points in random order around a city.
func BenchmarkTiles(b *testing.B) {
	rng := rand.New(rand.NewPCG(8, 8))
	docs := make([][]uint64, 2_000_000)
	for i := range docs {
		docs[i] = []uint64{geo.Key(geo.Point{Lat: 52.5 + rng.NormFloat64(), Lon: 13.4 + rng.NormFloat64()})}
	}
	c := column(b, docs)
	for _, metres := range []float64{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("metres=%v", metres), func(b *testing.B) {
			n := 0
			for b.Loop() {
				circle, err := NewCircle(geo.Point{Lat: 52.4, Lon: 13.3}, metres)
				if err != nil {
					b.Fatal(err)
				}
				d, set := within(NewRegion(circle), c), [64]uint64{}
				n = 0
				for tile := range c.Tiles() {
					m, err := d.Tile(tile, &set)
					if err != nil {
						b.Fatal(err)
					}
					n += m
				}
			}
			b.ReportMetric(float64(n), "docs")
		})
	}
	b.Run("cover", func(b *testing.B) {
		for b.Loop() {
			circle, _ := NewCircle(geo.Point{Lat: 52.4, Lon: 13.3}, 10_000)
			NewRegion(circle)
		}
	})
}
