package gpuexec_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/gpuexec/listcache"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// windowBytes is enough for what the windows of small indexes copy and make flat.
const windowBytes = 8 << 20

// openStream returns an executor that goes by windows, with listBytes bytes of memory for lists.
func openStream(t testing.TB, listBytes int64, o gpuexec.Options, shape gpuexec.Shape) *gpuexec.Executor {
	t.Helper()
	o.Stream, o.Shape = true, shape
	if o.WindowBytes == 0 {
		o.WindowBytes = windowBytes
	}
	return openSized(t, 0, columnBytes+o.WindowBytes+listBytes, o)
}

// TestWindowsConformance runs single plans, whose lists have no keys and so travel with the batch.
func TestWindowsConformance(t *testing.T) {
	for _, a := range strips {
		if testing.Short() && a != gpuexec.MaxScore {
			continue
		}
		t.Run(a.String(), func(t *testing.T) {
			c := compose(openStream(t, 1<<20, gpuexec.Options{Algorithm: a}, small))
			exectest.Run(t, c)
			if *c.unread > 0 {
				t.Errorf("%d answers come from no block", *c.unread)
			}
			if *c.flatRefused > 0 || *c.partial > 0 || *c.whole == 0 {
				t.Errorf("%d whole answers, %d partial, %d refused, %d of them flat plans", *c.whole, *c.partial, *c.refused, *c.flatRefused)
			}
		})
	}
}

// eachStreamSize runs a test with from none to all of the lists on the device, listBytes, and all or
// hardly any on the host.
func eachStreamSize(t *testing.T, test func(t *testing.T, b *batching, listBytes int64)) {
	for _, a := range strips {
		for _, sizes := range []struct{ lists, host int64 }{{0, 0}, {4 << 10, 0}, {64 << 10, 0}, {8 << 20, 0}, {64 << 10, 64 << 10}} {
			if a != gpuexec.MaxScore && (sizes.lists != 64<<10 || testing.Short()) {
				continue
			}
			t.Run(fmt.Sprintf("%v/%d KiB/%d KiB", a, sizes.lists>>10, sizes.host>>10), func(t *testing.T) {
				b := newBatching(openStream(t, sizes.lists, gpuexec.Options{Algorithm: a, HostBytes: sizes.host}, small))
				test(t, b, sizes.lists)
				times := b.Times()
				if times.WantedBytes == 0 || times.FetchedBytes == 0 {
					t.Errorf("%d bytes of lists wanted, %d fetched", times.WantedBytes, times.FetchedBytes)
				}
			})
		}
	}
}

// TestWindowsCaches runs batches of plans by windows. Of lists that are on the device little is fetched.
func TestWindowsCaches(t *testing.T) {
	eachStreamSize(t, func(t *testing.T, b *batching, listBytes int64) {
		if err := exectest.Check(b, 3, exectest.Fewer(checkRounds/2)); err != nil {
			t.Error(err)
		}
		if *b.flatRefused > 0 || *b.partial > 0 {
			t.Errorf("%d whole answers, %d partial, %d flat plans refused", *b.whole, *b.partial, *b.flatRefused)
		}
		if times := b.Times(); listBytes >= 1<<20 && times.FetchedBytes > times.WantedBytes/2 {
			t.Errorf("%d bytes of lists wanted, %d fetched", times.WantedBytes, times.FetchedBytes)
		}
	})
}

// TestWindowsLarge runs through long lists in several windows, from several goroutines, as fewer
// and fewer of their records are resident.
func TestWindowsLarge(t *testing.T) {
	docs := uint32(150_000)
	if testing.Short() {
		docs = 20_000
	}
	c := newCollection(docs, []float64{0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0001})
	for _, listBytes := range []int64{1 << 20, 64 << 10, 0} {
		t.Run(fmt.Sprintf("%d KiB", listBytes>>10), func(t *testing.T) {
			x := openStream(t, listBytes, gpuexec.Options{}, gpuexec.Shape{TileShift: 10, WindowTiles: 16, Multiprocessors: 2})
			runWorkers(t, x, c, 3)
		})
	}
}

