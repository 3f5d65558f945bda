package cpuexec

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// A branch is a boolean node below a union, read as if it were a list: it has bounds in each
// tile and word, adds its scores to those of a tile, and is asked for candidates. A tileCursor
// with a branch stands for it, so that bmm takes lists and branches alike.
type branch struct {
	clause *clause
	leaves []*tileCursor // all lists below
	shift  uint          // the unit of the cursor is 1<<shift

	// Two kinds of nodes need no evaluator:
	all     []*tileCursor // an AND of these lists, the longest first; or nil
	filters []*tileCursor // which hold all documents of that AND and score nothing
	best    []*tileCursor // the best of these lists, with what clause.Tie leaves of others; or nil
}

// branches are those of the segment at work, and memory that they share.
type branches struct {
	root  *clause
	units []*tileCursor // what the root is a union of: lists, and cursors with branches
	pool  []*tileCursor
	count int // pool[:count] belong to the segment at work

	bounds sums // of the branch at hand
	set    bitset
	tile   bestScores
	mask   bitset

	docs, scores []uint32 // candidates put aside
	best, sum    []uint32 // of candidates, for Best
}

// noSums bounds nothing. Nobody writes to it.
var noSums sums

// unitsOf returns what the tree is a union of: the lists and branches of which a document must
// match one, and whose scores add up. A root that is no union is a union of itself.
func (r *run) unitsOf(root *clause) []*tileCursor {
	b := &r.eval.branches
	if b.root != root {
		b.root, b.units, b.count = root, b.units[:0], 0
		r.eval.addUnits(r, root)
	}
	return b.units
}

// forget drops what belongs to the caller of the run.
func (b *branches) forget() {
	b.root = nil
	for _, l := range b.pool[:b.count] {
		l.branch.clause = nil
	}
}

// addUnits adds the units of a clause.
func (e *evaluator) addUnits(r *run, c *clause) {
	c = c.only()
	b := &e.branches
	switch {
	case c.Leaf && !c.Constant:
		if c.cursor != nil {
			b.units = append(b.units, c.cursor)
		}
	case c.isUnion() && !c.Best:
		for i := range c.should {
			e.addUnits(r, &c.should[i])
		}
	default:
		if c.where(func(*tileCursor) uint64 { return 1 }) != 0 {
			b.units = append(b.units, e.newBranch(r, c))
		}
	}
}

// isUnion reports whether a document matches a boolean node if and only if it matches one
// of its should nodes.
func (c *clause) isUnion() bool {
	return !c.Leaf && !c.All && !c.Constant && len(c.must)+len(c.filter)+len(c.not) == 0 && c.minShould <= 1
}

// only returns the only child of a node that matches and scores as that child does, or else the
// node.
func (c *clause) only() *clause {
	for !c.Leaf && !c.All && !c.Constant && len(c.filter)+len(c.not) == 0 {
		switch {
		case len(c.must) == 1 && len(c.should) == 0 && c.minShould <= 0:
			c = &c.must[0]
		case len(c.must) == 0 && len(c.should) == 1 && c.minShould <= 1:
			c = &c.should[0]
		default:
			return c
		}
	}
	return c
}

// newBranch returns a cursor that stands for a node.
func (e *evaluator) newBranch(r *run, c *clause) *tileCursor {
	b := &e.branches
	if b.count == len(b.pool) {
		b.pool = append(b.pool, &tileCursor{branch: new(branch)})
	}
	l := b.pool[b.count]
	b.count++
	n := l.branch
	*n = branch{clause: c, leaves: c.appendLeaves(n.leaves[:0]), all: n.all[:0], filters: n.filters[:0], best: n.best[:0]}
	l.run, l.max = r, c.highest()
	n.shift = uint(max(0, bits.Len32(l.max)-8))
	l.unit = 1 << n.shift
	if n.all, n.filters = c.appendAll(n.all, n.filters); !c.isAll() {
		n.all, n.filters = n.all[:0], n.filters[:0]
	}
	slices.SortFunc(n.all, func(a, b *tileCursor) int { return cmp.Compare(b.list.Count, a.list.Count) })
	if c.Best && c.isUnion() && !slices.ContainsFunc(c.should, func(c clause) bool { return !c.Leaf || c.Constant }) {
		n.best = append(n.best, n.leaves...)
	}
	return l
}

// appendLeaves appends the lists below a clause.
func (c *clause) appendLeaves(to []*tileCursor) []*tileCursor {
	if c.cursor != nil {
		to = append(to, c.cursor)
	}
	for _, part := range [...][]clause{c.must, c.should, c.filter, c.not} {
		for i := range part {
			to = part[i].appendLeaves(to)
		}
	}
	return to
}

