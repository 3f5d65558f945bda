package cpuexec

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// A branch is a boolean node below a union that is read like a list: it has bounds in each tile and
// word, adds its scores to those of a tile, and looks up candidates. A tileCursor with a branch
// stands for it, so that bmm treats lists and branches alike.
type branch struct {
	clause *clause
	leaves []*tileCursor // all lists below it
	shift  uint          // the unit of the cursor is 1<<shift

	// Four kinds of nodes need no evaluator:
	all     []*tileCursor // an AND of these lists, the longest first; or nil
	filters []*tileCursor // which hold all matches of that AND and do not score
	any     []group       // an OR of lists, or the best of such ORs; or nil
	near    *together     // a proximity that needs all of its lists; or nil
	word    *combination  // a word of several fields that scores as if they were one; or nil
}

// A group is an OR of lists whose scores add up.
type group struct {
	lists   []*tileCursor
	inWords uint64 // of the current tile, without those where leaveOut has left it out
}

// noSums bounds nothing. It is never written to.
var noSums sums

// newBranch returns a cursor that stands for a node.
func (e *evaluator) newBranch(r *run, c *clause) *tileCursor {
	b := &e.branches
	if b.count == len(b.pool) {
		b.pool = append(b.pool, &tileCursor{branch: new(branch)})
	}
	l := b.pool[b.count]
	b.count++
	n := l.branch
	*n = branch{clause: c, leaves: c.appendLeaves(n.leaves[:0]), all: n.all[:0], filters: n.filters[:0], any: n.any[:0]}
	l.run, l.max = r, c.highest()
	n.shift = 0
	for l.max > 255<<n.shift { // 255 units must be at least max
		n.shift++
	}
	l.unit = 1 << n.shift
	l.cost, l.unscored = c.cost, false
	if n.all, n.filters = c.appendAll(n.all, n.filters); !c.isAll() {
		n.all, n.filters = n.all[:0], n.filters[:0]
	}
	slices.SortFunc(n.all, func(a, b *tileCursor) int { return cmp.Compare(b.list.Count, a.list.Count) })
	n.any = c.appendGroups(n.any)
	if c.isNear() {
		n.near = c.together
	}
	if !c.Constant {
		n.word = c.combined
	}
	return l
}

// branchSheet is boundSheet for a branch.
func (c *tileCursor) branchSheet(lo uint32) error {
	for _, l := range c.branch.leaves {
		if l.sheet == lo {
			continue // another operand covers it
		}
		if err := l.enterSheet(lo); err != nil {
			return err
		}
	}
	e := &c.run.eval
	e.sheet = lo
	c.tiles = &c.own[0]
	var in uint64
	if c.max == 0 {
		in = c.branch.clause.tiles(lo)
	} else {
		in = e.bound(c.branch.clause, 0, false, &e.branches.bounds)
	}
	if last := (c.run.at.seg.Docs - 1 - lo) / tileDocs; last < 63 {
		in &= 1<<(last+1) - 1 // all documents may match, but the segment ends here
	}
	if c.max == 0 {
		c.tiles.ones(in)
	} else {
		c.branch.round(c.tiles, &e.branches.bounds, in)
	}
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
	e.tile = lo
	c.words = &c.own[1]
	for i := range c.branch.any {
		g := &c.branch.any[i]
		g.inWords = 0
		for _, l := range g.lists {
			g.inWords |= l.inWords
		}
	}
	if c.max == 0 { // a filter: where it may match is all that there is to know
		c.inWords = c.branch.clause.words(lo)
		c.words.ones(c.inWords)
		return
	}
	c.inWords = e.bound(c.branch.clause, 0, true, &e.branches.bounds)
	c.branch.round(c.words, &e.branches.bounds, c.inWords)
}

// ones sets to to 1 at the bits of in, and to 0 elsewhere: what round makes of bounds of 0.
func (to *coarse) ones(in uint64) {
	for i := range 8 {
		binary.LittleEndian.PutUint64(to[8*i:], byteOfBit[in>>(8*i)&0xff])
	}
}

// byteOfBit spreads the bits of a byte over eight bytes.
var byteOfBit = func() (of [256]uint64) {
	for b := range of {
		for bit := range 8 {
			of[b] |= uint64(b) >> bit & 1 << (8 * bit)
		}
	}
	return of
}()

// round sets to to the bounds in units of the branch. It rounds up, and never to 0 where there may
// be a match.
func (b *branch) round(to *coarse, bounds *sums, in uint64) {
	*to = coarse{}
	up := uint32(1)<<b.shift - 1
	for ; in != 0; in &= in - 1 {
		i := bits.TrailingZeros64(in) & 63
		to[i] = uint8(min(max((bounds[i]+up)>>b.shift, 1), 255)) // 255 units are at least the branch's max
	}
}

// addBranch is add for a branch.
func (c *tileCursor) addBranch(words uint64) error {
	switch {
	case len(c.branch.any) > 0:
		return c.run.addAny(c.branch, words, &c.run.win.scores)
	case c.branch.word != nil:
		return c.branch.word.add(words, &c.run.win.scores)
	}
	return c.matchBranch(&c.run.eval.branches.set, words, &c.run.win.scores)
}

