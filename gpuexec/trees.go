package gpuexec

import (
	"errors"
	"fmt"

	"github.com/riffle-search/riffle/blockmax"
)

// Boolean trees go by strips, whether their lists are flat or not (kernels/tree_strips.cu). The
// device evaluates a tree on a mask of the leaves that a document has. So each leaf is a list of its
// own, and a node is six masks (devNode).

// maxNodes is how many nodes a tree may have that are not leaves: one a bit.
const maxNodes = 64

// A treeLeaf is a list of a tree. Two leaves may name the same term.
type treeLeaf struct {
	term   int
	weight uint32 // 0 if the leaf does not score
}

// A compiler makes the nodes and leaves of trees. Its memory is reused.
type compiler struct {
	nodes  []devNode // of all trees of a batch
	leaves []treeLeaf
}

// A compiledTree is a tree in a batch.
type compiledTree struct {
	nodes, leaves [2]int // ranges in the compiler's
	scoring       uint64 // leaves that may score
	constants     uint32 // the sum of all nodes'
}

func (c *compiler) begin() { c.nodes, c.leaves = c.nodes[:0], c.leaves[:0] }

// checkTree returns why the device cannot answer a tree, or nil.
func (x *Executor) checkTree(p *Plan) error {
	switch {
	case x.options.Algorithm.byRanges():
		return errors.New("gpuexec: a boolean tree by ranges")
	case x.shape.TileShift < minFlatTile || x.shape.TileShift > maxFlatTile:
		return fmt.Errorf("gpuexec: a boolean tree in tiles of 1<<%d documents", x.shape.TileShift)
	}
	if p.Else != nil {
		if err := checkNodes(p.Else); err != nil {
			return err
		}
	}
	return checkNodes(p.Tree)
}

// checkNodes returns why the device does not have a tree of these nodes, or nil.
func checkNodes(root *blockmax.Node) error {
	leaves, nodes := 0, 1
	if err := sizeOf(root, &leaves, &nodes); err != nil {
		return err
	}
	switch {
	case leaves > maxTerms:
		return fmt.Errorf("gpuexec: a boolean tree of %d words, more than %d", leaves, maxTerms)
	case nodes > maxNodes:
		return fmt.Errorf("gpuexec: a boolean tree of %d nodes, more than %d", nodes, maxNodes)
	case matchesWithout(root):
		return errors.New("gpuexec: a boolean tree that documents match without any of its words")
	}
	return nil
}

// sizeOf counts the leaves and the other nodes below a node. It returns an error for a kind of node
// that the device does not have.
func sizeOf(n *blockmax.Node, leaves, nodes *int) error {
	switch {
	case n.Set:
		return errors.New("gpuexec: a boolean tree with a set of documents")
	case n.Proximity != nil:
		return errors.New("gpuexec: a boolean tree with a proximity")
	case n.Combined != nil:
		return errors.New("gpuexec: a boolean tree with words that score as one")
	case n.Function != nil:
		return errors.New("gpuexec: a boolean tree with a function of scores")
	case n.Best && n.Tie != blockmax.TieOne:
		return errors.New("gpuexec: a boolean tree with the best of several scores")
	case n.Leaf:
		*leaves++
		if !n.Constant {
			return nil
		}
	}
	*nodes++
	for _, children := range [...][]blockmax.Node{n.Must, n.Should, n.Filter, n.Not} {
		for i := range children {
			if err := sizeOf(&children[i], leaves, nodes); err != nil {
				return err
			}
		}
	}
	return nil
}

// matchesWithout reports whether a document matches a node that has none of its words.
func matchesWithout(n *blockmax.Node) bool {
	if n.Leaf || n.All {
		return n.All
	}
	least := n.MinShould
	if len(n.Must)+len(n.Filter) == 0 {
		least = max(least, 1)
	}
	for _, required := range [...][]blockmax.Node{n.Must, n.Filter} {
		for i := range required {
			if !matchesWithout(&required[i]) {
				return false
			}
		}
	}
	for i := range n.Not {
		if matchesWithout(&n.Not[i]) {
			return false
		}
	}
	for i := range n.Should {
		if matchesWithout(&n.Should[i]) {
			least--
		}
	}
	return least <= 0
}

// compile makes the nodes and leaves of a plan that the device takes.
func (c *compiler) compile(p *Plan) (t compiledTree) {
	t.nodes[0], t.leaves[0] = len(c.nodes), len(c.leaves)
	c.node(p, &t, treeOf(p), true)
	t.nodes[1], t.leaves[1] = len(c.nodes), len(c.leaves)
	return t
}

