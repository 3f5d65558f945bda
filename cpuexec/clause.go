package cpuexec

import (
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// A clause is a node of the tree on the current segment.
type clause struct {
	*blockmax.Node
	cursor *tileCursor // of a leaf; nil when the segment lacks the term
	set    *docSet     // of a set; nil when it is empty in the segment
	cost   uint64      // roughly how many documents match

	must, should, filter, not []clause
	together                  *together     // of a node with a Proximity
	combined                  *combination  // of a node with a Combined that scores
	function                  *nodeFunction // of a node with a Function that scores
	places                    bool          // positions are read, for this node or for one below
	minShould                 int           // fewest should nodes that must match, including the rule for nodes without Must and Filter
}

// newClause opens lists for the leaves below a node.
func (r *run) newClause(n *blockmax.Node, scores bool) (clause, error) {
	c := clause{Node: n, minShould: n.MinShould, places: n.Proximity != nil}
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
	if n.Set {
		if s := &r.at.seg.Sets[n.Number]; !s.Empty() {
			c.set, c.cost = r.docSet(s), uint64(s.Count)
		}
		return c, nil
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
			c.places = c.places || child.places
			*part.to = append(*part.to, child)
		}
	}
	if n.Proximity != nil {
		var err error
		if c.together, err = r.eval.newTogether(r, n.Proximity, &c, scores); err != nil {
			return c, err
		}
	}
	if n.Combined != nil && scores {
		c.combined = r.eval.newCombination(r, n.Combined, &c)
	}
	if scores {
		c.function = r.functionOf(n)
	}
	if len(n.Must)+len(n.Filter) == 0 {
		c.minShould = max(c.minShould, 1)
	}
	c.plan()
	return c, nil
}

// plan estimates the cost of a boolean node. It sorts the required children by ascending cost, so
// that the sets shrink early.
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

// tiles returns the tiles of the sheet at lo, the current one, in which documents may match.
func (c *clause) tiles(lo uint32) uint64 {
	return c.where(func(l *tileCursor) uint64 { return l.inTiles }, func(s *docSet) uint64 { return s.inTiles(lo) })
}

// words returns the words of the tile at lo, the current one, in which documents may match.
func (c *clause) words(lo uint32) uint64 {
	return c.where(func(l *tileCursor) uint64 { return l.inWords }, func(s *docSet) uint64 { return s.inWords(lo) })
}

// where combines the results of list and set for the leaves.
func (c *clause) where(list func(*tileCursor) uint64, set func(*docSet) uint64) uint64 {
	switch {
	case c.All:
		return ^uint64(0)
	case c.Leaf && c.cursor == nil, c.Set && c.set == nil, c.minShould > len(c.should):
		return 0
	case c.Leaf:
		return list(c.cursor)
	case c.Set:
		return set(c.set)
	}
	in := ^uint64(0)
	if c.minShould > 0 {
		in = 0
		for i := range c.should {
			in |= c.should[i].where(list, set)
		}
	}
	for _, required := range [...][]clause{c.must, c.filter} {
		for i := range required {
			in &= required[i].where(list, set)
		}
	}
	return in
}

// possible reports whether documents of the segment may match the clause.
func (c *clause) possible() bool {
	return c.where(func(*tileCursor) uint64 { return 1 }, func(*docSet) uint64 { return 1 }) != 0
}

// isUnion reports whether a document matches a boolean node if and only if it matches at least one
// of its should nodes.
func (c *clause) isUnion() bool {
	return !c.Leaf && !c.Set && !c.All && !c.Constant && c.together == nil && c.combined == nil && c.function == nil && len(c.must)+len(c.filter)+len(c.not) == 0 && c.minShould <= 1
}

// only returns the only child of a node if the node matches and scores as that child does, else the
// node.
func (c *clause) only() *clause {
	for !c.Leaf && !c.Set && !c.All && !c.Constant && c.together == nil && c.combined == nil && c.function == nil && len(c.filter)+len(c.not) == 0 {
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

// alone returns the only node that decides what matches a node.
func (c *clause) alone() *clause {
	for c.together == nil && len(c.filter)+len(c.must)+len(c.not) == 1 && len(c.not) == 0 && c.minShould <= 0 {
		if len(c.must) == 1 {
			c = &c.must[0]
		} else {
			c = &c.filter[0]
		}
	}
	return c
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

// isAll reports whether a node is an AND of lists, or of such ANDs, and the segment has all these
// lists.
func (c *clause) isAll() bool {
	if c.Constant || c.All || c.Set || c.Leaf || c.together != nil || c.function != nil || len(c.must) == 0 || len(c.should)+len(c.not) > 0 || c.minShould > 0 {
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

// highest bounds the score of any document.
func (c *clause) highest() uint32 {
	switch {
	case c.Constant:
		return c.Score
	case c.Leaf && c.cursor == nil, c.Set:
		return 0
	case c.Leaf:
		return c.cursor.max
	case c.together != nil:
		return c.together.max
	case c.combined != nil:
		return c.combined.max
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
	if c.function != nil {
		return c.function.Apply(must+all, c.function.numbers.Highest())
	}
	return must + all
}

// appendGroups appends the groups of an OR of lists (one group), or of the best of such ORs. It
// appends none for any other node.
func (c *clause) appendGroups(to []group) []group {
	if !c.isUnion() || len(c.should) == 0 {
		return to
	}
	if !c.Best {
		if lists, ok := c.appendSum(nil); ok {
			to = append(to, group{lists: lists})
		}
		return to
	}
	begin := len(to)
	for i := range c.should {
		lists, ok := c.should[i].appendSum(nil)
		if !ok {
			return to[:begin]
		}
		to = append(to, group{lists: lists})
	}
	return to
}

// appendSum appends the lists whose scores a clause adds up, and reports whether the clause is an
// OR of lists.
func (c *clause) appendSum(to []*tileCursor) (lists []*tileCursor, ok bool) {
	c = c.only()
	if c.Leaf && !c.Constant {
		if c.cursor != nil {
			to = append(to, c.cursor)
		}
		return to, true
	}
	if !c.isUnion() || c.Best {
		return to, false
	}
	for i := range c.should {
		if to, ok = c.should[i].appendSum(to); !ok {
			return to, false
		}
	}
	return to, true
}
