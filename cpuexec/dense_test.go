package cpuexec

import (
	"math/rand/v2"
	"testing"
)

// TestOr shifts rows of bits to all kinds of positions in, before and after a tile.
func TestOr(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 2000 {
		rows := make([]byte, 16*(1+rng.IntN(8)))
		for i := range rows {
			rows[i] = byte(rng.Uint32() & rng.Uint32())
		}
		at := rng.IntN(tileDocs+1024) - 1024
		var got, want bitset
		for i := range got {
			got[i] = rng.Uint64() & rng.Uint64() & rng.Uint64()
		}
		want = got
		for i := range 8 * len(rows) {
			if d := at + i; d >= 0 && d < tileDocs && rows[i/8]>>(i%8)&1 == 1 {
				want[d/64] |= 1 << (d % 64)
			}
		}
		orRows(got[:], rows, at)
		if got != want {
			t.Fatalf("%d words at %d:\n got %x\nwant %x", len(rows)/8, at, got, want)
		}
	}
}
