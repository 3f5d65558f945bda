package geo

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestWindow: the window around a point has all points within the distance, and hardly any that are not in the box.
func TestWindow(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	inside, outside := 0, 0
	for range 20_000 {
		origin, metres := somePoint(rng), math.Pow(10, 8*rng.Float64())
		box := Around(origin, metres)
		w := WindowOf(box)
		for range 20 {
			degrees := metres / 100_000 * 2 * rng.Float64()
			p := Point{
				Lat: min(90, max(-90, origin.Lat+degrees*rng.NormFloat64())),
				Lon: math.Remainder(origin.Lon+degrees*rng.NormFloat64(), 360),
			}
			if rng.IntN(10) == 0 {
				p = somePoint(rng)
			}
			p = p.Round()
			has := w.Has(Key(p))
			if near := Distance(origin, p) <= metres; near && !has {
				t.Fatalf("%v is within %v m of %v, and not in the window of %+v", p, metres, origin, box)
			}
			wider := Box{box.South - 2*latStep, box.West - 2*lonStep, box.North + 2*latStep, box.East + 2*lonStep}
			if has && !(p.Lat >= wider.South && p.Lat <= wider.North && wider.hasLon(p.Lon)) {
				t.Fatalf("%v is in the window of %+v", p, box)
			}
			if has {
				inside++
			} else {
				outside++
			}
		}
	}
	if inside < 1000 || outside < 1000 {
		t.Errorf("%d points inside, %d outside", inside, outside)
	}
}
