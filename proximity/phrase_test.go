package proximity_test

import (
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/proximity"
)

// TestExactPhrases compares the shortcuts of exact phrases with the matcher.
func TestExactPhrases(t *testing.T) {
	var m proximity.Matcher
	for round := range 50_000 {
		rng := rand.New(rand.NewPCG(2, uint64(round)))
		e := &proximity.Expr{Op: proximity.Phrase}
		var wide [][]uint32
		var narrow [][]uint16
		offset := uint32(0)
		for i := range 2 + rng.IntN(3) {
			e.Parts = append(e.Parts, proximity.Expr{Op: proximity.Word, Terms: []int{i}})
			e.Offsets = append(e.Offsets, offset)
			offset += rng.Uint32N(3)
			at := exectest.NewPositions(rng, 1+rng.Uint32N(8))
			n := make([]uint16, len(at))
			for i := range at {
				at[i] %= 1 << 16
				n[i] = uint16(at[i])
			}
			wide, narrow = append(wide, at), append(narrow, n)
		}
		sorted := true
		for _, at := range wide {
			for i := 1; i < len(at); i++ {
				sorted = sorted && at[i-1] <= at[i]
			}
		}
		if !sorted {
			continue
		}
		m.Reset(e)
		want := int(m.Freq(wide) / proximity.One)
		order := rng.Perm(len(narrow))
		a, b := order[0], order[1]
		starts := proximity.AppendStarts(nil, narrow[a], narrow[b], e.Offsets[a], e.Offsets[b])
		for _, i := range order[2:] {
			starts = proximity.KeepStarts(starts, narrow[i], e.Offsets[i])
		}
		got := 0
		for _, at := range starts {
			if at >= 0 {
				got++
			}
		}
		if got != want {
			t.Fatalf("round %d: %v at %v: %d times, want %d", round, wide, e.Offsets, got, want)
		}
		if len(narrow) == 2 {
			if got := proximity.CountPair(narrow[0], narrow[1], int(e.Offsets[1])); got != want {
				t.Fatalf("round %d: %v at %v: %d pairs, want %d", round, wide, e.Offsets, got, want)
			}
		}
	}
}
