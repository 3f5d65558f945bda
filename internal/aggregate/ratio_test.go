package aggregate

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestRatio compares quotients with those of package big, near the middle of two float64 as well.
func TestRatio(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	for range 200_000 {
		high, low, by := rng.Uint64()>>rng.IntN(64), rng.Uint64()>>rng.IntN(64), max(1, rng.Uint64()>>rng.IntN(64))
		switch rng.IntN(4) {
		case 0:
			high = 0
		case 1: // a multiple of a number of 54 bits, plus or minus 1
			middle := rng.Uint64()>>10 | 1
			n := new(big.Int).Mul(new(big.Int).SetUint64(middle), new(big.Int).SetUint64(by))
			n.Add(n, big.NewInt(int64(rng.IntN(3)-1)))
			high, low = new(big.Int).Rsh(n, 64).Uint64(), new(big.Int).And(n, new(big.Int).SetUint64(^uint64(0))).Uint64()
		}
		n := new(big.Int).Lsh(new(big.Int).SetUint64(high), 64)
		n.Add(n, new(big.Int).SetUint64(low))
		want, _ := new(big.Rat).SetFrac(n, new(big.Int).SetUint64(by)).Float64()
		if got := ratio(high, low, by); got != want {
			t.Fatalf("%d:%d / %d is %v, want %v", high, low, by, got, want)
		}
	}
}
