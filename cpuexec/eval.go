package cpuexec

import (
	"math/bits"

	"github.com/riffle-search/riffle/blockmax"
)

// An evaluator finds the matches of a tree in a tile.
type evaluator struct {
	root     *clause // of the tree, over the current segment; nil until it is needed
	sheet    uint32  // first document of the current sheet, for sets
	tile     uint32  // and of the current tile
	frames   []*frame
	bounds   []*boundFrame
	branches branches
	together []*together // together[:nears] belong to the current segment
	nears    int
	combined []*combination // combined[:words] belong to the current segment
	words    int
	marks    *marks // of the window
}

// A frame is the scratch memory of one level of the tree.
type frame struct {
	left   bitset // documents that can still match the node
	child  bitset // documents that match the current child
	any    bitset // documents that match at least one should node
	counts [tileDocs]uint32
	scores scores
	best   *bestScores // of a node with Best; nil until there is one
}

// bestScores are the scores of the should nodes of a node with Best. They are zero between nodes.
type bestScores struct {
	child, best, sum scores
}

// frame returns the scratch memory of a level; the root has level 0.
func (e *evaluator) frame(level int) *frame {
	for level >= len(e.frames) {
		e.frames = append(e.frames, new(frame))
	}
	return e.frames[level]
}

// eval sets matches to the documents of mask that match the node, and adds their scores to scores.
// In the root (level 0) it may also change scores of other documents, which the caller ignores.
// With nil scores it reads no frequencies.
func (e *evaluator) eval(c *clause, level int, mask, matches *bitset, to *scores) error {
	inner := to
	if c.Constant {
		inner = nil
	}
	var err error
	switch {
	case c.Leaf:
		err = e.leaf(c, mask, matches, inner)
	case c.All:
		*matches = *mask
	case c.Set:
		err = c.set.common(mask, matches, e.tile)
	default:
		err = e.boolean(c, level, mask, matches, inner)
	}
	if err == nil && c.Constant && to != nil {
		matches.each(func(d uint32) { to[d] += c.Score })
	}
	return err
}

// leaf is eval for a term. It skips blocks without a document in a word of the mask.
func (e *evaluator) leaf(c *clause, mask, matches *bitset, to *scores) error {
	*matches = bitset{}
	l := c.cursor
	if l == nil || l.inWords == 0 {
		return nil
	}
	words := mask.words() & l.inWords
	if err := l.mark(matches, words); err != nil {
		return err
	}
	e.marks.flush(matches)
	hits := uint64(0)
	for w := l.inWords; w != 0; w &= w - 1 {
		i := bits.TrailingZeros64(w) & 63
		if matches[i] &= mask[i]; matches[i] != 0 {
			hits |= 1 << i
		}
	}
	if to == nil || hits == 0 {
		return nil
	}
	return l.eachBlock(hits, func(docs []uint32, impacts []uint16) {
		for i, doc := range docs {
			d := doc % tileDocs
			in := uint32(matches[d/64] >> (d % 64) & 1)
			to[d] += blockmax.Contribution(l.weight, impacts[i]) * in
		}
	})
}

