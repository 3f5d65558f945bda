package gpuexec_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/gpuexec"
	"github.com/riffle-search/riffle/internal/exectest"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// openParted returns an executor whose batches bring no column whole, with so many bytes for columns
// that stay. With Stream they come in parts.
func openParted(t testing.TB, columns int64, o gpuexec.Options, shape gpuexec.Shape) *gpuexec.Executor {
	t.Helper()
	shape.WholeColumns = -1
	o.ColumnBytes, o.BatchBytes, o.Shape = columns, 4<<20, shape
	if o.Stream && o.WindowBytes == 0 {
		o.WindowBytes = windowBytes
	}
	dev := openDevice(t, 0, 3*o.BatchBytes+columns+o.WindowBytes+o.FlatBytes+1<<20)
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	x, err := gpuexec.New(dev, o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestPartedConformance lets length codes, filters, deletions and ranks come in parts, with room for
// none or some of them to stay. Windows are small.
func TestPartedConformance(t *testing.T) {
	for _, columns := range []int64{256, 8 << 10} {
		t.Run(fmt.Sprintf("%d bytes", columns), func(t *testing.T) {
			x := openParted(t, columns, gpuexec.Options{Stream: true, HostBytes: 64 << 10}, small)
			b := newBatching(x)
			if err := exectest.Check(b, 23, exectest.Fewer(checkRounds/3)); err != nil {
				t.Error(err)
			}
			if err := exectest.CheckTrees(b, 23, exectest.Fewer(8)); err != nil {
				t.Error(err)
			}
			if *b.flatRefused > 0 || *b.partial > 0 || *b.whole < *b.refused || x.Times().ColumnBytes == 0 {
				t.Errorf("%d whole answers, %d partial, %d refused, %d of them flat plans; %d bytes of columns in parts",
					*b.whole, *b.partial, *b.refused, *b.flatRefused, x.Times().ColumnBytes)
			}
		})
	}
}

// segmentsPlan returns a plan over several segments of collections, of which documents are deleted, filtered
// and ranked.
func segmentsPlan(rng *rand.Rand, of []*collection, mode blockmax.Mode, k int, tree *blockmax.Node) *exectest.Plan {
	p := of[0].plan(rng, mode, k, 5)
	first, base := p.Segments[0], uint32(0)
	p.Segments, p.Tree = nil, tree
	for i, c := range of {
		seg := blockmax.Segment{Base: base, Docs: c.docs}
		for _, term := range first.Terms { // lists of the same place have the same word
			seg.Terms = append(seg.Terms, c.lists[(term.Key-1)%uint64(len(c.lists))])
		}
		if i != 1 {
			seg.Accept = c.accept
		}
		seg.Rank, seg.RankTile = c.ranks, c.rankTiles
		p.Segments = append(p.Segments, seg)
		base += c.docs
	}
	p.RankWeight = 1 << 10
	return p
}

// rank gives the documents of a collection static ranks, and deletes some.
func (c *collection) rank(rng *rand.Rand, key uint64) *collection {
	c.accept = make([]uint64, (c.docs+63)/64)
	c.ranks, c.rankTiles = make([]uint16, c.docs), make([]uint16, (c.docs+blockmax.TileDocs-1)/blockmax.TileDocs)
	for d := range c.docs {
		if rng.IntN(8) > 0 {
			c.accept[d/64] |= 1 << (d % 64)
		}
		c.ranks[d] = uint16(rng.ExpFloat64() * 4000)
		c.rankTiles[d/blockmax.TileDocs] = max(c.rankTiles[d/blockmax.TileDocs], c.ranks[d])
	}
	for i := range c.lists {
		c.lists[i].Key += key
	}
	return c
}

// TestPartedSegments runs flat plans, trees and counts through several windows of several segments, from
// several goroutines: of columns, none stays, some do, and all.
func TestPartedSegments(t *testing.T) {
	densities := []float64{0.3, 0.1, 0.02, 0.004, 0.0005, 0.2}
	rng := rand.New(rand.NewPCG(3, 3))
	of := []*collection{
		newCollection(13_000, densities).rank(rng, 0), newCollection(5000, densities).rank(rng, 6), newCollection(8700, densities).rank(rng, 12),
	}
	leaf := func(t int) blockmax.Node { return blockmax.Node{Leaf: true, Term: t} }
	trees := []*blockmax.Node{
		{Must: []blockmax.Node{leaf(0), {Should: []blockmax.Node{leaf(1), leaf(2)}}}, Not: []blockmax.Node{leaf(3)}},
		{Should: []blockmax.Node{leaf(0), {Must: []blockmax.Node{leaf(2), leaf(3)}}, leaf(4)}, MinShould: 2},
	}
	batch := func(rng *rand.Rand) (plans []*exectest.Plan) {
		for mode := range blockmax.Mode(3) {
			plans = append(plans, segmentsPlan(rng, of, mode, []int{1, 10, 100}[rng.IntN(3)], nil))
		}
		plans = append(plans, segmentsPlan(rng, of, blockmax.Or, 10, trees[rng.IntN(len(trees))]))
		count := segmentsPlan(rng, of, blockmax.And, 1, nil)
		count.CountAll = true
		return append(plans, count)
	}
	for _, test := range []struct {
		columns, host int64
		windowTiles   int
	}{{256, 1 << 20, 4}, {256, 0, 16}, {64 << 10, 0, 8}, {1 << 20, 0, 4}} {
		t.Run(fmt.Sprintf("%d KiB/%d tiles", test.columns>>10, test.windowTiles), func(t *testing.T) {
			shape := gpuexec.Shape{TileShift: 10, WindowTiles: test.windowTiles, Multiprocessors: 2}
			x := openParted(t, test.columns, gpuexec.Options{Stream: true, HostBytes: test.host}, shape)
			var group sync.WaitGroup
			for worker := range 2 {
				group.Go(func() {
					rng := rand.New(rand.NewPCG(5, uint64(worker)))
					for range 2 {
						if err := checkLarge(x, batch(rng)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			before := x.Times().ColumnBytes
			if err := checkLarge(x, batch(rng)); err != nil {
				t.Error(err)
			}
			after := x.Times().ColumnBytes
			// The highest ranks of 4,096 documents, one in a window here, are no rows, and do not stay.
			if stay := test.columns >= 1<<20; before == 0 || (after-before < 1000) != stay {
				t.Errorf("%d and %d bytes of columns in parts, with %d for those that stay", before, after-before, test.columns)
			}
		})
	}
}

// TestPartedInPlace: what few postings read stays in the host's memory.
func TestPartedInPlace(t *testing.T) {
	c := newCollection(130_000, []float64{0.001, 0.2})
	x := openParted(t, 256, gpuexec.Options{Stream: true}, gpuexec.Shape{WindowTiles: 4, Multiprocessors: 2})
	rng := rand.New(rand.NewPCG(3, 3))
	rare := &collection{docs: c.docs, lists: c.lists[:1]}
	if err := checkLarge(x, []*exectest.Plan{rare.plan(rng, blockmax.Or, 10, 1)}); err != nil {
		t.Fatal(err)
	}
	if n := x.Times().ColumnBytes; n != 0 {
		t.Errorf("%d bytes of length codes were copied for %d postings", n, c.lists[0].List.Count)
	}
	if err := checkLarge(x, []*exectest.Plan{c.plan(rng, blockmax.Or, 10, 2)}); err != nil {
		t.Fatal(err)
	}
	if n, want := x.Times().ColumnBytes, int64(c.docs); n != want {
		t.Errorf("%d bytes of length codes were copied, want %d", n, want)
	}
	crowded := openParted(t, 256, gpuexec.Options{Stream: true, WindowBytes: 64 << 10}, gpuexec.Shape{TileShift: 12, WindowTiles: 4, Tracks: 1, Multiprocessors: 2})
	if err := checkLarge(crowded, []*exectest.Plan{c.plan(rng, blockmax.And, 10, 2)}); err != nil {
		t.Fatal(err)
	}
	if n := crowded.Times().ColumnBytes; n != 0 {
		t.Errorf("%d bytes of length codes were copied, for which windows have no room", n)
	}
}

// ofLengths is a collection with one list of every third document, which have these lengths.
func ofLengths(docs uint32, key uint64, length func(doc uint32) uint32) *collection {
	c := &collection{docs: docs, norms: make([]uint8, docs)}
	table := blockmax.NewTable(blockmax.DefaultBM25, 320)
	var b postings.Builder
	for d := range docs {
		c.norms[d] = blockmax.LengthCode(length(d))
		if d%3 == 0 {
			b.Add(d, 1, c.norms[d])
		}
	}
	l := b.View(postings.MaxDoc)
	c.lists = []blockmax.Term{{List: l, Norms: c.norms, Table: table, Bounds: segment.Bounds(l, table), Key: key}}
	return c
}

// TestPartedConcurrent has two batches under way. The second needs columns that the first lets stay; then it
// puts other columns in the places of those that the first reads.
func TestPartedConcurrent(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	x := openParted(t, 24<<10, gpuexec.Options{Stream: true}, gpuexec.Shape{TileShift: 10, WindowTiles: 4, Multiprocessors: 2})
	var plans [2][]*exectest.Plan
	for i := range plans {
		c := ofLengths(20_000, uint64(i+1), func(doc uint32) uint32 { return 20 + (doc+uint32(150*i))*7%600 })
		plans[i] = []*exectest.Plan{c.plan(rng, blockmax.Or, 10, 1)}
		if err := checkLarge(x, plans[i]); err != nil {
			t.Fatal(err)
		}
	}
	x.ForgetColumns()
	both := func(first, second []*exectest.Plan, between func()) {
		t.Helper()
		answers, err := x.RunBoth(first, second, between)
		if err != nil {
			t.Fatal(err)
		}
		for i, of := range [][]*exectest.Plan{first, second} {
			if err := compareLarge(of, answers[i]); err != nil {
				t.Errorf("batch %d: %v", i, err)
			}
		}
	}
	before := x.Times().ColumnBytes
	both(plans[0], plans[0], func() {})
	if n := x.Times().ColumnBytes - before; n != 20_000 {
		t.Errorf("%d bytes of columns were copied for two batches, want those of one", n)
	}
	both(plans[0], plans[1], x.ForgetColumns)
}

// TestPartedRenewed has ever new segments. When the host has had no room for the codes of more for a while,
// it drops those of the first.
func TestPartedRenewed(t *testing.T) {
	x := openParted(t, 256, gpuexec.Options{Stream: true, HostBytes: 512 << 10}, gpuexec.Shape{TileShift: 10, WindowTiles: 4, Multiprocessors: 2})
	rng := rand.New(rand.NewPCG(3, 3))
	var first *collection
	var kept []int
	for i := range 75 {
		c := newCollection(20_000, []float64{0.01})
		c.lists[0].Key += uint64(i)
		if err := checkLarge(x, []*exectest.Plan{c.plan(rng, blockmax.Or, 10, 1)}); err != nil {
			t.Fatal(err)
		}
		if x.KeepsColumn(c.norms) {
			kept = append(kept, i)
		}
		if first == nil {
			first = c
		}
	}
	if len(kept) != 6 || kept[2] != 2 || kept[3] < 64 || x.KeepsColumn(first.norms) {
		t.Errorf("the codes of segments %v were kept, those of the first are: %v", kept, x.KeepsColumn(first.norms))
	}
}

// TestManyDocs has a segment with more documents than a batch has bytes on the host. With Stream it is
// answered if the codes stay and if they do not; else if they stay. Otherwise the answer says what has no
// room.
func TestManyDocs(t *testing.T) {
	c := newCollection(2_200_000, []float64{0.002, 0.0005})
	rng := rand.New(rand.NewPCG(3, 3))
	plan := c.plan(rng, blockmax.Or, 10, 2)
	for _, test := range []struct {
		stream  bool
		columns int64
		refused string
	}{{true, 256, ""}, {true, 3 << 20, ""}, {false, 3 << 20, ""}, {false, 2 << 20, "no room for 2200000 bytes"}} {
		t.Run(fmt.Sprintf("%v/%d KiB", test.stream, test.columns>>10), func(t *testing.T) {
			x := openParted(t, test.columns, gpuexec.Options{Stream: test.stream, NoFlat: true}, gpuexec.Shape{Multiprocessors: 2})
			times := 2
			if test.stream {
				times = 3 // codes stay from the second one on
			}
			for range times {
				err := checkLarge(x, []*exectest.Plan{plan})
				if test.refused == "" && err != nil || test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)) {
					t.Errorf("%v, want %q", err, test.refused)
				}
			}
		})
	}
}

// TestManyColumns has queries whose codes have room for one of two segments at a time. The columns of one
// make way for those of the other.
func TestManyColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	x := openParted(t, 3<<20, gpuexec.Options{NoFlat: true}, gpuexec.Shape{Multiprocessors: 2})
	for range 2 {
		for seed := range uint64(2) {
			c := newCollection(2_200_000, []float64{0.0005})
			c.lists[0].Key += seed
			if err := checkLarge(x, []*exectest.Plan{c.plan(rng, blockmax.Or, 10, 1)}); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestPartedHalves: a batch whose filters have no room beside the length codes is halved. The codes have
// been given memory that stays by then, and the halves find them there.
func TestPartedHalves(t *testing.T) {
	c := newCollection(200_000, []float64{0.01, 0.02})
	rng := rand.New(rand.NewPCG(3, 3))
	x := openParted(t, 256, gpuexec.Options{Stream: true}, gpuexec.Shape{Multiprocessors: 2, WindowTiles: 4})
	var plans []*exectest.Plan
	for range 100 {
		p := c.plan(rng, blockmax.Or, 10, 2)
		accept := make([]uint64, (c.docs+63)/64)
		for i := range accept {
			accept[i] = rng.Uint64()
		}
		p.Segments[0].Accept = accept
		plans = append(plans, p)
	}
	if err := checkLarge(x, plans); err != nil {
		t.Error(err)
	}
}
