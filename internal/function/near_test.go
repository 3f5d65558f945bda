package function

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/columns"
	"github.com/riffle-search/riffle/internal/geo"
)

// TestFar: numbers of the decay of places are those of the values, one document at a time and whole tiles, where far
// places are left out. Places are at all distances, also at a pole and at the date line.
func TestFar(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 5))
	left, counted := 0, 0
	for round := range 300 {
		origin := []geo.Point{{Lat: 52.5, Lon: 13.4}, {Lat: 89.9, Lon: 5}, {Lat: -1, Lon: 179.99}, {Lat: 10, Lon: -180}, {Lat: -90, Lon: 0}}[rng.IntN(5)]
		docs := 1 + rng.Uint32N(3000)
		p := Part{
			Kind: Decay, Weight: []float64{0.3, 1, 200}[rng.IntN(3)], Shape: Shape(rng.IntN(3)), AtScale: 0.1 + 0.8*rng.Float64(),
			Scale: math.Pow(10, 6*rng.Float64()), Offset: 1000 * float64(rng.IntN(2)), Place: geo.From(origin),
			Origin: columns.Value{Kind: columns.Place, Key: geo.Key(origin)},
		}
		f := &Function{Parts: []Part{p}, Combine: Combine(rng.IntN(5)), Neutral: float64(rng.IntN(2)), Coarse: rng.IntN(2) == 0}
		b := columns.NewBuilder(columns.Place, nil)
		several := rng.IntN(2) == 0
		for d := range docs {
			var keys []uint64
			for range rng.IntN(3) {
				degrees := math.Pow(10, 7*rng.Float64()-5)
				keys = append(keys, geo.Key(geo.Point{
					Lat: min(90, max(-90, origin.Lat+degrees*rng.NormFloat64())),
					Lon: math.Remainder(origin.Lon+degrees*rng.NormFloat64(), 360),
				}))
				if !several {
					break
				}
			}
			if err := b.Add(d, keys...); err != nil {
				t.Fatal(err)
			}
		}
		c, err := b.View(docs)
		if err != nil {
			t.Fatal(err)
		}
		src := Source{Column: c}
		if rng.IntN(3) == 0 {
			src.Accept = make([]uint64, (docs+63)/64)
			for i := range src.Accept {
				src.Accept[i] = rng.Uint64()
			}
		}
		one, err := New(f, []Source{src}, docs)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := New(f, []Source{src}, docs)
		if err != nil {
			t.Fatal(err)
		}
		exponent := Exponent(one.Greatest()) + rng.IntN(2)
		one.Scale(exponent, NewTable(docs))
		whole.Scale(exponent, NewTable(docs))
		for d := range docs {
			v, err := one.Value(d)
			if err != nil {
				t.Fatal(err)
			}
			want := one.fraction(v)
			if got, tile := one.Of(d), whole.Tile(d / columns.TileDocs)[d%columns.TileDocs]; got != want || tile != want {
				t.Fatalf("round %d, %+v from %v: document %d has %d, in its tile %d, want %d for %v", round, p, origin, d, got, tile, want, v)
			}
			if want == 0 {
				left++
			} else {
				counted++
			}
		}
	}
	if left < 1000 || counted < 1000 {
		t.Errorf("%d numbers are 0, %d are not", left, counted)
	}
}
