package blockmax

import "fmt"

// MaxK is the largest k of a plan. Deeper results need After.
const MaxK = 10_000

// Check reports the first thing that makes a plan impossible to run: k out of range, segments that
// overlap or lack terms, columns of a wrong length, a tree that names missing terms, or weights
// whose sum could overflow a score. Executors call it before they start.
func (p *Plan) Check() error {
	if p.K < 1 || p.K > MaxK {
		return fmt.Errorf("blockmax: k is %d, want 1 to %d", p.K, MaxK)
	}
	if p.Tree == nil && p.Mode > AndOr {
		return fmt.Errorf("blockmax: unknown mode %d", p.Mode)
	}
	best, err := p.best()
	if err != nil {
		return fmt.Errorf("blockmax: %w", err)
	}
	if best >= 1<<31 {
		return fmt.Errorf("blockmax: a document could score %d, want less than 1<<31", best)
	}
	end := uint64(0)
	for i := range p.Segments {
		s := &p.Segments[i]
		if uint64(s.Base) < end {
			return fmt.Errorf("blockmax: segment %d begins at document %d, the one before ends at %d", i, s.Base, end)
		}
		if end = uint64(s.Base) + uint64(s.Docs); end > 1<<32 {
			return fmt.Errorf("blockmax: segment %d ends at document %d, want at most 1<<32", i, end)
		}
		if n := len(p.Segments[0].Functions); len(s.Functions) != n {
			return fmt.Errorf("blockmax: segment %d has %d functions, the first one %d", i, len(s.Functions), n)
		}
		if len(s.Sets) != len(p.Segments[0].Sets) {
			return fmt.Errorf("blockmax: segment %d has %d sets, the first one %d", i, len(s.Sets), len(p.Segments[0].Sets))
		}
		if err := s.check(len(p.Weights)); err != nil {
			return fmt.Errorf("blockmax: segment %d: %w", i, err)
		}
	}
	return nil
}

// best is the highest score that a document can have.
func (p *Plan) best() (uint64, error) {
	sum, err := p.bestInside()
	if p.Outer == nil || err != nil {
		return sum, err
	}
	if p.RankWeight > 0 {
		return 0, fmt.Errorf("a static rank and a function of the whole plan")
	}
	return max(sum, p.Outer.best(sum)), p.Outer.check(p)
}

// bestInside is best without Outer.
func (p *Plan) bestInside() (uint64, error) {
	sum := uint64(p.RankWeight)
	if p.Tree != nil {
		score, err := p.Tree.best(p)
		if err == nil && p.Else != nil {
			var other uint64
			other, err = p.Else.best(p)
			score = max(score, other)
		}
		return sum + score, err
	}
	for _, w := range p.Weights {
		sum += uint64(w)
	}
	return sum, nil
}

// best checks the node and sums its scores. A weight counts once for every leaf that names it. Of clauses
// that exclude one another, or of which the best alone scores, only the highest counts.
func (n *Node) best(p *Plan) (sum uint64, err error) {
	if n.Leaf {
		if n.Term < 0 || n.Term >= len(p.Weights) {
			return 0, fmt.Errorf("the tree names term %d of %d", n.Term, len(p.Weights))
		}
		sum = uint64(p.Weights[n.Term])
	}
	if n.Set && len(p.Segments) > 0 && (n.Number < 0 || n.Number >= len(p.Segments[0].Sets)) {
		return 0, fmt.Errorf("the tree names set %d of %d", n.Number, len(p.Segments[0].Sets))
	}
	oneScores := n.Either || n.Best && n.Tie == 0
	for _, clause := range [...]struct {
		nodes           []Node
		scores, highest bool
	}{{n.Must, true, false}, {n.Should, true, oneScores}, {n.Filter, false, false}, {n.Not, false, false}} {
		most := uint64(0)
		for i := range clause.nodes {
			if n.Leaf || n.Set || n.All {
				return 0, fmt.Errorf("a node of the tree has clauses and is a leaf, a set or all documents too")
			}
			score, err := clause.nodes[i].best(p)
			if err != nil {
				return 0, err
			}
			switch {
			case !clause.scores:
			case clause.highest:
				most = max(most, score)
			default:
				sum += score
			}
		}
		sum += most
	}
	if n.Proximity != nil {
		if n.Leaf || n.All {
			return 0, fmt.Errorf("a node of the tree has a proximity and is a leaf or all documents too")
		}
		if err := n.Proximity.check(len(p.Weights)); err != nil {
			return 0, err
		}
		sum = uint64(n.Proximity.Weight)
	}
	if n.Combined != nil {
		if len(n.Should) != len(n.Combined.Terms) || len(n.Must)+len(n.Filter)+len(n.Not) > 0 || n.MinShould > 1 || n.Best || n.Proximity != nil {
			return 0, fmt.Errorf("a node of the tree is a combination, and has clauses other than its lists")
		}
		for i, t := range n.Combined.Terms {
			if !n.Should[i].Leaf || n.Should[i].Constant || n.Should[i].Term != t.Term {
				return 0, fmt.Errorf("clause %d of a combination is not its list", i)
			}
		}
		if err := n.Combined.check(p); err != nil {
			return 0, err
		}
		sum = uint64(n.Combined.Weight)
	}
	if n.Function != nil {
		if n.Leaf || n.Set || n.All || n.Proximity != nil || n.Combined != nil {
			return 0, fmt.Errorf("a node of the tree has a function and is more than clauses")
		}
		if err := n.Function.check(p); err != nil {
			return 0, err
		}
		sum = max(sum, n.Function.best(sum)) // also without the function it must not overflow
	}
	if n.Tie > TieOne {
		return 0, fmt.Errorf("a node of the tree has tie %d, want at most %d", n.Tie, TieOne)
	}
	if n.Constant {
		sum = uint64(n.Score)
	}
	return sum, nil
}

