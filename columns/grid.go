package columns

import (
	"math/bits"
	"slices"
	"sort"
)

// A Grid divides keys into steps: runs of keys that follow each other, such as the buckets of a
// histogram. The step of a key is the number of bounds that are not above it. It is found by one look
// into a table of cells of 1<<shift keys, of which each has at most one bound behind its first key.
type Grid struct {
	bounds   []uint64
	distinct []uint64 // bounds
	steps    []uint64 // if bounds are equal: the steps that begin at distinct ones, and before, which is 0
	table    gridTable
	cells    []uint64
	coarse   bool // cells may have more bounds, as the table would be too long; one more cell is behind the last
}

// A gridTable is what kernels want to know of a Grid. Only keys around bounds have cells: keys below and
// above them are like the first and the last of these. Around 0, float keys have a great gap. So cells
// are in two pieces, of which the second begins with a bound, split.
//
// A cell is the number of bounds up to its first key, shifted, plus how many of its keys are behind another
// bound: adding the place of a key within its cell carries for these keys alone.
type gridTable struct {
	cells       *uint64
	split       uint64
	low, high   [2]uint64 // keys with cells, by piece
	first       [2]uint64 // what is added to a key for its place, modulo 1<<64; cell i is places i<<shift and on
	mask, shift uint64    // mask is 1<<shift - 1
}

const (
	cellsPerBound = 32      // of float keys, those near 0 need many
	mostCells     = 1 << 17 // 1 MB
)

// NewGrid returns the grid of some bounds, which ascend. Steps between equal ones have no keys. It keeps bounds.
func NewGrid(bounds []uint64) *Grid {
	g := &Grid{bounds: bounds, distinct: bounds}
	if distinct := slices.Compact(slices.Clone(bounds)); len(distinct) < len(bounds) {
		g.distinct, g.steps = distinct, []uint64{0}
		for _, b := range distinct {
			g.steps = append(g.steps, uint64(g.Step(b)))
		}
	}
	g.makeCells(g.distinct)
	return g
}

func (g *Grid) makeCells(bounds []uint64) {
	n := len(bounds)
	if n == 0 {
		return
	}
	at := min(n-1, sort.Search(n, func(i int) bool { return bounds[i] >= 1<<63 })) // float key 1<<63 is 0
	t := &g.table
	t.split = bounds[at]
	pieces := [2][]uint64{bounds[:at], bounds[at+1:]}
	gap, span := uint64(1)<<63, uint64(0)
	for i, piece := range pieces {
		if i == 1 {
			t.low[i], t.high[i] = t.split, t.split
		}
		if len(piece) == 0 {
			continue
		}
		t.low[i], t.high[i] = piece[0]-1, piece[len(piece)-1]
		span += t.high[i] - t.low[i]
		for j := range piece[1:] {
			gap = min(gap, piece[j+1]-piece[j])
		}
	}
	// A cell may count all bounds, and carry.
	most := 64 - bits.Len(uint(n+2))
	shift := min(bits.Len64(gap)-1, most)
	for limit := uint64(min(mostCells, cellsPerBound*n+64)); shift < most && span>>shift > limit; shift++ {
		g.coarse = true
	}
	if span > ^uint64(0)-2<<shift {
		return // places would not fit 64 bits
	}
	t.shift, t.mask = uint64(shift), 1<<shift-1
	counted, ends := 0, [2]int{at, n}
	for i, end := range ends {
		t.first[i] = uint64(len(g.cells))<<shift - t.low[i]
		for c := range (t.high[i]-t.low[i])>>shift + 1 {
			first := t.low[i] + c<<shift
			for counted < end && bounds[counted] <= first {
				counted++
			}
			cell := uint64(counted) << shift
			if counted < end && bounds[counted]-first <= t.mask {
				cell += 1<<shift - (bounds[counted] - first)
			}
			g.cells = append(g.cells, cell)
		}
	}
	if g.coarse {
		g.cells = append(g.cells, uint64(n)<<shift)
	}
	t.cells = &g.cells[0]
}

// Bounds returns the first keys of all steps but the first.
func (g *Grid) Bounds() []uint64 { return g.bounds }

// Step returns the step of a key.
func (g *Grid) Step(key uint64) int {
	return notAbove(g.bounds, key)
}

// Steps replaces keys by their steps, counted from a first one.
func (g *Grid) Steps(keys []uint64, first uint64) {
	if g.steps == nil {
		g.count(keys, first)
		return
	}
	g.count(keys, 0)
	for i, n := range keys {
		keys[i] = first + g.steps[n]
	}
}

// count replaces keys by how many distinct bounds are not above them, plus a first number.
func (g *Grid) count(keys []uint64, first uint64) {
	switch {
	case len(g.bounds) == 0:
		for i := range keys {
			keys[i] = first
		}
	case g.cells == nil:
		for i, k := range keys {
			keys[i] = first + uint64(notAbove(g.distinct, k))
		}
	case g.coarse:
		for i, k := range keys {
			place := g.table.place(k) >> (g.table.shift & 63)
			from, to := g.cells[place]>>(g.table.shift&63), g.cells[place+1]>>(g.table.shift&63)
			keys[i] = first + from + uint64(notAbove(g.distinct[from:to], k))
		}
	default:
		stepsOf(keys, g, first)
	}
}

// notAbove returns how many of some ascending bounds are not above a key.
func notAbove(bounds []uint64, key uint64) int {
	return sort.Search(len(bounds), func(i int) bool { return bounds[i] > key })
}

// place returns the place of a key.
func (t *gridTable) place(key uint64) uint64 {
	piece := 1
	if key < t.split {
		piece = 0
	}
	return min(max(key, t.low[piece]), t.high[piece]) + t.first[piece]
}

// stepsPortable is stepsOf in Go.
func stepsPortable(keys []uint64, g *Grid, first uint64) {
	t := &g.table
	shift := t.shift & 63
	for i, k := range keys {
		place := t.place(k)
		keys[i] = first + (g.cells[place>>shift]+place&t.mask)>>shift
	}
}
