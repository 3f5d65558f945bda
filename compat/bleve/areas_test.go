package bleve

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/internal/geo"
	"github.com/riffle-search/riffle/internal/shapes"
)

// randomArea makes an area anywhere, with sizes from steps to the whole Earth, and a point at its border.
func randomArea(rng *rand.Rand) (a area, near corner) {
	coordinate := func(most float64) float64 {
		c := (2*rng.Float64() - 1) * most
		if rng.IntN(4) == 0 {
			c = math.Copysign(most-[]float64{0, 1e-7, 1e-2, 1}[rng.IntN(4)]*rng.Float64(), c)
		}
		return c
	}
	size := math.Pow(10, rng.Float64()*9-7)
	c := corner{coordinate(180), coordinate(90)}
	switch rng.IntN(3) {
	case 0:
		d := corner{c.lon + size*rng.NormFloat64(), max(c.lat-math.Abs(size*rng.NormFloat64()), -90)}
		if d.lon < -180 || d.lon > 180 {
			d.lon = coordinate(180)
		}
		return newRects(c.lon, d.lat, d.lon, c.lat), []corner{c, d, {c.lon, d.lat}}[rng.IntN(3)]
	case 1:
		circle, err := newCircle(c.lon, c.lat, size*200_000)
		if err != nil {
			panic(err)
		}
		degrees := min(size*1.8, 360)
		return circle, corner{c.lon + degrees*float64(rng.IntN(3)-1), c.lat + degrees*float64(rng.IntN(3)-1)}
	}
	ring := []corner{c}
	for range 2 + rng.IntN(8) {
		ring = append(ring, corner{min(max(c.lon+size*rng.NormFloat64(), -180), 180), min(max(c.lat+size*rng.NormFloat64(), -90), 90)})
	}
	p, err := newPolygon(ring)
	if err != nil {
		panic(err)
	}
	a0, b0, at := ring[0], ring[1], rng.Float64()
	return p, corner{a0.lon + at*(b0.lon-a0.lon), a0.lat + at*(b0.lat-a0.lat)}
}

// TestAreas compares what areas say of boxes with the places in these, most of them near a border.
func TestAreas(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var relations [3]int
	inside := 0
	for range 20_000 {
		a, near := randomArea(rng)
		bounds := a.Bounds()
		spread := math.Pow(10, -7*rng.Float64())
		at := geo.Point{Lat: min(max(near.lat+spread*rng.NormFloat64(), -90), 90), Lon: min(max(near.lon+spread*rng.NormFloat64(), -180), 180)}
		key := geo.Key(at)
		rest := uint64(1)<<rng.IntN(64) - 1 // of a cell
		b := geo.BoxOf(key&^rest, key|rest)
		relation := a.Relate(b)
		relations[relation]++
		for range 20 {
			key := key&^rest | rng.Uint64()&rest
			has := a.Contains(key)
			if has != a.has(placeOfKey(key)) || has && relation == shapes.Outside || !has && relation == shapes.Inside {
				t.Fatalf("%v: box %v is %d, but has %v: %v", a, b, relation, geo.KeyPoint(key), has)
			}
			if !has {
				continue
			}
			inside++
			if p := geo.KeyPoint(key); !bounds.Meets(geo.Box{South: p.Lat, West: p.Lon, North: p.Lat, East: p.Lon}) {
				t.Fatalf("%v has %v outside of its bounds %v", a, p, bounds)
			}
		}
	}
	t.Logf("outside, inside, across: %v; %d places in areas", relations, inside)
	if min(relations[0], relations[1], relations[2]) < 1000 || inside < 20_000 {
		t.Error("too few to compare")
	}
}

// TestPlaces compares the terms and points of places with their coordinates.
func TestPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for i := range 10_000 {
		lon, lat := rng.Float64()*360-180, rng.Float64()*180-90
		if i < 4 {
			lon, lat = float64(i%2*360-180), float64(i/2*180-90)
		}
		p := placeOf(lon, lat)
		x, y := p.degrees()
		if math.Abs(x-lon) > 1/lonScale || math.Abs(y-lat) > 1/latScale || placeNumbered(p.number()) != p || placeAt(p.point()) != p {
			t.Fatalf("%v %v is %v: %v %v", lon, lat, p, x, y)
		}
		of := p.point()
		if math.Abs(of.Lon-lon) > 1.5/lonScale || math.Abs(of.Lat-lat) > 1.5/latScale {
			t.Fatalf("%v %v has the point %v", lon, lat, of)
		}
	}
	for i := 1; i < diameters; i++ {
		if earthDiameters[i] > earthDiameters[i-1] {
			t.Errorf("diameter %d is above the one before, which circles rely on", i)
		}
	}
}
