package main

import (
	"fmt"
	"slices"
	"sync"

	"github.com/riffle-search/riffle/blockmax"
)

// strips counts, without a GPU, what gpuexec's kernels over flat lists must examine: tiles, strips
// and cells whose bounds reach a threshold, and their postings, as averages over all queries. There
// are three thresholds: the final one, that found without knowing it in the best strip of each of
// the best tiles, and that found in the seeds of kernels/plan.cu. So the counts show what better
// bounds, other sizes (-tile-shift) or better seeds could save. A query with too few hits has no
// threshold: everything that can match is alive.
func (b *bench) strips() error {
	for _, mode := range []blockmax.Mode{blockmax.Or, blockmax.And} {
		for _, k := range b.k {
			p := plans{mode, k}
			count := sync.OnceValues(func() (*aliveByThreshold, error) { return b.countAlive(p) })
			for t, name := range thresholdNames {
				err := b.measure("strips", fmt.Sprintf("%v, %s", p, name), func() ([]figure, error) {
					alive, err := count()
					if err != nil {
						return nil, err
					}
					return alive[t].figures(len(b.c.Queries)), nil
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// The thresholds with which bounds are compared.
const (
	finally = iota
	afterBest
	afterSeeds
	thresholds
)

var thresholdNames = [thresholds]string{"final threshold", "after best strips", "after seeds"}

type aliveByThreshold [thresholds]alive

// countAlive sums over all queries.
func (b *bench) countAlive(p plans) (*aliveByThreshold, error) {
	r, err := b.reference(p)
	if err != nil {
		return nil, err
	}
	shift := b.shape.TileShift
	if shift == 0 {
		shift = 14
	}
	var mu sync.Mutex
	var sum aliveByThreshold
	err = eachPlan(r.plans, func(i int) error {
		g, err := newGrid(r.plans[i], shift)
		if err != nil {
			return err
		}
		keys, err := g.thresholds(r.tops[i].Hits)
		if err != nil {
			return err
		}
		for t, key := range keys {
			n := g.alive(key)
			mu.Lock()
			sum[t].add(&n)
			mu.Unlock()
		}
		return nil
	})
	return &sum, err
}

// thresholds are keys as in kernels/layout.cuh, given by the best hits of the CPU and those of some
// strips.
func (g *grid) thresholds(best []blockmax.Hit) (keys [thresholds]uint64, err error) {
	known := uint64(0)
	if !g.all {
		known = uint64(g.plan.Seed()) << 32
	}
	keys[finally] = known
	if len(best) == g.plan.K {
		keys[finally] = keyOf(best[g.plan.K-1])
	}
	if keys[afterBest], err = g.after(g.bestStrips(), known); err == nil {
		keys[afterSeeds], err = g.after(g.seeds(), known)
	}
	return keys, err
}

// after returns the threshold after some strips were scored, given the threshold before.
func (g *grid) after(strips []uint32, before uint64) (uint64, error) {
	found, err := g.keysIn(strips)
	if err != nil || len(found) < g.plan.K {
		return before, err
	}
	slices.Sort(found)
	return max(before, found[len(found)-g.plan.K]), nil
}

func keyOf(h blockmax.Hit) uint64 { return uint64(h.Score)<<32 | uint64(^h.Doc) }

// An alive counts groups with a bound that reaches a threshold, and the postings of all lists in
// them.
type alive struct {
	tiles, strips, cells             int64 // strips of all tiles; cells of strips alive
	tilesWithStrips, stripsWithCells int64 // that are alive
	postings                         int64 // of all lists
	inTiles, inStrips, inCells       int64
	inStripsWithCells                int64 // read by or_strips
}

func (a *alive) add(o *alive) {
	a.tiles += o.tiles
	a.strips += o.strips
	a.cells += o.cells
	a.tilesWithStrips += o.tilesWithStrips
	a.stripsWithCells += o.stripsWithCells
	a.postings += o.postings
	a.inTiles += o.inTiles
	a.inStrips += o.inStrips
	a.inCells += o.inCells
	a.inStripsWithCells += o.inStripsWithCells
}

// figures are averages over the given number of queries.
func (a *alive) figures(queries int) (fs []figure) {
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"tiles", a.tiles}, {"with strips", a.tilesWithStrips}, {"strips", a.strips}, {"with cells", a.stripsWithCells}, {"cells", a.cells},
		{"postings", a.postings}, {"in tiles", a.inTiles}, {"in strips", a.inStrips}, {"in those with cells", a.inStripsWithCells}, {"in cells", a.inCells},
	} {
		fs = append(fs, figure{f.name, float64(f.value) / float64(queries)})
	}
	return fs
}

// alive counts what reaches a threshold: tiles and strips by keys, cells by scores, as the kernels
// do.
func (g *grid) alive(threshold uint64) (n alive) {
	need := uint32(threshold >> 32)
	for i, bound := range g.tiles.bound {
		n.postings += int64(g.tiles.postings[i])
		if g.tiles.wins(i, bound, threshold) {
			n.tiles++
			n.inTiles += int64(g.tiles.postings[i])
		}
	}
	last := -1
	for i, bound := range g.strips.bound {
		if !g.strips.wins(i, bound, threshold) {
			continue
		}
		n.strips++
		n.inStrips += int64(g.strips.postings[i])
		if tile := i / stripsOfTile; tile != last {
			last = tile
			n.tilesWithStrips++
		}
		before := n.cells
		for c := i * cellsOfStrip; c < (i+1)*cellsOfStrip; c++ {
			if bound := g.cells.bound[c]; bound != noBound && bound >= need {
				n.cells++
				n.inCells += int64(g.cells.postings[c])
			}
		}
		if n.cells > before {
			n.stripsWithCells++
			n.inStripsWithCells += int64(g.strips.postings[i])
		}
	}
	return n
}