// matchBranch adds the branch's contributions in the words to the scores. It sets matches, in the
// words, to the documents that match.
func (c *tileCursor) matchBranch(matches *bitset, words uint64, to *scores) error {
	r, b := c.run, c.branch
	switch {
	case len(b.all) > 0 || b.near != nil:
		if err := r.intersectBranch(b, words); err != nil {
			return err
		}
		matches.empties(words)
		cs := &r.cands
		for p, doc := range cs.docs[:cs.n] {
			to[doc%tileDocs] += cs.score[p]
			matches[doc/wordDocs%64] |= 1 << (doc % wordDocs)
		}
		return nil
	case len(b.any) > 0 || b.word != nil:
		matches.empties(words)
		for _, l := range b.leaves {
			if err := l.mark(matches, words&l.inWords); err != nil {
				return err
			}
		}
		r.win.marks.flush(matches)
		if b.word != nil {
			return b.word.add(words, to)
		}
		return r.addAny(b, words, to)
	}
	mask := &r.eval.branches.mask
	r.win.within(mask, words)
	return r.eval.eval(b.clause, 1, mask, matches, to)
}

// intersectBranch makes candidates of the documents of the words that match an AND of lists, with
// their scores.
func (r *run) intersectBranch(b *branch, words uint64) (err error) {
	if b.near != nil {
		if err := r.intersectTogether(b.near, words); err != nil {
			return err
		}
		return b.near.verify(0, &noSums)
	}
	set, left := &r.eval.branches.set, words
	for w := words; w != 0; w &= w - 1 {
		set[bits.TrailingZeros64(w)&63] = ^uint64(0)
	}
	for _, f := range b.filters {
		if left, err = f.intersect(set, left); err != nil {
			return err
		}
	}
	if left, err = r.intersectAll(b.all, set, left); err != nil {
		return err
	}
	r.cands.list(set, r.win.base, left)
	for _, l := range slices.Backward(b.all) {
		if l.weight == 0 && l.intersected { // a word of a proximity: its frequency is not needed
			continue
		}
		if r.cands.n == 0 {
			return nil
		}
		if err := l.require(0, &noSums); err != nil {
			return err
		}
	}
	return nil
}

// requireLists drops the candidates that a list does not hold, and adds what the lists contribute.
func (r *run) requireLists(lists []*tileCursor) error {
	for _, l := range slices.Backward(lists) {
		if r.cands.n == 0 {
			return nil
		}
		if err := l.require(0, &noSums); err != nil {
			return err
		}
	}
	return nil
}

// addAny adds the contributions of an OR of lists, or of the best of such ORs, in the words. Where
// only one group has postings, there is no best to choose.
func (r *run) addAny(b *branch, words uint64, to *scores) error {
	some, several := uint64(0), uint64(0)
	for i := range b.any {
		several |= some & b.any[i].inWords
		some |= b.any[i].inWords
	}
	several &= words
	t := &r.eval.branches.tile
	for i := range b.any {
		g := &b.any[i]
		if err := g.add(to, words&^several); err != nil {
			return err
		}
		if err := g.add(&t.child, several); err != nil {
			*t = bestScores{}
			return err
		}
		t.choose(several&g.inWords, b.clause.Tie > 0)
	}
	for ; several != 0; several &= several - 1 {
		w := bits.TrailingZeros64(several) & 63
		best, sum, to := (*[wordDocs]uint32)(t.best[wordDocs*w:]), (*[wordDocs]uint32)(t.sum[wordDocs*w:]), (*[wordDocs]uint32)(to[wordDocs*w:])
		if b.clause.Tie > 0 {
			for i, s := range sum {
				to[i] += blockmax.BestOf(best[i], s, b.clause.Tie)
			}
			*sum = [wordDocs]uint32{}
		} else {
			for i, s := range best {
				to[i] += s
			}
		}
		*best = [wordDocs]uint32{}
	}
	return nil
}

// add adds the contributions of the group's lists in the words to scores.
func (g *group) add(to *scores, words uint64) error {
	for _, l := range g.lists {
		if in := words & g.inWords & l.inWords; in != 0 {
			if err := l.addTo(to, in); err != nil {
				return err
			}
		}
	}
	return nil
}

// choose merges the scores of a child in some words into the best scores, and into the sum if there
// is a tie.
func (t *bestScores) choose(words uint64, tie bool) {
	for ; words != 0; words &= words - 1 {
		w := bits.TrailingZeros64(words) & 63
		child, best := (*[wordDocs]uint32)(t.child[wordDocs*w:]), (*[wordDocs]uint32)(t.best[wordDocs*w:])
		for i, s := range child {
			best[i] = max(best[i], s)
		}
		if tie {
			sum := (*[wordDocs]uint32)(t.sum[wordDocs*w:])
			for i, s := range child {
				sum[i] += s
			}
		}
		*child = [wordDocs]uint32{}
	}
}

