package gpuexec

import (
	"errors"
	"fmt"

	"github.com/riffle-search/riffle/blockmax"
)

// A Plan is a query over lists of package postings.
type Plan = blockmax.Plan

type term = blockmax.Term

// check says why the device cannot answer a plan, whatever the lists are, or returns nil.
func (x *Executor) check(p *Plan) error {
	terms := maxTerms
	if x.options.Algorithm.byRanges() {
		terms = maxRangeTerms
	}
	switch err := p.Check(); {
	case err != nil:
		return err
	case p.Tree != nil:
		return errors.New("gpuexec: a boolean tree")
	case p.K > maxK:
		return fmt.Errorf("gpuexec: %d hits, more than %d", p.K, maxK)
	case len(p.Weights) > terms:
		return fmt.Errorf("gpuexec: %d terms, more than %d", len(p.Weights), terms)
	}
	return nil
}

// errDamagedList: a list names documents that the segment does not have.
var errDamagedList = errors.New("gpuexec: a damaged list")

// A query is a plan in a batch.
type query struct {
	plan     *Plan
	answer   int    // where it goes
	from, to int    // its parts, of the batch's; those of AND first
	blocks   int64  // of all lists of all passes
	need     uint32 // of an OR: what the answer's last hit scores at the least
	byStrips bool   // kernels/strips.cu goes through its tiles
	expected bool   // to go by strips, when lists are as they were: which extents matter has not been found out
}

// A part is a query in one segment that has its terms.
type part struct {
	query, segment int
	way            uint32
	from, to       int // its terms, of the batch's; of an AND, by length
}

// A partTerm is a term of a part.
type partTerm struct {
	entry  int32 // in lists
	term   int32 // of the plan
	weight uint32
}

// add takes a plan into the batch. An error says why the device cannot answer it.
func (b *batch) add(p *Plan, answer int) error {
	if !b.find(p) {
		return errDamagedList
	}
	q := query{plan: p, answer: answer, from: len(b.parts)}
	if p.Mode != blockmax.And && b.algorithm.prunes() {
		q.need = p.Seed()
	}
	if p.Mode != blockmax.Or {
		b.addParts(&q, true)
	}
	if p.Mode != blockmax.And {
		b.addParts(&q, false)
	}
	q.to = len(b.parts)
	b.settles = b.settles || p.Mode == blockmax.AndOr
	b.kMost = max(b.kMost, p.K)
	b.queries = append(b.queries, q)
	return nil
}

// find finds the lists of a plan, segment by segment; nil stands for a term that a segment lacks. It reports false when
// one is damaged.
func (b *batch) find(p *Plan) bool {
	b.found = b.found[:0]
	for i := range p.Segments {
		s := &p.Segments[i]
		for t := range s.Terms {
			k := b.lists.know(&s.Terms[t])
			if k != nil && k.last >= s.Docs {
				return false
			}
			b.found = append(b.found, k)
		}
	}
	return true
}

// addParts adds the segments of a query where something can match.
func (b *batch) addParts(q *query, all bool) {
	found := b.found
	for s := range q.plan.Segments {
		n := len(q.plan.Segments[s].Terms)
		b.addPart(q, s, found[:n], all)
		found = found[n:]
	}
}

// addPart adds a segment of a query, of which these lists have been found.
func (b *batch) addPart(q *query, s int, found []*knownList, all bool) {
	seg := &q.plan.Segments[s]
	has := 0
	for _, k := range found {
		if k != nil {
			has++
			q.blocks += int64(k.blocks)
		}
	}
	if has == 0 || all && has < len(found) {
		return
	}
	pt := part{query: len(b.queries), segment: s, way: byOrTiles, from: len(b.terms)}
	for t, k := range found {
		if k != nil {
			entry := b.lists.add(k, &seg.Terms[t], seg.Docs, b.shape.tiles(seg.Docs))
			b.terms = append(b.terms, partTerm{int32(entry), int32(t), q.plan.Weights[t]})
		}
	}
	pt.to = len(b.terms)
	terms := b.terms[pt.from:]
	need := q.need
	if all {
		need = 0
		b.sortByLength(terms)
		pt.way = b.wayOfAnd(terms)
	}
	b.parts = append(b.parts, pt)
	b.listsMost = max(b.listsMost, len(terms))
	b.want(len(b.parts)-1, q.plan, need)
}

// listOf is what is known of the list of a part's term.
func (b *batch) listOf(t partTerm) *knownList { return b.lists.entries[t.entry].known }

// sortByLength puts the shortest list first. Terms are few.
func (b *batch) sortByLength(terms []partTerm) {
	for i := 1; i < len(terms); i++ {
		for j := i; j > 0 && b.listOf(terms[j]).count < b.listOf(terms[j-1]).count; j-- {
			terms[j], terms[j-1] = terms[j-1], terms[j]
		}
	}
}

// likeLength is how many times as long as the shortest list of an AND the longest may be for it to go by
// tiles. Tiles decode all blocks that meet; the blocks of the shortest list lead to single ones.
const likeLength = 16

// wayOfAnd chooses how an AND goes, whose terms are in order of length.
func (b *batch) wayOfAnd(terms []partTerm) uint32 {
	shortest, longest := b.listOf(terms[0]).count, b.listOf(terms[len(terms)-1]).count
	switch {
	case b.algorithm == Rounds || b.algorithm.byRanges():
		return byLeadBlocks
	case b.algorithm == Exhaustive || shortest > longest/likeLength:
		return byAndTiles
	}
	return byLeadBlocks
}
