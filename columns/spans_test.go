package columns

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSpans compares sets over spans with the values of the documents, of columns of all shapes.
func TestSpans(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 7))
	for round := range 60 {
		docs := uint32(1 + rng.IntN(3*TileDocs))
		if round%20 == 0 {
			docs = 70*TileDocs + 5 // two sheets
		}
		reach := []uint64{2, 100, 1 << 20, ^uint64(0)}[rng.IntN(4)]
		rising, gaps := rng.IntN(3) == 0, rng.IntN(2) == 0
		b, values := NewBuilder(Uint, nil), make([][]uint64, docs)
		for d := range docs {
			for n := rng.IntN(3); n > 0; n-- {
				key := rng.Uint64N(reach)
				if rising {
					key = uint64(d) * (reach / uint64(docs))
				}
				values[d] = append(values[d], key)
			}
			if gaps && d/TileDocs%2 == 1 {
				values[d] = nil
			}
			if err := b.Add(d, slices.Clone(values[d])...); err != nil {
				t.Fatal(err)
			}
		}
		c, err := b.View(docs)
		if err != nil || c == nil {
			t.Fatal(c, err)
		}
		for _, n := range []int{0, 1, 2, 8, 9, 200} {
			var spans []Span
			for at, i := rng.Uint64N(reach/2+1), 0; i < n; i++ {
				p := Span{at, at + rng.Uint64N(reach/uint64(n)/2+1)}
				if p.Hi < p.Lo || p.Hi == ^uint64(0) {
					break
				}
				spans = append(spans, p)
				at = p.Hi + 1 + rng.Uint64N(reach/uint64(n)/2+1)
				if at <= p.Hi {
					break
				}
			}
			name := fmt.Sprintf("round %d, %d documents, reach %d, %d spans", round, docs, reach, len(spans))
			checkSpans(t, name, NewSpans(c, spans...), spans, values)
		}
	}
}

func checkSpans(t *testing.T, name string, s *Spans, spans []Span, values [][]uint64) {
	t.Helper()
	total, inTiles := 0, 0
	for tile := range (len(values) + TileDocs - 1) / TileDocs {
		set := [64]uint64{1, 2, 3} // is overwritten
		n, err := s.Tile(tile, &set)
		if err != nil {
			t.Fatal(name, err)
		}
		within := s.Within(tile/64)>>(tile%64)&1 == 1
		ones := 0
		for i, word := range set {
			ones += bits.OnesCount64(word)
			for d := range 64 {
				doc, want := tile*TileDocs+64*i+d, false
				if doc < len(values) {
					want = slices.ContainsFunc(values[doc], func(key uint64) bool {
						return slices.ContainsFunc(spans, func(p Span) bool { return p.Lo <= key && key <= p.Hi })
					})
				}
				if got := word>>d&1 == 1; got != want || want && !within {
					t.Fatalf("%s: document %d is in the set: %v, want %v; within %v", name, doc, got, want, within)
				}
			}
		}
		if n != ones {
			t.Fatalf("%s: tile %d has %d documents, not %d", name, tile, ones, n)
		}
		total += n
		if within {
			inTiles++
		}
	}
	if docs, tiles := s.Estimate(); tiles != inTiles || total > 0 && docs == 0 || docs > len(values) {
		t.Fatalf("%s: an estimate of %d documents in %d tiles; there are %d in %d", name, docs, tiles, total, inTiles)
	}
}
