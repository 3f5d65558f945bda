package gpuexec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// In this shape, with 40,000 documents in ten tiles, at least four queries go by strips, fewer by
// blocks.
var choiceShape = gpuexec.Shape{TileShift: 12, TileThreads: 64, LeadThreads: 64, StripTiles: 20, Multiprocessors: 2}

// TestChoiceBorder runs batches just below the border from which on queries go by strips, and at it.
func TestChoiceBorder(t *testing.T) {
	c := newCollection(40_000, []float64{0.3, 0.2, 0.1, 0.05})
	for _, a := range []gpuexec.Algorithm{gpuexec.Exhaustive, gpuexec.MaxScore} {
		if testing.Short() && a != gpuexec.MaxScore {
			continue
		}
		t.Run(a.String(), func(t *testing.T) {
			x := openShaped(t, 0, 32<<20, gpuexec.Options{Algorithm: a}, choiceShape)
			rng := rand.New(rand.NewPCG(15, 15))
			becomeFlat(t, x, c, rng)
			for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
				checkBorder(t, x, c, rng, mode)
			}
		})
	}
}

func checkBorder(t *testing.T, x *gpuexec.Executor, c *collection, rng *rand.Rand, mode blockmax.Mode) {
	t.Helper()
	three := []*exectest.Plan{c.plan(rng, mode, 10, 2), c.plan(rng, mode, 63, 3), c.plan(rng, mode, 1, 4)}
	for _, test := range []struct {
		what   string
		plans  []*exectest.Plan
		strips uint32 // tiles, of each batch
	}{
		{"three queries", three, 0},
		{"a fourth", append(slices.Clip(three), c.plan(rng, mode, 10, 1)), 40},
		{"a third that would append", append(slices.Clip(three[:2]), c.plan(rng, mode, 64, 2)), 0},
		{"a fourth that appends", append(slices.Clip(three), c.plan(rng, mode, 64, 2)), 40},
		{"three again", three, 0},
		{"one alone", three[2:], 0},
	} {
		for range 3 { // the last batches are three
			if err := checkLarge(x, test.plans); err != nil {
				t.Fatalf("mode %d, %s: %v", mode, test.what, err)
			}
		}
		if got := x.StripTiles(); got != 3*test.strips {
			t.Errorf("mode %d, %s: %d tiles go by strips, want %d", mode, test.what, got, 3*test.strips)
		}
	}
}

// TestChoiceRandom runs batches of random plans over flat lists: by blocks, or some by strips.
func TestChoiceRandom(t *testing.T) {
	for _, stripTiles := range []int{math.MaxInt32, 4} {
		t.Run(fmt.Sprint(stripTiles), func(t *testing.T) {
			shape := small
			shape.StripTiles, shape.AppendHits = stripTiles, -1
			b := newBatching(openShaped(t, 0, 32<<20, gpuexec.Options{}, shape))
			if err := exectest.Check(b, 16, exectest.Fewer(checkRounds/4)); err != nil {
				t.Error(err)
			}
			if *b.flatRefused > 0 || *b.partial > 0 || *b.unread > 0 {
				t.Errorf("%d whole answers, %d partial, %d flat plans refused, %d from no block", *b.whole, *b.partial, *b.flatRefused, *b.unread)
			}
			if (b.byStrips > 0) != (stripTiles == 4) {
				t.Errorf("%d tiles by strips", b.byStrips)
			}
		})
	}
}

// TestChoiceUnread has a cache that keeps 4/5 of the lists, which are flat. Queries for all of them go by
// strips, since blocks would have to be copied.
func TestChoiceUnread(t *testing.T) {
	c := newCollection(100_000, slices.Repeat([]float64{0.3}, 6))
	all := int64(0)
	for _, term := range c.lists {
		all += payload(term.List)
	}
	shape := choiceShape
	shape.StripTiles = math.MaxInt32
	x := openShaped(t, 0, all*4/5, gpuexec.Options{}, shape)
	rng := rand.New(rand.NewPCG(17, 17))
	becomeFlat(t, x, c, rng)
	plans := []*exectest.Plan{c.plan(rng, blockmax.Or, 10, len(c.lists)), c.plan(rng, blockmax.And, 10, len(c.lists))}
	if wanted, _ := asked(t, x, plans); wanted == 0 { // and it turns out that not all blocks are there
		t.Error("two queries did not go by blocks that were said to be there")
	}
	if wanted, copied := asked(t, x, plans); wanted != 0 || copied != 0 {
		t.Errorf("two queries wanted %d bytes of flat lists, and copied %d", wanted, copied)
	}
}