func (s *Segment) check(terms int) error {
	tiles := (int(s.Docs) + TileDocs - 1) / TileDocs
	switch {
	case s.Docs > 1<<31:
		return fmt.Errorf("%d documents, want at most 1<<31", s.Docs)
	case s.Skip > s.Docs:
		return fmt.Errorf("%d documents, of which the first %d are not of the plan", s.Docs, s.Skip)
	case len(s.Terms) != terms:
		return fmt.Errorf("%d terms for %d weights", len(s.Terms), terms)
	case s.Accept != nil && len(s.Accept) < (int(s.Docs)+63)/64:
		return fmt.Errorf("accept has %d words for %d documents", len(s.Accept), s.Docs)
	case s.Few != nil && (s.Accept == nil || len(s.Few) > 0 && s.Few[len(s.Few)-1] >= s.Docs):
		return fmt.Errorf("few accepted documents without accept, or beyond the %d of the segment", s.Docs)
	case s.Subset != nil && (s.Accept == nil || len(s.Subset.Docs) > 0 && s.Subset.Docs[len(s.Subset.Docs)-1] >= s.Docs):
		return fmt.Errorf("a subset of documents without accept, or beyond the %d of the segment", s.Docs)
	case s.Alive != nil && (s.Subset == nil || len(s.Alive) < (len(s.Subset.Docs)+63)/64):
		return fmt.Errorf("%d words tell which documents of a subset are alive: too few, or without a subset", len(s.Alive))
	case s.Rank != nil && (len(s.Rank) < int(s.Docs) || len(s.RankTile) < tiles):
		return fmt.Errorf("%d ranks and %d rank tiles for %d documents", len(s.Rank), len(s.RankTile), s.Docs)
	case s.Tail != nil && len(s.Tail) < tiles:
		return fmt.Errorf("%d tail bounds for %d tiles", len(s.Tail), tiles)
	}
	for i, f := range s.Functions {
		if f == nil {
			return fmt.Errorf("function %d has no numbers", i)
		}
	}
	for i := range s.Sets {
		if s.Sets[i].Tiles != nil && s.Sets[i].Bits != nil {
			return fmt.Errorf("set %d has both bits and tiles", i)
		}
		if bits := s.Sets[i].Bits; bits != nil && len(bits) < (int(s.Docs)+63)/64 {
			return fmt.Errorf("set %d has %d words for %d documents", i, len(bits), s.Docs)
		}
	}
	for t := range s.Terms {
		term := &s.Terms[t]
		if term.Bounds == nil {
			continue
		}
		if term.Table == nil {
			return fmt.Errorf("term %d has bounds but no table", t)
		}
		if term.Norms != nil && len(term.Norms) < int(s.Docs) {
			return fmt.Errorf("term %d has %d norms for %d documents", t, len(term.Norms), s.Docs)
		}
	}
	return nil
}
