package cpuexec

import (
	"cmp"
	"errors"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// A clause is a node of the tree at work on one segment.
type clause struct {
	*blockmax.Node
	cursor *cursor // of a leaf; nil when the segment lacks the term
	cost   uint64  // about how many documents match

	must, should, filter, not []clause
	minShould                 int // should nodes that must match, counting the rule for nodes without Must and Filter
}

// treePruned answers any tree, window by window: each node makes the set of
// documents of the window that match it from the sets of its children. Windows in
// which the bound of the tree cannot reach need are passed over.
func (r *run) treePruned() error {
	return r.windows(r.tree, func(root *clause) error {
		lo, hi := r.win.lo, r.win.hi
		if r.tailDone(lo) {
			return errDone
		}
		bound, ok := root.bound(&r.win)
		need, rank := r.need(lo), r.rankBound(lo, hi-1)
		if !ok || bound+rank < need {
			return nil
		}
		return r.offerTree(root, saturatingSub(need, rank))
	})
}

// treeExhaustive is treePruned without the pruning.
func (r *run) treeExhaustive() error {
	return r.windows(r.tree, func(root *clause) error { return r.offerTree(root, 0) })
}

// offerTree offers the matches of the window that score at least floor without
// the rank.
func (r *run) offerTree(root *clause, floor uint32) error {
	if err := r.eval(root, 0, &r.win.all, &r.win.matches, &r.win.scores); err != nil {
		return err
	}
	r.collect(floor)
	r.offerCandidates()
	clear(r.win.scores[:]) // of documents that matched a child but not the tree
	return nil
}

// errDone ends windows early, without an error.
var errDone = errors.New("no later document can get in")

// windows visits every window of the range in which the tree may have matches.
func (r *run) windows(n *blockmax.Node, visit func(root *clause) error) error {
	if r.root == nil || r.root.Node != n {
		root, err := r.newClause(n)
		if err != nil {
			return err
		}
		r.root = &root
	}
	root := r.root
	for doc := root.next(r.from); doc < r.to; doc = root.next(r.win.hi) {
		r.win.at(doc, r.from, r.to)
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := visit(root); err == errDone {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// newClause opens cursors for the leaves below a node.
func (r *run) newClause(n *blockmax.Node) (clause, error) {
	c := clause{Node: n, minShould: n.MinShould}
	if n.Leaf {
		var err error
		if c.cursor, err = r.open(n.Term); c.cursor != nil {
			c.cost = uint64(c.cursor.list.Count)
		}
		return c, err
	}
	if n.All {
		c.cost = uint64(r.seg.Docs)
		return c, nil
	}
	for _, part := range [...]struct {
		nodes []blockmax.Node
		to    *[]clause
	}{{n.Must, &c.must}, {n.Should, &c.should}, {n.Filter, &c.filter}, {n.Not, &c.not}} {
		for i := range part.nodes {
			child, err := r.newClause(&part.nodes[i])
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

// next returns the lowest document from doc on that may match; end when none can.
func (c *clause) next(doc uint32) uint32 {
	switch {
	case c.All:
		return doc
	case c.Leaf:
		if c.cursor == nil || !c.cursor.seekBlock(doc) {
			return end
		}
		return max(doc, c.cursor.first(c.cursor.block))
	}
	if c.minShould > len(c.should) {
		return end
	}
	low := doc
	if c.minShould > 0 {
		low = end
		for i := range c.should {
			low = min(low, c.should[i].next(doc))
		}
	}
	for _, required := range [...][]clause{c.must, c.filter} {
		for i := range required {
			low = max(low, required[i].next(doc))
		}
	}
	return low
}

// bound bounds the node's score in the window. It is not ok when the directories
// alone show that no document there matches. Cursors must have been moved to the
// window by next.
func (c *clause) bound(w *window) (bound uint32, ok bool) {
	switch {
	case c.Leaf:
		if c.cursor == nil || !c.cursor.seekBlock(w.lo) {
			return 0, false
		}
		bound, ok = c.cursor.rangeMax(w.hi - 1)
	case c.All:
		ok = true
	default:
		bound, ok = c.boundBoolean(w)
	}
	if c.Constant {
		bound = c.Score
	}
	return bound, ok
}

func (c *clause) boundBoolean(w *window) (sum uint32, ok bool) {
	for i := range c.filter {
		if _, ok := c.filter[i].bound(w); !ok {
			return 0, false
		}
	}
	for i := range c.must {
		bound, ok := c.must[i].bound(w)
		if !ok {
			return 0, false
		}
		sum += bound
	}
	possible := 0
	for i := range c.should {
		if bound, ok := c.should[i].bound(w); ok {
			sum += bound
			possible++
		}
	}
	return sum, possible >= c.minShould
}