// leaf adds a leaf and returns its bit.
func (c *compiler) leaf(p *Plan, t *compiledTree, n *blockmax.Node, scores bool) (bit uint64) {
	bit = 1 << (len(c.leaves) - t.leaves[0])
	l := treeLeaf{term: n.Term}
	if scores {
		l.weight = p.Weights[n.Term]
		t.scoring |= bit
	}
	c.leaves = append(c.leaves, l)
	return bit
}

// node adds a node and those below it, and returns its bit. Its score counts if scores is set.
func (c *compiler) node(p *Plan, t *compiledTree, n *blockmax.Node, scores bool) (bit uint64) {
	var d devNode
	inner := scores && !n.Constant
	if n.Constant && scores {
		d.constant = n.Score
		t.constants += n.Score
	}
	switch {
	case n.Leaf:
		d.required = c.leaf(p, t, n, inner)
		if inner {
			d.scoring = d.required
		}
	case !n.All:
		d.least = uint32(max(n.MinShould, 0))
		if len(n.Must)+len(n.Filter) == 0 {
			d.least = max(d.least, 1)
		}
		for _, part := range [...]struct {
			children      []blockmax.Node
			scores        bool
			leaves, nodes *uint64
		}{
			{n.Must, inner, &d.required, &d.requiredNodes}, {n.Filter, false, &d.required, &d.requiredNodes},
			{n.Should, inner, &d.optional, &d.optionalNodes}, {n.Not, false, &d.excluded, &d.excludedNodes},
		} {
			for i := range part.children {
				child := &part.children[i]
				if child.Leaf && !child.Constant {
					of := c.leaf(p, t, child, part.scores)
					*part.leaves |= of
					if part.scores {
						d.scoring |= of
					}
					continue
				}
				of := c.node(p, t, child, part.scores)
				*part.nodes |= of
				if part.scores {
					d.scoringNodes |= of
				}
			}
		}
	}
	bit = 1 << (len(c.nodes) - t.nodes[0])
	c.nodes = append(c.nodes, d)
	return bit
}

// addTree adds the segments of a query that goes as a tree, where it may match.
func (b *batch) addTree(q *query, found []*knownList) {
	q.tree, q.byTree = b.trees.compile(q.plan), true
	leaves := b.trees.leaves[q.tree.leaves[0]:q.tree.leaves[1]]
	for s := range q.plan.Segments {
		seg := &q.plan.Segments[s]
		if seg.Docs <= q.small {
			continue
		}
		of := found[:len(seg.Terms)]
		found = found[len(seg.Terms):]
		pt := part{query: len(b.queries), segment: s, way: byOrTiles, from: len(b.terms)}
		for i, l := range leaves {
			k := of[l.term]
			if k == nil {
				continue
			}
			entry := b.lists.add(k, &seg.Terms[l.term], seg.Docs, b.shape.tiles(seg.Docs))
			b.terms = append(b.terms, partTerm{int32(entry), int32(l.term), l.weight, uint32(i)})
			q.blocks += int64(k.blocks)
		}
		if pt.to = len(b.terms); pt.from < pt.to {
			b.lists.wantAll(b.terms[pt.from:pt.to])
			b.parts = append(b.parts, pt)
		}
	}
}

// putTree writes the tree of a query.
func (b *batch) putTree(d *devQuery, q *query, nodes uint64) {
	from, to := q.tree.nodes[0], q.tree.nodes[1]
	d.nodes, d.nodeCount = nodes+uint64(from)*uint64(nodeBytes), uint32(to-from)
	d.constants, d.scoring = q.tree.constants, q.tree.scoring
	d.byStrips, d.mode = 1, uint32(blockmax.Or)
}

// needOf is a lower bound on the score of the last hit of a plan's OR, or of its tree.
func needOf(p *Plan) uint32 {
	switch {
	case p.Tree != nil:
		return max(p.Least, p.SeedOf(p.Tree))
	case p.Mode != blockmax.And:
		return p.Seed()
	}
	return 0
}

// settles reports whether AND decides what OR of the plan has to do.
func settles(p *Plan) bool { return p.Tree == nil && p.Mode == blockmax.AndOr }

// treeShared is the dynamic shared memory of a thread block that works on trees: for each warp 64
// keys, and for each document of a strip a score and a mask.
func (s Shape) treeShared() int {
	if s.TileShift < minFlatTile || s.TileShift > maxFlatTile {
		return 0 // there are no trees
	}
	return stripThreads / 32 * (64*8 + 12<<s.TileShift/tileStrips)
}
