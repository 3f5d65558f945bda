package gpuexec_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// leadShape lets ANDs go by the blocks of their shortest list, if that is short enough.
func leadShape(threads int) gpuexec.Shape {
	return gpuexec.Shape{
		TileShift: 12, TileThreads: 64, LeadThreads: threads, StripTiles: math.MaxInt32, UnboundedPostings: -1, Multiprocessors: 2,
	}
}

// and is an AND of these lists.
func (c *collection) and(k int, lists ...int) *exectest.Plan {
	p := &exectest.Plan{Mode: blockmax.And, K: k}
	s := blockmax.Segment{Docs: c.docs}
	weights := []float64{}
	for _, i := range lists {
		s.Terms = append(s.Terms, c.lists[i])
		weights = append(weights, blockmax.Lucene.Weight(uint64(c.docs), uint64(c.lists[i].List.Count)))
	}
	p.Weights, _ = blockmax.Scale(weights)
	p.Segments = []blockmax.Segment{s}
	return p
}

// TestLeadShared: an AND whose shortest list is much longer than those of the others of its batch, and
// leads to many blocks, has its blocks shared by the warps of a thread block, and the others do not. Answers
// are the CPU's.
func TestLeadShared(t *testing.T) {
	c := newCollection(40_000, []float64{0.3, 0.2, 0.1, 0.01, 0.008, 0.0005, 0.0002})
	for _, threads := range []int{64, 128} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			x := openShaped(t, 0, 32<<20, gpuexec.Options{}, leadShape(threads))
			for _, k := range []int{1, 10, 500} {
				for _, long := range []*exectest.Plan{c.and(k, 0, 3), c.and(k, 4, 1, 0, 2), c.and(k, 0, 1, 2, 3)} {
					for _, countAll := range []bool{false, true} {
						long := *long
						long.CountAll = countAll
						checkShared(t, x, []*exectest.Plan{c.and(10, 3, 6), c.and(10, 3, 5), &long, c.and(1, 6, 4)}, 4, 1)
					}
				}
			}
			checkShared(t, x, []*exectest.Plan{c.and(10, 3, 6), c.and(10, 3, 5)}, 2, 0)
		})
	}
}

// checkShared runs a batch, and compares its answers with the CPU's, and how many of its ANDs are led by
// blocks, and by shared ones.
func checkShared(t *testing.T, x *gpuexec.Executor, plans []*exectest.Plan, leads, shared int) {
	t.Helper()
	for range 3 { // the last batches are three
		if err := checkLarge(x, plans); err != nil {
			t.Fatal(err)
		}
	}
	if got := x.Leads() / 3; got != leads {
		t.Errorf("%d ANDs are led by blocks, want %d", got, leads)
	}
	if got := x.SharedLeads() / 3; got != shared {
		t.Errorf("%d have them shared, want %d", got, shared)
	}
}

// TestLeadSharedWork: warps that share a block decode it for one of them, and twice only blocks where one's
// documents end and the next one's begin.
func TestLeadSharedWork(t *testing.T) {
	c := newCollection(40_000, []float64{0.3, 0.2, 0.01})
	p := c.and(10, 0, 1, 2)
	p.CountAll = true // nothing is skipped
	shape := leadShape(128)
	shape.SharedDepth = -1
	alone := decodedBy(t, openShaped(t, 0, 32<<20, gpuexec.Options{}, shape), p)
	together := decodedBy(t, openShaped(t, 0, 32<<20, gpuexec.Options{}, leadShape(128)), p)
	const twice = 3 * 2 // by four warps, in two lists
	most := alone + twice*int64(c.lists[2].List.Blocks())
	if together < alone || together > most {
		t.Errorf("%d blocks are decoded, and %d by warps alone: want %d at most", together, alone, most)
	}
}

func decodedBy(t *testing.T, x *gpuexec.Executor, p *exectest.Plan) int64 {
	t.Helper()
	answers, err := x.Run(context.Background(), []*exectest.Plan{p})
	if err == nil {
		err = compareLarge([]*exectest.Plan{p}, answers)
	}
	if err != nil {
		t.Fatal(err)
	}
	return answers[0].Top.Work.BlocksDecoded
}

// A leading executor counts the ANDs whose blocks are shared.
type leading struct {
	*batching
	shared int // counted more than once
}

func (l *leading) TopK(ctx context.Context, p *exectest.Plan) (blockmax.TopK, error) {
	top, err := l.batching.TopK(ctx, p)
	l.shared += l.SharedLeads()
	return top, err
}

// TestLeadSharedRandom shares the blocks of all leads of random plans, of several segments, with deleted
// documents, filters, ranks and cursors, and also with missing extents.
func TestLeadSharedRandom(t *testing.T) {
	for _, threads := range []int{64, 128} {
		for _, lost := range []int{0, 3} {
			t.Run(fmt.Sprintf("%d threads/%d of 10 lost", threads, lost), func(t *testing.T) {
				shape := small
				shape.StripTiles, shape.UnboundedPostings, shape.LeadThreads, shape.SharedDepth = math.MaxInt32, -1, threads, 1
				x := openShaped(t, 0, 32<<20, gpuexec.Options{}, shape)
				loseSome(x, lost, 23)
				l := &leading{batching: newBatching(x)}
				if err := exectest.Check(l, 23, exectest.Fewer(checkRounds/2)); err != nil {
					t.Error(err)
				}
				if *l.flatRefused > 0 || l.shared == 0 || (*l.partial > 0) != (lost > 0) {
					t.Errorf("%d shared, %d partial answers, %d flat plans refused", l.shared, *l.partial, *l.flatRefused)
				}
			})
		}
	}
}

// TestLeadSharedMissing loses some extents of long lists: the documents of those sharers are left to the CPU that
// need one, and the hits of the others are not found twice.
func TestLeadSharedMissing(t *testing.T) {
	c := newCollection(40_000, []float64{0.3, 0.2, 0.01})
	p := c.and(50, 0, 1, 2)
	ran, partial := 0, 0
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			x := openShaped(t, 0, 32<<20, gpuexec.Options{}, leadShape(128))
			ran++ // there is a device
			loseSome(x, 1+int(seed%3), seed)
			l := compose(x)
			top, err := l.TopK(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			a := gpuexec.Answer{Partial: blockmax.Partial{Top: top}}
			if err := compareLarge([]*exectest.Plan{p}, []gpuexec.Answer{a}); err != nil {
				t.Error(err)
			}
			if x.SharedLeads() == 0 {
				t.Error("no lead was shared")
			}
			partial += *l.partial
		})
	}
	if ran > 0 && partial == 0 {
		t.Error("nothing was left to the CPU")
	}
}
