package gpuexec_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// blocksShape lets no query go by strips.
var blocksShape = gpuexec.Shape{TileShift: 12, TileThreads: 64, LeadThreads: 64, StripTiles: math.MaxInt32, Multiprocessors: 2}

// TestUnbounded: ANDs in company go without bounds, and then all by tiles; others of the batch keep
// theirs. All answers are the CPU's.
func TestUnbounded(t *testing.T) {
	c := newCollection(40_000, []float64{0.3, 0.2, 0.1, 0.01, 0.001})
	rng := rand.New(rand.NewPCG(18, 18))
	and, or, both := c.plan(rng, blockmax.And, 10, 5), c.plan(rng, blockmax.Or, 10, 5), c.plan(rng, blockmax.AndOr, 10, 5)
	another, after, counted := c.plan(rng, blockmax.And, 1, 3), c.plan(rng, blockmax.And, 3, 2), c.plan(rng, blockmax.And, 10, 5)
	after.After = &blockmax.Hit{Doc: 17, Score: math.MaxUint32 / 3}
	counted.CountAll = true
	x := openShaped(t, 0, 32<<20, gpuexec.Options{}, blocksShape)
	if err := checkLarge(x, []*exectest.Plan{and, another}); err != nil || x.Unbounded() != 0 {
		t.Errorf("%d go without bounds whose blocks have to be copied: %v", x.Unbounded(), err)
	}
	for _, test := range []struct {
		what  string
		plans []*exectest.Plan
		want  int
	}{
		{"two", []*exectest.Plan{and, another}, 2},
		{"three", []*exectest.Plan{and, another, after}, 3},
		{"beside others", []*exectest.Plan{or, and, both, another, counted}, 2},
		{"alone", []*exectest.Plan{and}, 0},
		{"alone beside others", []*exectest.Plan{or, both, and, or}, 0},
	} {
		if got := unboundedOf(t, x, test.plans); got != test.want {
			t.Errorf("%s: %d go without bounds, want %d", test.what, got, test.want)
		}
	}
	shape := blocksShape
	shape.UnboundedPostings = -1
	x = openShaped(t, 0, 32<<20, gpuexec.Options{}, shape)
	if got := unboundedOf(t, x, []*exectest.Plan{and, another}); got != 0 {
		t.Errorf("%d go without bounds by a shape that has none", got)
	}
}

// TestUnboundedNeedsBlocks: with a cache that keeps not all blocks, bounds are kept, since they spare
// copies.
func TestUnboundedNeedsBlocks(t *testing.T) {
	c := newCollection(100_000, []float64{0.3, 0.3, 0.3})
	all := int64(0)
	for _, term := range c.lists {
		all += payload(term.List)
	}
	rng := rand.New(rand.NewPCG(19, 19))
	plans := []*exectest.Plan{c.plan(rng, blockmax.And, 10, 3), c.plan(rng, blockmax.And, 10, 3)}
	x := openShaped(t, 0, all/2, gpuexec.Options{NoFlat: true}, blocksShape)
	if got := unboundedOf(t, x, plans); got != 0 {
		t.Errorf("%d go without bounds whose blocks are not all there", got)
	}
}