// TestWindowsDivided divides the memory for indexes of several sizes, and answers queries.
func TestWindowsDivided(t *testing.T) {
	c := newCollection(20_000, []float64{0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0001})
	last := int64(0)
	for _, postings := range []uint64{1000, 400_000, 4_000_000} {
		x := openSized(t, 0, columnBytes+16<<20, gpuexec.Options{Stream: true, Shape: gpuexec.Shape{TileShift: 10, WindowTiles: 16, Multiprocessors: 2}})
		before := x.WindowBytes() + x.StayBytes()
		x.DivideStream(postings, 20_000)
		if after := x.WindowBytes() + x.StayBytes(); after != before {
			t.Errorf("%d postings: windows and lists have %d bytes, want %d", postings, after, before)
		}
		if stay := x.StayBytes(); stay < last {
			t.Errorf("%d postings: %d bytes for lists, less than for a smaller index", postings, stay)
		} else {
			last = stay
		}
		runWorkers(t, x, c, 2)
	}
	given := openStream(t, 1<<20, gpuexec.Options{}, small)
	before := given.WindowBytes()
	if given.DivideStream(1<<30, 1<<24); given.WindowBytes() != before {
		t.Errorf("windows have %d bytes, want the %d that were asked for", given.WindowBytes(), before)
	}
}

// TestWindowsTiles: with less memory windows have fewer tiles, unless their number was given.
func TestWindowsTiles(t *testing.T) {
	c := newCollection(40_000, []float64{0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0001})
	for _, test := range []struct {
		given    int
		postings uint64
		want     int
	}{{0, 10_000, 128}, {0, 6_000_000, 64}, {0, 80_000_000, 32}, {16, 80_000_000, 16}} {
		shape := gpuexec.Shape{TileShift: 8, WindowTiles: test.given, Multiprocessors: 2}
		x := openSized(t, 0, columnBytes+24<<20, gpuexec.Options{Stream: true, Shape: shape})
		x.DivideStream(test.postings, 40_000)
		t.Logf("%d postings: windows of %d bytes, %d tiles", test.postings, x.WindowBytes(), x.WindowTiles())
		if x.WindowTiles() != test.want {
			t.Errorf("%d postings, windows of %d bytes: %d tiles, want %d", test.postings, x.WindowBytes(), x.WindowTiles(), test.want)
		}
		runWorkers(t, x, c, 2)
	}
}

// TestWindowsSteps gives the same queries to executors that take one window at a time, and several.
func TestWindowsSteps(t *testing.T) {
	c := newCollection(40_000, []float64{0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0001})
	for _, most := range []int{1, 2, 3, 8} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			x := openStream(t, 64<<10, gpuexec.Options{}, gpuexec.Shape{TileShift: 11, WindowTiles: 2, StepWindows: most, Multiprocessors: 2})
			rng := rand.New(rand.NewPCG(3, 3))
			for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
				if err := checkLarge(x, []*exectest.Plan{c.plan(rng, mode, 10, 3), c.plan(rng, mode, 10, 5)}); err != nil {
					t.Error(err)
				}
			}
			if n := x.LongestStep(); n != min(most, 4) {
				t.Errorf("the longest step has %d windows", n)
			}
		})
	}
}

