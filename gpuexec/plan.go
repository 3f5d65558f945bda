package gpuexec

import (
	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// A Plan is a query over lists of package postings.
type Plan = blockmax.Plan[*postings.List]

type planSegment = blockmax.Segment[*postings.List]
type term = blockmax.Term[*postings.List]

// has reports whether a segment has a term.
func has(t *term) bool { return t.Bounds != nil && t.List.Blocks() > 0 }

// refuse says why the device cannot answer a plan, or "".
func (x *Executor) refuse(p *Plan) string {
	terms := maxTerms
	if x.options.Algorithm.byRanges() {
		terms = maxRangeTerms
	}
	switch {
	case p.Check() != nil:
		return "not a plan"
	case p.Tree != nil:
		return "a boolean tree"
	case p.K > maxK:
		return "more than 1,000 hits"
	case len(p.Weights) > terms:
		return "too many terms"
	}
	for i := range p.Segments {
		s := &p.Segments[i]
		for t := range s.Terms {
			if l := &s.Terms[t]; has(l) && l.List.Last[l.List.Blocks()-1] >= s.Docs {
				return "a damaged list" // it names documents that the segment does not have
			}
		}
	}
	return ""
}

// A query is a plan in a batch.
type query struct {
	plan   *Plan
	answer int    // where it goes
	parts  []part // those of AND first
	blocks int64  // of all lists of all passes
	need   uint32 // of an OR: what the answer's last hit scores at the least
}

// A part is a query in one segment that has its terms.
type part struct {
	segment int
	way     uint32
	lists   []int // of its terms, numbers in lists; of an AND, by length
	terms   []int // of the plan
	weights []uint32
}

// add takes a plan into the batch.
func (b *batch) add(p *Plan, answer int) {
	q := query{plan: p, answer: answer}
	if p.Mode != blockmax.And && b.algorithm.prunes() {
		q.need = p.Seed()
	}
	if p.Mode != blockmax.Or {
		for s := range p.Segments {
			b.addPart(&q, s, true)
		}
	}
	if p.Mode != blockmax.And {
		for s := range p.Segments {
			b.addPart(&q, s, false)
		}
	}
	b.settles = b.settles || p.Mode == blockmax.AndOr
	b.kMost = max(b.kMost, p.K)
	b.queries = append(b.queries, q)
}

// addPart adds a segment of a query, if something can match there.
func (b *batch) addPart(q *query, s int, all bool) {
	seg := &q.plan.Segments[s]
	var terms []int
	for t := range seg.Terms {
		if has(&seg.Terms[t]) {
			terms = append(terms, t)
			q.blocks += int64(seg.Terms[t].List.Blocks())
		}
	}
	if len(terms) == 0 || all && len(terms) < len(seg.Terms) {
		return
	}
	pt := part{segment: s, way: byOrTiles, terms: terms}
	if all {
		sortByLength(seg, terms)
		pt.way = b.wayOfAnd(seg, terms)
	}
	for _, t := range terms {
		pt.lists = append(pt.lists, b.lists.add(&seg.Terms[t], seg.Docs, b.shape.tiles(seg.Docs)))
		pt.weights = append(pt.weights, q.plan.Weights[t])
	}
	q.parts = append(q.parts, pt)
	b.lanes = max(b.lanes, len(terms))
	need := uint32(0)
	if !all {
		need = q.need
	}
	if b.algorithm.prunes() {
		b.lists.want(q.plan, &pt, need)
	} else {
		b.lists.wantAll(&pt)
	}
}

// sortByLength puts the shortest list first. Terms are few.
func sortByLength(seg *planSegment, terms []int) {
	for i := 1; i < len(terms); i++ {
		for j := i; j > 0 && seg.Terms[terms[j]].List.Count < seg.Terms[terms[j-1]].List.Count; j-- {
			terms[j], terms[j-1] = terms[j-1], terms[j]
		}
	}
}

// likeLength is how many times as long as the shortest list of an AND the longest may be for it to go by
// tiles. Tiles decode all blocks that meet; the blocks of the shortest list lead to single ones.
const likeLength = 16

// wayOfAnd chooses how an AND goes, whose terms are in order of length.
func (b *batch) wayOfAnd(seg *planSegment, terms []int) uint32 {
	shortest, longest := seg.Terms[terms[0]].List.Count, seg.Terms[terms[len(terms)-1]].List.Count
	switch {
	case b.algorithm == Rounds || b.algorithm.byRanges():
		return byLeadBlocks
	case b.algorithm == Exhaustive || shortest > longest/likeLength:
		return byAndTiles
	}
	return byLeadBlocks
}
