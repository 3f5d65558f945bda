package gpuexec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestFlatTiles covers all options of plans over flat lists, in tiles of many documents: filters,
// ranks, bounds of tails, tiny weights, pages, totals, and more terms than strips support, some
// with short lists. The last tile of the largest has strips after the last document.
func TestFlatTiles(t *testing.T) {
	c := newCollection(70_001, []float64{0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0004, 0.0002, 0.00005, 0.00003})
	for n := len(c.lists); len(c.lists) < 40; {
		l := c.lists[len(c.lists)%n]
		l.Key = uint64(len(c.lists) + 1)
		c.lists = append(c.lists, l)
	}
	rank, rankTile := newRank(c.docs)
	for _, shift := range []uint32{10, 14, 15} {
		for _, a := range strips {
			if testing.Short() && (shift == 15 || a != gpuexec.MaxScore) {
				continue
			}
			t.Run(fmt.Sprintf("%d/%v", shift, a), func(t *testing.T) {
				shape := gpuexec.Shape{TileShift: shift, TileThreads: 64, LeadThreads: 64, Multiprocessors: 2, StripTiles: -1}
				x := openShaped(t, 0, 32<<20, gpuexec.Options{Algorithm: a}, shape)
				rng := rand.New(rand.NewPCG(11, uint64(shift)))
				for round := range 4 {
					hits := []int{1, 10, 100, 1000}
					if round%2 == 1 { // sums are rounded
						hits = hits[:3]
					}
					var plans []*exectest.Plan
					for i := range 8 {
						p := c.plan(rng, blockmax.Mode((round+i)%3), hits[rng.IntN(len(hits))], []int{1, 2, 3, 4, 5, 30, 31, 32, 33}[rng.IntN(9)])
						if rng.IntN(3) == 0 {
							p.Segments[0].Rank, p.Segments[0].RankTile, p.RankWeight = rank, rankTile, 1<<(20+rng.IntN(9))
						}
						vary(t, rng, p)
						if round == 3 { // no threshold for long: all documents of a tile may be candidates
							accept := make([]uint64, (c.docs+63)/64)
							for range 1 + rng.IntN(60) {
								d := rng.Uint32N(c.docs)
								accept[d/64] |= 1 << (d % 64)
							}
							p.Segments[0].Accept, p.K = accept, 100
							for t := i % 2; t < len(p.Weights); t += 2 { // documents of score 0, too
								p.Weights[t] = 0
							}
						}
						plans = append(plans, p)
					}
					for range 3 { // lists become flat meanwhile
						if err := checkLarge(x, plans); err != nil {
							t.Fatalf("round %d: %v", round, err)
						}
					}
				}
				if x.StripTiles() == 0 {
					t.Error("no query went by strips")
				}
			})
		}
	}
}

// TestFlatTilesLists has many whole tiles for each thread block, so that it clears each buffer often,
// and candidates of queries for few and many lists: a warp looks several up at a time, the more the
// fewer lists there are.
func TestFlatTilesLists(t *testing.T) {
	c := newCollection(60_001, slices.Repeat([]float64{0.1, 0.05, 0.02, 0.01}, 8))
	x := openShaped(t, 0, 32<<20, gpuexec.Options{Algorithm: gpuexec.Exhaustive},
		gpuexec.Shape{TileShift: 11, TileThreads: 64, LeadThreads: 64, Multiprocessors: 1, StripTiles: -1})
	rng := rand.New(rand.NewPCG(17, 17))
	becomeFlat(t, x, c, rng)
	var plans []*exectest.Plan
	for _, lists := range []int{1, 2, 4, 5, 8, 9, 16, 17, 32} {
		for _, k := range []int{10, 100} {
			p := c.plan(rng, blockmax.Or, k, lists)
			p.CountAll = true
			plans = append(plans, p)
		}
	}
	checkByStrips(t, x, plans)
}

// checkByStrips compares answers with the CPU's. Some of the queries must go by strips.
func checkByStrips(t *testing.T, x *gpuexec.Executor, plans []*exectest.Plan) {
	t.Helper()
	if err := checkLarge(x, plans); err != nil {
		t.Error(err)
	}
	if x.StripTiles() == 0 {
		t.Error("no query went by strips")
	}
}

// TestFlatSeeds has queries without bounds over few tiles. All of these are seeds, and each goes in
// several pieces.
func TestFlatSeeds(t *testing.T) {
	for _, docs := range []uint32{900, 2000, 5000} {
		t.Run(fmt.Sprint(docs), func(t *testing.T) {
			c := newCollection(docs, []float64{0.4, 0.3, 0.2, 0.1})
			x := openShaped(t, 0, 32<<20, gpuexec.Options{Algorithm: gpuexec.Exhaustive},
				gpuexec.Shape{TileShift: 10, TileThreads: 64, LeadThreads: 64, Multiprocessors: 2, StripTiles: -1})
			rng := rand.New(rand.NewPCG(18, uint64(docs)))
			becomeFlat(t, x, c, rng)
			var plans []*exectest.Plan
			for i := range 24 {
				p := c.plan(rng, blockmax.Or, []int{1, 10, 100, 1000}[i%4], 1+rng.IntN(4))
				p.CountAll = true
				plans = append(plans, p)
			}
			checkByStrips(t, x, plans)
		})
	}
}

// newRank makes a static rank, and the highest in each tile.
func newRank(docs uint32) (rank, tiles []uint16) {
	rng := rand.New(rand.NewPCG(12, 12))
	for range docs {
		rank = append(rank, uint16(min(rng.ExpFloat64()*5000, 65535)))
	}
	for tile := range slices.Chunk(rank, blockmax.TileDocs) {
		tiles = append(tiles, slices.Max(tile))
	}
	return rank, tiles
}

// vary adds options to a plan.
func vary(t *testing.T, rng *rand.Rand, p *exectest.Plan) {
	t.Helper()
	s := &p.Segments[0]
	for i := range p.Weights {
		if w := rng.IntN(12); w < 2 {
			p.Weights[i] = uint32(w * rng.IntN(5))
		} else {
			p.Weights[i] -= p.Weights[i] / 4 // room for the rank
		}
	}
	if rng.IntN(3) == 0 {
		s.Accept = make([]uint64, (s.Docs+63)/64)
		for i := range s.Accept {
			s.Accept[i] = rng.Uint64() & rng.Uint64()
		}
	}
	full := *p
	full.CountAll, full.K = true, 100
	top, err := cpuexec.Executor{}.TopK(context.Background(), &full)
	if err != nil {
		t.Fatal(err)
	}
	p.CountAll = rng.IntN(4) == 0
	if len(top.Hits) > 0 && rng.IntN(4) == 0 {
		p.After = &top.Hits[rng.IntN(len(top.Hits))]
	}
	if len(top.Hits) > 0 && rng.IntN(3) == 0 {
		s.Tail = slices.Repeat([]uint32{top.Hits[0].Score}, (int(s.Docs)+blockmax.TileDocs-1)/blockmax.TileDocs)
	}
}