// TestUnboundedSeeds: where all ANDs of a batch that go by tiles do without bounds, no tiles are visited before
// the others, and no kernel looks for some. One AND with bounds has seeds, and then so have all.
func TestUnboundedSeeds(t *testing.T) {
	c := newCollection(40_000, []float64{0.3, 0.2, 0.1, 0.05, 0.0001})
	one, two, or := c.and(10, 0, 1, 2), c.and(700, 1, 3), c.and(10, 0, 3)
	or.Mode = blockmax.Or
	both := c.and(10, 0, 1)
	both.Mode = blockmax.AndOr
	nothing := c.and(10, 0, 4) // in most tiles
	x := openShaped(t, 0, 32<<20, gpuexec.Options{Timed: true, Traced: true}, blocksShape)
	for _, test := range []struct {
		what     string
		plans    []*exectest.Plan
		seeds    bool // tiles of ANDs that are visited first
		seedless bool
	}{
		{"one alone has bounds", []*exectest.Plan{one}, true, false},
		{"two", []*exectest.Plan{one, two}, false, true},
		{"some match in few tiles", []*exectest.Plan{nothing, one, nothing}, false, true},
		{"beside an OR", []*exectest.Plan{or, one, two}, false, true},
		{"with an AND before an OR", []*exectest.Plan{one, both, two}, true, false},
		{"an OR alone", []*exectest.Plan{or}, false, false},
	} {
		for range 3 { // lists become resident, and the last batches are three
			if err := checkLarge(x, test.plans); err != nil {
				t.Fatal(err)
			}
		}
		before := x.Times().ByKernel
		if err := checkLarge(x, test.plans); err != nil {
			t.Fatal(err)
		}
		after := x.Times().ByKernel
		launched := func(kernel string) bool { return after[kernel] != before[kernel] }
		if launched("queue_all") != test.seedless || x.Seedless() > 0 != test.seedless {
			t.Errorf("%s: queue_all was launched: %v, of %d batches without seeds", test.what, launched("queue_all"), x.Seedless())
		}
		if got := launched("and_tile (seeds)"); got != test.seeds {
			t.Errorf("%s: tiles of ANDs were visited before the others: %v", test.what, got)
		}
	}
}

// A doubling executor runs each plan beside itself, again when its lists are resident. It loses so many
// extents of ten then.
type doubling struct {
	*batching
	lost      int
	unbounded int // plans
}

func (d *doubling) TopK(ctx context.Context, p *exectest.Plan) (top blockmax.TopK, err error) {
	d.giveKeys(p)
	d.Lose(nil)
	counted := *p
	counted.CountAll = true // reads all blocks
	if _, err := d.Run(ctx, []*exectest.Plan{&counted}); err != nil {
		return top, err
	}
	loseSome(d.Executor, d.lost, 20)
	answers, err := d.Run(ctx, []*exectest.Plan{p, p})
	if err != nil {
		return top, err
	}
	d.unbounded += d.Unbounded()
	other, err := d.complete(ctx, p, &answers[1])
	if err != nil {
		return top, err
	}
	if top, err = d.complete(ctx, p, &answers[0]); err == nil && !p.OnlyTotal && !slices.Equal(top.Hits, other.Hits) {
		err = errors.New("one of two equal plans of a batch is answered otherwise")
	}
	return top, err
}

// TestUnboundedRandom runs random plans in pairs, of several segments, with deleted documents, filters,
// ranks and cursors, and also when extents turn out to be missing that were said to be resident.
func TestUnboundedRandom(t *testing.T) {
	for _, lost := range []int{0, 3} {
		t.Run(fmt.Sprintf("%d of 10 lost", lost), func(t *testing.T) {
			shape := small
			shape.StripTiles = math.MaxInt32
			d := &doubling{batching: newBatching(openShaped(t, 0, 32<<20, gpuexec.Options{}, shape)), lost: lost}
			if err := exectest.Check(d, 21, exectest.Fewer(checkRounds/2)); err != nil {
				t.Error(err)
			}
			if d.unbounded == 0 || (*d.partial > 0) != (lost > 0) {
				t.Errorf("%d went without bounds, %d partial answers", d.unbounded, *d.partial)
			}
		})
	}
}

// unboundedOf runs a batch, and returns how many of its ANDs went without bounds.
func unboundedOf(t *testing.T, x *gpuexec.Executor, plans []*exectest.Plan) int {
	t.Helper()
	for range 3 { // the last batches are three
		if err := checkLarge(x, plans); err != nil {
			t.Fatal(err)
		}
	}
	return x.Unbounded() / 3
}
