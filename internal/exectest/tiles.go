package exectest

import (
	"math/rand/v2"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/columns"
)

// newTiles returns a set as a range over a column, or as several: documents in the set have a value
// there, and perhaps others elsewhere; those outside have none, or only such others.
func newTiles(rng *rand.Rand, docs map[uint32]bool, count uint32) blockmax.Set {
	unit := []uint64{1, 3, 1 << 40}[rng.IntN(3)]
	spans := make([]columns.Span, []int{1, 1, 1, 2, 20}[rng.IntN(5)])
	for i := range spans { // keys are multiples of unit; a span has up to 5 of them, and as many follow it
		lo := 10 * (uint64(i) + 1)
		spans[i] = columns.Span{Lo: lo * unit, Hi: (lo + rng.Uint64N(5)) * unit}
	}
	last := spans[len(spans)-1]
	others := []uint64{1, 2, 10, 20 * uint64(len(spans)), 1 << 20}[rng.IntN(5)] // how far elsewhere reaches
	outside := func() uint64 {
		if key := rng.Uint64N(others); key < 10 {
			return key * unit
		}
		if len(spans) > 1 && rng.IntN(2) == 0 {
			return spans[rng.IntN(len(spans)-1)].Hi + (1+rng.Uint64N(5))*unit // before the next one
		}
		return last.Hi + (1+rng.Uint64N(others))*unit
	}
	missing, several := rng.IntN(2) == 0, rng.IntN(3) == 0
	b := columns.NewBuilder(columns.Uint, nil)
	for d := range count {
		var keys []uint64
		if docs[d] {
			in := spans[rng.IntN(len(spans))]
			keys = append(keys, in.Lo+rng.Uint64N((in.Hi-in.Lo)/unit+1)*unit)
		}
		for n := 3; (len(keys) == 0 && !missing || several) && n > 0; n-- {
			if rng.IntN(2) == 0 || len(keys) == 0 && !missing {
				keys = append(keys, outside())
			}
		}
		if err := b.Add(d, keys...); err != nil {
			panic("exectest: a column: " + err.Error())
		}
	}
	c, err := b.View(count)
	if err != nil {
		panic("exectest: a column: " + err.Error())
	}
	if c == nil {
		return blockmax.Set{}
	}
	s := columns.NewSpans(c, spans...)
	n, _ := s.Estimate()
	return blockmax.Set{Tiles: s, Count: n}
}
