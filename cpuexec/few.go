package cpuexec

import (
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// Where a segment accepts few documents (blockmax.Segment.Few), as under a rare filter, these
// documents lead OR and AND. Sheet by sheet, the bounds of words and tiles bound the score of each.
// The documents with the best bounds are scored first, because their hits drop many of the others.
// A document is looked up in the lists that may hold it, the strongest first in OR and the shortest
// first in AND, until the bounds of the others cannot lift it over need. So the cost follows the
// number of accepted documents, and neither the lists nor the tiles of the segment.

// fewDocs are accepted documents of a sheet, and a batch of them that is being scored.
type fewDocs struct {
	docs  []uint32 // ascending
	bound []uint32 // of their scores, by the lists
	most  []uint32 // of their final scores

	// Of the batch:
	batch  []uint32 // documents, ascending
	scores []uint32 // so far
	rest   []uint32 // bounds what the remaining lists add
	need   []uint32 // the least scores to enter with
	held   []bool   // by at least one list; in AND by all so far
}

// fewBatch is the most documents that are scored with the same need. With 1,024, a third more
// blocks are decoded than with 32.
const fewBatch = 64

// orLead and andLead: few documents lead OR if there is one for orLead documents of the segment at
// most, and AND if there is one for andLead postings of the shortest list. Where there are more, OR
// visits most tiles anyway (accepted.go). Tests set them to 0.
var orLead, andLead = 256, 1

// ledByFew reports whether the accepted documents lead a query of these lists, of which a match has
// all or only one.
func (r *run) ledByFew(lists []*tileCursor, all bool) bool {
	few := len(r.at.seg.Few)
	if r.at.seg.Few == nil || len(lists) == 0 {
		return false
	}
	if !all {
		return few*orLead <= int(r.at.seg.Docs)
	}
	least := lists[0].list.Count
	for _, c := range lists {
		least = min(least, c.list.Count)
	}
	return few*andLead <= least
}

// leadByFew answers OR, or AND with all, for the accepted documents of the range.
func (r *run) leadByFew(lists []*tileCursor, all bool) error {
	lists = append(r.tiled.active[:0], lists...)
	r.tiled.active = lists
	if all {
		slices.SortFunc(lists, func(a, b *tileCursor) int {
			return cmp.Or(cmp.Compare(a.list.Count, b.list.Count), cmp.Compare(a.term, b.term))
		})
	} else {
		slices.SortFunc(lists, func(a, b *tileCursor) int {
			return cmp.Or(cmp.Compare(b.max, a.max), cmp.Compare(a.term, b.term))
		})
	}
	few := r.at.seg.Few
	few = few[search(few, r.at.from):search(few, r.at.to)]
	for len(few) > 0 && !r.tailDone(few[0]) {
		lo := few[0] &^ (sheetDocs - 1)
		if err := r.tiled.enterSheet(lists, lo, &r.at); err != nil {
			return err
		}
		until := search(few, lo+sheetDocs)
		for in := few[:until]; len(in) > 0; {
			if err := r.query.ctx.Err(); err != nil {
				return err
			}
			in = in[r.takeFew(in, all):]
			if err := r.scoreFew(lists, all); err != nil {
				return err
			}
		}
		few = few[until:]
	}
	return r.refine()
}

// takeFew sets docs to some of the documents of the sheet, without those of tiles that cannot have
// hits or that another goroutine searches. It returns how many it has handled: all, unless the
// sheet is shared.
func (r *run) takeFew(in []uint32, all bool) (n int) {
	f := &r.few
	f.docs = f.docs[:0]
	tiles, need := r.tiled.present, r.out.need(in[0])
	if all {
		tiles = r.tiled.common
	}
	for n < len(in) {
		lo, begin := in[n]&^(tileDocs-1), n
		for n < len(in) && in[n]-lo < tileDocs {
			n++
		}
		t := int(lo / tileDocs % 64)
		if tiles>>t&1 == 0 || r.tiled.tileSums[t] < need || !r.share.mine(t) {
			continue
		}
		f.docs = append(f.docs, in[begin:n]...)
		if r.share.claim != nil && len(f.docs) >= wordDocs {
			break
		}
	}
	return n
}

// scoreFew offers those of docs that can enter.
func (r *run) scoreFew(lists []*tileCursor, all bool) error {
	f := &r.few
	f.makeBounds(r, lists, all)
	if len(f.docs) == 0 {
		return nil
	}
	need, best := r.out.need(f.docs[0]), uint32(0)
	if wanted := 2 * max(r.query.plan.K, 8); !r.out.counting && len(f.docs) > 4*wanted {
		best = f.strongest(wanted)
		if err := r.scoreBounded(lists, max(best, need), ^uint32(0), all); err != nil {
			return err
		}
		if best <= need {
			return nil
		}
		return r.scoreBounded(lists, 0, best-1, all)
	}
	return r.scoreBounded(lists, 0, ^uint32(0), all)
}

// makeBounds bounds the scores of docs. With all, it drops those that a list cannot hold.
func (f *fewDocs) makeBounds(r *run, lists []*tileCursor, all bool) {
	n := len(f.docs)
	f.bound = slices.Grow(f.bound[:0], n)[:n]
	clear(f.bound)
	for _, c := range lists {
		docs, bound, kept := f.docs, f.bound[:len(f.docs)], 0
		for p, doc := range docs {
			b := c.coarseOf(doc)
			docs[kept], bound[kept] = doc, bound[p]+c.unit*uint32(b)
			if b > 0 || !all {
				kept++
			}
		}
		f.docs, f.bound = docs[:kept], bound[:kept]
	}
	f.most = append(f.most[:0], f.bound...)
	if r.at.changes() {
		for p, doc := range f.docs {
			f.most[p] = r.at.overOne(f.bound[p], doc)
		}
	}
}

// coarseOf bounds, in units, the list's contribution to a document of the current sheet. It is 0
// only if the list does not hold the document.
func (c *tileCursor) coarseOf(doc uint32) uint8 {
	switch {
	case c.exact:
		return c.few.words[doc/tileDocs%64][doc/wordDocs%64]
	case c.ranges == nil:
		return c.tiles[doc/tileDocs%64]
	}
	if w := int(doc / wordDocs); w < len(c.ranges.Word) {
		return c.ranges.Word[w]
	}
	return 0
}

// strongest returns a bound that about the wanted number of docs reach, or more if bounds are
// nearly equal.
func (f *fewDocs) strongest(wanted int) (bound uint32) {
	shift, counts := 0, [64]int{}
	for highest := slices.Max(f.most); highest>>shift >= uint32(len(counts)); {
		shift++
	}
	for _, b := range f.most {
		counts[b>>shift&63]++
	}
	i := len(counts) - 1
	for seen := counts[i]; seen < wanted && i > 0; seen += counts[i] {
		i--
	}
	return uint32(i) << shift
}

// scoreBounded offers those of docs whose bounds are from least to most, in batches.
func (r *run) scoreBounded(lists []*tileCursor, least, most uint32, all bool) error {
	f := &r.few
	for at := 0; at < len(f.docs); {
		f.batch, f.rest, f.need = f.batch[:0], f.rest[:0], f.need[:0]
		need := r.out.need(f.docs[at])
		for floor := max(least, need); at < len(f.docs) && len(f.batch) < fewBatch; at++ {
			if b, doc := f.most[at], f.docs[at]; b >= floor && b <= most {
				f.batch, f.rest = append(f.batch, doc), append(f.rest, f.bound[at])
				f.need = append(f.need, r.at.underOne(need, doc))
			}
		}
		if err := r.scoreBatch(lists, all); err != nil {
			return err
		}
	}
	return nil
}

// scoreBatch offers the documents of the batch that reach their needs.
func (r *run) scoreBatch(lists []*tileCursor, all bool) error {
	f := &r.few
	n := len(f.batch)
	f.scores, f.held = slices.Grow(f.scores[:0], n)[:n], slices.Grow(f.held[:0], n)[:n]
	clear(f.scores)
	clear(f.held)
	for _, c := range lists {
		if len(f.batch) == 0 {
			return nil
		}
		if err := r.lookUpBatch(c, all); err != nil {
			return err
		}
	}
	for p, doc := range f.batch {
		if !f.held[p] {
			continue
		}
		r.out.total++
		if !r.out.counting {
			r.offer(doc, f.scores[p])
		}
	}
	return nil
}

// lookUpBatch adds the list's contributions to the documents of the batch. It drops those that
// cannot reach their needs, and with all those that the list does not hold.
func (r *run) lookUpBatch(c *tileCursor, all bool) error {
	f, cs := &r.few, &r.cands
	cs.n = 0
	for p, doc := range f.batch {
		b := c.coarseOf(doc)
		f.rest[p] -= c.unit * uint32(b)
		cs.docs[cs.n], cs.score[cs.n] = doc, 0
		if b > 0 && !c.lacks(doc) {
			cs.n++
		}
	}
	if cs.n > 0 {
		if err := c.holds(); err != nil {
			return err
		}
	}
	at, kept, first := 0, 0, int64(0)
	cs.docs[cs.n] = end
	for p, doc := range f.batch {
		score, rest, need, held := f.scores[p], f.rest[p], f.need[p], f.held[p]
		hit := cs.docs[at] == doc
		if hit {
			score += cs.score[at]
			at++
			if !held {
				first++
			}
		}
		f.batch[kept], f.scores[kept], f.rest[kept], f.need[kept], f.held[kept] = doc, score, rest, need, held || hit
		if (hit || !all) && score+rest >= need {
			kept++
		}
	}
	f.batch, f.scores, f.rest, f.need, f.held = f.batch[:kept], f.scores[:kept], f.rest[:kept], f.need[:kept], f.held[:kept]
	r.out.work.DocsScored += first
	return nil
}

// holds drops the candidates, of the current sheet, that the list does not hold, and adds its
// contributions to the others.
func (c *tileCursor) holds() error {
	if !c.exact {
		c.at = 0
		return c.requireAnywhere(0, &noSums)
	}
	cs, p := &c.run.cands, &c.run.tiled.prober
	p.words, p.rest, p.need, p.optional = ^uint64(0), &noSums, 0, 0
	p.at, p.kept, p.end = 0, 0, uint64(cs.n)
	from := search(c.few.docs, cs.docs[0])
	p.inSorted(cs, c.few.docs[from:], c.few.impacts[from:], c.weight, end)
	cs.n = int(p.kept)
	return nil
}

// fewWeight is how many times as long as a posting of AND a document takes that leads.
const fewWeight = 8

// excerptShare is how many documents of an excerpt take as long as a posting of AND.
const excerptShare = 32

// fewWeightOf bounds the weight of a segment by its few documents.
func fewWeightOf(seg *blockmax.Segment, weight int, and bool) int {
	n := 0
	switch {
	case seg.Subset != nil && !keyless(seg.Terms) && seg.Subset.HasAll(seg.Terms):
		n = len(seg.Terms)*len(seg.Subset.Docs)/excerptShare + 1
	case seg.Few != nil:
		n = fewWeight*len(seg.Few) + 1
	default:
		return weight
	}
	if !and {
		n *= orGrain
	}
	return min(weight, n)
}
