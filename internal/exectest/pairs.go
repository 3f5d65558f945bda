package exectest

import (
	"math/rand/v2"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/proximity"
)

// Plans for indexes of which some segments have lists of pairs of words. The oracle needs nothing for
// them: it reads the positions of the words, and adds up the alternatives that exclude one another.

// addPairs replaces some phrases of a plan's trees by phrases with pairs of their words, and some leaves by
// leaves that exclude one another. It adds their lists to the plan and the index. If the plan allows it,
// leaves that exclude one another have weights whose sum is no score. Without phrases there are only those.
func (ix *Index) addPairs(rng *rand.Rand, p *Plan, phrases bool) {
	var either []int // terms
	for _, tree := range []*blockmax.Node{p.Tree, p.Else} {
		if tree != nil {
			either = append(either, ix.pairs(rng, p, tree, phrases)...)
		}
	}
	if rng.IntN(2) == 0 {
		return
	}
	for ; len(either) > 0; either = either[alternatives:] {
		before := slices.Clone(p.Weights)
		for _, t := range either[:alternatives] {
			p.Weights[t] = 3 << 29
		}
		if p.Check() != nil {
			p.Weights = before
		}
	}
}

// pairs is addPairs for a node. It returns the terms that exclude one another.
func (ix *Index) pairs(rng *rand.Rand, p *Plan, n *blockmax.Node, phrases bool) (either []int) {
	var by blockmax.Node
	switch kind := rng.IntN(6); {
	case n.Leaf && kind < 2:
		by = ix.newEither(rng, p, n.Term)
		for i := range by.Should {
			either = append(either, by.Should[i].Term)
		}
	case n.Leaf && phrases && kind < 4:
		x := &blockmax.Proximity{Terms: ix.termsOf(n.Term), Weight: p.Weights[n.Term]}
		x.Expr = ix.newPlain(rng, x.Terms)
		by = ix.newPaired(rng, p, x)
	case n.Proximity != nil && kind < 4:
		if !isPlain(n.Proximity.Expr) {
			n.Proximity.Expr = ix.newPlain(rng, n.Proximity.Terms)
		}
		by = ix.newPaired(rng, p, n.Proximity)
	case n.Proximity != nil || n.Combined != nil:
		return nil
	default:
		for _, nodes := range [...][]blockmax.Node{n.Must, n.Should, n.Filter, n.Not} {
			for i := range nodes {
				either = append(either, ix.pairs(rng, p, &nodes[i], phrases)...)
			}
		}
		return either
	}
	by.Constant, by.Score = n.Constant, n.Score
	*n = by
	return either
}

// alternatives is how many leaves exclude one another.
const alternatives = 3

// newEither makes alternatives to a term: each segment has the list of one of them at most.
func (ix *Index) newEither(rng *rand.Rand, p *Plan, from int) blockmax.Node {
	of := make([]int, len(p.Segments)) // by segment, the alternative
	for i := range of {
		of[i] = rng.IntN(alternatives + 1)
	}
	n := blockmax.Node{Either: true}
	for a := range alternatives {
		t := ix.addTerm(p, from, func(segment int) bool { return of[segment] == a })
		p.Weights[t] = p.Weights[from] >> rng.IntN(2)
		n.Should = append(n.Should, blockmax.Node{Leaf: true, Term: t})
	}
	return n
}

// addTerm adds a term to the plan and the index, with the list of another one in some segments, and
// returns its number.
func (ix *Index) addTerm(p *Plan, from int, in func(segment int) bool) int {
	t := len(p.Weights)
	p.Weights = append(p.Weights, 0)
	for i := range p.Segments {
		s, seg := &ix.Segments[i], &p.Segments[i]
		list, places, term := s.Terms[from], s.Places[from], seg.Terms[from]
		if !in(i) {
			list, places, term = nil, nil, blockmax.Term{}
		}
		s.Terms, s.Places, s.Field = append(s.Terms, list), append(s.Places, places), append(s.Field, s.Field[from])
		seg.Terms = append(slices.Clip(seg.Terms), term)
	}
	return t
}

// isPlain reports whether an expression is a phrase of single words, without moves, two of which follow
// one another.
func isPlain(e *proximity.Expr) bool {
	if e.Op != proximity.Phrase || e.Max > 0 {
		return false
	}
	follow := false
	for i := range e.Parts {
		if len(e.Parts[i].Terms) != 1 {
			return false
		}
		follow = follow || i > 0 && e.Offsets[i] == e.Offsets[i-1]+1
	}
	return follow
}

// newPlain makes a phrase for which isPlain is true, of several the one that most documents match: most
// phrases at random match none, and prove little.
func (ix *Index) newPlain(rng *rand.Rand, terms []int) (best *proximity.Expr) {
	most := -1
	for range 4 {
		e := newPlain(rng, len(terms))
		if n := ix.matchesOf(e, terms); n > most {
			best, most = e, n
		}
	}
	return best
}

