package gpuexec_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// TestAppend runs queries that append what they find to lists that are often full, whose scores
// differ or are all the same: then counts of scores say nothing, and document numbers decide.
func TestAppend(t *testing.T) {
	const docs = 40_000
	densities := []float64{0.3, 0.2, 0.1, 0.05, 0.01, 0.0004}
	for _, c := range []struct {
		scores string
		*collection
	}{{"different", newCollection(docs, densities)}, {"equal", newEqual(docs, densities)}} {
		for _, a := range strips {
			for _, stream := range []bool{false, true} {
				if testing.Short() && (stream || a == gpuexec.BMW) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%v/stream=%v", c.scores, a, stream), func(t *testing.T) {
					shape := gpuexec.Shape{TileShift: 12, TileThreads: 64, LeadThreads: 64, Multiprocessors: 2, StripTiles: -1, AppendHits: 1, AppendRoom: 1, WindowTiles: 4}
					var x *gpuexec.Executor
					if o := (gpuexec.Options{Algorithm: a}); stream {
						x = openStream(t, 1<<20, o, shape)
					} else {
						x = openShaped(t, 0, 32<<20, o, shape)
					}
					checkAppending(t, x, c.collection)
				})
			}
		}
	}
}

func checkAppending(t *testing.T, x *gpuexec.Executor, c *collection) {
	t.Helper()
	rng := rand.New(rand.NewPCG(13, 13))
	rounds := 3
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		var plans []*exectest.Plan
		for i, k := range []int{1, 10, 63, 100, 1000, 1000} {
			plans = append(plans, c.plan(rng, blockmax.Mode((round+i)%3), k, 1+rng.IntN(3)))
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
}

// newEqual makes lists of documents of one length that have each term once.
func newEqual(docs uint32, densities []float64) *collection {
	rng := rand.New(rand.NewPCG(14, 14))
	c := &collection{docs: docs, norms: make([]uint8, docs)}
	for d := range c.norms {
		c.norms[d] = blockmax.LengthCode(300)
	}
	table := blockmax.NewTable(blockmax.DefaultBM25, 320)
	for i, density := range densities {
		b := postings.Builder{Codec: postings.Packed}
		for d := range docs {
			if rng.Float64() < density {
				b.Add(d, 1, c.norms[d])
			}
		}
		l := b.View(postings.MaxDoc)
		c.lists = append(c.lists, blockmax.Term{List: l, Norms: c.norms, Table: table, Bounds: segment.Bounds(l, table), Key: uint64(i + 1)})
	}
	return c
}
