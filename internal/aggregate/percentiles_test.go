package aggregate

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/columns"
)

// TestPercentilesCounted compares percentiles with sorted values where some states keep values and others count
// them, in any order of segments and with several values in some documents.
func TestPercentilesCounted(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	percents := Percentiles{0, 1, 50, 99, 100}
	for round := range 60 {
		sizes := []int{40, 40, 9000, 20, 5000}
		rng.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
		span := int64(1) << (4 + rng.IntN(11))
		var segments []Segment
		var all []int64
		for _, size := range sizes[:1+rng.IntN(len(sizes))] {
			values := make([][]columns.Value, size)
			for doc := range values {
				for range max(0, rng.IntN(4)-round%3) {
					v := rng.Int64N(span) - 20
					all, values[doc] = append(all, v), append(values[doc], columns.OfInt(v))
				}
				slices.SortFunc(values[doc], columns.Compare)
			}
			c := buildColumn(t, values)
			segments = append(segments, Segment{Docs: uint32(size), Sets: [][]uint64{nil}, Column: func(string) (*columns.Column, error) { return c, nil }})
		}
		workers := 1 + rng.IntN(2)
		r, err := Begin(segments, []Root{{&Spec{Field: "x", Of: percents}, 0}}, Options{Workers: workers}, noPlace)
		if err != nil {
			t.Fatal(err)
		}
		got, err := addAll(r, workers, func(int, int) *[tileDocs]uint32 { return nil })
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(all)
		for i, p := range percents {
			if want := all[rankOf(p, len(all))]; got[0].Percentiles[i] != want {
				t.Fatalf("round %d, %d values of %d: at %v percent is %v, want %d", round, len(all), span, p, got[0].Percentiles[i], want)
			}
		}
	}
}
