package gpuexec_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
)

// TestWindowsMeanChanges: after a change of the mean length, records of the new version of the lists stay on
// the device instead of those of the version before, which no query uses any more. So do those of other
// lists when these are gone.
func TestWindowsMeanChanges(t *testing.T) {
	c := newCollection(20_000, []float64{0.3, 0.2, 0.1, 0.05})
	size := int64(0)
	for _, l := range c.lists {
		size += 16 * int64(l.List.PayloadRows())
	}
	x := openStream(t, size*3/2, gpuexec.Options{}, gpuexec.Shape{Multiprocessors: 2, WindowTiles: 1})
	// check asks until lists have been chosen, and more. After that, nothing is copied.
	check := func(what string, c *collection) {
		t.Helper()
		var before, now gpuexec.Times
		for range 70 {
			rng := rand.New(rand.NewPCG(3, 3))
			before = x.Times()
			if err := checkLarge(x, []*exectest.Plan{c.plan(rng, blockmax.Or, 10, 4)}); err != nil {
				t.Fatal(err)
			}
			now = x.Times()
		}
		if fetched, wanted := now.FetchedBytes-before.FetchedBytes, now.WantedBytes-before.WantedBytes; fetched > wanted/10 {
			t.Errorf("%s: %d bytes of %d are copied", what, fetched, wanted)
		}
	}
	check("at first", c)
	for _, average := range []float64{360, 400, 440} {
		check("after the mean length has changed", c.under(average))
	}
	for i := range c.lists {
		c.lists[i].Key |= 1 << 32
	}
	x.Drop(func(key uint64) bool { return key>>32 == 0 })
	check("after a merge", c)
}

// TestWindowsVersions asks for several versions of lists at a time, while the host has room for few records
// and writes them again and again.
func TestWindowsVersions(t *testing.T) {
	c := newCollection(40_000, []float64{0.3, 0.2, 0.1, 0.05, 0.001})
	x := openStream(t, 48<<10, gpuexec.Options{HostBytes: 400 << 10}, gpuexec.Shape{Multiprocessors: 2, WindowTiles: 1})
	last := c
	for round := range 6 {
		now := c.under(320 + 20*float64(round))
		var group sync.WaitGroup
		for i, versions := range [][]*collection{{now}, {last}, {now, last}} {
			group.Go(func() {
				rng := rand.New(rand.NewPCG(4, uint64(3*round+i)))
				for range 10 {
					var plans []*exectest.Plan
					for _, of := range versions {
						plans = append(plans, of.plan(rng, blockmax.Mode(rng.IntN(2)), 1+rng.IntN(20), 2+rng.IntN(3)))
					}
					if err := checkLarge(x, plans); err != nil {
						t.Errorf("round %d: %v", round, err)
					}
				}
			})
		}
		group.Wait()
		last = now
	}
	if r := x.Times(); r.FetchedBytes == r.WantedBytes {
		t.Error("nothing has stayed on the device")
	}
}