func newPlain(rng *rand.Rand, terms int) *proximity.Expr {
	e := &proximity.Expr{Op: proximity.Phrase}
	offset := uint32(0)
	for i := range []int{2, 2, 3, 3, 4, 5}[rng.IntN(6)] {
		e.Parts = append(e.Parts, proximity.Expr{Op: proximity.Word, Terms: []int{rng.IntN(terms)}})
		e.Offsets = append(e.Offsets, offset)
		if offset++; i > 0 && rng.IntN(6) == 0 {
			offset += rng.Uint32N(3) - 1
		}
	}
	return e
}

// matchesOf counts the documents that match an expression over terms, among the first of each segment.
func (ix *Index) matchesOf(e *proximity.Expr, terms []int) (n int) {
	positions := make([][]uint32, len(terms))
	for i := range ix.Segments {
		s := &ix.Segments[i]
		for doc := range min(s.Docs, 100) {
			for j, t := range terms {
				positions[j] = s.placesOf(t, doc)
			}
			if Frequency(e, positions) > 0 {
				n++
			}
		}
	}
	return n
}

// newPaired makes a phrase of which some segments have pairs. In each segment, the plan has the lists for
// one of the two ways only.
func (ix *Index) newPaired(rng *rand.Rand, p *Plan, x *blockmax.Proximity) blockmax.Node {
	in, all := make([]bool, len(p.Segments)), rng.IntN(2) == 0
	for i := range in {
		in[i] = all || rng.IntN(2) == 0
	}
	paired := &blockmax.Proximity{Expr: x.Expr, Weight: x.Weight}
	for _, t := range x.Terms {
		paired.Terms = append(paired.Terms, ix.addTerm(p, t, func(segment int) bool { return in[segment] }))
	}
	e := x.Expr
	covered, named := map[int]bool{}, map[[2]int]bool{}
	chosen := rng.IntN(3) > 0 // else not all words have pairs
	for i := range len(e.Parts) - 1 {
		a, b := e.Parts[i].Terms[0], e.Parts[i+1].Terms[0]
		if pair := [2]int{a, b}; e.Offsets[i+1] == e.Offsets[i]+1 && !named[pair] && (chosen || len(named) == 0 || rng.IntN(2) == 0) {
			named[pair], covered[a], covered[b] = true, true, true
			paired.Pairs = append(paired.Pairs, ix.addPair(rng, p, paired.Terms[a], paired.Terms[b]))
		}
	}
	for i := range e.Parts {
		if t := e.Parts[i].Terms[0]; !covered[t] {
			covered[t] = true
			paired.Single = append(paired.Single, paired.Terms[t])
		}
	}
	n := blockmax.NewProximity(paired)
	if len(e.Parts) == 2 && rng.IntN(4) == 0 { // the pair is the phrase
		n = blockmax.Node{Leaf: true, Term: paired.Pairs[0]}
		p.Weights[n.Term] = x.Weight
	}
	if all {
		return n
	}
	plain := &blockmax.Proximity{Expr: x.Expr, Weight: x.Weight}
	for _, t := range x.Terms {
		plain.Terms = append(plain.Terms, ix.addTerm(p, t, func(segment int) bool { return !in[segment] }))
	}
	return blockmax.Node{Should: []blockmax.Node{n, blockmax.NewProximity(plain)}, Either: true}
}

// pairTree makes a tree of a phrase with pairs, mostly alone.
func (ix *Index) pairTree(rng *rand.Rand, p *Plan) *blockmax.Node {
	x := &blockmax.Proximity{Terms: ix.termsOf(rng.IntN(len(ix.parts[0].Terms))), Weight: 1 + rng.Uint32N(8<<19)}
	x.Expr = ix.newPlain(rng, x.Terms)
	return ix.alone(rng, ix.newPaired(rng, p, x))
}

// addPair adds the pair of two terms to the plan and the index, and returns its number. The list may have
// more than the pair: only positions decide.
func (ix *Index) addPair(rng *rand.Rand, p *Plan, a, b int) int {
	t := len(p.Weights)
	p.Weights = append(p.Weights, 0)
	more := rng.IntN(3) == 0
	for i := range p.Segments {
		s, seg := &ix.Segments[i], &p.Segments[i]
		list := map[uint32]uint32{}
		for doc := range s.Docs {
			freq := follows(s.placesOf(a, doc), s.placesOf(b, doc))
			if more && s.Terms[a][doc] > 0 && rng.IntN(8) == 0 {
				freq++
			}
			if freq > 0 {
				list[doc] = freq
			}
		}
		term := blockmax.Term{}
		if len(list) > 0 {
			term = seg.Terms[a]
			term.List = newList(rng, list, nil, s.Norms[s.Field[a]], s.Wide)
			term.Bounds = boundsOf(term.List, term.Table)
		}
		s.Terms, s.Places, s.Field = append(s.Terms, list), append(s.Places, nil), append(s.Field, s.Field[a])
		seg.Terms = append(slices.Clip(seg.Terms), term)
	}
	return t
}

// follows counts the positions of a that one of b follows.
func follows(a, b []uint32) (n uint32) {
	for i, at := range a {
		if (i == 0 || a[i-1] != at) && slices.Contains(b, at+1) {
			n++
		}
	}
	return n
}
