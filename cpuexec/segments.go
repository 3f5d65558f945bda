package cpuexec

import (
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// A query over several segments begins with the one with the highest bound. Its hits prune the
// others, and a segment whose bound is below the threshold by then is not opened at all. Neither is
// one that lacks a required term.

// orderSegments orders the segments of the pass in which documents may match by the highest
// possible score of these, the best first. Segments with equal bounds stay in order of documents.
func (q *query) orderSegments() {
	segs := q.plan.Segments
	q.order, q.bounds = q.order[:0], q.bounds[:0]
	for i := range segs {
		bound := uint32(0)
		if canMatch(q.tree, &segs[i]) {
			q.order = append(q.order, i)
			if len(segs) > 1 {
				bound = bestScore(q.tree, q.plan, i)
				if f := q.plan.Outer; f != nil {
					bound = f.Apply(bound, segs[i].Functions[f.Number].Highest())
				}
			}
		}
		q.bounds = append(q.bounds, bound)
	}
	if len(segs) > 1 {
		slices.SortStableFunc(q.order, func(i, j int) int { return cmp.Compare(q.bounds[j], q.bounds[i]) })
	}
}

// canMatch reports whether documents of a segment may match a node, given the terms that it has.
func canMatch(n *blockmax.Node, seg *blockmax.Segment) bool {
	switch {
	case n.Leaf:
		return seg.Terms[n.Term].Bounds != nil
	case n.Set:
		return !seg.Sets[n.Number].Empty()
	case n.All:
		return true
	}
	for _, required := range [...][]blockmax.Node{n.Must, n.Filter} {
		for i := range required {
			if !canMatch(&required[i], seg) {
				return false
			}
		}
	}
	least, found := n.MinShould, 0
	if len(n.Must)+len(n.Filter) == 0 {
		least = max(least, 1)
	}
	for i := 0; i < len(n.Should) && found < least; i++ {
		if canMatch(&n.Should[i], seg) {
			found++
		}
	}
	return found >= least
}

// bestScore bounds the score of a node in a segment, by the bounds of its lists.
func bestScore(n *blockmax.Node, p *blockmax.Plan, segment int) (sum uint32) {
	switch {
	case n.Constant:
		return n.Score
	case n.Leaf:
		if b := p.Segments[segment].Terms[n.Term].Bounds; b != nil {
			return blockmax.Contribution(p.Weights[n.Term], b.List)
		}
		return 0
	case n.Proximity != nil:
		return n.Proximity.Highest(&p.Segments[segment])
	case n.Combined != nil:
		return n.Combined.Highest(&p.Segments[segment])
	}
	for i := range n.Must {
		sum += bestScore(&n.Must[i], p, segment)
	}
	best, all := uint32(0), uint32(0)
	for i := range n.Should {
		score := bestScore(&n.Should[i], p, segment)
		best, all = max(best, score), all+score
	}
	if n.Best {
		all = blockmax.BestOf(best, all, n.Tie)
	}
	if f := n.Function; f != nil {
		return f.Apply(sum+all, p.Segments[segment].Functions[f.Number].Highest())
	}
	return sum + all
}

// hopeless reports whether no document of the current segment can enter.
func (r *run) hopeless(visit segmentPass) bool {
	if !visit.prunes || len(r.query.plan.Segments) == 1 {
		return false
	}
	need := r.out.need(0)
	return need > 0 && r.at.highest(bestScore(r.query.tree, r.query.plan, r.at.index)) < need
}
