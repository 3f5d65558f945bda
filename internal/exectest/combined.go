package exectest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/proximity"
)

// The oracle of words of several fields: it adds up frequencies and lengths as blockmax.Combined
// defines, in floating point.

// scoreCombined returns a document's score for a combination, and whether it matches.
func (ix *Index) scoreCombined(p *Plan, segment int, doc uint32, c *blockmax.Combined) (score uint32, ok bool) {
	s := &ix.Segments[segment]
	weight := func(field int) float64 { return float64(c.Fields[field].Weight) / proximity.One }
	freq, length := 0.0, 0.0
	for _, t := range c.Terms {
		freq += weight(t.Field) * float64(s.Terms[t.Term][doc])
	}
	for i, f := range c.Fields {
		switch norms := s.Norms[f.Number]; {
		case s.Lacks[f.Number]:
		case norms == nil:
			length += weight(i)
		default:
			length += weight(i) * float64(blockmax.CodeLength(norms[doc]))
		}
	}
	if freq == 0 {
		return 0, false
	}
	code := blockmax.LengthCode(uint32(math.Floor(length + 0.5)))
	return blockmax.Contribution(c.Weight, c.Table.ImpactOf(uint64(freq*proximity.One), code)), true
}

// combine replaces some leaves of a tree by words of several fields.
func (ix *Index) combine(rng *rand.Rand, p *Plan, n *blockmax.Node, unit uint32) {
	if n.Leaf && rng.IntN(2) == 0 {
		constant, score := n.Constant, n.Score
		*n = ix.newCombined(rng, p, unit)
		n.Constant, n.Score = constant, score
		return
	}
	if n.Proximity != nil {
		return
	}
	for _, nodes := range [...][]blockmax.Node{n.Must, n.Should, n.Filter, n.Not} {
		for i := range nodes {
			ix.combine(rng, p, &nodes[i], unit)
		}
	}
}

// newCombined makes a word of several fields, and adds its lists to the plan and the index.
func (ix *Index) newCombined(rng *rand.Rand, p *Plan, unit uint32) blockmax.Node {
	c := &blockmax.Combined{Weight: rng.Uint32N(8) * unit, Table: ix.tables[0]}
	for f := range fields {
		weight := []float64{1, 1, 1.5, 3, 2.25, 40, blockmax.MaxFieldWeight}[rng.IntN(7)]
		c.Fields = append(c.Fields, blockmax.CombinedField{Number: f, Weight: uint64(weight * proximity.One)})
	}
	for range 1 + rng.IntN(4) {
		from := rng.IntN(len(ix.parts[0].Terms))
		field := ix.Segments[0].Field[from]
		c.Terms = append(c.Terms, blockmax.CombinedTerm{Term: len(p.Weights), Field: field})
		p.Weights = append(p.Weights, 0)
		for i := range p.Segments {
			s := &ix.Segments[i]
			s.Terms, s.Places, s.Field = append(s.Terms, s.Terms[from]), append(s.Places, s.Places[from]), append(s.Field, field)
			term := p.Segments[i].Terms[from]
			term.Table = c.Table.Weighted(c.Fields[field].Weight)
			if term.Bounds != nil {
				term.Bounds = boundsOf(term.List, term.Table)
			}
			p.Segments[i].Terms = append(slices.Clip(p.Segments[i].Terms), term)
		}
	}
	return blockmax.NewCombined(c)
}

// combinedTree makes a tree of words of several fields: one, any or all of some, perhaps with others.
func (ix *Index) combinedTree(rng *rand.Rand, p *Plan) *blockmax.Node {
	leaf := func() blockmax.Node { return blockmax.Node{Leaf: true, Term: rng.IntN(len(ix.parts[0].Terms))} }
	var words []blockmax.Node
	for range 1 + rng.IntN(4) {
		words = append(words, ix.newCombined(rng, p, []uint32{1, 3, 1 << 19}[rng.IntN(3)]))
	}
	switch rng.IntN(8) {
	case 0:
		return &words[0]
	case 1, 2:
		return &blockmax.Node{Must: words}
	case 3:
		return &blockmax.Node{Must: words[:1], Should: append(words[1:], leaf())}
	case 4:
		return &blockmax.Node{Should: append(words, leaf()), Filter: []blockmax.Node{leaf()}, MinShould: rng.IntN(3)}
	case 5:
		return &blockmax.Node{Should: append(words, leaf()), Best: true, Tie: rng.Uint32N(3) * 20000}
	}
	return &blockmax.Node{Should: words, MinShould: rng.IntN(2)}
}

func describeCombined(c *blockmax.Combined) string {
	return fmt.Sprintf("%d*combined%v of %v", c.Weight, c.Fields, c.Terms)
}
