package exectest

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/proximity"
)

// pick is the index with only some of its terms, in random order.
func (ix *Index) pick(rng *rand.Rand) *Index {
	chosen := rng.Perm(terms)[:rng.IntN(terms+1)]
	sub := &Index{tables: ix.tables, parts: slices.Clone(ix.parts), Segments: slices.Clone(ix.Segments)}
	for i := range sub.Segments {
		s, part := &sub.Segments[i], &sub.parts[i]
		s.Terms, s.Places, s.Field, part.Terms = nil, nil, nil, nil
		for _, t := range chosen {
			s.Terms = append(s.Terms, ix.Segments[i].Terms[t])
			s.Places = append(s.Places, ix.Segments[i].Places[t])
			s.Field = append(s.Field, ix.Segments[i].Field[t])
			part.Terms = append(part.Terms, ix.parts[i].Terms[t])
		}
	}
	return sub
}

// newPlan makes a random query for the k best documents over all terms of the index.
func (ix *Index) newPlan(rng *rand.Rand, k int) *Plan {
	p := &Plan{K: k, Mode: blockmax.Mode(rng.IntN(3)), CountAll: rng.IntN(4) == 0, Segments: slices.Clone(ix.parts)}
	count := len(ix.parts[0].Terms)
	shares, sum := make([]uint32, count+1), uint32(1)
	for i := range shares {
		shares[i] = []uint32{0, 1, 2, 2, 2, 4, 6}[rng.IntN(7)]
		sum += shares[i]
	}
	unit := (1<<31 - 1) / sum // makes sums come close to the limit
	if rng.IntN(2) == 0 {
		unit = 1 + rng.Uint32N(4) // makes scores that differ by one, to tell < from <=
	}
	if count > 0 && rng.IntN(3) == 0 {
		unit = min(unit, 1<<19) // a tree may name a term often
		p.Tree = ix.newTree(rng, count, unit, 2)
		if rng.IntN(4) == 0 {
			p.Else = ix.newTree(rng, count, unit, 2)
		}
	}
	for _, share := range shares[:count] {
		p.Weights = append(p.Weights, share*unit)
	}
	p.RankWeight = shares[count] * unit
	if p.Tree != nil && rng.IntN(3) == 0 {
		ix.combine(rng, p, p.Tree, unit)
		if p.Else != nil {
			ix.combine(rng, p, p.Else, unit)
		}
	}
	if p.Tree != nil && rng.IntN(2) == 0 {
		ix.addPairs(rng, p, true)
	}
	for i := range p.Segments {
		s := &p.Segments[i]
		if s.Accept = newAccept(rng, s.Docs); s.Accept != nil && s.Docs%2 == 0 {
			s.Few = listOf(s.Accept)
		}
	}
	if rng.IntN(2) == 0 {
		ix.addTails(rng, p)
	}
	if rng.IntN(4) == 0 {
		p.After = newAfter(rng, Oracle(ix, p).Hits)
	}
	return p
}

// newTree makes a boolean tree of at most depth levels.
func (ix *Index) newTree(rng *rand.Rand, count int, unit uint32, depth int) *blockmax.Node {
	n := new(blockmax.Node)
	switch kind := rng.IntN(13); {
	case kind == 1 || kind == 8 && depth == 2:
		*n = ix.newProximity(rng, count, unit)
	case kind == 0:
		n.All = true
	case kind == 12:
		n.Set, n.Number = true, rng.IntN(sets)
	case kind < 8 && depth < 2 || depth == 0:
		n.Leaf, n.Term = true, rng.IntN(count)
	default:
		for range 1 + rng.IntN(4) {
			to := []*[]blockmax.Node{&n.Must, &n.Must, &n.Should, &n.Should, &n.Should, &n.Filter, &n.Not}[rng.IntN(7)]
			*to = append(*to, *ix.newTree(rng, count, unit, depth-1))
		}
		n.MinShould = max(0, rng.IntN(5)-1)
		if rng.IntN(4) == 0 {
			n.Best, n.Tie = true, []uint32{0, 1, blockmax.TieOne / 3, blockmax.TieOne}[rng.IntN(4)]
		}
	}
	if rng.IntN(8) == 0 {
		n.Constant, n.Score = true, rng.Uint32N(4)*unit
	}
	return n
}

