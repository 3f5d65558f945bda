package cpuexec

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/riffle-search/riffle/blockmax"
)

// Count returns the number of accepted documents that match a plan, which must pass Plan.Check. It
// decodes no frequency, and for a single term without an accept bitmap no block. K matters only for
// Else and for AndOr, which counts the documents with every term if there are K of them. After and
// the weights have no effect.
func (x Parallel) Count(ctx context.Context, p *blockmax.Plan) (int, error) {
	if x.Pool != nil {
		if err := x.begin(); err != nil {
			return 0, err
		}
		defer x.end()
	}
	if err := check(p); err != nil {
		return 0, err
	}
	r := newRun(ctx, p)
	defer r.release()
	r.parallel = x
	if p.Tree != nil {
		n, err := r.countMatches(p.Tree)
		if err != nil || p.Else == nil || n >= p.K {
			return n, err
		}
		return r.countMatches(p.Else)
	}
	if p.Mode != blockmax.Or {
		n, err := r.countMatches(r.query.flatTree(blockmax.And))
		if err != nil || p.Mode == blockmax.And || n >= p.K {
			return n, err
		}
	}
	return r.countMatches(r.query.flatTree(blockmax.Or))
}

// Matches returns the documents of one segment of a plan that match a node, as a bitmap in the form
// of Segment.Accept. It ignores the segment's own Accept. The node need not be part of the plan's
// tree.
func Matches(ctx context.Context, p *blockmax.Plan, segment int, n *blockmax.Node) ([]uint64, error) {
	q := *p
	q.Tree = &blockmax.Node{Filter: []blockmax.Node{*n}} // no score, so weights cannot be too large
	if err := check(&q); err != nil {
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
	root, err := r.rootOf(n, false)
	if err != nil {
		return nil, err
	}
	set := make([]uint64, (int(r.at.seg.Docs)+63)/64)
	if r.bySets(root) {
		err := r.spans(func(s span) error { return r.sets.fold(replace, root, s, s.of(set), 0) })
		return set, err
	}
	err = r.eachTile(n, false, func(root *clause, t int) error {
		matches := &r.win.matches
		err := r.evalTile(root, t, matches, nil)
		copy(set[r.win.base/64:], matches[:])
		*matches = bitset{}
		return err
	})
	if err != nil {
		return nil, err
	}
	return set, nil
}

// countMatches counts the accepted documents of all segments that match the tree.
func (r *run) countMatches(tree *blockmax.Node) (total int, err error) {
	ranked := r.out.total
	defer func() { r.out.total = ranked }()
	r.out.counting, r.out.total = true, 0
	if leaf := onlyLeaf(tree); leaf != nil {
		if n, ok := countLeaf(r.query.plan, leaf.Term); ok {
			return n, r.query.ctx.Err()
		}
	}
	if set := onlySet(tree); set != nil {
		if n, ok := r.sets.countSets(r.query.plan, set.Number); ok {
			return n, r.query.ctx.Err()
		}
	}
	// Bitmaps are far faster than claiming tiles, so flat plans go by ranges.
	err = r.pass(segmentPass{name: "count", run: (*run).countSegment, byTiles: r.query.plan.Tree != nil, prunes: false}, tree)
	return r.out.total, err
}

// countLeaf counts the postings of a term, if all its documents are accepted.
func countLeaf(p *blockmax.Plan, t int) (n int, ok bool) {
	for i := range p.Segments {
		seg := &p.Segments[i]
		if seg.Terms[t].Bounds == nil {
			continue
		}
		if seg.Accept != nil {
			return 0, false
		}
		n += seg.Terms[t].List.Count
	}
	return n, true
}

// countSets counts the accepted documents of a set, if none of its tiles need be made for that.
func (m *setMaker) countSets(p *blockmax.Plan, number int) (n int, ok bool) {
	for i := range p.Segments {
		s := &p.Segments[i].Sets[number]
		if s.Tiles == nil {
			continue
		}
		if _, ok := s.Known(); !ok || p.Segments[i].Accept != nil {
			return 0, false
		}
	}
	for i := range p.Segments {
		seg := &p.Segments[i]
		switch s := &seg.Sets[number]; {
		case s.Empty():
		case s.Tiles != nil:
			docs, _ := s.Known()
			n += len(docs)
		case seg.Accept == nil:
			n += s.Count
		default:
			n += m.count(s.Bits[:(seg.Docs+63)/64], span{0, seg.Docs}, seg.Accept)
		}
	}
	return n, true
}

// countSegment adds the number of accepted matches in the range to total.
func (r *run) countSegment() error {
	leaf := onlyLeaf(r.query.tree)
	switch {
	case leaf != nil && r.at.seg.Accept == nil:
		if term := r.at.seg.Terms[leaf.Term]; term.Bounds != nil && r.at.from == 0 && r.share.mine(0) {
			r.out.total += term.List.Count // counted with the first tile, for the whole segment
		}
		return nil
	case r.query.plan.Tree != nil:
		root, err := r.rootOf(r.query.tree, false)
		if err != nil {
			return err
		}
		if r.bySets(root) || root.isTiled() {
			return r.countTree(root)
		}
		if c := root.only(); c.together != nil && !c.Constant {
			b := r.operandsOf(root)
			if b.none {
				return nil
			}
			if len(b.operands) == 1 && b.operands[0].isEven() {
				return r.proximityAlone(b.operands[0])
			}
		}
		return r.eachTile(r.query.tree, false, func(root *clause, t int) error {
			err := r.evalTile(root, t, &r.win.matches, nil)
			r.countWindow()
			return err
		})
	case len(r.query.tree.Must) > 0 && leaf == nil:
		return r.and()
	}
	return r.countOr()
}

// countOr counts the documents of the segment with at least one term: sheet by sheet, bitmaps
// first.
func (r *run) countOr() error {
	lists, err := r.tiled.openAll(r)
	if err != nil {
		return err
	}
	for _, c := range lists {
		if err := c.learn(int64(c.blocksAtWork())); err != nil {
			return err
		}
	}
	return r.spans(func(s span) error {
		set := r.sets.sheet[:(s.hi-s.lo+63)/64]
		if err := r.sets.unite(lists, s, set); err != nil {
			return err
		}
		r.out.total += r.sets.count(set, s, r.at.seg.Accept)
		return nil
	})
}

// countAnd counts the documents of the range that are in all bitmaps of the lists.
func (r *run) countAnd(lists []*tileCursor) {
	r.sets.collect(lists, r.at.from, r.at.to)
	if accept := r.at.seg.Accept; accept != nil {
		r.sets.maps = append(r.sets.maps, accept[r.at.from/64:])
	}
	r.out.total += countCommon(r.sets.maps)
}

// countWindow counts the accepted matches of the window and empties it.
func (r *run) countWindow() {
	for i, word := range r.win.matches {
		r.out.total += bits.OnesCount64(word & r.at.accepted(r.win.base, i))
		r.win.matches[i] = 0
	}
}

// onlyLeaf returns the leaf that alone decides what matches the tree, or nil.
func onlyLeaf(n *blockmax.Node) *blockmax.Node {
	switch {
	case n.Leaf:
		return n
	case n.All || n.Set || n.Proximity != nil || len(n.Not)+len(n.Filter) > 0:
		return nil
	case len(n.Must) == 1 && len(n.Should) == 0 && n.MinShould <= 0:
		return onlyLeaf(&n.Must[0])
	case len(n.Must) == 0 && len(n.Should) == 1 && n.MinShould <= 1:
		return onlyLeaf(&n.Should[0])
	}
	return nil
}

// onlySet returns the set that alone decides what matches the tree, or nil.
func onlySet(n *blockmax.Node) *blockmax.Node {
	for n.Proximity == nil && len(n.Must)+len(n.Filter) == 1 && len(n.Should)+len(n.Not) == 0 && n.MinShould <= 0 {
		if len(n.Must) == 1 {
			n = &n.Must[0]
		} else {
			n = &n.Filter[0]
		}
	}
	if !n.Set {
		return nil
	}
	return n
}