// lookUpBranch is lookUp for a branch, and with required it is require.
func (c *tileCursor) lookUpBranch(words uint64, need uint32, rest *sums, required bool) error {
	if c.branch.near != nil && required {
		return c.branch.near.verify(need, rest)
	}
	cs, own := &c.run.cands, &c.run.eval.branches
	own.docs = append(own.docs[:0], cs.docs[:cs.n]...)
	own.scores = append(own.scores[:0], cs.score[:cs.n]...)
	n := 0
	for _, doc := range own.docs {
		cs.docs[n], cs.score[n] = doc, 0
		n += int(words >> (doc / wordDocs % 64) & 1)
	}
	if cs.n = n; n > 0 {
		if err := c.matchCandidates(); err != nil {
			return err
		}
	}
	at, kept := 0, 0 // indexes into matches, and into all, which has at least as many
	for p, doc := range own.docs {
		hit := at < cs.n && cs.docs[at] == doc
		if hit {
			own.scores[p] += cs.score[at]
			at++
		}
		own.docs[kept], own.scores[kept] = doc, own.scores[p]
		if (hit || !required) && own.scores[p]+rest[doc/wordDocs%64] >= need {
			kept++
		}
	}
	cs.n = kept
	copy(cs.docs[:], own.docs[:kept])
	copy(cs.score[:], own.scores[:kept])
	return nil
}

// matchCandidates drops the candidates that do not match the branch, and gives the others, whose
// scores are 0, their scores for it.
func (c *tileCursor) matchCandidates() error {
	r, b := c.run, c.branch
	cs := &r.cands
	switch {
	case b.near != nil:
		clear(cs.score[:cs.n])
		return b.near.verify(0, &noSums)
	case len(b.all) > 0:
		for _, f := range b.filters {
			if err := f.require(0, &noSums); err != nil {
				return err
			}
		}
		clear(cs.score[:cs.n])
		return r.requireLists(b.all)
	case len(b.any) > 0:
		return r.matchAny(b)
	case b.word != nil:
		return b.word.matchCandidates()
	}
	mask, matches, to := &r.eval.branches.mask, &r.eval.branches.set, &r.eval.branches.tile.child
	mask.of(cs)
	if c.unscored {
		if err := r.eval.eval(b.clause, 1, mask, matches, nil); err != nil {
			return err
		}
	} else if err := r.eval.eval(b.clause, 1, mask, matches, to); err != nil {
		*to = scores{}
		return err
	}
	for p, doc := range cs.docs[:cs.n] {
		cs.score[p] = to[doc%tileDocs]
		to[doc%tileDocs] = 0
	}
	cs.keepOnly(matches)
	return nil
}

// matchAny is matchCandidates for an OR of lists or the best of such ORs.
func (r *run) matchAny(b *branch) error {
	cs, own := &r.cands, &r.eval.branches
	n := cs.n
	own.asked = append(own.asked[:0], cs.docs[:n]...)
	own.best = append(own.best[:0], cs.score[:n]...)
	own.sum = append(own.sum[:0], cs.score[:n]...)
	own.child = append(own.child[:0], cs.score[:n]...)
	matches := &own.set
	*matches = bitset{}
	for i := range b.any {
		clear(own.child[:n])
		for _, l := range b.any[i].lists {
			if l.inWords == 0 {
				continue
			}
			if cs.n = cs.within(own.asked, b.any[i].inWords&l.inWords); cs.n == 0 {
				continue
			}
			if err := l.require(0, &noSums); err != nil {
				return err
			}
			at := 0
			for p, doc := range own.asked {
				if at < cs.n && cs.docs[at] == doc {
					own.child[p] += cs.score[at]
					matches[doc/wordDocs%64] |= 1 << (doc % wordDocs)
					at++
				}
			}
		}
		for p, score := range own.child[:n] {
			own.best[p] = max(own.best[p], score)
			own.sum[p] += score
		}
	}
	cs.n = copy(cs.docs[:], own.asked)
	for p := range own.asked {
		cs.score[p] = blockmax.BestOf(own.best[p], own.sum[p], b.clause.Tie)
	}
	cs.keepOnly(matches)
	return nil
}

// within makes candidates of those documents of the tile that are in the words, without a score, and
// returns how many these are.
func (cs *candidates) within(docs []uint32, words uint64) (n int) {
	for _, doc := range docs {
		cs.docs[n&(tileDocs-1)], cs.score[n&(tileDocs-1)] = doc, 0
		n += int(words >> (doc / wordDocs % 64) & 1)
	}
	return n
}

// empties removes the documents of some words from the set.
func (b *bitset) empties(words uint64) {
	for ; words != 0; words &= words - 1 {
		b[bits.TrailingZeros64(words)&63] = 0
	}
}

// of sets b to the documents of candidates.
func (b *bitset) of(cs *candidates) {
	*b = bitset{}
	for _, doc := range cs.docs[:cs.n] {
		b[doc/wordDocs%64] |= 1 << (doc % wordDocs)
	}
}

// within sets to to the documents of the current range in some words.
func (w *window) within(to *bitset, words uint64) {
	w.fill()
	for i := range to {
		to[i] = w.all[i] & -(words >> i & 1)
	}
}
