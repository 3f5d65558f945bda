package cpuexec

import (
	"math/bits"

	"github.com/riffle-search/riffle/blockmax"
)

// Bounds of trees. The bound of a node in each word of a tile, or in each tile of a sheet, follows
// from those of its children by the arithmetic of the node, 64 at a time. Where a required child
// has no posting, the node has no match.

// boundFrame is the scratch memory of one level.
type boundFrame struct {
	part, best, all sums
	matched         [64]uint32 // how many should nodes may match
}

// bound sets to to the bounds of the clause's score in each word of the current tile, or in each
// tile of the sheet, and to 0 where it cannot match. It returns where it may match.
func (e *evaluator) bound(c *clause, level int, words bool, to *sums) (in uint64) {
	switch {
	case c.Leaf:
		return e.boundLeaf(c, words, to, &noSums)
	case c.All:
		*to = sums{}
		in = ^uint64(0)
	case c.Set:
		*to = sums{}
		if words {
			in = c.set.inWords(e.tile)
		} else {
			in = c.set.inTiles(e.sheet)
		}
	default:
		in = e.boundBoolean(c, level, words, to)
	}
	if c.Constant {
		*to = sums{}
		for w := in; w != 0; w &= w - 1 {
			to[bits.TrailingZeros64(w)&63] = c.Score
		}
	}
	return in
}

// boundLeaf sets to to sum plus the bounds of a list.
func (e *evaluator) boundLeaf(c *clause, words bool, to, sum *sums) (in uint64) {
	if c.cursor == nil {
		*to = *sum
		return 0
	}
	bounds, unit := c.cursor.tiles, c.cursor.unit
	if words {
		bounds = c.cursor.words
	}
	if c.Constant || c.cursor.plain {
		unit = 0
	}
	_, in = addBounds(to, sum, bounds, unit, 0)
	if c.Constant {
		for w := in; w != 0; w &= w - 1 {
			to[bits.TrailingZeros64(w)&63] += c.Score
		}
	}
	return in
}

// boundBoolean is bound for a node with clauses.
func (e *evaluator) boundBoolean(c *clause, level int, words bool, to *sums) (in uint64) {
	for level >= len(e.bounds) {
		e.bounds = append(e.bounds, new(boundFrame))
	}
	f := e.bounds[level]
	*to, in = sums{}, ^uint64(0)
	for i := range c.filter {
		in &= e.bound(&c.filter[i], level+1, words, &f.part)
	}
	for i := range c.must {
		in &= e.addBound(&c.must[i], level, words, to)
	}
	in &= e.boundShould(c, level, words, to)
	if c.together != nil {
		c.together.bound(words, to)
	}
	if c.combined != nil {
		c.combined.bound(to)
	}
	if c.function != nil && words {
		c.function.boundWords(e.tile, to)
	} else if c.function != nil {
		c.function.boundTiles(e.sheet, in, to)
	}
	if in != ^uint64(0) {
		for out := ^in; out != 0; out &= out - 1 {
			to[bits.TrailingZeros64(out)&63] = 0
		}
	}
	return in
}

// addBound adds the bounds of a child.
func (e *evaluator) addBound(c *clause, level int, words bool, to *sums) (in uint64) {
	if c.Leaf {
		return e.boundLeaf(c, words, to, to)
	}
	f := e.bounds[level]
	in = e.bound(c, level+1, words, &f.part)
	for i, b := range &f.part {
		to[i] += b
	}
	return in
}

// boundShould adds the bounds of the should nodes, and returns where enough of them may match.
func (e *evaluator) boundShould(c *clause, level int, words bool, to *sums) (in uint64) {
	f := e.bounds[level]
	all := to
	if c.Best {
		f.best, f.all = sums{}, sums{}
		all = &f.all
	}
	if c.minShould > 1 {
		f.matched = [64]uint32{}
	}
	some := uint64(0)
	for i := range c.should {
		var child uint64
		if c.Best {
			child = e.bound(&c.should[i], level+1, words, &f.part)
			for i, b := range &f.part {
				f.best[i] = max(f.best[i], b)
				all[i] += b
			}
		} else {
			child = e.addBound(&c.should[i], level, words, all)
		}
		some |= child
		for w := child; w != 0 && c.minShould > 1; w &= w - 1 {
			f.matched[bits.TrailingZeros64(w)&63]++
		}
	}
	if c.Best {
		for i, b := range &f.best {
			to[i] += blockmax.BestOf(b, f.all[i], c.Tie)
		}
	}
	switch {
	case c.minShould <= 0:
		return ^uint64(0)
	case c.minShould == 1:
		return some
	}
	for i, n := range &f.matched {
		if int(n) >= c.minShould {
			in |= 1 << i
		}
	}
	return in
}
