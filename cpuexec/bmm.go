package cpuexec

import (
	"math/bits"
	"slices"
)

// bmm answers OR by block-max MaxScore, sheet by sheet and tile by tile.
//
// It adds up the bounds of all lists for the 64 tiles of a sheet, and visits the tiles that reach
// need, the best first: their hits prune the others. In a tile it adds up the bounds for the 64
// words, from the weakest list to the strongest. A list is essential in the words where its bound,
// with those of all weaker lists, reaches need: a document there that only the weaker lists hold
// cannot enter. It adds essential lists to the scores of their words. It filters the documents that
// can still enter by the bitmaps of the lists that are not essential there (hope.go), and looks the
// rest up in these lists, strongest first. This is MaxScore (Turtle and Flood, Query Evaluation:
// Strategies and Optimizations, 1995) with the bounds of block-max indexes (Ding and Suel 2011) for
// ranges of documents (Dimopoulos, Nepomnyachiy and Suel 2013).
func (r *run) bmm() error {
	if done, err := r.byExcerpts(false); done || err != nil {
		return err
	}
	lists, err := r.tiled.openAll(r)
	if err != nil {
		return err
	}
	for _, c := range lists {
		if err := c.learn(0); err != nil {
			return err
		}
	}
	if r.ledByFew(lists, false) {
		return r.leadByFew(lists, false)
	}
	if len(lists) == 1 && lists[0].list.Blocks() <= fewBlocks && r.share.claim == nil && isSparse(lists[0].list, r.at.seg.Docs) {
		r.tiled.active = append(r.tiled.active[:0], lists...)
		if err := r.andBlocks(r.tiled.active); err != nil {
			return err
		}
		return r.refine()
	}
	return r.union(lists)
}

// fewBlocks is the most blocks of a sparse list that are read in order. To find the best of its tiles
// first takes longer: about 50 ns for each tile with a posting, where a block takes 150.
const fewBlocks = 16

// union is bmm for any lists and branches.
func (r *run) union(lists []*tileCursor) error {
	most := uint32(0)
	for _, c := range lists {
		most += c.max
	}
	most = r.at.highest(most)
	for lo := r.at.from &^ (sheetDocs - 1); lo < r.at.to && most >= r.out.need(lo); lo += sheetDocs {
		if err := r.tiled.enterSheet(lists, lo, &r.at); err != nil {
			return err
		}
		err := r.bestFirst(r.at.tilesAtWork(lo, r.tiled.present), func(t int, bound uint32) error {
			return r.bmmTile(lists, t, lo+uint32(t)*tileDocs, bound)
		})
		if err != nil {
			return err
		}
	}
	return r.refine()
}

// bmmTile offers the documents of tile t of the sheet that can enter. The tile begins at lo, and
// its documents score at most bound.
func (r *run) bmmTile(lists []*tileCursor, t int, lo, bound uint32) error {
	if bound < r.out.need(lo) {
		return nil
	}
	if err := r.query.ctx.Err(); err != nil {
		return err
	}
	r.tiled.enterTile(lists, t, lo)
	r.win.place(lo, r.at.from, r.at.to)
	words := ^uint64(0)
	if r.at.seg.Accept != nil {
		words = r.at.acceptedWords(r.win.base)
	}
	if g := r.tiled.guard; g != nil {
		g.enterTile(lo)
		words &= g.inWords
	}
	if r.enterFunction(lo, r.out.need(lo)) {
		words, need, err := r.eachFunctionWord(words&r.tiled.presentWords(), r.tiled.most(), r.scoreWords)
		if err != nil || words == 0 {
			return err
		}
		return r.bmmWords(words, need)
	}
	need := r.at.under(r.out.need(lo), lo, lo)
	for need == 0 { // all must be seen; a few words are enough for the first hits
		few := lowestBits(words&r.tiled.presentWords(), 4)
		if few == 0 {
			return nil
		}
		words &^= few
		if err := r.scoreWords(few); err != nil {
			return err
		}
		need = r.at.under(r.out.need(lo), lo, lo)
	}
	return r.bmmWords(words, need)
}

// bmmWords offers the documents in some words of the tile that can enter: those whose score, before the
// rank or a function, reaches need.
func (r *run) bmmWords(words uint64, need uint32) error {
	live := r.findEssential(words, need)
	if live == 0 {
		return nil
	}
	r.tiled.leaveOut(live, need)
	if r.fewPass(live) {
		return r.scoreAccepted(live, need)
	}
	if err := r.addEssential(); err != nil {
		return err
	}
	scored := sift(&r.cands, &r.win.scores, r.win.base, live, &r.tiled.rest, need)
	r.out.work.DocsScored += int64(scored)
	r.cands.cut(&r.win, r.at.seg.Docs)
	r.cands.accept(r.at.seg.Accept)
	if r.tiled.guard == nil {
		r.out.total += r.cands.n
	}
	r.dropByNumbers(&r.tiled.rest)
	if r.cands.n >= fewCandidates && r.glance.makeHopes(&r.tiled, live, r.win.base) {
		dropHopeless(&r.cands, r.glance.hopes, need-r.tiled.slack)
	}
	for i, c := range slices.Backward(r.tiled.active) {
		m := r.tiled.masks[i]
		if ask := live & m.present &^ m.essential; ask != 0 && r.cands.n > 0 {
			if err := c.lookUp(ask, need, &r.tiled.prefix[i]); err != nil {
				return err
			}
		}
	}
	if g := r.tiled.guard; g != nil {
		if err := g.require(0, &noSums); err != nil {
			return err
		}
		r.out.total += r.cands.n
	}
	r.offerCandidates()
	return nil
}

// findEssential finds, for each of the words, the lists that are essential there, and returns the
// words that have any.
func (r *run) findEssential(words uint64, need uint32) (live uint64) {
	for i, c := range r.tiled.active {
		m := &r.tiled.masks[i]
		m.essential, m.present = addBounds(&r.tiled.prefix[i+1], &r.tiled.prefix[i], c.words, c.unit, need)
		m.essential &= words
		live |= m.essential
	}
	return live
}

// addEssential adds the essential lists of the words to the scores, and notes in rest what the
// other lists can add.
func (r *run) addEssential() error {
	for i, c := range slices.Backward(r.tiled.active) {
		essential := r.tiled.masks[i].essential
		for w := essential; w != 0; w &= w - 1 {
			word := bits.TrailingZeros64(w) & 63
			r.tiled.rest[word] = r.tiled.prefix[i][word] // the last write is by the weakest
		}
		if essential != 0 {
			if err := c.add(essential); err != nil {
				return err
			}
		}
	}
	return nil
}
