package cpuexec

import (
	"cmp"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// and answers AND, led by the shortest list.
//
// It scores documents of the shortest list first, many at once, and drops those that cannot enter.
// Then it looks up only the rest in the other lists, shortest first. Lucene and Tantivy found this
// order a good third faster than intersecting first (apache/lucene #14906, tantivy #2865).
func (r *run) and() error {
	if done, err := r.byExcerpts(true); done || err != nil {
		return err
	}
	lists, err := r.tiled.openAll(r)
	if err != nil {
		return err
	}
	if len(lists) < len(r.at.seg.Terms) || len(lists) == 0 {
		return nil // a list is missing, so nothing matches
	}
	for _, c := range lists {
		c.plain = r.out.counting
		if err := c.learn(c.wanted(lists)); err != nil {
			return err
		}
	}
	r.tiled.active = append(r.tiled.active[:0], lists...)
	slices.SortFunc(r.tiled.active, func(a, b *tileCursor) int {
		return cmp.Or(cmp.Compare(b.list.Count, a.list.Count), cmp.Compare(a.term, b.term))
	})
	switch {
	case r.out.counting && allBitmaps(lists):
		r.countAnd(lists)
		return nil
	case r.ledByFew(lists, true):
		return r.leadByFew(lists, true)
	case r.share.claim == nil && isSparse(r.tiled.active[len(lists)-1].list, r.at.seg.Docs):
		err = r.andBlocks(r.tiled.active)
	default:
		err = r.andTiles(r.tiled.active)
	}
	if err != nil {
		return err
	}
	return r.refine()
}

// sparseLead is the fewest documents per posting of the shortest list with which AND goes by its
// blocks. A block then covers a tile or more, so bounds of tiles would say little about its
// documents.
const sparseLead = 32

func isSparse(lead *postings.List, docs uint32) bool {
	return int64(lead.Count)*sparseLead < int64(docs)
}

// andBlocks answers AND by the blocks of the last list.
func (r *run) andBlocks(lists []*tileCursor) error {
	others, lead := lists[:len(lists)-1], lists[len(lists)-1]
	r.tiled.makePrefix(len(lists))
	sum := uint32(0)
	for i, c := range others {
		for w := range r.tiled.prefix[i] {
			r.tiled.prefix[i][w] = sum
		}
		sum += c.max
	}
	r.glance.makeFilters(others, 0)
	last := lead.list.Last
	for b := lead.list.Seek(lead.at, r.at.from); b < len(last) && lead.first(b) < r.at.to; b++ {
		lead.at = b
		doc := max(lead.first(b), r.at.from)
		if r.tailDone(doc) {
			return nil
		}
		if err := r.query.ctx.Err(); err != nil {
			return err
		}
		need := r.at.underAny(r.out.need(doc))
		if blockmax.Contribution(lead.weight, lead.blockMax(b))+sum < need {
			continue
		}
		if err := r.andBlock(lead, b, others, need, sum); err != nil {
			return err
		}
	}
	return nil
}

// andBlock offers the documents of block b of the lead that can enter. sum bounds what other lists
// add.
func (r *run) andBlock(lead *tileCursor, b int, others []*tileCursor, need, sum uint32) (err error) {
	late := need == 0 // everything enters, so score only what is in all lists
	if late {
		err = r.leadDocs(lead, b)
	} else {
		err = r.lead(lead, b, saturatingSub(need, sum))
	}
	if err == nil {
		err = r.requireOthers(others, need)
	}
	if late && !r.out.counting && err == nil {
		err = r.addLead(lead)
	}
	if err != nil {
		return err
	}
	r.out.total += r.cands.n
	r.offerCandidates()
	return nil
}

// requireOthers drops the candidates that a list other than the lead does not hold, or with which
// they cannot reach need. Before it looks candidates up in a list, it filters them by that list and
// the next. Filtering by all other lists would take longer than it saves.
func (r *run) requireOthers(others []*tileCursor, need uint32) error {
	for i, c := range slices.Backward(others) {
		from := len(others) - 1 - i
		to := min(from+2, len(others))
		if from > 0 && need == 0 {
			from++ // nothing new: only scores have changed
		}
		if from < to {
			filter(&r.cands, r.glance.filters[from:to], r.glance.rests[i], need)
		}
		if r.cands.n == 0 {
			return nil
		}
		if r.out.counting && c.bitmap != nil {
			continue // all remaining candidates are in it
		}
		if err := c.requireAnywhere(need, &r.tiled.prefix[i]); err != nil {
			return err
		}
	}
	return nil
}

// lead makes candidates of the accepted postings of block b, in the current range, that contribute
// at least floor.
func (r *run) lead(c *tileCursor, b int, floor uint32) error {
	if err := c.load(b); err != nil {
		return err
	}
	if err := c.score(); err != nil {
		return err
	}
	leadBlock(&r.cands, &c.docs, &c.impacts, c.n, c.weight, floor, r.at.from, r.at.to)
	r.cands.accept(r.at.seg.Accept)
	r.out.work.DocsScored += int64(c.n)
	return nil
}

// leadDocs makes candidates of the accepted postings of block b in the current range, without a
// score.
func (r *run) leadDocs(c *tileCursor, b int) error {
	if err := c.load(b); err != nil {
		return err
	}
	i, j := 0, c.n
	if c.docs[0] < r.at.from {
		i = postings.SeekIn(&c.docs, c.n, r.at.from)
	}
	if c.list.Last[b] >= r.at.to {
		j = postings.SeekIn(&c.docs, c.n, r.at.to)
	}
	cs := &r.cands
	cs.n = copy(cs.docs[:], c.docs[i:j])
	clear(cs.score[:cs.n])
	r.cands.accept(r.at.seg.Accept)
	return nil
}

// fewLeads is the most candidates that addLead scores one by one. That many take as long as a
// block.
const fewLeads = 8

// addLead adds the list's contributions to the candidates, which are in the loaded block.
func (r *run) addLead(c *tileCursor) error {
	cs := &r.cands
	switch {
	case cs.n == 0:
		return nil
	case cs.n > fewLeads:
		if err := c.score(); err != nil {
			return err
		}
	default:
		if err := c.loadFreqs(); err != nil {
			return err
		}
	}
	for p, doc := range cs.docs[:cs.n] {
		i := postings.SeekIn(&c.docs, c.n, doc) & 127
		impact := c.impacts[i]
		if cs.n <= fewLeads {
			impact = c.table.Impact(r.tiled.freqs[i], c.code(doc))
		}
		cs.score[p] += blockmax.Contribution(c.weight, impact)
	}
	r.out.work.DocsScored += int64(cs.n)
	return nil
}

// andTiles answers AND sheet by sheet and tile by tile, as bmm does OR. In a tile, the bounds tell
// in which words all lists have postings that together reach need.
func (r *run) andTiles(lists []*tileCursor) error {
	for lo := r.at.from &^ (sheetDocs - 1); lo < r.at.to; lo += sheetDocs {
		if err := r.tiled.enterSheet(lists, lo, &r.at); err != nil {
			return err
		}
		tiles := r.at.tilesAtWork(lo, r.tiled.common)
		err := r.bestFirst(tiles, func(t int, bound uint32) error {
			return r.andTile(lists, lo+uint32(t)*tileDocs, bound)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// andTile offers the documents of the tile at lo that can enter. They score at most bound.
func (r *run) andTile(lists []*tileCursor, lo, bound uint32) error {
	if bound < r.out.need(lo) {
		return nil
	}
	if err := r.query.ctx.Err(); err != nil {
		return err
	}
	r.win.place(lo, r.at.from, r.at.to)
	for _, c := range lists {
		c.enterTile(lo)
	}
	words := ^uint64(0)
	if r.at.seg.Accept != nil {
		words = r.at.acceptedWords(r.win.base)
	}
	if r.enterFunction(lo, r.out.need(lo)) {
		r.tiled.makePrefix(len(lists))
		words &= r.commonWords(lists, 0)
		words, need, err := r.eachFunctionWord(words, r.tiled.most(), func(words uint64) error { return r.andWords(lists, words, 0) })
		if err != nil || words == 0 {
			return err
		}
		return r.andWords(lists, words&r.commonWords(lists, need), need)
	}
	r.tiled.makePrefix(len(lists))
	need := r.at.under(r.out.need(lo), lo, lo)
	words &= r.commonWords(lists, need)
	if need == 0 && !r.out.counting { // a few words are enough for the first hits
		first := lowestBits(words, 8)
		if err := r.andWords(lists, first, 0); err != nil {
			return err
		}
		need = r.at.under(r.out.need(lo), lo, lo)
		words = words &^ first & r.commonWords(lists, need)
	}
	return r.andWords(lists, words, need)
}

// commonWords returns the words in which all lists have postings whose bounds together
// reach need.
func (r *run) commonWords(lists []*tileCursor, need uint32) uint64 {
	words := ^uint64(0)
	for i, c := range lists {
		reach, present := addBounds(&r.tiled.prefix[i+1], &r.tiled.prefix[i], c.words, c.unit, need)
		words &= present
		if i == len(lists)-1 {
			words &= reach
		}
	}
	return words
}

// andWords offers the documents in some words of the tile that can enter.
func (r *run) andWords(lists []*tileCursor, words uint64, need uint32) error {
	if words == 0 {
		return nil
	}
	if len(lists) > 1 {
		return r.andBits(lists, words, need)
	}
	if err := r.onlyWords(lists[0], words, need); err != nil {
		return err
	}
	r.cands.cut(&r.win, r.at.seg.Docs)
	r.cands.accept(r.at.seg.Accept)
	r.out.total += r.cands.n
	r.offerCandidates()
	return nil
}

// requireAll offers the candidates that all lists hold. It looks them up in the last list first.
func (r *run) requireAll(lists []*tileCursor, need uint32) error {
	r.cands.cut(&r.win, r.at.seg.Docs)
	r.cands.accept(r.at.seg.Accept)
	for i, c := range slices.Backward(lists) {
		if r.cands.n == 0 {
			return nil
		}
		if err := c.require(need, &r.tiled.prefix[i]); err != nil {
			return err
		}
	}
	r.out.total += r.cands.n
	r.offerCandidates()
	return nil
}

// onlyWords makes candidates of the postings in the words that reach need, for a single list.
func (r *run) onlyWords(c *tileCursor, words uint64, need uint32) error {
	cs, start := &r.cands, &r.tiled.prefix[0]
	cs.n = 0
	return c.eachBlock(words, func(docs []uint32, impacts []uint16) {
		n := cs.n
		for i, doc := range docs {
			score := blockmax.Contribution(c.weight, impacts[i])
			cs.docs[n%tileDocs], cs.score[n%tileDocs] = doc, score
			w := doc / wordDocs % 64
			if words>>w&1 == 1 && score+start[w] >= need {
				n++
			}
		}
		cs.n = n
		r.out.work.DocsScored += int64(len(docs))
	})
}
