package cpuexec

import "math/bits"

// Trees without scores, by whole sets. Where the dense lists of a tree have bitmaps, the matches of
// a node in a sheet are made from the matches of its children, 64 documents at a step. That takes
// some 20 ns per tile and leaf, where eval takes hundreds, but skips nothing.

// A setMaker makes sets of the documents of a sheet.
type setMaker struct {
	maps  [][]uint64             // bitmaps of the current operation
	sheet [sheetDocs / 64]uint64 // the set being made
	spare [][]uint64             // of the same length, for lower levels
}

// collect sets maps to documents [lo, hi) of the lists' bitmaps.
func (m *setMaker) collect(lists []*tileCursor, lo, hi uint32) {
	m.maps = m.maps[:0]
	for _, c := range lists {
		if c.bitmap != nil {
			m.maps = append(m.maps, c.bitmap[lo/64:(hi+63)/64])
		}
	}
}

// unite sets set to the documents of the span that are in at least one list.
func (m *setMaker) unite(lists []*tileCursor, s span, set []uint64) error {
	m.collect(lists, s.lo, s.hi)
	if len(m.maps) > 0 {
		unite(set, m.maps)
	} else {
		clear(set)
	}
	for _, c := range lists {
		if c.bitmap != nil {
			continue
		}
		if err := c.markAll(set, s.lo, s.hi); err != nil {
			return err
		}
	}
	return nil
}

// count returns how many documents of a set over the span are in the accept bitmap.
func (m *setMaker) count(set []uint64, s span, accept []uint64) int {
	m.maps = append(m.maps[:0], set)
	if accept != nil {
		m.maps = append(m.maps, s.of(accept))
	}
	return countCommon(m.maps)
}

// forget drops references to the caller's data.
func (m *setMaker) forget() { clear(m.maps[:cap(m.maps)]) }

// tilesForSets: sets pay if at least one in tilesForSets tiles has matches.
const tilesForSets = 10

// bySets reports whether a tree is better evaluated by sets.
func (r *run) bySets(root *clause) bool {
	return root.cost*tilesForSets >= uint64(tiles(r.at.seg.Docs)) && root.hasSets()
}

// hasSets reports whether all lists have bitmaps, except those too sparse for one. Lists get their
// bitmaps through eval.
func (c *clause) hasSets() bool {
	if c.together != nil {
		return false
	}
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

// A span is documents [lo, hi): a sheet or less, from the beginning of a tile.
type span struct{ lo, hi uint32 }

// of returns the words of the span in a bitmap.
func (s span) of(bitmap []uint64) []uint64 { return bitmap[s.lo/64 : (s.hi+63)/64] }

// spans calls visit for the current range, sheet by sheet.
func (r *run) spans(visit func(s span) error) error {
	for s := (span{hi: r.at.from}); s.hi < r.at.to; {
		s = span{s.hi, s.hi + min(sheetDocs-s.hi%sheetDocs, r.at.to-s.hi)}
		if err := r.query.ctx.Err(); err != nil {
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
	if r.share.claim != nil { // the range is a sheet, and others may have counted some tiles
		mine = ^r.share.claim.taken.Or(mine)
		r.share.took(bits.OnesCount64(mine))
	}
	if root.isTiled() {
		return r.countSet(root.alone().set, mine)
	}
	return r.spans(func(s span) error {
		set := r.sets.sheet[:(s.hi-s.lo+63)/64]
		if err := r.sets.fold(replace, root, s, set, 0); err != nil {
			return err
		}
		for theirs := ^mine; theirs != 0; theirs &= theirs - 1 {
			if at := 64 * bits.TrailingZeros64(theirs); at < len(set) {
				clear(set[at:min(at+64, len(set))])
			}
		}
		r.out.total += r.sets.count(set, s, r.at.seg.Accept)
		return nil
	})
}

// isTiled reports whether a set that comes as tiles decides alone what matches.
func (c *clause) isTiled() bool {
	only := c.alone()
	return only.set != nil && only.set.source != nil
}

// countSet counts the accepted documents of a set that comes as tiles, in the range and in those tiles
// of its sheets that are mine.
func (r *run) countSet(s *docSet, mine uint64) error {
	set, accept := (*[tileDocs / 64]uint64)(s.bits), r.at.seg.Accept
	s.base, s.tile = ^uint32(0), ^uint32(0) // no tile stays
	return r.spans(func(at span) error {
		sheet := at.lo &^ (sheetDocs - 1) // the range may begin behind it
		for tiles := r.at.tilesAtWork(sheet, s.inTiles(sheet)) & mine; tiles != 0; tiles &= tiles - 1 {
			t := int(sheet/tileDocs) + bits.TrailingZeros64(tiles)
			n, err := s.source.Tile(t, set)
			if err != nil {
				return err
			}
			if accept == nil {
				r.out.total += n
				continue
			}
			words := accept[t*tileDocs/64:]
			r.sets.maps = append(r.sets.maps[:0], set[:min(len(words), len(set))], words)
			r.out.total += countCommon(r.sets.maps)
		}
		return nil
	})
}

// A setOp combines a set with another one.
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

// fold combines set with the documents of the span that match the clause. It may overwrite sets of
// this level and of lower ones.
func (m *setMaker) fold(op setOp, c *clause, s span, set []uint64, level int) error {
	switch {
	case c.Leaf && c.cursor != nil && c.cursor.bitmap != nil:
		op.apply(set, s.of(c.cursor.bitmap))
		return nil
	case c.set != nil:
		words, err := c.set.span(s)
		if err == nil {
			op.apply(set, words)
		}
		return err
	}
	matches := set
	if op != replace {
		matches = m.setAt(2*level, len(set))
	}
	if err := m.makeSet(c, s, matches, level+1); err != nil {
		return err
	}
	if op != replace {
		op.apply(set, matches)
	}
	return nil
}

// makeSet sets set to the documents of the span that match the clause.
func (m *setMaker) makeSet(c *clause, s span, set []uint64, level int) error {
	switch {
	case c.Leaf:
		clear(set)
		if c.cursor == nil {
			return nil
		}
		return c.cursor.markAll(set, s.lo, s.hi)
	case c.Set:
		clear(set)
		if c.set == nil {
			return nil
		}
		words, err := c.set.span(s)
		copy(set, words)
		return err
	case c.All:
		for i := range set {
			set[i] = ^uint64(0)
		}
		set[len(set)-1] >>= -s.hi % 64
		return nil
	}
	return m.makeBoolean(c, s, set, level)
}

// makeBoolean is makeSet for a node with clauses.
func (m *setMaker) makeBoolean(c *clause, s span, set []uint64, level int) error {
	op := replace
	for _, required := range [...][]clause{c.filter, c.must} {
		for i := range required {
			if err := m.fold(op, &required[i], s, set, level); err != nil {
				return err
			}
			op = and
		}
	}
	if c.minShould > 0 {
		some := set
		if op == and {
			some = m.setAt(2*level+1, len(set))
		}
		clear(some)
		for i := range c.should {
			if err := m.fold(or, &c.should[i], s, some, level); err != nil {
				return err
			}
		}
		if op == and {
			and.apply(set, some)
		}
	}
	for i := range c.not {
		if err := m.fold(andNot, &c.not[i], s, set, level); err != nil {
			return err
		}
	}
	return nil
}

// setAt returns set number i, with the given number of words, for writing.
func (m *setMaker) setAt(i, words int) []uint64 {
	for i >= len(m.spare) {
		m.spare = append(m.spare, make([]uint64, len(m.sheet)))
	}
	return m.spare[i][:words]
}