// newProximity makes a proximity of terms of one field.
func (ix *Index) newProximity(rng *rand.Rand, count int, unit uint32) blockmax.Node {
	p := &blockmax.Proximity{Terms: ix.termsOf(rng.IntN(count)), Weight: rng.Uint32N(8) * unit}
	p.Expr = NewExpr(rng, len(p.Terms))
	return blockmax.NewProximity(p)
}

// termsOf returns the terms of the field of a term, that one first.
func (ix *Index) termsOf(first int) []int {
	of := []int{first}
	for t := range ix.parts[0].Terms {
		if t != first && ix.Segments[0].Field[t] == ix.Segments[0].Field[first] {
			of = append(of, t)
		}
	}
	return of
}

// proximityTree makes a tree of a phrase or of words near each other, mostly alone.
func (ix *Index) proximityTree(rng *rand.Rand, p *Plan) *blockmax.Node {
	if rng.IntN(3) == 0 {
		return ix.pairTree(rng, p)
	}
	return ix.alone(rng, ix.newNear(rng))
}

// alone makes a tree of a node, mostly with nothing else.
func (ix *Index) alone(rng *rand.Rand, near blockmax.Node) *blockmax.Node {
	count := len(ix.parts[0].Terms)
	leaf := blockmax.Node{Leaf: true, Term: rng.IntN(count)}
	switch rng.IntN(8) {
	case 0:
		return &blockmax.Node{Should: []blockmax.Node{leaf}, Filter: []blockmax.Node{near, {Leaf: true, Term: rng.IntN(count)}}}
	case 1:
		either := blockmax.Node{Should: []blockmax.Node{near, {Leaf: true, Term: rng.IntN(count)}}}
		return &blockmax.Node{Must: []blockmax.Node{leaf}, Filter: []blockmax.Node{either}}
	case 2:
		return &blockmax.Node{Must: []blockmax.Node{near, {Leaf: true, Term: rng.IntN(count)}}}
	case 3:
		return &blockmax.Node{Must: []blockmax.Node{near}, Should: []blockmax.Node{{Leaf: true, Term: rng.IntN(count)}}}
	}
	return &near
}

// newNear makes a proximity, mostly of a kind that executors have a way of their own for.
func (ix *Index) newNear(rng *rand.Rand) blockmax.Node {
	near := ix.newProximity(rng, len(ix.parts[0].Terms), 1<<19)
	if rng.IntN(3) == 0 {
		return near
	}
	e := near.Proximity.Expr
	*e = proximity.Expr{Op: []proximity.Op{proximity.Phrase, proximity.Phrase, proximity.Ordered, proximity.Unordered}[rng.IntN(4)], Max: rng.IntN(3)}
	for i := range 2 + rng.IntN(2) { // more take the oracle too long
		e.Parts = append(e.Parts, newWord(rng, len(near.Proximity.Terms)))
		e.Offsets = append(e.Offsets, uint32(i))
	}
	if rng.IntN(2) == 0 {
		e.Max = 0
	}
	return blockmax.NewProximity(near.Proximity)
}

// newAccept accepts all, most, few or no documents.
func newAccept(rng *rand.Rand, docs uint32) []uint64 {
	chance := []float64{1, 1, 0.8, 0.1, 0}[rng.IntN(5)]
	if chance == 1 {
		return nil
	}
	accept := make([]uint64, (docs+63)/64)
	for d := range docs {
		if rng.Float64() < chance {
			accept[d/64] |= 1 << (d % 64)
		}
	}
	return accept
}

// listOf lists the documents of a set.
func listOf(set []uint64) []uint32 {
	docs := []uint32{}
	for i, word := range set {
		for ; word != 0; word &= word - 1 {
			docs = append(docs, uint32(64*i+bits.TrailingZeros64(word)))
		}
	}
	return docs
}

