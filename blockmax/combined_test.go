package blockmax

import (
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/proximity"
)

// TestWeighted: no document has a higher impact in a combination than the sum of the impacts in its lists,
// under their weighted tables, and one for each list but the first. In a single list it has none higher.
func TestWeighted(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	pick := func(values ...float64) float64 { return values[rng.IntN(len(values))] }
	most := 0
	for range 2000 {
		table := NewTable(BM25{K1: pick(0, 0.1, 1.2, 5, 1000), B: pick(0, 0.3, 0.75, 1)}, pick(0.01, 1, 7.77, 400, 1e6))
		fields := make([]uint64, 1+rng.IntN(4))
		for i := range fields {
			fields[i] = uint64(pick(1, 1, 1.5, 3, 1.0001, 33.3, MaxFieldWeight) * proximity.One)
		}
		for range 200 {
			freq, length, sum, lists := uint64(0), uint64(0), 0, 0
			for _, weight := range fields {
				code, tf := uint8(rng.IntN(256)), rng.Uint32N(1<<rng.IntN(20))
				if rng.IntN(2) == 0 {
					code = uint8(rng.IntN(50))
				}
				length += weight * uint64(CodeLength(code))
				if tf > 0 {
					freq += weight * uint64(tf)
					sum += int(table.Weighted(weight).Impact(tf, code))
					lists++
				}
			}
			if lists == 0 {
				continue
			}
			impact := int(table.ImpactOf(freq, weightedCode(length)))
			if most = max(most, impact-sum); impact > sum+lists-1 {
				t.Fatalf("%+v, weights %v: impact %d, above %d of %d lists", table.Key(), fields, impact, sum, lists)
			}
		}
	}
	if most < 1 {
		t.Error("no impact is above the sum: the allowance was not needed")
	}
}
