package segment

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// TestBoundsAreAttained compares the bounds of every list, under several tables, with the highest
// impacts of each block, extent and list. They must be equal.
func TestBoundsAreAttained(t *testing.T) {
	m := randomModel(rand.New(rand.NewPCG(10, 10)), 9000, "d")
	d, _, _ := merge(t, []Input{{Reader: m.memory().View()}}, MergeOptions{})
	blocks := 0
	for _, name := range m.fieldNames() {
		_, codes, lists := m.field(name)
		for _, bm25 := range []blockmax.BM25{blockmax.DefaultBM25, {K1: 0.9, B: 0.4}, {K1: 3, B: 1}} {
			table := blockmax.NewTable(bm25, 4.2)
			for term, ps := range lists {
				l, err := d.List(name, []byte(term))
				if err != nil {
					t.Fatal(err)
				}
				got, want := Bounds(l, table), &blockmax.Bounds{
					Extent: make([]uint16, (l.Blocks()+postings.ExtentBlocks-1)/postings.ExtentBlocks),
					Block:  make([]uint16, l.Blocks()),
				}
				for i, p := range ps {
					b := i / postings.BlockSize
					impact := table.Impact(p.tf, codeIn(codes, p.doc))
					for _, bound := range []*uint16{&want.List, &want.Extent[b/postings.ExtentBlocks], &want.Block[b]} {
						*bound = max(*bound, impact)
					}
				}
				requireBounds(t, got, want)
				blocks += l.Blocks()
			}
		}
	}
	if blocks < 500 {
		t.Errorf("only %d blocks: nothing was tested", blocks)
	}
}

func requireBounds(t *testing.T, got, want *blockmax.Bounds) {
	t.Helper()
	if got.List != want.List || !slices.Equal(got.Extent, want.Extent) || !slices.Equal(got.Block, want.Block) {
		t.Fatalf("bounds %d %v %v, want %d %v %v", got.List, got.Extent, got.Block, want.List, want.Extent, want.Block)
	}
}

// TestTailBoundsEveryDocument scores every document for random queries over two fields, with and
// without a rank. None may exceed the tail of its tile. The tail of sorted documents must fall, or
// it would be useless.
func TestTailBoundsEveryDocument(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	m := randomModel(rng, 3*blockmax.TileDocs+100, "d")
	for i := range m {
		m[i].rank = uint16(rng.IntN(1 << 16))
	}
	order := Order{Kind: ByGlobalScore, Alpha: 0.5, BM25: blockmax.DefaultBM25}
	d, _, _ := merge(t, []Input{{Reader: m.memory().View()}}, MergeOptions{Order: order})
	for range 20 {
		q := randomQuery(rng)
		tail := Tail(d.Docs(), must(d.RankTiles()), q.rankWeight, q.tailFields(t, d))
		scores := q.scores(t, d)
		if len(tail) != 4 {
			t.Fatalf("%d tiles, want 4", len(tail))
		}
		for doc, score := range scores {
			if bound := tail[doc/blockmax.TileDocs]; score > bound {
				t.Fatalf("query %+v: document %d scores %d, the tail of its tile is %d", q, doc, score, bound)
			}
		}
		if q.rankWeight > 0 && tail[3] >= tail[0] {
			t.Errorf("query %+v: the tail does not fall: %d", q, tail)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

type query struct {
	terms      []queryTerm
	rankWeight uint32
	table      *blockmax.Table
}

type queryTerm struct {
	field, term string
	weight      uint32
}

func randomQuery(rng *rand.Rand) query {
	q := query{table: blockmax.NewTable(blockmax.BM25{K1: 2 * rng.Float64(), B: rng.Float64()}, 1+9*rng.Float64())}
	if rng.IntN(2) == 0 {
		q.rankWeight = rng.Uint32N(1 << 30)
	}
	for i := range 1 + rng.IntN(4) {
		term := []string{"t0", "t1", "t2", "t5"}[i]
		q.terms = append(q.terms, queryTerm{[]string{"body", "title"}[rng.IntN(2)], term, rng.Uint32N(1 << 27)})
	}
	return q
}

func (q query) tailFields(t *testing.T, r Reader) []TailField {
	t.Helper()
	var fields []TailField
	for _, name := range []string{"body", "title"} {
		f := TailField{Tiles: must(r.Tiles(name)), Table: q.table}
		for _, term := range q.terms {
			if term.field == name {
				f.Weight += term.weight
			}
		}
		fields = append(fields, f)
	}
	return fields
}

func (q query) scores(t *testing.T, r Reader) []uint32 {
	t.Helper()
	scores := make([]uint32, r.Docs())
	for doc, rank := range must(r.Rank()) {
		scores[doc] = blockmax.Contribution(q.rankWeight, rank)
	}
	for _, term := range q.terms {
		norms := must(r.Norms(term.field))
		for _, p := range readPostings(t, must(r.List(term.field, []byte(term.term)))) {
			scores[p.doc] += blockmax.Contribution(term.weight, q.table.Impact(p.tf, norms.of(p.doc)))
		}
	}
	return scores
}

func TestTailWithoutPromises(t *testing.T) {
	table := blockmax.NewTable(blockmax.DefaultBM25, 1)
	for name, tail := range map[string][]uint32{
		"nothing":            Tail(9, nil, 9, nil),
		"no tiles":           Tail(9, []uint16{5}, 9, []TailField{{nil, table, 1}}),
		"tiles of one field": Tail(9, nil, 0, []TailField{{make([]Tile, 0), table, 1}, {nil, table, 1}}),
	} {
		if tail != nil {
			t.Errorf("%s: tail %v, want nil", name, tail)
		}
	}
}