// boolean is eval for a node with clauses. Required children narrow the set, the cheapest first,
// then Not nodes. The should nodes see only the remaining documents.
func (e *evaluator) boolean(c *clause, level int, mask, matches *bitset, to *scores) error {
	f := e.frame(level)
	inner := to
	if to != nil && level > 0 {
		inner = &f.scores // a document may match children but not the node
		defer f.scores.clear(mask.words())
	}
	*matches = bitset{}
	f.left = *mask
	few := c.together != nil && len(c.together.all) > 0 && f.left.count(f.left.words()) <= fewPlaces
	for _, places := range [...]bool{false, true} { // positions are read last
		if few {
			break // looking the documents up in the lists is faster
		}
		later := false
		for i := range c.filter {
			if c.filter[i].places != places {
				later = true
				continue
			}
			if err := e.narrow(&c.filter[i], level, nil); err != nil || f.left.empty() {
				return err
			}
		}
		for i := range c.must {
			if c.must[i].places != places {
				later = true
				continue
			}
			if err := e.narrow(&c.must[i], level, inner); err != nil || f.left.empty() {
				return err
			}
		}
		if !later {
			break
		}
	}
	for i := range c.not {
		if err := e.eval(&c.not[i], level+1, &f.left, &f.child, nil); err != nil {
			return err
		}
		for w := range f.left {
			f.left[w] &^= f.child[w]
		}
	}
	if c.together != nil {
		if err := e.should(c, level, nil); err != nil {
			return err
		}
		if err := c.together.keep(&f.left, inner); err != nil {
			return err
		}
	} else if c.combined != nil {
		if err := e.should(c, level, nil); err != nil {
			return err
		}
		if inner != nil {
			if err := c.combined.addSet(&f.left, inner); err != nil {
				return err
			}
		}
	} else if err := e.should(c, level, inner); err != nil {
		return err
	}
	*matches = f.left
	if c.function != nil && inner != nil {
		c.function.apply(matches, e.tile, inner)
	}
	if inner != to {
		matches.each(func(d uint32) { to[d] += inner[d] })
	}
	return nil
}

// narrow keeps only the documents that match the child.
func (e *evaluator) narrow(child *clause, level int, to *scores) error {
	f := e.frame(level)
	if err := e.eval(child, level+1, &f.left, &f.child, to); err != nil {
		return err
	}
	f.left = f.child
	return nil
}

// should adds up the should nodes of the remaining documents, and keeps those that match minShould
// of them.
func (e *evaluator) should(c *clause, level int, to *scores) error {
	if to == nil && c.minShould == 0 {
		return nil
	}
	f := e.frame(level)
	f.any = bitset{}
	if c.minShould > 1 {
		clear(f.counts[:])
	}
	childTo, best := to, (*bestScores)(nil)
	if c.Best && to != nil {
		if f.best == nil {
			f.best = new(bestScores)
		}
		best = f.best
		childTo = &best.child
	}
	for i := range c.should {
		if err := e.eval(&c.should[i], level+1, &f.left, &f.child, childTo); err != nil {
			f.best = nil // it still holds scores of this tile
			return err
		}
		if best != nil {
			f.child.each(func(d uint32) {
				best.best[d] = max(best.best[d], best.child[d])
				best.sum[d] += best.child[d]
				best.child[d] = 0
			})
		}
		for w := range f.any {
			f.any[w] |= f.child[w]
		}
		if c.minShould > 1 {
			f.child.each(func(d uint32) { f.counts[d]++ })
		}
	}
	if best != nil {
		f.any.each(func(d uint32) {
			to[d] += blockmax.BestOf(best.best[d], best.sum[d], c.Tie)
			best.best[d], best.sum[d] = 0, 0
		})
	}
	if c.minShould > 0 {
		f.left = f.any
	}
	if c.minShould > 1 {
		f.any.each(func(d uint32) {
			if int(f.counts[d]) < c.minShould {
				f.left[d/64] &^= 1 << (d % 64)
			}
		})
	}
	return nil
}

// words returns the words that have a document in the set.
func (b *bitset) words() (words uint64) {
	for i, w := range b {
		in := uint64(0)
		if w != 0 {
			in = 1
		}
		words |= in << i
	}
	return words
}

// clear zeroes the scores of some words.
func (s *scores) clear(words uint64) {
	for ; words != 0; words &= words - 1 {
		i := bits.TrailingZeros64(words) & 63
		clear(s[wordDocs*i:][:wordDocs])
	}
}

// each calls visit for every position in the set, ascending.
func (b *bitset) each(visit func(d uint32)) {
	for i, word := range b {
		for ; word != 0; word &= word - 1 {
			visit(uint32(i*64+bits.TrailingZeros64(word)) % tileDocs)
		}
	}
}
