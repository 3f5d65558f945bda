package columns

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCountKernels compares counts of numbers, and of those of documents with several, with loops.
func TestCountKernels(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(61, 62))
		memory := fenced(t, 16<<10)
		for width := 1; width <= 20; width++ {
			n := 1 << width
			counts, want := make([]uint32, n), make([]uint32, n)
			lanes := make([]uint32, 4*(n+16))
			for _, size := range []int{0, 1, 7, 8, 9, 64, 500} {
				numbers := make([]uint32, size)
				for i := range numbers {
					numbers[i] = uint32(rng.IntN(1 + rng.IntN(n)))
					want[numbers[i]] += 2
				}
				countUp(counts, numbers)
				countLanes(counts, lanes, numbers)
				foldLanes(counts, lanes)
			}
			if !slices.Equal(counts, want) || slices.Max(lanes) != 0 {
				t.Fatalf("%d bits: counts %v, want %v; lanes up to %d", width, counts, want, slices.Max(lanes))
			}
			for every := 2; every*width <= widest; every++ {
				docs := 1 + rng.IntN(40)
				b := noise(rng, memory, docs*every, width)
				var ranks []uint16
				for rank := range docs {
					if rng.IntN(3) > 0 {
						ranks = append(ranks, uint16(rank))
					}
				}
				clear(counts)
				clear(want)
				for _, rank := range ranks {
					for i := range every {
						at := int(rank)*every + i
						if v := numberAt(b, at, width); i == 0 || v != numberAt(b, at-1, width) {
							want[v]++
						}
					}
				}
				if countSeveral(counts, b, ranks, width, every); !slices.Equal(counts, want) {
					t.Fatalf("%d times %d bits: counts %v, want %v", every, width, counts, want)
				}
			}
		}
	})
}

// TestCountSeveral counts columns whose documents have as many values each: all different or some equal, with
// and without a table, where all have some and where not.
func TestCountSeveral(t *testing.T) {
	eachVariant(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(63, 64))
		const docs = TileDocs + 700
		for _, every := range []int{2, 3, 7} {
			for _, span := range []uint64{8, 100, 1200, 9000} {
				for _, shape := range []string{"", "equal", "lacking", "few"} {
					some := rng.Perm(int(span))[:8]
					b, many := NewBuilder(Uint, nil), make([][]uint64, docs)
					for doc := range docs {
						if shape == "lacking" && rng.IntN(9) == 0 {
							continue
						}
						keys := map[uint64]int{}
						for len(keys) < every {
							key := rng.Uint64N(span)
							if shape == "few" {
								key = uint64(some[rng.IntN(len(some))])
							}
							keys[key] = 1
						}
						var all []uint64
						for key := range keys {
							all = append(all, 1000+key)
						}
						if slices.Sort(all); shape == "equal" && rng.IntN(50) == 0 {
							all[1] = all[0]
						}
						many[doc] = all
						if err := b.Add(uint32(doc), all...); err != nil {
							t.Fatal(err)
						}
					}
					c, err := b.View(docs)
					if err != nil {
						t.Fatal(err)
					}
					name := fmt.Sprintf("%d of %d, %s", every, span, shape)
					for range 2 { // the first look finds out whether values are equal
						checkCounts(t, c, many, 1000, span, name, rng)
					}
				}
			}
		}
	})
}

// checkCounts compares the counts of all documents, of a set and of a list with loops.
func checkCounts(t *testing.T, c *Column, many [][]uint64, base, span uint64, name string, rng *rand.Rand) {
	t.Helper()
	for tile := range c.Tiles() {
		for _, share := range []int{1, 2, 40} {
			var set [64]uint64
			var list []uint16
			want := make([]uint32, span)
			for doc, keys := range many[tile*TileDocs : min(len(many), tile*TileDocs+TileDocs)] {
				if rng.IntN(share) > 0 {
					continue
				}
				set[doc/64] |= 1 << (doc % 64)
				list = append(list, uint16(doc))
				for i, key := range keys {
					if i == 0 || key != keys[i-1] {
						want[key-base]++
					}
				}
			}
			whole := &set
			if share == 1 {
				whole = nil
			}
			got, listed := make([]uint32, span), make([]uint32, span)
			if err := c.Count(tile, whole, base, got); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s, tile %d, one in %d: %v counts %v, want %v", name, tile, share, err, got, want)
			}
			if err := c.CountList(tile, list, base, listed); err != nil || !slices.Equal(listed, want) {
				t.Fatalf("%s, tile %d, one in %d: %v: a list counts %v, want %v", name, tile, share, err, listed, want)
			}
		}
	}
}
