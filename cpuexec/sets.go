package cpuexec

import "math/bits"

// Trees without scores, by whole sets: where the dense lists of a tree have bitmaps, what
// matches a node in a sheet is made from what matches its children, 64 documents at a step. That
// takes some 20 ns a tile and leaf, where eval takes hundreds, but passes over nothing.

// tilesForSets is one tile in how many must have matches for sets to be worth it.
const tilesForSets = 10

// bySets reports whether a tree is better evaluated by sets.
func (r *run) bySets(root *clause) bool {
	return root.cost*tilesForSets >= uint64(tiles(r.seg.Docs)) && root.hasSets()
}

// hasSets reports whether all lists have bitmaps, but for those too sparse for one. Lists that
// have none yet learn it from eval.
func (c *clause) hasSets() bool {
	if c.Leaf {
		return c.cursor == nil || c.cursor.bitmap != nil || !c.cursor.dense()
	}
	for _, children := range [...][]clause{c.filter, c.must, c.should, c.not} {
		for i := range children {
			if !children[i].hasSets() {
				return false
			}
		}
	}
	return c.minShould <= 1
}

// A span is documents lo to hi-1: a sheet or less, from the beginning of a tile.
type span struct{ lo, hi uint32 }

// of returns the words of the span in a bitmap.
func (s span) of(bitmap []uint64) []uint64 { return bitmap[s.lo/64 : (s.hi+63)/64] }

// spans calls visit with the range at work, a sheet at a time.
func (r *run) spans(visit func(s span) error) error {
	for s := (span{hi: r.from}); s.hi < r.to; {
		s = span{s.hi, s.hi + min(sheetDocs, r.to-s.hi)}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := visit(s); err != nil {
			return err
		}
	}
	return nil
}

// countTree counts the documents of the range that match a tree, by sets.
func (r *run) countTree(root *clause) error {
	mine := ^uint64(0)
	if r.sheetClaim != nil { // the range is a sheet; others may have counted some tiles already
		mine = ^r.sheetClaim.taken.Or(mine)
		r.took(bits.OnesCount64(mine))
	}
	return r.spans(func(s span) error {
		set := r.sheetSet[:(s.hi-s.lo+63)/64]
		if err := r.fold(replace, root, s, set, 0); err != nil {
			return err
		}
		for theirs := ^mine; theirs != 0; theirs &= theirs - 1 {
			if at := 64 * bits.TrailingZeros64(theirs); at < len(set) {
				clear(set[at:min(at+64, len(set))])
			}
		}
		r.countSet(set, s)
		return nil
	})
}

// A setOp changes a set by another one.
type setOp uint8

const (
	replace setOp = iota
	and
	andNot
	or
)

func (op setOp) apply(set, with []uint64) {
	set = set[:len(with)]
	switch op {
	case replace:
		copy(set, with)
	case and:
		for i, word := range with {
			set[i] &= word
		}
	case andNot:
		for i, word := range with {
			set[i] &^= word
		}
	case or:
		for i, word := range with {
			set[i] |= word
		}
	}
}

// fold changes set by the documents of the span that match the clause. Sets of the level and of
// those below may be overwritten.
func (r *run) fold(op setOp, c *clause, s span, set []uint64, level int) error {
	if c.Leaf && c.cursor != nil && c.cursor.bitmap != nil {
		op.apply(set, s.of(c.cursor.bitmap))
		return nil
	}
	matches := set
	if op != replace {
		matches = r.setAt(2*level, len(set))
	}
	if err := r.makeSet(c, s, matches, level+1); err != nil {
		return err
	}
	if op != replace {
		op.apply(set, matches)
	}
	return nil
}

// makeSet sets set to the documents of the span that match the clause.
func (r *run) makeSet(c *clause, s span, set []uint64, level int) error {
	switch {
	case c.Leaf:
		clear(set)
		if c.cursor == nil {
			return nil
		}
		return c.cursor.markAll(set, s.lo, s.hi)
	case c.All:
		for i := range set {
			set[i] = ^uint64(0)
		}
		set[len(set)-1] >>= -s.hi % 64
		return nil
	}
	return r.makeBoolean(c, s, set, level)
}

// makeBoolean is makeSet for a node with clauses.
func (r *run) makeBoolean(c *clause, s span, set []uint64, level int) error {
	op := replace
	for _, required := range [...][]clause{c.filter, c.must} {
		for i := range required {
			if err := r.fold(op, &required[i], s, set, level); err != nil {
				return err
			}
			op = and
		}
	}
	if c.minShould > 0 {
		some := set
		if op == and {
			some = r.setAt(2*level+1, len(set))
		}
		clear(some)
		for i := range c.should {
			if err := r.fold(or, &c.should[i], s, some, level); err != nil {
				return err
			}
		}
		if op == and {
			and.apply(set, some)
		}
	}
	for i := range c.not {
		if err := r.fold(andNot, &c.not[i], s, set, level); err != nil {
			return err
		}
	}
	return nil
}

// setAt returns the set of so many words that has a number, to be written to.
func (r *run) setAt(i, words int) []uint64 {
	for i >= len(r.sets) {
		r.sets = append(r.sets, make([]uint64, len(r.sheetSet)))
	}
	return r.sets[i][:words]
}
