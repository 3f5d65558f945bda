package gpuexec

import (
	"errors"
	"fmt"

	"github.com/riffle-search/riffle/blockmax"
)

// A Plan is a query over lists of package postings.
type Plan = blockmax.Plan

type term = blockmax.Term

// check returns why the device cannot answer a plan, whatever its lists are, or nil.
func (x *Executor) check(p *Plan) error {
	terms := maxTerms
	if x.options.Algorithm.byRanges() {
		terms = maxRangeTerms
	}
	switch err := p.Check(); {
	case err != nil:
		return err
	case p.K > maxK:
		return fmt.Errorf("gpuexec: %d hits, more than %d", p.K, maxK)
	case p.Outer != nil:
		return errors.New("gpuexec: a function of the scores")
	case len(p.Weights) > terms:
		return fmt.Errorf("gpuexec: %d terms, more than %d", len(p.Weights), terms)
	}
	if p.Tree != nil {
		if err := x.checkTree(p); err != nil {
			return err
		}
	}
	if err := x.checkSkips(p); err != nil {
		return err
	}
	return completeNorms(p)
}

// checkSkips checks the documents to skip.
func (x *Executor) checkSkips(p *Plan) error {
	for i := range p.Segments {
		switch skip := p.Segments[i].Skip; {
		case skip%x.TileDocs() != 0:
			return fmt.Errorf("gpuexec: %d documents to skip, not whole tiles", skip)
		case skip > 0 && x.options.Algorithm.byRanges():
			return fmt.Errorf("gpuexec: %v does not skip documents", x.options.Algorithm)
		}
	}
	return nil
}

// completeNorms checks all norms of the lists: the device gets whole columns. An engine with a device
// has no others, so this finds nothing to do.
func completeNorms(p *Plan) error {
	for i := range p.Segments {
		s := &p.Segments[i]
		for t := range s.Terms {
			if err := s.Terms[t].Lazy.NeedAll(s.Docs); err != nil {
				return err
			}
		}
	}
	return nil
}

// Refuses returns why the device cannot answer a plan, whatever its lists are, or nil.
func (x *Executor) Refuses(p *Plan) error { return x.check(p) }

// errDamagedList: a list names documents that the segment does not have.
var errDamagedList = errors.New("gpuexec: a damaged list")

// A query is a plan in a batch.
type query struct {
	plan      *Plan
	answer    int    // index of its answer
	from, to  int    // range in the batch's parts; those of AND first
	blocks    int64  // of all lists of all passes
	asBits    int64  // of lists that are read as bits, each time that they are
	need      uint32 // of an OR: a lower bound on the score of the answer's last hit
	small     uint32 // segments of at most so many documents are left to the CPU
	left      []blockmax.Span
	byStrips  bool         // kernels/strips.cu scores its tiles
	byTree    bool         // kernels/tree_strips.cu does
	tree      compiledTree // of that
	unbounded bool         // an AND that goes by blocks, without bounds
	counted   bool         // kernels/count_matches.cu counts what matches, and nothing is scored
	steps     [2]int       // of that: a range in the batch's stepper
	// Whether it would go by strips if its lists had not changed. The extents that matter were then
	// not determined.
	expected bool
}

// A part is a query in one segment that has its terms.
type part struct {
	query, segment int
	way            uint32
	from, to       int  // range in the batch's terms; those of an AND are sorted by length
	depth          int  // if it goes by the blocks of its shortest list, the lead: how many others one leads to
	shared         bool // warps share each of these
	resident       bool // bounds may matter to it, but all blocks of its lists were there when last read, or travel
}

// A partTerm is a term of a part.
type partTerm struct {
	entry  int32 // in lists
	term   int32 // of the plan
	weight uint32
	leaf   uint32 // of a tree; or the term, where it is counted
}

// add adds a plan to the batch. It reports false if one of its lists is damaged.
func (b *batch) add(of *lookedUp) bool {
	p, found := of.plan, b.lookup.lists[of.from:of.to]
	if !b.know(p, found, of.small) {
		return false
	}
	q := query{plan: p, answer: of.answer, from: len(b.parts), need: of.need, small: of.small, left: of.left}
	switch {
	case b.counts(&q):
		b.addCounted(&q, found)
	case p.Tree != nil || b.byWindows && len(p.Weights) > maxStripTerms:
		b.addTree(&q, found)
	default:
		if p.Mode != blockmax.Or {
			b.addParts(&q, found, true)
		}
		if p.Mode != blockmax.And {
			b.addParts(&q, found, false)
		}
	}
	q.to = len(b.parts)
	b.settles = b.settles || settles(p)
	b.kMost = max(b.kMost, p.K)
	b.queries = append(b.queries, q)
	return true
}

// know drops lists without postings from those of a plan that were looked up, segment by segment. It
// reports false if one is damaged.
func (b *batch) know(p *Plan, found []*knownList, small uint32) bool {
	at := 0
	for i := range p.Segments {
		s := &p.Segments[i]
		if s.Docs <= small {
			continue
		}
		for range s.Terms {
			switch k := found[at]; {
			case k == nil:
			case k.blocks == 0:
				found[at] = nil
			case k.last >= s.Docs:
				return false
			}
			at++
		}
	}
	return true
}

// addParts adds the segments of a query where something can match.
func (b *batch) addParts(q *query, found []*knownList, all bool) {
	for s := range q.plan.Segments {
		if q.plan.Segments[s].Docs <= q.small {
			continue
		}
		n := len(q.plan.Segments[s].Terms)
		b.addPart(q, s, found[:n], all)
		found = found[n:]
	}
}

// addPart adds a segment of a query, with these lists.
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
			b.terms = append(b.terms, partTerm{int32(entry), int32(t), q.plan.Weights[t], 0})
		}
	}
	pt.to = len(b.terms)
	terms := b.terms[pt.from:]
	need := q.need
	if all {
		need = 0
		b.sortByLength(terms)
		if pt.way = b.wayOfAnd(terms); pt.way == byLeadBlocks {
			pt.depth = b.leadDepth(terms)
		}
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

// likeLength is the largest ratio of the longest to the shortest list of an AND that goes by tiles.
// Tiles decode all blocks that meet; the blocks of the shortest list lead to single ones.
const likeLength = 16

// wayOfAnd chooses the traversal of an AND, whose terms are in order of length.
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
