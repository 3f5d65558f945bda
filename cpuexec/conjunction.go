package cpuexec

import (
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
)

// conjunction answers a tree with required operands, tile by tile like bmm. The cheapest required
// operand is the lead. Its documents are candidates in the words where all required operands have
// postings and the bounds of all operands reach need. The other required operands drop candidates
// that they do not hold; the optional ones are looked up last. (Lucene's ReqOptSumScorer and
// BlockMaxConjunctionScorer do so by blocks.)
func (r *run) conjunction(b *branches) error {
	all := append(append(b.all[:0], b.operands...), b.required...)
	b.all = all
	for lo := r.at.from &^ (sheetDocs - 1); lo < r.at.to; lo += sheetDocs {
		if err := r.tiled.enterSheet(all, lo, &r.at); err != nil {
			return err
		}
		tiles := r.tiled.present
		for _, c := range b.required {
			tiles &= c.inTiles
		}
		err := r.bestFirst(r.at.tilesAtWork(lo, tiles), func(t int, bound uint32) error {
			return r.conjunctionTile(b, t, lo+uint32(t)*tileDocs, bound)
		})
		if err != nil {
			return err
		}
	}
	return r.refine()
}

// conjunctionTile offers the documents of tile t of the sheet that can enter. The tile begins at
// lo, and its documents score at most bound.
func (r *run) conjunctionTile(b *branches, t int, lo, bound uint32) error {
	if bound < r.out.need(lo) {
		return nil
	}
	if err := r.query.ctx.Err(); err != nil {
		return err
	}
	r.win.place(lo, r.at.from, r.at.to)
	r.tiled.enterTile(b.operands, t, lo)
	words := ^uint64(0)
	if r.at.seg.Accept != nil {
		words = r.at.acceptedWords(r.win.base)
	}
	for _, c := range b.required {
		c.enterTile(lo)
		words &= c.words.present()
	}
	r.tiled.active = append(r.tiled.active, b.required...)
	r.tiled.makePrefix(len(r.tiled.active))
	if r.enterFunction(lo, r.out.need(lo)) {
		words, need, err := r.eachFunctionWord(words, r.tiled.most(), r.scoreTree)
		if err != nil || words == 0 {
			return err
		}
		return r.conjunctionWords(words, need, len(r.tiled.active)-len(b.required))
	}
	need := r.at.under(r.out.need(lo), lo, lo)
	for few := 4; need == 0; few *= 2 { // all must be seen; a few words are enough for the first hits
		first := lowestBits(words, few)
		if first == 0 {
			return nil
		}
		words &^= first
		if err := r.scoreTree(first); err != nil {
			return err
		}
		need = r.at.under(r.out.need(lo), lo, lo)
	}
	return r.conjunctionWords(words, need, len(r.tiled.active)-len(b.required))
}

// conjunctionWords offers the documents in some words of the tile that can enter. The first
// optional of the active operands are optional.
func (r *run) conjunctionWords(words uint64, need uint32, optional int) error {
	t := &r.tiled
	last := len(t.active) - 1
	for i, c := range t.active {
		m := &t.masks[i]
		m.essential, m.present = addBounds(&t.prefix[i+1], &t.prefix[i], c.words, c.unit, need)
		if i >= optional {
			words &= m.present
		}
	}
	words &= t.masks[last].essential
	if words == 0 {
		return nil
	}
	t.leaveOut(words, need)
	if err := r.leadWords(t.active[last], words, need, &t.prefix[last]); err != nil {
		return err
	}
	r.out.work.DocsScored += int64(r.cands.n)
	r.cands.cut(&r.win, r.at.seg.Docs)
	r.cands.accept(r.at.seg.Accept)
	r.dropByNumbers(&t.prefix[last])
	for i := last - 1; i >= optional && r.cands.n > 0; i-- {
		if err := t.active[i].require(need, &t.prefix[i]); err != nil {
			return err
		}
	}
	r.out.total += r.cands.n
	for i := range t.active {
		t.masks[i].essential = 0
		if i >= optional {
			t.masks[i].essential = words
		}
	}
	if r.cands.n >= fewCandidates && r.glance.makeHopes(t, words, r.win.base) {
		dropHopeless(&r.cands, r.glance.hopes, need-t.slack)
	}
	for i, c := range slices.Backward(t.active[:optional]) {
		if ask := words & t.masks[i].present; ask != 0 && r.cands.n > 0 {
			if err := c.lookUp(ask, need, &t.prefix[i]); err != nil {
				return err
			}
		}
	}
	r.offerCandidates()
	return nil
}

// leadWords makes candidates of the lead's postings in the words that can reach need. rest bounds
// what the other operands add.
func (r *run) leadWords(c *tileCursor, words uint64, need uint32, rest *sums) error {
	cs := &r.cands
	switch {
	case c.branch == nil:
		cs.n = 0
		return c.eachBlock(words, func(docs []uint32, impacts []uint16) {
			n := cs.n
			for i, doc := range docs {
				w := doc / wordDocs % 64
				score := blockmax.Contribution(c.weight, impacts[i])
				cs.docs[n%tileDocs], cs.score[n%tileDocs] = doc, score
				if words>>w&1 == 1 && score+rest[w] >= need {
					n++
				}
			}
			cs.n = n
		})
	case len(c.branch.all) > 0 || c.branch.near != nil:
		if err := r.intersectBranch(c.branch, words); err != nil {
			return err
		}
	default:
		set, w := &r.eval.branches.set, &r.win
		if err := c.matchBranch(set, words, &w.scores); err != nil {
			return err
		}
		cs.list(set, w.base, words)
		for p, doc := range cs.docs[:cs.n] {
			cs.score[p] = w.scores[doc%tileDocs]
			w.scores[doc%tileDocs] = 0
		}
	}
	n := 0
	for p, doc := range cs.docs[:cs.n] {
		cs.docs[n], cs.score[n] = doc, cs.score[p]
		if cs.score[p]+rest[doc/wordDocs%64] >= need {
			n++
		}
	}
	cs.n = n
	return nil
}

// scoreTree offers all documents of some words of the tile that match the tree, including those
// that score nothing.
func (r *run) scoreTree(words uint64) error {
	w, mask := &r.win, &r.eval.branches.mask
	r.enterLists(int(w.base / tileDocs % 64))
	w.within(mask, words)
	if err := r.eval.eval(r.eval.root, 0, mask, &w.matches, &w.scores); err != nil {
		return err
	}
	for left := words; left != 0; left &= left - 1 { // scores of documents that matched a child but not the tree
		i := bits.TrailingZeros64(left) & 63
		if w.matches[i] == 0 {
			clear(w.scores[wordDocs*i:][:wordDocs])
		}
	}
	r.collect(words, r.at.under(r.out.threshold(w.lo), w.lo, w.lo))
	r.offerCandidates()
	return nil
}
