package segment

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// TestExtend lets a list grow and compares the ranges, extended at each step, with those made from
// all its postings.
func TestExtend(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 8))
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	var b postings.Builder
	var norms []uint8
	var all []blockmax.Peak
	r, had := &blockmax.Ranges{First: []uint32{0}}, 0
	var old *postings.List
	for range 40 {
		for range 1 + rng.IntN(900) {
			doc := uint32(len(norms))
			norms = append(norms, uint8(rng.IntN(40)))
			if rng.IntN(4) == 0 {
				tf := 1 + rng.Uint32N(1<<rng.IntN(6))
				b.Add(doc, tf, norms[doc])
				all = append(all, blockmax.Peak{Doc: doc, Impact: table.Impact(tf, norms[doc])})
			}
		}
		if b.Len() == had {
			continue
		}
		l, err := b.View(uint32(len(norms))), error(nil)
		if old != nil {
			if err := l.Follow(old, 64*blockmax.Tiles(uint32(len(norms)))); err != nil {
				t.Fatal(err)
			}
		} else {
			l.KeepBitmap(make([]uint64, 64*blockmax.Tiles(uint32(len(norms)))))
			for _, p := range all {
				l.Bitmap()[p.Doc/64] |= 1 << (p.Doc % 64)
			}
		}
		if r, err = Extend(r, l, had, table, norms); err != nil {
			t.Fatal(err)
		}
		old, had = l, b.Len()
		tiles := blockmax.Tiles(l.Last[l.Blocks()-1] + 1)
		words, bits := make([]uint8, 64*tiles), make([]uint64, 64*blockmax.Tiles(uint32(len(norms))))
		highest := make([]uint8, (tiles+63)&^63)
		for _, p := range all {
			words[p.Doc/64] = max(words[p.Doc/64], blockmax.Coarse(p.Impact))
			highest[p.Doc/blockmax.TileDocs] = max(highest[p.Doc/blockmax.TileDocs], blockmax.Coarse(p.Impact))
			bits[p.Doc/64] |= 1 << (p.Doc % 64)
		}
		if !slices.Equal(r.Word, words) || !slices.Equal(r.Tile, highest) || len(r.First) != tiles+1 {
			t.Fatalf("the ranges of %d postings are not those of its postings", had)
		}
		for tile, first := range r.First {
			if want := l.Seek(0, uint32(tile)*blockmax.TileDocs); int(first) != want {
				t.Fatalf("tile %d begins in block %d, want %d", tile, first, want)
			}
		}
		if !slices.Equal(l.Bitmap(), bits) {
			t.Fatalf("the bitmap of %d postings is another one", had)
		}
	}
}

// TestBoundsOfCutBlock checks a block that has lost its best posting to the limit of a view: its
// bound is not attained, so it must not count as a score that documents reach.
func TestBoundsOfCutBlock(t *testing.T) {
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	var b postings.Builder
	for doc := range uint32(300) {
		b.Add(doc, 1+doc/250*100, 10)
	}
	for _, limit := range []uint32{100, 200, 240, 300} {
		l := b.View(limit)
		want := table.Impact(1, 10)
		if limit == 300 {
			want = table.Impact(101, 10)
		}
		if got := Bounds(l, table).Reached(1); got > want {
			t.Errorf("limit %d: a posting is said to reach %d; the best has %d", limit, got, want)
		}
	}
}
