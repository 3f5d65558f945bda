package blockmax

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// seedSegment is a segment of a term whose documents have the impacts, with bounds that know its
// peaks.
func seedSegment(impacts []uint16, accept []uint64) Segment {
	var tally Tally
	r := &Ranges{}
	for doc, impact := range impacts {
		tally.Add(impact)
		r.Peaks = append(r.Peaks, Peak{uint32(doc), impact})
	}
	slices.SortStableFunc(r.Peaks, func(a, b Peak) int { return int(b.Impact) - int(a.Impact) })
	r.Peaks = r.Peaks[:min(len(r.Peaks), MaxPeaks)]
	r.Best = tally.Best()
	b := &Bounds{List: slices.Max(impacts)}
	b.Refine(r)
	return Segment{Docs: uint32(len(impacts)), Accept: accept, Terms: []Term{{Bounds: b}}}
}

// TestSeed compares seeds over random segments, some with deleted documents, with the documents'
// scores. At least K of them must reach the seed, and where the peaks are known it must be the
// highest such score.
func TestSeed(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 6))
	exact := 0
	for range 2000 {
		p := &Plan{K: 1 + rng.IntN(20), Weights: []uint32{1 << 16}}
		if rng.IntN(5) == 0 {
			p.K = 1 + rng.IntN(200)
		}
		var all []uint16
		for range 1 + rng.IntN(5) {
			impacts, accept := make([]uint16, 1+rng.IntN(150)), []uint64(nil)
			for i := range impacts {
				impacts[i] = uint16(1 + rng.IntN(1<<rng.IntN(16)))
			}
			if rng.IntN(2) == 0 {
				accept = []uint64{rng.Uint64() | rng.Uint64(), rng.Uint64(), rng.Uint64() | rng.Uint64()}
			}
			for doc, impact := range impacts {
				if accept == nil || accept[doc/64]>>(doc%64)&1 == 1 {
					all = append(all, impact)
				}
			}
			p.Segments = append(p.Segments, seedSegment(impacts, accept))
		}
		slices.SortFunc(all, func(a, b uint16) int { return int(b) - int(a) })
		want := uint32(0)
		if len(all) >= p.K {
			want = uint32(all[p.K-1])
		}
		got := p.Seed()
		if got > want {
			t.Fatalf("seed %d for k = %d of %d segments; only %d is reached", got, p.K, len(p.Segments), want)
		}
		if p.K <= 10 {
			if got == want {
				exact++
			} else if len(p.Segments) == 1 && p.Segments[0].Accept == nil {
				t.Fatalf("seed %d for k = %d, want %d", got, p.K, want)
			}
		}
		p.After = &Hit{}
		if p.Seed() != 0 {
			t.Fatal("a seed counts hits that are not wanted")
		}
	}
	if exact < 700 {
		t.Errorf("%d seeds were as high as can be, want 700", exact)
	}
}

// TestRangesAdd checks that adding postings to ranges makes the ranges of all postings.
func TestRangesAdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 7))
	r := &Ranges{Word: make([]uint8, 64), Tile: make([]uint8, 64)}
	for i := range MaxPeaks {
		r.Peaks = append(r.Peaks, Peak{uint32(i), uint16(100 - i)})
		r.Word[0], r.Tile[0] = 1, 1
	}
	want := slices.Clone(r.Peaks)
	for doc := uint32(100); doc < 4000; doc += 1 + rng.Uint32N(20) {
		p := Peak{doc, uint16(rng.IntN(2000))}
		r.Add(p.Doc, p.Impact)
		if want = append(want, p); r.Word[doc/WordDocs] < Coarse(p.Impact) || r.Tile[0] < Coarse(p.Impact) {
			t.Fatalf("document %d is above the bound of its word", doc)
		}
	}
	slices.SortStableFunc(want, func(a, b Peak) int { return int(b.Impact) - int(a.Impact) })
	if !slices.Equal(r.Peaks, want[:MaxPeaks]) {
		t.Errorf("peaks %v, want %v", r.Peaks, want[:MaxPeaks])
	}
}
