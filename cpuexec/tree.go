package cpuexec

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// A clause is a node of the tree at work on one segment.
type clause struct {
	*blockmax.Node
	cursor *tileCursor // of a leaf; nil when the segment lacks the term
	cost   uint64      // about how many documents match

	must, should, filter, not []clause
	minShould                 int // should nodes that must match, counting the rule for nodes without Must and Filter
}

// treePruned answers any tree as a union of lists and branches.
func (r *run) treePruned() error {
	root, err := r.rootOf(r.query.tree, true)
	if err != nil {
		return err
	}
	return r.union(r.unitsOf(root))
}

// treeExhaustive answers any tree without pruning.
func (r *run) treeExhaustive() error {
	return r.eachTile(r.query.tree, true, func(root *clause, t int) error { return r.offerTree(root, t, 0) })
}

// offerTree offers the matches of the tile that score at least floor without the
// rank.
func (r *run) offerTree(root *clause, t int, floor uint32) error {
	if err := r.evalTile(root, t, &r.win.matches, &r.win.scores); err != nil {
		return err
	}
	r.collect(^uint64(0), floor)
	r.offerCandidates()
	clear(r.win.scores[:]) // of documents that matched a child but not the tree
	return nil
}

// errDone ends eachTile early, without an error.
var errDone = errors.New("no later document can get in")