// TestWindowsTracks mixes batches that have a track of their own with those that need all the
// memory, from several goroutines.
func TestWindowsTracks(t *testing.T) {
	c := newCollection(60_000, []float64{0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0001})
	for _, listBytes := range []int64{0, 32 << 10, 1 << 20} {
		t.Run(fmt.Sprintf("%d KiB", listBytes>>10), func(t *testing.T) {
			x := openStream(t, listBytes, gpuexec.Options{WindowBytes: 256 << 10}, gpuexec.Shape{TileShift: 10, WindowTiles: 16, Multiprocessors: 2})
			var group sync.WaitGroup
			for worker := range 3 {
				group.Go(func() {
					rng := rand.New(rand.NewPCG(5, uint64(worker)))
					for i := range 8 {
						plans, terms := 1, 2
						if (i+worker)%3 == 0 {
							plans, terms = 3, 5
						}
						var batch []*exectest.Plan
						for range plans {
							batch = append(batch, c.plan(rng, []blockmax.Mode{blockmax.Or, blockmax.And}[rng.IntN(2)], 10, terms))
						}
						if err := checkLarge(x, batch); err != nil {
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			for track, batches := range x.Tracks() {
				if batches == 0 {
					t.Errorf("track %d has had no batch", track)
				}
			}
		})
	}
}

// TestWindowsRuns has so many tiles in a step that warps take runs of them, also of several queries.
func TestWindowsRuns(t *testing.T) {
	docs, queries := uint32(64_000), 600
	if testing.Short() {
		docs, queries = 32_000, 512
	}
	c := newCollection(docs, []float64{0.3, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.002, 0.0005})
	rank, rankTile := newRank(docs)
	x := openStream(t, 64<<10, gpuexec.Options{BatchBytes: 32 << 20}, gpuexec.Shape{TileShift: 9, WindowTiles: 64, Multiprocessors: 1})
	rng := rand.New(rand.NewPCG(8, 8))
	for _, ks := range [][]int{{1, 10, 100}, {1000}} { // with many hits nearly all tiles are queued
		var plans []*exectest.Plan
		for range queries {
			p := c.plan(rng, blockmax.And, ks[rng.IntN(len(ks))], 1+rng.IntN(4))
			if rng.IntN(4) == 0 {
				p.Segments[0].Rank, p.Segments[0].RankTile, p.RankWeight = rank, rankTile, 1<<(20+rng.IntN(9))
			}
			vary(t, rng, p)
			plans = append(plans, p)
		}
		if err := checkLarge(x, plans); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWindowsAdmit fills the device by a log: exactly the lists of the log stay, and no others are
// admitted.
func TestWindowsAdmit(t *testing.T) {
	c := newCollection(30_000, []float64{0.3, 0.2, 0.1, 0.05, 0.02, 0.01})
	x := openStream(t, 1<<20, gpuexec.Options{StaticLists: true}, gpuexec.Shape{TileShift: 10, WindowTiles: 16, Multiprocessors: 2})
	rng := rand.New(rand.NewPCG(3, 3))
	p := c.plan(rng, blockmax.Or, 10, 3)
	x.Count(nil, p, p.Mode, 0)
	x.Admit()
	var fetched []int64
	for range 3 {
		if err := checkLarge(x, []*exectest.Plan{p, c.plan(rng, blockmax.Or, 10, 6)}); err != nil {
			t.Fatal(err)
		}
		fetched = append(fetched, x.Times().FetchedBytes)
	}
	for i, term := range c.lists {
		admitted := slices.ContainsFunc(p.Segments[0].Terms, func(t blockmax.Term) bool { return t.Key == term.Key })
		if resident := x.Resident(term.Key); (resident > 0) != admitted {
			t.Errorf("of list %d, %d bytes stay, which the log has: %v", i, resident, admitted)
		}
	}
	if first, second := fetched[0], fetched[1]-fetched[0]; second >= first || fetched[2]-fetched[1] != second || second == 0 {
		t.Errorf("%d bytes fetched", fetched)
	}
}

// A cellQuery is an AND of two lists that share every strip, of 128 documents.
type cellQuery struct {
	docs  uint32
	table *blockmax.Table
}

// list has a posting in every period documents, and those of also. tf says how often the word is in
// a document.
func (c *cellQuery) list(key uint64, period, phase uint32, tf func(doc uint32) uint32, also ...uint32) blockmax.Term {
	var b postings.Builder
	for d := uint32(0); d < c.docs; d++ {
		if d%period == phase || slices.Contains(also, d) {
			b.Add(d, tf(d), 1)
		}
	}
	l := b.View(postings.MaxDoc)
	return blockmax.Term{List: l, Table: c.table, Bounds: segment.Bounds(l, c.table), Key: key}
}

// fetched runs the query for the best document, and returns the bytes that it copies.
func (c *cellQuery) fetched(t *testing.T, x *gpuexec.Executor, terms ...blockmax.Term) int64 {
	t.Helper()
	p := &exectest.Plan{Mode: blockmax.And, K: 1, Weights: []uint32{1 << 29, 1 << 29}}
	p.Segments = []blockmax.Segment{{Docs: c.docs, Terms: terms}}
	before := x.Times().FetchedBytes
	if err := checkLarge(x, []*exectest.Plan{p}); err != nil {
		t.Fatal(err)
	}
	return x.Times().FetchedBytes - before
}

// checkSaved compares a query whose lists share no cell with one whose lists share cells. The
// former copies only directories and the last blocks of windows, the latter all blocks.
func checkSaved(t *testing.T, apart, together int64, list *postings.List) {
	t.Helper()
	all := int64(0)
	for b := range list.Blocks() {
		all += int64(list.Enc[b].Rows(list.BlockLen(b))) * 16
	}
	if saved := together - apart; saved < all {
		t.Errorf("%d bytes fetched for lists that share no cell, %d for others: %d less, of %d", apart, together, saved, 2*all)
	}
}

// TestWindowsOccupied asks for lists that occupy no cell in common: rare ones, whose records are
// packed, and others.
func TestWindowsOccupied(t *testing.T) {
	c := &cellQuery{1 << 17, blockmax.NewTable(blockmax.DefaultBM25, 320)}
	for _, period := range []uint32{64, 256} {
		t.Run(fmt.Sprint(period), func(t *testing.T) {
			x := openStream(t, 0, gpuexec.Options{}, gpuexec.Shape{TileShift: 12, WindowTiles: 16, Multiprocessors: 2})
			tf := func(doc uint32) uint32 { return 1 + doc%3 }
			first, other, same := c.list(1, period, 0, tf), c.list(2, period, 20, tf), c.list(3, period, 4, tf)
			checkSaved(t, c.fetched(t, x, first, other), c.fetched(t, x, first, same), first.List)
		})
	}
}

// TestWindowsHigh asks for lists that occupy all cells, with high impacts in an eighth of them. One
// document has both words, often. Only where both lists have high impacts may another score more.
func TestWindowsHigh(t *testing.T) {
	c := &cellQuery{1 << 16, blockmax.NewTable(blockmax.DefaultBM25, 320)}
	x := openStream(t, 0, gpuexec.Options{}, gpuexec.Shape{TileShift: 12, WindowTiles: 4, Multiprocessors: 2})
	const both = 129
	highIn := func(cell uint32) func(doc uint32) uint32 {
		return func(doc uint32) uint32 {
			switch {
			case doc == both:
				return 20
			case doc/16%8 == cell:
				return 30
			}
			return 1
		}
	}
	first, other, same := c.list(1, 8, 0, highIn(1), both), c.list(2, 8, 4, highIn(5), both), c.list(3, 8, 4, highIn(1), both)
	checkSaved(t, c.fetched(t, x, first, other), c.fetched(t, x, first, same), first.List)
}

// TestWindowsPolicy has room for a little less than a long list, which most queries have. Qtf gives
// it all of the room, QtfDf keeps a short one as well.
func TestWindowsPolicy(t *testing.T) {
	c := newCollection(30_000, []float64{0.5, 0.01})
	rng := rand.New(rand.NewPCG(4, 4))
	plans := func(lists ...int) (all []*exectest.Plan) {
		for _, i := range lists {
			one := &collection{docs: c.docs, lists: c.lists[i : i+1]}
			all = append(all, one.plan(rng, blockmax.Or, 10, 1))
		}
		return all
	}
	for policy, want := range map[listcache.Policy]bool{listcache.VFB: false, listcache.Qtf: false, listcache.QtfDf: true} {
		x := openStream(t, 8<<10, gpuexec.Options{StaticLists: true, Cache: listcache.Config{Policy: policy}},
			gpuexec.Shape{TileShift: 10, WindowTiles: 4, Multiprocessors: 2})
		for _, p := range plans(0, 0, 1) {
			x.Count(nil, p, p.Mode, 0)
		}
		x.Admit()
		if err := checkLarge(x, plans(0, 1)); err != nil {
			t.Fatal(err)
		}
		if long, short := x.Resident(c.lists[0].Key), x.Resident(c.lists[1].Key); long == 0 || short > 0 != want {
			t.Errorf("%v: %d bytes of the long list stay, %d of the short one", policy, long, short)
		}
	}
}
