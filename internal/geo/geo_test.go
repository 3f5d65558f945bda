package geo

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// somePoint returns a random point; often one at a pole, at the date line or near another one.
func somePoint(rng *rand.Rand) Point {
	p := Point{Lat: math.Asin(2*rng.Float64()-1) * 180 / math.Pi, Lon: rng.Float64()*360 - 180}
	switch rng.IntN(12) {
	case 0:
		p.Lat = 90
	case 1:
		p.Lat = -90
	case 2:
		p.Lon = 180
	case 3:
		p.Lon = -180
	case 4:
		p.Lat = 0
	case 5:
		p.Lon = 0
	case 6:
		p.Lon = math.Copysign(180-rng.Float64()/1000, p.Lon)
	case 7:
		p.Lat = math.Copysign(90-rng.Float64()/1000, p.Lat)
	}
	return p
}

// byVectors is another way to a distance: the angle between two vectors.
func byVectors(a, b Point) float64 {
	vector := func(p Point) [3]float64 {
		sinLat, cosLat := math.Sincos(p.Lat * math.Pi / 180)
		sinLon, cosLon := math.Sincos(p.Lon * math.Pi / 180)
		return [3]float64{cosLat * cosLon, cosLat * sinLon, sinLat}
	}
	u, v := vector(a), vector(b)
	cross := [3]float64{u[1]*v[2] - u[2]*v[1], u[2]*v[0] - u[0]*v[2], u[0]*v[1] - u[1]*v[0]}
	length := math.Sqrt(cross[0]*cross[0] + cross[1]*cross[1] + cross[2]*cross[2])
	return Radius * math.Atan2(length, u[0]*v[0]+u[1]*v[1]+u[2]*v[2])
}

func TestKey(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100_000 {
		p := somePoint(rng)
		key := Key(p)
		q := KeyPoint(key)
		if d := byVectors(p, q); d > 0.006 {
			t.Fatalf("%v becomes %v, at %v m", p, q, d)
		}
		if again := Key(q); again != key {
			t.Fatalf("%v has key %x, its point has %x", p, key, again)
		}
		short := Shortest(key)
		if err := errors.Join(q.Check(), short.Check()); err != nil || Key(short) != key {
			t.Fatalf("%v: %v, shortest %v, %v", p, q, short, err)
		}
	}
}

// TestFormat pins the example of the package comment.
func TestFormat(t *testing.T) {
	key := Key(Point{57.64911, 10.40744})
	if lon, lat := separate(key); lon != 0x87669ddb || lat != 0xd1fd6680 || key != 0xd12b7d7996b6e28a {
		t.Errorf("longitude %08x, latitude %08x, key %016x", lon, lat, key)
	}
}

func TestGeohash(t *testing.T) {
	// The example of the inventor's page, and the corners of the world.
	for _, tt := range []struct {
		p    Point
		hash string
	}{
		{Point{57.64911, 10.40744}, "u4pruydqqvj"},
		{Point{42.6, -5.6}, "ezs42"},
		{Point{-90, -180}, "000000000000"},
		{Point{90, 180}, "zzzzzzzzzzzz"},
		{Point{0, 0}, "s00000000000"},
	} {
		if got := Geohash(Key(tt.p), len(tt.hash)); got != tt.hash {
			t.Errorf("%v has geohash %s, want %s", tt.p, got, tt.hash)
		}
		least, greatest, err := GeohashKeys(tt.hash)
		if key := Key(tt.p); err != nil || key < least || key > greatest {
			t.Errorf("%s is %x..%x, %v, which lacks %x", tt.hash, least, greatest, err, key)
		}
	}
	for _, bad := range []string{"", "a", "ezs42é", "0123456789bcd"} {
		if _, _, err := GeohashKeys(bad); err == nil {
			t.Errorf("geohash %q has no error", bad)
		}
	}
	b, err := GeohashBox("ezs42")
	if want := (Box{42.583, -5.625, 42.627, -5.581}); err != nil || math.Abs(b.South-want.South) > 1e-3 ||
		math.Abs(b.West-want.West) > 1e-3 || math.Abs(b.North-want.North) > 1e-3 || math.Abs(b.East-want.East) > 1e-3 {
		t.Errorf("ezs42 has box %v, %v, want about %v", b, err, want)
	}
}

