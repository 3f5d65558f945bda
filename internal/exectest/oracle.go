package exectest

import (
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// Oracle answers a plan the slow way: it tests every document of every segment separately and sorts
// all matches. It reads postings from maps and never uses a block or a bound.
func Oracle(ix *Index, p *Plan) blockmax.TopK {
	all := matching(ix, p, first(p))
	if tree := second(p); tree != nil && len(all) < p.K {
		all = matching(ix, p, tree)
	}
	top := blockmax.TopK{Total: len(all), Exact: true}
	slices.SortFunc(all, ranksBefore)
	for _, h := range all {
		if len(top.Hits) < p.K && (p.After == nil || ranksBefore(*p.After, h) < 0) {
			top.Hits = append(top.Hits, h)
		}
	}
	return top
}

// ranksBefore is negative when a ranks before b.
func ranksBefore(a, b blockmax.Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc))
}

// first is the tree that a plan begins with.
func first(p *Plan) *blockmax.Node {
	if p.Tree == nil {
		return flat(p, p.Mode)
	}
	return p.Tree
}

// second is the tree of a plan whose first one has too few matches, or nil.
func second(p *Plan) *blockmax.Node {
	if p.Tree == nil && p.Mode == blockmax.AndOr {
		return flat(p, blockmax.Or)
	}
	return p.Else
}

// flat is the tree equivalent to a flat plan; AndOr begins as And.
func flat(p *Plan, mode blockmax.Mode) *blockmax.Node {
	var leaves []blockmax.Node
	for t := range p.Weights {
		leaves = append(leaves, blockmax.Node{Leaf: true, Term: t})
	}
	if mode == blockmax.Or {
		return &blockmax.Node{Should: leaves}
	}
	return &blockmax.Node{Must: leaves}
}

// matching returns all accepted documents that match, with their scores.
func matching(ix *Index, p *Plan, tree *blockmax.Node) []blockmax.Hit {
	if ix.known != nil {
		return ix.known.next(func() []blockmax.Hit { return ix.matching(p, tree) })
	}
	return ix.matching(p, tree)
}

func (ix *Index) matching(p *Plan, tree *blockmax.Node) (all []blockmax.Hit) {
	for i := range p.Segments {
		seg := &p.Segments[i]
		for doc := range seg.Docs {
			if seg.Accept != nil && seg.Accept[doc/64]>>(doc%64)&1 == 0 {
				continue
			}
			score, ok := ix.score(p, i, doc, tree)
			if !ok {
				continue
			}
			if seg.Rank != nil {
				score += blockmax.Contribution(p.RankWeight, seg.Rank[doc])
			}
			if f := p.Outer; f != nil {
				score = applied(f, score, seg.Functions[f.Number].Of(doc))
			}
			all = append(all, blockmax.Hit{Doc: seg.Base + doc, Score: score})
		}
	}
	return all
}

// score returns a document's score for a node, and whether it matches.
func (ix *Index) score(p *Plan, segment int, doc uint32, n *blockmax.Node) (score uint32, ok bool) {
	switch {
	case n.Leaf:
		score, ok = ix.scoreTerm(p, segment, doc, n.Term)
	case n.All:
		ok = true
	case n.Set:
		ok = ix.Segments[segment].Sets[n.Number][doc]
	case n.Proximity != nil:
		score, ok = ix.scoreProximity(p, segment, doc, n.Proximity)
	case n.Combined != nil:
		score, ok = ix.scoreCombined(p, segment, doc, n.Combined)
	default:
		score, ok = ix.scoreBoolean(p, segment, doc, n)
	}
	if f := n.Function; ok && f != nil {
		score = applied(f, score, p.Segments[segment].Functions[f.Number].Of(doc))
	}
	if ok && n.Constant {
		score = n.Score
	}
	return score, ok
}

// applied is the score that a function makes of another one. It is written apart from Function.Apply.
func applied(f *blockmax.Function, score, number uint32) uint32 {
	share := uint32(uint64(f.Weight) * uint64(number) / (1 << 32))
	switch f.Mode {
	case blockmax.FunctionAdd:
		score += share
	case blockmax.FunctionMultiply:
		score = uint32(uint64(score) * uint64(number) / (1 << 32))
	case blockmax.FunctionMax:
		score = max(score, share)
	default:
		score = share
	}
	return score
}

func (ix *Index) scoreTerm(p *Plan, segment int, doc uint32, t int) (score uint32, ok bool) {
	tf := ix.Segments[segment].Terms[t][doc]
	if tf == 0 {
		return 0, false
	}
	term := &p.Segments[segment].Terms[t]
	s := &ix.Segments[segment]
	code := uint8(1)
	if norms := s.Norms[s.Field[t]]; norms != nil {
		code = norms[doc]
	}
	return blockmax.Contribution(p.Weights[t], term.Table.Impact(tf, code)), true
}

func (ix *Index) scoreBoolean(p *Plan, segment int, doc uint32, n *blockmax.Node) (sum uint32, ok bool) {
	for i := range n.Not {
		if _, ok := ix.score(p, segment, doc, &n.Not[i]); ok {
			return 0, false
		}
	}
	for i := range n.Filter {
		if _, ok := ix.score(p, segment, doc, &n.Filter[i]); !ok {
			return 0, false
		}
	}
	for i := range n.Must {
		score, ok := ix.score(p, segment, doc, &n.Must[i])
		if !ok {
			return 0, false
		}
		sum += score
	}
	matched, best, should := 0, uint32(0), uint32(0)
	for i := range n.Should {
		if score, ok := ix.score(p, segment, doc, &n.Should[i]); ok {
			best, should = max(best, score), should+score
			matched++
		}
	}
	if n.Best {
		should = best + uint32(uint64(should-best)*uint64(n.Tie)/blockmax.TieOne)
	}
	sum += should
	least := n.MinShould
	if len(n.Must)+len(n.Filter) == 0 {
		least = max(least, 1)
	}
	return sum, matched >= least
}