// eachTile visits every tile of the range in which the tree may have matches: with its
// number in the sheet, as the window. Without scores no frequency is read.
func (r *run) eachTile(n *blockmax.Node, scores bool, visit func(root *clause, t int) error) error {
	if _, err := r.rootOf(n, scores); err != nil {
		return err
	}
	if err := r.visitTiles(visit); err != nil && err != errDone {
		return err
	}
	for _, c := range r.tiled.lists[:r.tiled.count] {
		spent := c.spent
		c.spent = 0
		if !c.plain {
			continue
		}
		if err := c.learn(spent); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) visitTiles(visit func(root *clause, t int) error) error {
	for lo := r.at.from &^ (sheetDocs - 1); lo < r.at.to; lo += sheetDocs {
		if r.tiled.sheet != lo {
			for _, c := range r.tiled.lists[:r.tiled.count] {
				if err := c.enterSheet(lo); err != nil {
					return err
				}
			}
			r.tiled.sheet = lo
		}
		for tiles := r.at.tilesAtWork(lo, r.eval.root.tiles()); tiles != 0; tiles &= tiles - 1 {
			t := bits.TrailingZeros64(tiles)
			if !r.share.mine(t) {
				continue
			}
			r.win.place(lo+uint32(t)*tileDocs, r.at.from, r.at.to)
			if err := r.query.ctx.Err(); err != nil {
				return err
			}
			if err := visit(r.eval.root, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// evalTile sets matches to the documents of tile t, the window, that match the tree, and adds
// to scores what they score.
func (r *run) evalTile(root *clause, t int, matches *bitset, to *scores) error {
	for _, c := range r.tiled.lists[:r.tiled.count] {
		c.inWords = 0
		if c.tiles[t] > 0 {
			c.enterTile(r.win.base)
			c.inWords = c.words.present()
		}
	}
	words := root.words()
	if words == 0 {
		*matches = bitset{}
		return nil
	}
	r.win.fill()
	for out := ^words; out != 0; out &= out - 1 {
		r.win.all[bits.TrailingZeros64(out)&63] = 0
	}
	return r.eval.eval(root, 0, &r.win.all, matches, to)
}

// rootOf returns the clause of a tree over the segment at work.
func (r *run) rootOf(n *blockmax.Node, scores bool) (*clause, error) {
	if r.eval.root == nil || r.eval.root.Node != n {
		root, err := r.newClause(n, scores)
		if err != nil {
			return nil, err
		}
		r.eval.root = &root
	}
	return r.eval.root, nil
}

// newClause opens lists for the leaves below a node.
func (r *run) newClause(n *blockmax.Node, scores bool) (clause, error) {
	c := clause{Node: n, minShould: n.MinShould}
	scores = scores && !n.Constant
	if n.Leaf {
		var err error
		if c.cursor, err = r.tiled.openOne(r, n.Term); c.cursor == nil {
			return c, err
		}
		c.cost = uint64(c.cursor.list.Count)
		c.cursor.plain = !scores
		return c, c.cursor.learn(0)
	}
	if n.All {
		c.cost = uint64(r.at.seg.Docs)
		return c, nil
	}
	for _, part := range [...]struct {
		nodes  []blockmax.Node
		scores bool
		to     *[]clause
	}{{n.Must, scores, &c.must}, {n.Should, scores, &c.should}, {n.Filter, false, &c.filter}, {n.Not, false, &c.not}} {
		for i := range part.nodes {
			child, err := r.newClause(&part.nodes[i], part.scores)
			if err != nil {
				return c, err
			}
			*part.to = append(*part.to, child)
		}
	}
	if len(n.Must)+len(n.Filter) == 0 {
		c.minShould = max(c.minShould, 1)
	}
	c.plan()
	return c, nil
}

// plan estimates the cost of a boolean node and puts what must match in ascending
// order of cost, so that the sets get small early.
func (c *clause) plan() {
	byCost := func(a, b clause) int { return cmp.Compare(a.cost, b.cost) }
	slices.SortStableFunc(c.must, byCost)
	slices.SortStableFunc(c.filter, byCost)
	if c.minShould > 0 {
		for i := range c.should {
			c.cost += c.should[i].cost
		}
	}
	for _, required := range [...][]clause{c.must, c.filter} {
		if len(required) > 0 && (c.cost == 0 || required[0].cost < c.cost) {
			c.cost = required[0].cost
		}
	}
}

// tiles returns the tiles of the sheet at hand in which documents may match.
func (c *clause) tiles() uint64 {
	return c.where(func(l *tileCursor) uint64 { return l.inTiles })
}

// words returns the words of the tile at hand in which documents may match.
func (c *clause) words() uint64 {
	return c.where(func(l *tileCursor) uint64 { return l.inWords })
}

// where combines what of says of the leaves.
func (c *clause) where(of func(*tileCursor) uint64) uint64 {
	switch {
	case c.All:
		return ^uint64(0)
	case c.Leaf && c.cursor == nil, c.minShould > len(c.should):
		return 0
	case c.Leaf:
		return of(c.cursor)
	}
	in := ^uint64(0)
	if c.minShould > 0 {
		in = 0
		for i := range c.should {
			in |= c.should[i].where(of)
		}
	}
	for _, required := range [...][]clause{c.must, c.filter} {
		for i := range required {
			in &= required[i].where(of)
		}
	}
	return in
}

// bound bounds the node's score in tile t of the sheet at hand. It is not ok when the
// bounds alone show that no document there matches.
func (c *clause) bound(t int) (bound uint32, ok bool) {
	switch {
	case c.Leaf:
		if c.cursor == nil || c.cursor.tiles[t] == 0 {
			return 0, false
		}
		bound, ok = c.cursor.unit*uint32(c.cursor.tiles[t]), true
	case c.All:
		ok = true
	default:
		bound, ok = c.boundBoolean(t)
	}
	if c.Constant {
		bound = c.Score
	}
	return bound, ok
}

func (c *clause) boundBoolean(t int) (sum uint32, ok bool) {
	for i := range c.filter {
		if _, ok := c.filter[i].bound(t); !ok {
			return 0, false
		}
	}
	for i := range c.must {
		bound, ok := c.must[i].bound(t)
		if !ok {
			return 0, false
		}
		sum += bound
	}
	possible, best, all := 0, uint32(0), uint32(0)
	for i := range c.should {
		if bound, ok := c.should[i].bound(t); ok {
			best, all = max(best, bound), all+bound
			possible++
		}
	}
	if c.Best {
		all = blockmax.BestOf(best, all, c.Tie)
	}
	return sum + all, possible >= c.minShould
}