// isAll reports whether a node is an AND of lists, or of such ANDs, all of which the segment has.
func (c *clause) isAll() bool {
	if c.Constant || c.All || c.Leaf || len(c.must) == 0 || len(c.should)+len(c.not) > 0 || c.minShould > 0 {
		return false
	}
	for i := range c.must {
		if m := c.must[i].only(); m.Constant || m.Leaf && m.cursor == nil || !m.Leaf && !m.isAll() {
			return false
		}
	}
	return !slices.ContainsFunc(c.filter, func(f clause) bool { return f.cursor == nil })
}

// appendAll appends the lists of such a node.
func (c *clause) appendAll(all, filters []*tileCursor) (must, filter []*tileCursor) {
	if c.cursor != nil {
		return append(all, c.cursor), filters
	}
	for i := range c.must {
		all, filters = c.must[i].appendAll(all, filters)
	}
	for i := range c.filter {
		if f := c.filter[i].cursor; f != nil {
			filters = append(filters, f)
		}
	}
	if len(c.must) == 0 && len(c.should) == 1 {
		return c.should[0].appendAll(all, filters)
	}
	return all, filters
}

// highest bounds what any document scores.
func (c *clause) highest() uint32 {
	switch {
	case c.Constant:
		return c.Score
	case c.Leaf && c.cursor == nil:
		return 0
	case c.Leaf:
		return c.cursor.max
	}
	must, best, all := uint32(0), uint32(0), uint32(0)
	for i := range c.must {
		must += c.must[i].highest()
	}
	for i := range c.should {
		h := c.should[i].highest()
		best, all = max(best, h), all+h
	}
	if c.Best {
		all = blockmax.BestOf(best, all, c.Tie)
	}
	return must + all
}

// branchSheet is boundSheet for a branch.
func (c *tileCursor) branchSheet(lo uint32) error {
	for _, l := range c.branch.leaves {
		if err := l.enterSheet(lo); err != nil {
			return err
		}
	}
	e := &c.run.eval
	c.tiles = &c.own[0]
	in := e.bound(c.branch.clause, 0, false, &e.branches.bounds)
	if last := (c.run.at.seg.Docs - 1 - lo) / tileDocs; last < 63 {
		in &= 1<<(last+1) - 1 // all documents may match, but there are no more
	}
	c.branch.round(c.tiles, &e.branches.bounds, in)
	return nil
}

// branchTile is enterTile for a branch.
func (c *tileCursor) branchTile(lo uint32) {
	for _, l := range c.branch.leaves {
		l.from, l.to, l.words, l.inWords = 0, 0, &noPostings, 0
		if l.tiles[lo/tileDocs%64] > 0 {
			l.enterTile(lo)
			l.inWords = l.words.present()
		}
	}
	e := &c.run.eval
	c.words = &c.own[1]
	c.inWords = e.bound(c.branch.clause, 0, true, &e.branches.bounds)
	c.branch.round(c.words, &e.branches.bounds, c.inWords)
}

// round sets to to the bounds in units of the branch, and never to 0 where there may be a match.
func (b *branch) round(to *coarse, bounds *sums, in uint64) {
	*to = coarse{}
	up := uint32(1)<<b.shift - 1
	for ; in != 0; in &= in - 1 {
		i := bits.TrailingZeros64(in) & 63
		to[i] = uint8(min(max((bounds[i]+up)>>b.shift, 1), 255)) // 255 units are no less than the branch's max
	}
}

// addBranch is add for a branch.
func (c *tileCursor) addBranch(words uint64) error {
	return c.matchBranch(&c.run.eval.branches.set, words, &c.run.win.scores)
}

// matchBranch adds what the branch contributes in the words to the scores. It sets matches, in
// the words, to the documents that match.
func (c *tileCursor) matchBranch(matches *bitset, words uint64, to *scores) error {
	r, b := c.run, c.branch
	switch {
	case len(b.all) > 0:
		return r.addAll(b, matches, words, to)
	case len(b.best) > 0:
		return r.addBest(b, matches, words, to)
	}
	r.win.fill()
	mask := &r.eval.branches.mask
	*mask = bitset{}
	for ; words != 0; words &= words - 1 {
		i := bits.TrailingZeros64(words) & 63
		mask[i] = r.win.all[i]
	}
	return r.eval.eval(b.clause, 1, mask, matches, to)
}

// addAll is matchBranch for an AND of lists.
func (r *run) addAll(b *branch, matches *bitset, words uint64, to *scores) error {
	for w := words; w != 0; w &= w - 1 {
		matches[bits.TrailingZeros64(w)&63] = ^uint64(0)
	}
	left := words
	for _, f := range b.filters {
		var err error
		if left, err = f.intersect(matches, left); err != nil {
			return err
		}
	}
	left, err := r.intersectAll(b.all, matches, left)
	if err != nil {
		return err
	}
	cs := &r.cands
	cs.list(matches, r.win.base, left)
	for ; words != 0; words &= words - 1 {
		matches[bits.TrailingZeros64(words)&63] = 0
	}
	for _, l := range slices.Backward(b.all) {
		if cs.n == 0 {
			return nil
		}
		if err := l.require(0, &noSums); err != nil {
			return err
		}
	}
	for p, doc := range cs.docs[:cs.n] {
		to[doc%tileDocs] += cs.score[p]
		matches[doc/wordDocs%64] |= 1 << (doc % wordDocs)
	}
	return nil
}

