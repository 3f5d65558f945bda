package cpuexec

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/riffle-search/riffle/blockmax"
)

// Count returns the number of accepted documents that match a plan, which must
// pass Plan.Check. It decodes no frequency, and no block at all for a single term
// without an accept bitmap. K matters for AndOr only, which counts what matches
// every term when there are K of them; After and the weights do not.
func Count(ctx context.Context, p *Plan) (int, error) {
	if err := p.Check(); err != nil {
		return 0, err
	}
	r := newRun(ctx, p)
	defer r.release()
	if p.Tree != nil {
		return r.countMatches(p.Tree)
	}
	if p.Mode != blockmax.Or {
		n, err := r.countMatches(flatTree(p, blockmax.And))
		if err != nil || p.Mode == blockmax.And || n >= p.K {
			return n, err
		}
	}
	return r.countMatches(flatTree(p, blockmax.Or))
}

// Matches returns the documents of one segment of a plan that match a node, as a
// bitmap in the form of Segment.Accept. The segment's own Accept is not applied.
// The node need not be part of the plan's tree.
func Matches(ctx context.Context, p *Plan, segment int, n *blockmax.Node) ([]uint64, error) {
	q := *p
	q.Tree = &blockmax.Node{Filter: []blockmax.Node{*n}} // no score, so no weight can be too large
	if err := q.Check(); err != nil {
		return nil, err
	}
	if segment < 0 || segment >= len(p.Segments) {
		return nil, fmt.Errorf("cpuexec: segment %d of %d", segment, len(p.Segments))
	}
	r := newRun(ctx, &q)
	defer r.release()
	if err := r.enter(segment); err != nil {
		return nil, err
	}
	set := make([]uint64, (int(r.seg.Docs)+63)/64)
	err := r.windows(n, func(root *clause) error {
		var matches bitset
		err := r.eval(root, 0, &r.win.all, &matches, nil)
		copy(set[r.win.base/64:], matches[:])
		return err
	})
	if err != nil {
		return nil, err
	}
	return set, nil
}

// countMatches counts the accepted documents of all segments that match the tree.
func (r *run) countMatches(tree *blockmax.Node) (int, error) {
	total := 0
	for i := range r.plan.Segments {
		if err := r.enter(i); err != nil {
			return 0, err
		}
		if leaf := onlyLeaf(tree); leaf != nil && r.seg.Accept == nil {
			if term := r.seg.Terms[leaf.Term]; term.Bounds != nil {
				total += term.List.Count
			}
			continue
		}
		err := r.windows(tree, func(root *clause) error {
			var matches bitset
			err := r.eval(root, 0, &r.win.all, &matches, nil)
			for i, word := range matches {
				total += bits.OnesCount64(word & r.accepted(i))
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return total, nil
}

// onlyLeaf returns the one leaf that decides alone what matches the tree, or nil.
func onlyLeaf(n *blockmax.Node) *blockmax.Node {
	switch {
	case n.Leaf:
		return n
	case n.All || len(n.Not)+len(n.Filter) > 0:
		return nil
	case len(n.Must) == 1 && len(n.Should) == 0 && n.MinShould <= 0:
		return onlyLeaf(&n.Must[0])
	case len(n.Must) == 0 && len(n.Should) == 1 && n.MinShould <= 1:
		return onlyLeaf(&n.Should[0])
	}
	return nil
}
