package gpuexec_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/postings"
)

// In this shape all queries over flat lists go by strips that can: not those of more than 32 terms.
var unreadShape = gpuexec.Shape{TileShift: 12, TileThreads: 64, LeadThreads: 64, StripTiles: -1, AppendHits: -1, Multiprocessors: 1}

// TestUnread has a cache with room for a fraction of the lists, which become flat one after the
// other. From then on batches copy nothing of them, and request nothing from the cache. Exceptions
// are queries that go block by block, and lists that are no longer flat.
func TestUnread(t *testing.T) {
	c := newCollection(100_000, slices.Repeat([]float64{0.1}, 16))
	all := int64(0)
	for _, term := range c.lists {
		all += payload(term.List)
	}
	for _, a := range strips {
		if testing.Short() && a != gpuexec.MaxScore {
			continue
		}
		t.Run(a.String(), func(t *testing.T) {
			x := openShaped(t, 0, all*5/8, gpuexec.Options{Algorithm: a}, unreadShape)
			rng := rand.New(rand.NewPCG(10, 10))
			becomeFlat(t, x, c, rng)
			few, many := someQueries(c, rng), manyTerms(c, rng)
			for range 2 {
				if wanted, copied := asked(t, x, few); wanted != 0 || copied != 0 {
					t.Errorf("of lists that are flat a batch wanted %d bytes, and copied %d", wanted, copied)
				}
			}
			// The first round wants whole lists, since they were resident when their blocks were
			// last read.
			for range 2 {
				if wanted, copied := asked(t, x, slices.Concat(many, few)); wanted == 0 || copied == 0 {
					t.Error("queries that go block by block got along without blocks")
				}
			}
			if wanted, copied := asked(t, x, few); wanted != 0 || copied != 0 {
				t.Errorf("of lists that are flat a batch wanted %d bytes, and copied %d, after one that did", wanted, copied)
			}
			x.ForgetFlats()
			if x.Resident(1) == math.MaxInt64 {
				t.Error("a list that is given up is said to be there")
			}
			if wanted, copied := asked(t, x, few); wanted == 0 || copied == 0 {
				t.Errorf("of lists that are not flat any more a batch wanted %d bytes, and copied %d", wanted, copied)
			}
		})
	}
}

// payload is the size of a list's blocks.
func payload(l *postings.List) int64 {
	last := l.Blocks() - 1
	return postings.RowBytes * (int64(l.Off[last]) + int64(l.Enc[last].Rows(l.BlockLen(last))))
}

// becomeFlat runs queries for each list until it is flat, with more queries for each next list, so
// that cached ones are displaced.
func becomeFlat(t *testing.T, x *gpuexec.Executor, c *collection, rng *rand.Rand) {
	t.Helper()
	var plans []*exectest.Plan
	for i, term := range c.lists {
		alone := &collection{docs: c.docs, lists: c.lists[i : i+1]}
		for tries := 0; x.Resident(term.Key) != math.MaxInt64; tries++ {
			if tries == 20 {
				t.Fatalf("list %d is not flat after %d batches", i, tries)
			}
			p := alone.plan(rng, blockmax.Or, 10, 1)
			p.CountAll = true // so that all extents are wanted
			plans = append(plans, p)
			if err := checkLarge(x, plans); err != nil {
				t.Fatal(err)
			}
		}
		plans = plans[:0]
	}
}

// someQueries are queries of all modes.
func someQueries(c *collection, rng *rand.Rand) (plans []*exectest.Plan) {
	for i := range 6 {
		plans = append(plans, c.plan(rng, blockmax.Mode(i%3), 10, 1+i))
	}
	return plans
}

// manyTerms is a query of each mode for more terms than strips support: it has lists more than once.
func manyTerms(c *collection, rng *rand.Rand) (plans []*exectest.Plan) {
	thrice := &collection{docs: c.docs, lists: slices.Repeat(c.lists, 3)}
	for mode := range blockmax.Mode(3) {
		plans = append(plans, thrice.plan(rng, mode, 10, 33))
	}
	return plans
}

// asked runs a batch and compares its answers with the CPU's. It returns how many bytes of extents
// it wanted from the cache, and how many bytes of lists were copied for it.
func asked(t *testing.T, x *gpuexec.Executor, plans []*exectest.Plan) (wanted, copied int64) {
	t.Helper()
	before := x.Cache().Stats()
	if err := checkLarge(x, plans); err != nil {
		t.Error(err)
	}
	after := x.Cache().Stats()
	return after.WantedBytes - before.WantedBytes, after.CopiedBytes - before.CopiedBytes
}
