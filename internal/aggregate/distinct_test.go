package aggregate

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/columns"
)

// TestDistinct counts different values of many: kept in a hash set, as bits, and going from one to the
// other; in segments of one kind, with a divisor, and of kinds whose keys do not compare.
func TestDistinct(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	kinds := []struct {
		name   string
		values func(segment int) columns.Value
		bits   bool // rather than a hash set
	}{
		{"dense", func(int) columns.Value { return columns.OfInt(rng.Int64N(100_000)) }, true},
		{"divided", func(s int) columns.Value { return columns.OfInt(7 + 1e12*rng.Int64N(70_000) + 1e13*int64(s)) }, true},
		{"far apart", func(int) columns.Value { return columns.OfInt(rng.Int64()) }, false},
		{"all", func(int) columns.Value { return columns.OfInt(int64(rng.Uint64())) }, false},
		{"mixed", func(s int) columns.Value {
			if n := rng.IntN(90_000); s == 0 {
				return columns.OfInt(int64(n))
			} else {
				return columns.OfFloat(float64(n) / 2)
			}
		}, true},
	}
	for _, k := range kinds {
		sizes := []int{9000, 30, 5000}
		c, seen, missing := &collection{}, map[string]bool{}, 0
		for i, size := range sizes {
			values := make([][]columns.Value, size)
			for d := range values {
				for range rng.IntN(3) {
					v := k.values(i)
					values[d] = append(values[d], v)
					seen[string(v.AppendTerm(nil))] = true
				}
				slices.SortFunc(values[d], columns.Compare)
				if len(values[d]) == 0 {
					missing++
				}
			}
			column := buildColumn(t, values)
			c.segments = append(c.segments, Segment{
				Docs: uint32(size), Sets: [][]uint64{nil},
				Column: func(string) (*columns.Column, error) { return column, nil },
			})
			c.scores = append(c.scores, make([]uint32, size+2*tileDocs))
		}
		for _, workers := range []int{1, 3} {
			r, err := Begin(c.segments, []Root{{&Spec{Field: "f", Of: Cardinality{}}, 0}}, Options{Workers: workers}, noPlace)
			if err != nil {
				t.Fatal(err)
			}
			total := r.total
			got, err := addAll(r, workers, func(int, int) *[tileDocs]uint32 { return nil })
			if err != nil || got[0].Distinct != len(seen) || got[0].Missing != missing {
				t.Errorf("%s: %d different, %d missing, %v, want %d and %d", k.name, got[0].Distinct, got[0].Missing, err, len(seen), missing)
			}
			n, ok := total.nodes[0].(*distinctNode)
			if !ok || (n.marks != nil) != k.bits {
				t.Errorf("%s: bits %v, want %v", k.name, ok && n.marks != nil, k.bits)
			}
		}
	}
}

// TestSelectRanks compares keys at ranks with those of a sorted list.
func TestSelectRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	for round := range 60 {
		n := 1 + rng.IntN(8000)
		key := func() uint64 { return rng.Uint64() >> rng.IntN(64) }
		switch round % 4 {
		case 1:
			key = func() uint64 { return 1<<63 + rng.Uint64N(1000) }
		case 2: // nearly all are close together, and one is far away
			key = func() uint64 { return rng.Uint64N(100_000) << (40 / (1 + rng.Uint64N(4000))) }
		case 3:
			key = func() uint64 { return 5 }
		}
		parts, all := [][]uint64{nil, nil, nil}, []uint64(nil)
		for range n {
			k := key()
			i := rng.IntN(len(parts))
			parts[i], all = append(parts[i], k), append(all, k)
		}
		slices.Sort(all)
		ranks := []int{0, n - 1}
		for range rng.IntN(20) {
			ranks = append(ranks, rng.IntN(n))
		}
		slices.Sort(ranks)
		var want []uint64
		for _, r := range ranks {
			want = append(want, all[r])
		}
		if got := selectRanks(parts, ranks, all[0]-min(all[0], 3), all[n-1]); !slices.Equal(got, want) {
			t.Fatalf("round %d, %d keys: %d, want %d", round, n, got, want)
		}
	}
}
