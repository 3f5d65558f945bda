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

	// The same for packed numbers of tiles, as distances from the least key of the column in units.
	base, unit uint64
	table32    gridTable32
	cells32    []uint32 // nil if there is no such table
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

// A gridTable32 is that for units of 32 bits, in one piece.
type gridTable32 struct {
	cells       *uint32
	low, span   uint32 // units with cells: low..low+span
	mask, shift uint32
}

const (
	cellsPerBound = 32      // of float keys, those near 0 need many
	mostCells     = 1 << 17 // 1 MB
)

// NewGrid returns the grid of some bounds, which ascend, for the keys of a column. Steps between equal bounds have
// no keys. It keeps bounds.
func NewGrid(c *Column, bounds []uint64) *Grid {
	g := &Grid{bounds: bounds, distinct: bounds}
	if distinct := slices.Compact(slices.Clone(bounds)); len(distinct) < len(bounds) {
		g.distinct, g.steps = distinct, []uint64{0}
		for _, b := range distinct {
			g.steps = append(g.steps, uint64(g.Step(b)))
		}
	}
	if len(bounds) > 0 {
		g.makeTable()
		g.makeUnits(c)
	}
	return g
}

// makeTable makes the table for keys.
func (g *Grid) makeTable() {
	bounds := g.distinct
	n := len(bounds)
	at := min(n-1, sort.Search(n, func(i int) bool { return bounds[i] >= 1<<63 })) // float key 1<<63 is 0
	t := &g.table
	t.split = bounds[at]
	gap, span := uint64(1)<<63, uint64(0)
	pieces := [2][]uint64{bounds[:at], bounds[at+1:]}
	t.low[1], t.high[1] = t.split, t.split
	for i, piece := range pieces {
		if len(piece) > 0 {
			t.low[i], t.high[i] = piece[0]-1, piece[len(piece)-1]
			gap, span = min(gap, leastGap(piece)), span+t.high[i]-t.low[i]
		}
	}
	shift, fine, ok := shiftOf(n, gap, span, 64)
	if !ok {
		return
	}
	g.coarse = !fine
	t.shift, t.mask = uint64(shift), 1<<shift-1
	for i, counted := range [2]int{0, at + 1} {
		t.first[i] = uint64(len(g.cells))<<shift - t.low[i]
		g.cells = appendCells(g.cells, pieces[i], counted, t.low[i], t.high[i], shift)
	}
	if g.coarse {
		g.cells = append(g.cells, uint64(n)<<shift)
	}
	t.cells = &g.cells[0]
}

// leastGap returns the least distance of bounds, which ascend.
func leastGap(bounds []uint64) uint64 {
	gap := ^uint64(0)
	for i := range bounds[1:] {
		gap = min(gap, bounds[i+1]-bounds[i])
	}
	return gap
}

// shiftOf returns the size of cells for n bounds that lie at least gap apart, as a power of two. span is how far
// the last key with a cell is from the first. fine is false if cells may have several bounds; ok is false if
// places do not fit width bits.
func shiftOf(n int, gap, span uint64, width int) (shift int, fine, ok bool) {
	most := width - bits.Len(uint(n+2)) // a cell may count all bounds, and carry
	shift = min(bits.Len64(gap)-1, most)
	fine = true
	for limit := uint64(min(mostCells, cellsPerBound*n+64)); shift < most && span>>shift > limit; shift++ {
		fine = false
	}
	return shift, fine, span <= ^uint64(0)>>(64-width)-2<<shift
}

// appendCells appends the cells of keys from low to high, of which low is below all bounds. counted is how many
// bounds there are before.
func appendCells[T uint32 | uint64](cells []T, bounds []uint64, counted int, low, high uint64, shift int) []T {
	at := 0
	for c := range (high-low)>>shift + 1 {
		first := low + c<<shift
		for at < len(bounds) && bounds[at] <= first {
			at++
		}
		cell := T(counted+at) << shift
		if at < len(bounds) && bounds[at]-first < 1<<shift {
			cell += 1<<shift - T(bounds[at]-first)
		}
		cells = append(cells, cell)
	}
	return cells
}

// makeUnits makes the table for numbers of tiles, if 32 bits suffice and each step has some.
func (g *Grid) makeUnits(c *Column) {
	least, greatest := c.Bounds()
	g.base, g.unit = least, c.Divisor()
	span := (greatest - least) / g.unit
	if span >= 1<<32 || g.steps != nil || g.bounds[0] <= least || g.bounds[len(g.bounds)-1] > greatest {
		return
	}
	bounds := make([]uint64, len(g.bounds))
	for i, b := range g.bounds {
		bounds[i] = (b-least-1)/g.unit + 1
	}
	t, low, high := &g.table32, bounds[0]-1, bounds[len(bounds)-1]
	gap := leastGap(bounds)
	if gap == 0 {
		return
	}
	shift, fine, ok := shiftOf(len(bounds), gap, high-low, 32)
	if !fine || !ok {
		return
	}
	g.cells32 = appendCells(g.cells32, bounds, 0, low, high, shift)
	*t = gridTable32{&g.cells32[0], uint32(low), uint32(high - low), 1<<shift - 1, uint32(shift)}
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

// stepsPortable32 is stepsOf32 in Go.
func stepsPortable32(numbers []uint32, g *Grid, scale, distance, first uint32) {
	t := &g.table32
	shift := t.shift & 31
	for i, n := range numbers {
		place := min(max(n*scale+distance, t.low)-t.low, t.span)
		numbers[i] = first + (g.cells32[place>>shift]+place&t.mask)>>shift
	}
}

// CountSteps adds, for each document of a tile that is in set (nil for all), 1 to counts of the step of its key.
// ok is false when the form of the tile, or the grid, allows no more than to look at each key.
func (c *Column) CountSteps(tile int, set *[64]uint64, g *Grid, counts []uint32) (ok bool, err error) {
	t := c.d.tile(tile)
	if t == nil || !t.hasNumbers() || t.form == packed && g.cells32 == nil {
		return t == nil, nil
	}
	d, err := c.decoder(t)
	if err != nil {
		return false, err
	}
	defer d.release()
	numbers := d.numbers(set)
	if t.form == table {
		var some [maxTable]uint32
		countNumbers(numbers, some[:t.entries])
		d.keys = resize(d.keys, TileDocs)[:t.entries]
		unpackKeys(d.keys, d.b[d.l.whole:], widthOf(t.top), t.least, t.divisor)
		g.Steps(d.keys, 0)
		for i, step := range d.keys {
			counts[step] += some[i]
		}
		return true, nil
	}
	first, last := g.Step(t.least), g.Step(t.greatest)
	stepsOf32(numbers, g, uint32(t.divisor/g.unit), uint32((t.least-g.base)/g.unit), -uint32(first))
	countNumbers(numbers, counts[first:last+1])
	return true, nil
}