func TestDistance(t *testing.T) {
	// A degree of a meridian, the poles, Berlin to Tokyo.
	for _, tt := range []struct {
		a, b Point
		want float64
	}{
		{Point{0, 0}, Point{1, 0}, Farthest / 180},
		{Point{90, 17}, Point{-90, -80}, Farthest},
		{Point{90, 17}, Point{90, -80}, 0},
		{Point{10, 180}, Point{10, -180}, 0},
		{Point{0, 179}, Point{0, -179}, Farthest / 90},
		{Point{52.52, 13.405}, Point{35.6762, 139.6503}, 8_918_000},
	} {
		if got := Distance(tt.a, tt.b); math.Abs(got-tt.want) > tt.want*1e-3+1e-8 {
			t.Errorf("%v to %v is %v m, want %v", tt.a, tt.b, got, tt.want)
		}
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for range 100_000 {
		a, b := somePoint(rng), somePoint(rng)
		if rng.IntN(4) == 0 { // near, or nearly opposite
			b = Point{Lat: min(max(a.Lat+rng.Float64()/1000, -90), 90), Lon: a.Lon}
			if rng.IntN(2) == 0 {
				b = Point{Lat: -b.Lat, Lon: math.Remainder(b.Lon+180, 360)}
			}
		}
		if got, want := Distance(a, b), byVectors(a, b); math.Abs(got-want) > 1e-7 {
			t.Fatalf("%v to %v is %v m, by vectors %v", a, b, got, want)
		}
	}
}

// TestShortest: what people write comes back.
func TestShortest(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, p := range []Point{{52.52, 13.405}, {0, 0}, {-33.8688197, 151.2092955}, {-90, -180}, {35.6762, 139.6503}} {
		if got := Shortest(Key(p)); got != p {
			t.Errorf("%v comes back as %v", p, got)
		}
	}
	for range 10_000 {
		p := Point{float64(rng.IntN(180e6)-90e6) / 1e6, float64(rng.IntN(360e6)-180e6) / 1e6}
		if got := Shortest(Key(p)); got != p {
			t.Fatalf("%v comes back as %v", p, got)
		}
	}
}

// TestBounds compares the bounds of cells with distances of their points: none is beyond, and in
// small cells the bounds are near.
func TestBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 20_000 {
		o, key, n := From(somePoint(rng)), Key(somePoint(rng)), rng.IntN(65)
		if rng.IntN(4) == 0 {
			key = Key(o.Point)
		}
		rest := ^uint64(0)
		if n > 0 {
			rest = 1<<(64-n) - 1
		}
		least, greatest := key&^rest, key|rest
		near, far := o.Between(least, greatest)
		lowest, highest := math.Inf(1), 0.0
		box := BoxOf(least, greatest)
		for i := range 40 {
			p := KeyPoint(least | rng.Uint64()&rest)
			if i < 4 { // corners
				p = Point{[2]float64{box.South, box.North}[i&1], [2]float64{box.West, box.East}[i>>1]}
			}
			d := o.To(p)
			lowest, highest = min(lowest, d), max(highest, d)
		}
		if lowest < near || highest > far {
			t.Fatalf("from %v, %x..%x has distances %v to %v, bounds %v and %v", o.Point, least, greatest, lowest, highest, near, far)
		}
		size := byVectors(Point{box.South, box.West}, Point{box.North, box.East}) + Radius*(box.North-box.South)
		if n > 8 && (lowest > near+size+1 || highest < far-size-1) {
			t.Fatalf("from %v, %x..%x has distances %v to %v, bounds only %v and %v", o.Point, least, greatest, lowest, highest, near, far)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, p := range []Point{{90.1, 0}, {-91, 0}, {0, 180.5}, {0, -181}, {math.NaN(), 0}, {0, math.NaN()}, {math.Inf(1), 0}} {
		if p.Check() == nil {
			t.Errorf("%v passes", p)
		}
	}
	for _, b := range []Box{{10, 0, 5, 0}, {0, 0, 91, 0}, {0, math.NaN(), 1, 0}} {
		if b.Check() == nil {
			t.Errorf("%v passes", b)
		}
	}
	if err := (Box{-90, 170, 90, -170}).Check(); err != nil {
		t.Error(err)
	}
}

func BenchmarkDistance(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	keys := make([]uint64, 4096)
	for i := range keys {
		keys[i] = Key(somePoint(rng))
	}
	o, sum := From(Point{52, 13}), 0.0
	for i := 0; b.Loop(); i++ {
		sum += o.ToKey(keys[i%4096])
	}
	if sum == 0 {
		b.Fatal("no distance")
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]Point{
		`"52.52,13.405"`: {52.52, 13.405}, `" -1.5 , +2"`: {-1.5, 2}, `[13.405, 52.52]`: {52.52, 13.405},
		`{"lat": 52.52, "lon": 13.405}`: {52.52, 13.405}, `{"lng": -180, "lat": 90}`: {90, -180}, `"s"`: {22.5, 22.5},
	} {
		var p Point
		if err := json.Unmarshal([]byte(text), &p); err != nil || p != want {
			t.Errorf("%s is %v, %v, want %v", text, p, err, want)
		}
		var again Point
		written, err := json.Marshal(p)
		if err = errors.Join(err, json.Unmarshal(written, &again)); err != nil || again != p {
			t.Errorf("%v is written as %s, and read as %v, %v", p, written, again, err)
		}
		if q, err := ParsePoint(p.String()); err != nil || q != p {
			t.Errorf("%v is written as %s, and read as %v, %v", p, p.String(), q, err)
		}
	}
	for _, text := range []string{`"52.52"`, `"a,b"`, `"91,0"`, `"NaN,0"`, `[1]`, `[1,2,3]`, `[0,91]`, `{"lat":1}`, `{"lat":1,"lon":2,"lng":3}`, `{"lat":1,"lon":2,"alt":3}`, `5`, `"1,2,3"`} {
		p := Point{1, 2}
		if err := json.Unmarshal([]byte(text), &p); err == nil || p != (Point{1, 2}) {
			t.Errorf("%s is %v", text, p)
		}
	}
}
