package cpuexec

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/impl"
	"github.com/riffle-search/riffle/postings"
)

// TestLookUp looks up random candidates in lists of every density, with blocks that are bitsets,
// runs and packed, with and without a bitmap. It compares every variant with a map of the postings.
func TestLookUp(t *testing.T) {
	for variant := range impl.Each("cpuexec") {
		t.Run(variant, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 3))
			for round := range 300 {
				lookUpRandom(t, rng, round%2 == 0)
			}
		})
	}
}

func lookUpRandom(t *testing.T, rng *rand.Rand, required bool) {
	const tile = 7 * tileDocs
	table := blockmax.NewTable(blockmax.DefaultBM25, 20)
	norms := make([]uint8, tile+tileDocs+1)
	for i := range norms {
		norms[i] = uint8(rng.Uint32N(60))
	}
	code := func(d uint32) uint8 { return norms[d] }
	if rng.IntN(4) == 0 {
		code, norms = func(uint32) uint8 { return 1 }, nil
	}
	var b postings.Builder
	contribution := make(map[uint32]uint32)
	weight := rng.Uint32N(1 << 30)
	density, often := rng.Float64()*rng.Float64(), 1+rng.Uint32N(1<<rng.IntN(14))
	for d := range uint32(tile + tileDocs) {
		if rng.Float64() < density {
			tf := 1 + rng.Uint32N(often)
			b.Add(d, tf, code(d))
			contribution[d] = blockmax.Contribution(weight, table.Impact(tf, code(d)))
		}
	}
	b.Add(tile+tileDocs, 1, 0)
	list := b.View(postings.MaxDoc)
	term := blockmax.Term{List: list, Norms: norms, Table: table, Bounds: &blockmax.Bounds{List: 65535}}
	r := &run{query: query{plan: &blockmax.Plan{Weights: []uint32{weight}}}}
	c := new(tileCursor)
	c.reset(r, 0, &term)
	c.bounds = &blockmax.Bounds{Block: slices.Repeat([]uint16{65535}, list.Blocks()), Extent: slices.Repeat([]uint16{65535}, list.Blocks())}
	c.enterTile(tile)
	if rng.IntN(2) == 0 {
		c.bitmap = make([]uint64, (tile+tileDocs)/64+1)
		for d := range contribution {
			c.bitmap[d/64] |= 1 << (d % 64)
		}
		c.bitmap[(tile+tileDocs)/64] |= 1 << ((tile + tileDocs) % 64)
	}

	var rest sums
	need := rng.Uint32N(weight + 1)
	for i := range rest {
		rest[i] = rng.Uint32N(need + 1)
	}
	words := rng.Uint64() | rng.Uint64()
	if required {
		words = ^uint64(0)
	}
	chance := rng.Float64()
	var want []blockmax.Hit
	cs := &r.cands
	for d := uint32(tile); d < tile+tileDocs; d++ {
		if rng.Float64() > chance*chance {
			continue
		}
		score := rng.Uint32N(need + 1)
		cs.docs[cs.n], cs.score[cs.n] = d, score
		cs.n++
		w := d / wordDocs % 64
		part, ok := contribution[d]
		if words>>w&1 == 1 {
			score += part
		}
		if score+rest[w] >= need && (ok || !required) {
			want = append(want, blockmax.Hit{Doc: d, Score: score})
		}
	}
	var err error
	if required {
		err = c.require(need, &rest)
	} else {
		err = c.lookUp(words, need, &rest)
	}
	if err != nil {
		t.Fatal(err)
	}
	if cs.n != len(want) {
		t.Fatalf("density %v: %d candidates are left, want %d", density, cs.n, len(want))
	}
	for i, h := range want {
		if cs.docs[i] != h.Doc || cs.score[i] != h.Score {
			t.Fatalf("density %v: candidate %d is %d with %d, want %v", density, i, cs.docs[i], cs.score[i], h)
		}
	}
}
