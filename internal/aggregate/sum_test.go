package aggregate

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/columns"
)

// TestSums compares sums of floats, and of their squares, with those of big.Rat: by digits and by binades,
// of all magnitudes.
func TestSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 46))
	extremes := []float64{math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 0x1p-1022, -0x1p-1023, 0, 1, -1, 0.1}
	b := new(binades)
	for round := range 200 {
		var one, many total
		want, squares := new(big.Rat), new(big.Rat)
		n := rng.IntN(60)
		for range n {
			var keys []uint64
			for range rng.IntN(3) {
				v := math.Float64frombits(rng.Uint64())
				switch {
				case round%2 == 0:
					v = float64(rng.IntN(2000)-1000) / 10
				case rng.IntN(4) == 0 || v-v != 0:
					v = extremes[rng.IntN(len(extremes))]
				}
				one.addFloat(v)
				keys = append(keys, columns.FloatKey(v))
				r := new(big.Rat).SetFloat64(v)
				want.Add(want, r)
				squares.Add(squares, r.Mul(r, r))
			}
			many.addKeys(keys, b)
		}
		for name, got := range map[string]*total{"digits": &one, "binades": &many} {
			sum, sq := got.rat()
			if sum.Cmp(want) != 0 || sq.Cmp(squares) != 0 {
				t.Fatalf("round %d, %s: %v and %v, want %v and %v", round, name, float(sum), float(sq), float(want), float(squares))
			}
		}
		if *b != (binades{}) {
			t.Fatal("binades are not cleared")
		}
	}
}