// addTails bounds the tiles by the true scores, sometimes exactly and sometimes with a margin.
func (ix *Index) addTails(rng *rand.Rand, p *Plan) {
	tree := p.Tree
	if tree == nil {
		tree = flat(p, blockmax.Or)
	}
	air := rng.Uint32N(3) * 1000
	for i := range p.Segments {
		s := &p.Segments[i]
		s.Tail = make([]uint32, (s.Docs+blockmax.TileDocs-1)/blockmax.TileDocs)
	}
	hits := matching(ix, p, tree)
	if p.Else != nil {
		hits = append(hits, matching(ix, p, p.Else)...)
	}
	for _, h := range hits {
		i, _ := slices.BinarySearchFunc(p.Segments, h.Doc, func(s blockmax.Segment, doc uint32) int {
			return int(int64(s.Base)+int64(s.Docs)-1) - int(doc)
		})
		s := &p.Segments[i]
		tile := &s.Tail[(h.Doc-s.Base)/blockmax.TileDocs]
		*tile = max(*tile, h.Score+air)
	}
	for i := range p.Segments {
		blockmax.SuffixMax(p.Segments[i].Tail)
	}
}

// newAfter is a hit of the answer, or close to one.
func newAfter(rng *rand.Rand, hits []blockmax.Hit) *blockmax.Hit {
	if len(hits) == 0 {
		return &blockmax.Hit{Doc: 1}
	}
	h := hits[rng.IntN(len(hits))]
	if rng.IntN(4) == 0 {
		h.Doc += rng.Uint32N(3)
		h.Score += rng.Uint32N(2)
	}
	return &h
}

// describe prints a plan except for its segments.
func describe(p *Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "plan: mode %d, k %d, weights %v, rank weight %d", p.Mode, p.K, p.Weights, p.RankWeight)
	if p.Outer != nil {
		fmt.Fprintf(&b, ", outer %+v", *p.Outer)
	}
	if p.After != nil {
		fmt.Fprintf(&b, ", after %v", *p.After)
	}
	if p.CountAll {
		b.WriteString(", count all")
	}
	if p.Tree != nil {
		b.WriteString(", tree ")
		describeNode(&b, p.Tree)
	}
	if p.Else != nil {
		b.WriteString(", else ")
		describeNode(&b, p.Else)
	}
	for i, s := range p.Segments {
		fmt.Fprintf(&b, "\nsegment %d: accept %x, few %d, tail %v", i, s.Accept[:min(2, len(s.Accept))], s.Few[:min(8, len(s.Few))], s.Tail)
	}
	b.WriteByte('\n')
	return b.String()
}

func describeNode(b *strings.Builder, n *blockmax.Node) {
	if n.Constant {
		fmt.Fprintf(b, "%d:", n.Score)
	}
	if n.Function != nil {
		fmt.Fprintf(b, "f%+v:", *n.Function)
	}
	if p := n.Proximity; p != nil {
		fmt.Fprintf(b, "%d*%+v of %v", p.Weight, *p.Expr, p.Terms)
		if len(p.Pairs) > 0 {
			fmt.Fprintf(b, " with pairs %v and %v", p.Pairs, p.Single)
		}
		return
	}
	if n.Combined != nil {
		b.WriteString(describeCombined(n.Combined))
		return
	}
	if n.Leaf {
		fmt.Fprintf(b, "t%d", n.Term)
		return
	}
	if n.Set {
		fmt.Fprintf(b, "s%d", n.Number)
		return
	}
	if n.All {
		b.WriteString("all")
		return
	}
	if n.Either {
		b.WriteString("either")
	}
	b.WriteByte('(')
	for _, clause := range []struct {
		sign  string
		nodes []blockmax.Node
	}{{"+", n.Must}, {"", n.Should}, {"#", n.Filter}, {"-", n.Not}} {
		for i := range clause.nodes {
			b.WriteString(" " + clause.sign)
			describeNode(b, &clause.nodes[i])
		}
	}
	fmt.Fprintf(b, " )%d", n.MinShould)
	if n.Best {
		fmt.Fprintf(b, " best, tie %d", n.Tie)
	}
}
