package blockmax

import (
	"fmt"
	"math"
	"slices"

	"github.com/riffle-search/riffle/proximity"
)

// A Proximity is a condition on the positions of terms of one field. Its score is that of a posting
// with its frequency (Expr) and Weight: BM25 where the words stand together, as if they were one term.
type Proximity struct {
	Expr   *proximity.Expr
	Terms  []int  // of the plan, by their number in Expr; all have the same Norms and Table
	Weight uint32 // at the plan's scale

	// Pairs are further terms, which every match has at least as often as Expr says: pairs of words that
	// follow one another in a phrase of single words without moves. If there are some, the words that
	// stand in none of them are Single; the others need not be asked for before positions are read.
	Pairs, Single []int
}

// NewProximity returns the node of a condition: a boolean node that requires the words which every match
// has, with the condition. So whatever follows from the words alone holds of the node.
func NewProximity(p *Proximity) Node {
	if len(p.Pairs) > 0 {
		n := Node{Proximity: p}
		for _, t := range p.Pairs {
			n.require(Node{Leaf: true, Term: t})
		}
		for _, t := range p.Single {
			n.require(Node{Leaf: true, Term: t})
		}
		return n
	}
	n := p.words(p.Expr)
	if n.Leaf {
		n = Node{Filter: []Node{n}}
	}
	n.Proximity = p
	return n
}

// words returns a node that matches what the expression may match, given its words.
func (p *Proximity) words(e *proximity.Expr) Node {
	switch e.Op {
	case proximity.Word:
		if len(e.Terms) == 1 {
			return Node{Leaf: true, Term: p.Terms[e.Terms[0]]}
		}
		var n Node
		for _, t := range e.Terms {
			n.Should = append(n.Should, Node{Leaf: true, Term: p.Terms[t]})
		}
		return n
	case proximity.Any:
		var n Node
		for i := range e.Parts {
			n.Should = append(n.Should, p.words(&e.Parts[i]))
		}
		return n
	case proximity.NotContaining, proximity.First, proximity.Repeat:
		return p.words(&e.Parts[0])
	}
	var n Node
	for i := range e.Parts {
		part := p.words(&e.Parts[i])
		if part.Leaf || len(part.Filter) == 0 {
			n.require(part)
			continue
		}
		for _, f := range part.Filter {
			n.require(f)
		}
	}
	return n
}

// require adds a filter, unless it is a leaf that the node has already.
func (n *Node) require(f Node) {
	for i := range n.Filter {
		if f.Leaf && n.Filter[i].Leaf && n.Filter[i].Term == f.Term {
			return
		}
	}
	n.Filter = append(n.Filter, f)
}

// check reports what is wrong with a condition in a plan of the given number of terms.
func (p *Proximity) check(terms int) error {
	for _, t := range slices.Concat(p.Terms, p.Pairs, p.Single) {
		if t < 0 || t >= terms {
			return fmt.Errorf("a proximity names term %d of %d", t, terms)
		}
	}
	if err := p.Expr.Check(len(p.Terms)); err != nil || len(p.Pairs) == 0 {
		return err
	}
	if p.Expr.Op != proximity.Phrase || p.Expr.Max > 0 || slices.ContainsFunc(p.Expr.Parts, func(w proximity.Expr) bool { return len(w.Terms) > 1 }) {
		return fmt.Errorf("pairs of words in %v, which is no phrase of single words without moves", p.Expr.Op)
	}
	return nil
}

// Highest bounds the score of the condition in a segment by the bounds of its lists.
func (p *Proximity) Highest(seg *Segment) uint32 {
	most := p.impact(p.Expr, seg)
	for _, t := range p.Pairs {
		b := seg.Terms[t].Bounds
		if b == nil {
			return 0
		}
		most = min(most, b.List)
	}
	return Contribution(p.Weight, most)
}

// impact bounds the impact of an expression in a segment.
func (p *Proximity) impact(e *proximity.Expr, seg *Segment) uint16 {
	if e.Op == proximity.Word {
		parts := make([]uint16, len(e.Terms))
		for i, t := range e.Terms {
			if b := seg.Terms[p.Terms[t]].Bounds; b != nil {
				parts[i] = b.List
			}
		}
		return sumOf(parts)
	}
	parts := make([]uint16, len(e.Parts))
	for i := range e.Parts {
		parts[i] = p.impact(&e.Parts[i], seg)
	}
	return MostImpact(e, parts)
}

// MostImpact bounds the impact of an expression that is not a word by those of its parts. It is 0 if
// that of a required part is.
func MostImpact(e *proximity.Expr, parts []uint16) uint16 {
	least := slices.Min(parts)
	switch e.Limit() {
	case proximity.LimitFirst:
		if (e.Op == proximity.Containing || e.Op == proximity.ContainedBy) && least == 0 {
			return 0
		}
		return parts[0]
	case proximity.LimitLeast:
		return least
	case proximity.LimitTimes:
		if least == 0 {
			return 0
		}
		return min(Times(least, len(parts)), sumOf(parts))
	case proximity.LimitAll:
		if least == 0 {
			return 0
		}
	}
	return sumOf(parts)
}

// sumOf bounds the impact of the sum of frequencies, for the same length, by their impacts, which may be
// rounded.
func sumOf(impacts []uint16) uint16 {
	sum := uint32(0)
	for _, x := range impacts {
		if sum > 0 && x > 0 {
			sum++
		}
		sum += uint32(x)
	}
	return uint16(min(sum, math.MaxUint16))
}

// Times bounds the impact of n times the frequency of a posting with a given impact, for the same
// length: with impact x = f/(f+K), that of n·f is n·x/(1+(n-1)·x). The given one may be rounded.
func Times(impact uint16, n int) uint16 {
	if impact == 0 || n <= 1 {
		return impact
	}
	x := min(1, (float64(impact)+1)/65536)
	most := float64(float64(n)*x) / (1 + float64(float64(n-1)*x))
	return uint16(min(65535, math.Ceil(most*65536)+1))
}

// ImpactOf is Impact for a frequency in units of 1/proximity.One.
func (t *Table) ImpactOf(freq uint64, code uint8) uint16 {
	if freq < smallTFs*proximity.One && freq%proximity.One == 0 {
		return t.small[freq/proximity.One][code]
	}
	ratio := t.k[code] / (float32(min(freq, 1<<48)) * (1.0 / proximity.One))
	x := 65536 / (1 + ratio)
	return uint16(min(65535, math.RoundToEven(float64(x))))
}
