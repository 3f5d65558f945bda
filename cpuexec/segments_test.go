package cpuexec

import (
	"context"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// segmentOf makes a segment of one term, which occurs tf(doc) times in each document.
func segmentOf(base, docs uint32, tf func(doc uint32) uint32) blockmax.Segment {
	table := blockmax.NewTable(blockmax.DefaultBM25, 10)
	var b postings.Builder
	for d := range docs {
		b.Add(d, tf(d), 10)
	}
	l := b.View(postings.MaxDoc)
	norms := slices.Repeat([]uint8{10}, int(docs))
	term := blockmax.Term{List: l, Norms: norms, Table: table, Bounds: segment.Bounds(l, table)}
	return blockmax.Segment{Base: base, Docs: docs, Terms: []blockmax.Term{term}}
}

// TestBestSegmentFirst checks that the segment with the highest bound comes first at any position.
// Its hits prune the blocks of the next. Segments that cannot reach the threshold are not opened:
// their lists are damaged.
func TestBestSegmentFirst(t *testing.T) {
	const docs = 3 * tileDocs
	except := func(one, has, others uint32) func(uint32) uint32 {
		return func(doc uint32) uint32 {
			if doc == one {
				return has
			}
			return others
		}
	}
	segments := []blockmax.Segment{
		segmentOf(0, docs, except(0, 1, 1)),
		segmentOf(docs, docs, except(5000, 100, 1)),
		segmentOf(2*docs, docs, except(77, 200, 50)),
		segmentOf(3*docs, docs, except(0, 1, 1)),
	}
	term := blockmax.Node{Leaf: true}
	for name, p := range map[string]blockmax.Plan{
		"or":     {Mode: blockmax.Or},
		"and":    {Mode: blockmax.And},
		"tree":   {Tree: &blockmax.Node{Must: []blockmax.Node{term}, Should: []blockmax.Node{term}}},
		"best":   {Tree: &blockmax.Node{Should: []blockmax.Node{term, term}, Best: true, Tie: blockmax.TieOne / 2}},
		"and or": {Mode: blockmax.AndOr},
	} {
		p.K, p.Weights, p.Segments = 10, []uint32{1 << 28}, slices.Clone(segments)
		want, err := Executor{Exhaustive}.TopK(context.Background(), &p)
		if err != nil {
			t.Fatal(err)
		}
		if want.Hits[0].Doc != 2*docs+77 || want.Hits[1].Doc != docs+5000 || want.Hits[2].Doc != 2*docs {
			t.Fatalf("%s: hits %v are not those that the test is about", name, want.Hits)
		}
		p.Segments = segments[2:3]
		alone, err := Executor{BMM}.TopK(context.Background(), &p)
		if err != nil {
			t.Fatal(err)
		}
		p.Segments = slices.Clone(segments)
		p.Segments[0].Docs--
		p.Segments[3].Docs--
		for _, a := range []Algorithm{BMM, WAND, BMW, MaxScore} {
			got, err := Executor{a}.TopK(context.Background(), &p)
			if err != nil {
				t.Fatalf("%s, %v: a segment was opened that cannot enter: %v", name, a, err)
			}
			if !slices.Equal(got.Hits, want.Hits) {
				t.Errorf("%s, %v: %v, want %v", name, a, got.Hits, want.Hits)
			}
			if most := alone.Work.BlocksDecoded + 2; p.Tree == nil && a == BMM && got.Work.BlocksDecoded > most {
				t.Errorf("%s: %d blocks decoded, want at most %d: one of the second segment", name, got.Work.BlocksDecoded, most)
			}
		}
	}
}
