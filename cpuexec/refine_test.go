package cpuexec

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// TestRanges uses a list until it has ranges, made by several queries, and compares them with a walk
// over its postings.
func TestRanges(t *testing.T) {
	defer func(most int64) { makingMost = most }(makingMost)
	makingMost = 20
	rng := rand.New(rand.NewPCG(5, 5))
	const docs = 70*tileDocs + 1000
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	norms := make([]uint8, docs)
	var b postings.Builder
	words, tiles := make([]uint8, (docs+tileDocs-1)/tileDocs*64), make([]uint8, 128)
	var impacts []uint16
	for d := range uint32(docs) {
		norms[d] = uint8(rng.Uint32N(40))
		if d/20_000%3 == 1 || rng.IntN(30) > 0 {
			continue
		}
		tf := 1 + rng.Uint32N(1<<rng.IntN(6))
		b.Add(d, tf, norms[d])
		impact := table.Impact(tf, norms[d])
		impacts = append(impacts, impact)
		words[d/wordDocs] = max(words[d/wordDocs], blockmax.Coarse(impact))
		tiles[d/tileDocs] = max(tiles[d/tileDocs], blockmax.Coarse(impact))
	}
	list := b.View(postings.MaxDoc)
	bounds := segment.Bounds(list, table)
	term := blockmax.Term{List: list, Norms: norms, Table: table, Bounds: bounds}
	p := &blockmax.Plan{K: 10, Weights: []uint32{1 << 30}, Segments: []blockmax.Segment{{Docs: docs, Terms: []blockmax.Term{term}}}}
	queries := 0
	for ; bounds.Refined() == nil; queries++ {
		if queries == 1000 {
			t.Fatal("no ranges after 1,000 queries")
		}
		if _, err := (Executor{}).TopK(context.Background(), p); err != nil {
			t.Fatal(err)
		}
	}
	if least := 1 + list.Blocks()/int(makingMost); queries < least {
		t.Errorf("ranges of %d blocks after %d queries, want at least %d", list.Blocks(), queries, least)
	}
	r := bounds.Refined()
	if !slices.Equal(r.Word, words) || !slices.Equal(r.Tile, tiles) {
		t.Error("ranges are not what the postings make")
	}
	for tile := range len(r.First) {
		if want := list.Seek(0, uint32(tile)*tileDocs); int(r.First[tile]) != want {
			t.Errorf("tile %d begins in block %d, want %d", tile, r.First[tile], want)
		}
	}
	slices.Sort(impacts)
	slices.Reverse(impacts)
	for _, k := range []int{1, 2, 10, 11, 100, 1000, 5000} {
		got := bounds.Reached(k)
		if got > 0 && got > impacts[k-1] {
			t.Errorf("%d postings are said to reach %d; one of them is %d", k, got, impacts[k-1])
		}
		if k <= 10 && got < impacts[k-1]-impacts[k-1]/8 {
			t.Errorf("%d postings are said to reach %d only; they reach %d", k, got, impacts[k-1])
		}
	}
}
