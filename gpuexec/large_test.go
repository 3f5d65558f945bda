package gpuexec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/cpuexec"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// A collection is one segment of lists as long as those of real collections: dense and sparse,
// clustered, in full blocks of all codecs.
type collection struct {
	docs  uint32
	norms []uint8
	lists []blockmax.Term

	accept           []uint64 // of parted_test.go
	ranks, rankTiles []uint16
}

func newCollection(docs uint32, densities []float64) *collection {
	rng := rand.New(rand.NewPCG(6, 6))
	c := &collection{docs: docs, norms: make([]uint8, docs)}
	for d := range c.norms {
		c.norms[d] = blockmax.LengthCode(uint32(20 + rng.ExpFloat64()*300))
	}
	table := blockmax.NewTable(blockmax.DefaultBM25, 320)
	for i, density := range densities {
		b := postings.Builder{Codec: []postings.Kind{postings.Packed, postings.PFor, postings.Rice}[i%3]}
		for d := uint32(0); d < docs; d++ {
			p := density
			if d/5000%3 == uint32(i)%3 { // clusters
				p = min(1, 3*p)
			}
			if rng.Float64() < p {
				b.Add(d, 1+uint32(rng.ExpFloat64()*1.5), c.norms[d])
			}
		}
		l := b.View(postings.MaxDoc)
		c.lists = append(c.lists, blockmax.Term{
			List: l, Norms: c.norms, Table: table, Bounds: segment.Bounds(l, table), Key: uint64(i + 1),
		})
	}
	return c
}

// plan is a query for some of the lists.
func (c *collection) plan(rng *rand.Rand, mode blockmax.Mode, k, terms int) *exectest.Plan {
	p := &exectest.Plan{Mode: mode, K: k}
	s := blockmax.Segment{Docs: c.docs}
	weights := []float64{}
	for _, i := range rng.Perm(len(c.lists))[:terms] {
		s.Terms = append(s.Terms, c.lists[i])
		weights = append(weights, blockmax.Lucene.Weight(uint64(c.docs), uint64(c.lists[i].List.Count)))
	}
	p.Weights, _ = blockmax.Scale(weights)
	p.Segments = []blockmax.Segment{s}
	return p
}

// TestLarge runs batches of queries for long lists in the shape that a GPU is given, from several
// goroutines, and compares the answers with the CPU's.
func TestLarge(t *testing.T) {
	docs := uint32(150_000)
	if testing.Short() {
		docs = 50_000
	}
	c := newCollection(docs, []float64{0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0001})
	for _, a := range all {
		t.Run(a.String(), func(t *testing.T) {
			x := openShaped(t, 0, 32<<20, gpuexec.Options{Algorithm: a}, gpuexec.Shape{Multiprocessors: 2, StripTiles: -1})
			runWorkers(t, x, c, 4)
		})
	}
}

// runWorkers is runLarge in several goroutines at once.
func runWorkers(t *testing.T, x *gpuexec.Executor, c *collection, workers int) {
	t.Helper()
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			if err := runLarge(x, c, worker); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func runLarge(x *gpuexec.Executor, c *collection, worker int) error {
	rng := rand.New(rand.NewPCG(7, uint64(worker)))
	var plans []*exectest.Plan
	for i, k := range []int{1, 10, 100, 1000} {
		plans = append(plans, c.plan(rng, blockmax.Mode((worker+i)%3), k, 2+rng.IntN(3)))
	}
	times := 1
	if slices.Contains(strips, x.Algorithm()) {
		times = 4 // lists become flat meanwhile
	}
	for range times {
		if err := checkLarge(x, plans); err != nil {
			return err
		}
	}
	return nil
}

func checkLarge(x *gpuexec.Executor, plans []*exectest.Plan) error {
	answers, err := x.Run(context.Background(), plans)
	if err != nil {
		return err
	}
	return compareLarge(plans, answers)
}

// compareLarge compares answers with the CPU's.
func compareLarge(plans []*exectest.Plan, answers []gpuexec.Answer) error {
	for i, p := range plans {
		counted := *p
		counted.CountAll = true
		want, err := cpuexec.Executor{}.TopK(context.Background(), &counted)
		if err != nil {
			return err
		}
		a := &answers[i]
		if a.Refused != nil || len(a.Open) > 0 {
			return fmt.Errorf("k %d: refused (%v) or open: %v", p.K, a.Refused, a.Open)
		}
		if !slices.Equal(a.Top.Hits, want.Hits) {
			return fmt.Errorf("mode %d, k %d: %d hits differ from the CPU's %d", p.Mode, p.K, len(a.Top.Hits), len(want.Hits))
		}
		if a.Top.Total > want.Total || a.Top.Exact && a.Top.Total != want.Total {
			return fmt.Errorf("mode %d, k %d: total %d, exact: %v, want %d", p.Mode, p.K, a.Top.Total, a.Top.Exact, want.Total)
		}
	}
	return nil
}

// TestRangesSkip runs ranges through a dense list and a rare one whose postings decide. With
// bounds, most blocks of the dense list are skipped, and without them none.
func TestRangesSkip(t *testing.T) {
	c := newCollection(200_000, []float64{0.3, 0.001})
	p := c.plan(rand.New(rand.NewPCG(8, 8)), blockmax.Or, 1, 2)
	for _, a := range []gpuexec.Algorithm{gpuexec.Ranges, gpuexec.RangesWAND, gpuexec.RangesBMW} {
		t.Run(a.String(), func(t *testing.T) {
			x := openShaped(t, 0, 32<<20, gpuexec.Options{Algorithm: a}, gpuexec.Shape{RangeThreads: 32, Multiprocessors: 2})
			answers, err := x.Run(context.Background(), []*exectest.Plan{p})
			if err != nil {
				t.Fatal(err)
			}
			work, want := answers[0].Top.Work, int64(0)
			if a == gpuexec.Ranges {
				for _, term := range p.Segments[0].Terms {
					want += int64(term.List.Blocks())
				}
			}
			if work.BlocksDecoded < want || work.BlocksDecoded == 0 || (work.BlocksSkipped > 0) != x.Prunes() {
				t.Errorf("%+v, of %d blocks that must be decoded", work, want)
			}
		})
	}
}
