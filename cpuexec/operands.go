package cpuexec

import (
	"cmp"
	"slices"
)

// Operands are the top-level parts of a tree: lists, and branches for all other nodes. There are
// two kinds of trees.
//
// bmm answers a union: every matching document has a score from one of the operands. Any further
// condition (a filter, a minimal number of should nodes) is the guard, against which candidates are
// tested last.
//
// A conjunction (conjunction.go) also has required operands.

// branches are those of the current segment, and the memory that they share.
type branches struct {
	root     *clause       // the node whose operands are below
	operands []*tileCursor // of which a match of a union matches at least one; of a conjunction they are optional
	required []*tileCursor // all of which every match matches, the cheapest last
	all      []*tileCursor // both
	none     bool          // nothing can match

	pool  []*tileCursor
	count int // pool[:count] belong to the current segment

	bounds    sums // of the current branch
	set, mask bitset
	tile      bestScores

	docs, scores, asked, child, best, sum []uint32 // of candidates
}

// forget drops references to the caller's data.
func (b *branches) forget() {
	b.root = nil
	for _, l := range b.pool[:b.count] {
		l.branch.clause = nil
	}
}

// operandsOf finds the operands of a tree.
func (r *run) operandsOf(root *clause) *branches {
	e := &r.eval
	b := &e.branches
	if b.root == root {
		return b
	}
	b.root, b.operands, b.required, b.count = root, b.operands[:0], b.required[:0], 0
	r.tiled.guard = nil
	if b.none = !root.possible(); b.none {
		return b
	}
	switch c := root.only(); {
	case c.Leaf || c.Set || c.All || c.Constant || c.together != nil || c.combined != nil || c.function != nil || c.Best && !c.isUnion() || len(c.must) > 0 && c.minShould > 0:
		e.addOperands(r, c)
	case len(c.must) > 0:
		e.require(r, c)
	case !c.isUnion():
		for i := range c.should {
			e.addOperands(r, &c.should[i])
		}
		guard := &clause{Node: c.Node, filter: c.filter, not: c.not}
		if c.minShould > 1 {
			guard = c
		}
		r.tiled.guard = e.newBranch(r, guard)
		r.tiled.guard.unscored = true
		r.tiled.unguarded = c.minShould == 0
	default:
		e.addOperands(r, c)
	}
	return b
}

// require adds the operands of a node with must nodes.
func (e *evaluator) require(r *run, c *clause) {
	b := &e.branches
	lists := clause{Node: c.Node}
	guard := clause{Node: c.Node, not: c.not}
	var near []*clause
	for i := range c.must {
		if m := c.must[i].only(); m.Leaf && !m.Constant || m.isAll() {
			lists.must = append(lists.must, *m)
		} else if m.isNear() {
			for _, f := range m.filter { // its words, which do not score
				if f.Leaf && !f.Constant {
					lists.must = append(lists.must, f)
				}
			}
			near = append(near, m)
		} else {
			b.required = append(b.required, e.newBranch(r, m))
		}
	}
	for i := range c.filter {
		if c.filter[i].Leaf && len(lists.must) > 0 {
			lists.filter = append(lists.filter, c.filter[i])
		} else {
			guard.filter = append(guard.filter, c.filter[i])
		}
	}
	if len(lists.must) == 1 && lists.must[0].Leaf && len(lists.filter) == 0 {
		l := lists.must[0].cursor
		l.cost = lists.must[0].cost
		b.required = append(b.required, l)
	} else if len(lists.must) > 0 {
		lists.plan()
		b.required = append(b.required, e.newBranch(r, &lists))
	}
	slices.SortStableFunc(b.required, func(a, b *tileCursor) int { return cmp.Compare(b.cost, a.cost) })
	if len(guard.filter)+len(guard.not) > 0 {
		l := e.newBranch(r, &guard)
		l.unscored = true
		b.required = slices.Insert(b.required, 0, l)
	}
	for _, m := range near { // positions are read last
		b.required = slices.Insert(b.required, 0, e.newBranch(r, m))
	}
	if c.Best && len(c.should) > 0 {
		if best := (&clause{Node: c.Node, should: c.should, minShould: 1}); best.possible() {
			b.operands = append(b.operands, e.newBranch(r, best))
		}
		return
	}
	for i := range c.should {
		e.addOperands(r, &c.should[i])
	}
}

// addOperands adds the operands of a clause.
func (e *evaluator) addOperands(r *run, c *clause) {
	c = c.only()
	b := &e.branches
	switch {
	case !c.possible():
	case c.Leaf && !c.Constant:
		b.operands = append(b.operands, c.cursor)
	case c.isUnion() && !c.Best:
		for i := range c.should {
			e.addOperands(r, &c.should[i])
		}
	default:
		b.operands = append(b.operands, e.newBranch(r, c))
	}
}