// addBest is matchBranch for the best of lists.
func (r *run) addBest(b *branch, matches *bitset, words uint64, to *scores) error {
	t := &r.eval.branches.tile
	for w := words; w != 0; w &= w - 1 {
		matches[bits.TrailingZeros64(w)&63] = 0
	}
	for _, l := range b.best {
		in := words & l.inWords
		if in == 0 {
			continue
		}
		weight := l.weight
		err := l.eachBlock(in, func(docs []uint32, impacts []uint16) {
			for i, doc := range docs {
				d := doc % tileDocs
				if words>>(d/wordDocs)&1 == 0 {
					continue
				}
				score := blockmax.Contribution(weight, impacts[i])
				t.best[d] = max(t.best[d], score)
				t.sum[d] += score
				matches[d/wordDocs] |= 1 << (d % wordDocs)
			}
		})
		if err != nil {
			*t = bestScores{}
			return err
		}
	}
	for ; words != 0; words &= words - 1 {
		w := bits.TrailingZeros64(words) & 63
		for m := matches[w]; m != 0; m &= m - 1 {
			d := (w*wordDocs + bits.TrailingZeros64(m)) % tileDocs
			to[d] += blockmax.BestOf(t.best[d], t.sum[d], b.clause.Tie)
			t.best[d], t.sum[d] = 0, 0
		}
	}
	return nil
}

// lookUpBranch is lookUp for a branch.
func (c *tileCursor) lookUpBranch(words uint64, need uint32, rest *sums) error {
	cs, own := &c.run.cands, &c.run.eval.branches
	own.docs = append(own.docs[:0], cs.docs[:cs.n]...)
	own.scores = append(own.scores[:0], cs.score[:cs.n]...)
	n := 0
	for _, doc := range own.docs {
		cs.docs[n], cs.score[n] = doc, 0
		n += int(words >> (doc / wordDocs % 64) & 1)
	}
	cs.n = n
	if n > 0 {
		if err := c.scoreBranch(); err != nil {
			return err
		}
	}
	// What is left of the candidates matches the branch; all others stay as they were.
	at := 0
	for p, doc := range own.docs {
		if at < cs.n && cs.docs[at] == doc {
			own.scores[p] += cs.score[at]
			at++
		}
	}
	cs.n = 0
	for p, doc := range own.docs {
		cs.docs[cs.n], cs.score[cs.n] = doc, own.scores[p]
		if own.scores[p]+rest[doc/wordDocs%64] >= need {
			cs.n++
		}
	}
	return nil
}

// scoreBranch gives the candidates, whose scores are 0, their scores for the branch. It may drop those
// that do not match.
func (c *tileCursor) scoreBranch() error {
	r, b := c.run, c.branch
	cs, own := &r.cands, &r.eval.branches
	switch {
	case len(b.all) > 0:
		for _, f := range b.filters {
			if err := f.require(0, &noSums); err != nil {
				return err
			}
		}
		clear(cs.score[:cs.n])
		for _, l := range slices.Backward(b.all) {
			if cs.n == 0 {
				return nil
			}
			if err := l.require(0, &noSums); err != nil {
				return err
			}
		}
		return nil
	case len(b.best) > 0:
		own.best = append(own.best[:0], cs.score[:cs.n]...)
		own.sum = append(own.sum[:0], cs.score[:cs.n]...)
		for _, l := range b.best {
			if l.inWords == 0 {
				continue
			}
			if err := l.lookUp(l.inWords, 0, &noSums); err != nil {
				return err
			}
			for p, score := range cs.score[:cs.n] {
				own.best[p] = max(own.best[p], score)
				own.sum[p] += score
				cs.score[p] = 0
			}
		}
		for p := range cs.n {
			cs.score[p] = blockmax.BestOf(own.best[p], own.sum[p], b.clause.Tie)
		}
		return nil
	}
	mask, matches, to := &own.mask, &own.set, &own.tile.child
	*mask = bitset{}
	for _, doc := range cs.docs[:cs.n] {
		mask[doc/wordDocs%64] |= 1 << (doc % wordDocs)
	}
	err := r.eval.eval(b.clause, 1, mask, matches, to)
	for p, doc := range cs.docs[:cs.n] {
		cs.score[p] = to[doc%tileDocs]
		to[doc%tileDocs] = 0
	}
	if err != nil {
		*to = scores{}
	}
	return err
}
