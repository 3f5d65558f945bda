package cpuexec

import (
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// bmm answers OR by block-max MaxScore, sheet by sheet and tile by tile.
//
// The bounds of all lists are added up for the 64 tiles of a sheet, and those that
// reach need are visited, the best ones first: what is found there prunes the rest.
// In a tile the bounds are added up for its 64 words, from the weakest list to the
// strongest. A list is essential in the words where its bound, with those of all
// weaker lists, reaches need: a document there that only the weaker lists hold
// cannot get in. Essential lists are added to the scores of their words; the
// documents that can still get in are looked up in the lists that are not essential
// there, strongest first. This is MaxScore (Turtle and Flood, Query Evaluation:
// Strategies and Optimizations, 1995) with the bounds of block-max indexes (Ding
// and Suel 2011) for ranges of documents (Dimopoulos, Nepomnyachiy and Suel 2013).
func (r *run) bmm() error {
	lanes, err := r.openLanes()
	if err != nil {
		return err
	}
	most := r.rankMax
	for _, c := range lanes {
		most += c.max
	}
	for lo := r.from &^ (sheetDocs - 1); lo < r.to && most >= r.need(lo); lo += sheetDocs {
		if err := r.bmmSheet(lanes, lo); err != nil {
			return err
		}
	}
	return r.refine()
}

// bestTiles is how many tiles of a sheet are visited in order of their bounds before
// the others follow in order of documents, which costs less a tile.
const bestTiles = 6

// bmmSheet visits the tiles of the sheet at lo.
func (r *run) bmmSheet(lanes []*lane, lo uint32) error {
	if err := r.enterSheet(lanes, lo); err != nil {
		return err
	}
	return r.bestFirst(r.tilesAtWork(lo, r.tiles), func(t int, bound uint32) error {
		return r.bmmTile(lanes, t, lo+uint32(t)*tileDocs, bound)
	})
}

// enterSheet makes the sheet at lo the one at hand: tileSums has the bounds of its tiles
// from then on.
func (r *run) enterSheet(lanes []*lane, lo uint32) error {
	if r.sheet == lo {
		return nil
	}
	bounds := &r.tileSums
	*bounds, r.tiles, r.common = sums{}, 0, ^uint64(0)
	for _, c := range lanes {
		if err := c.enterSheet(lo); err != nil {
			return err
		}
		addBounds(bounds, bounds, c.tiles, c.unit, 0)
		r.tiles |= c.inTiles
		r.common &= c.inTiles
	}
	if r.seg.Rank != nil || r.seg.Tail != nil {
		for tiles := r.tiles; tiles != 0; tiles &= tiles - 1 {
			t := bits.TrailingZeros64(tiles)
			doc := lo + uint32(t)*tileDocs
			bounds[t] += r.rankBound(doc, doc)
			if r.seg.Tail != nil {
				bounds[t] = min(bounds[t], r.seg.Tail[doc/tileDocs])
			}
		}
	}
	r.sheet = lo
	return nil
}

// tilesAtWork returns those tiles of the sheet at lo that lie in the range at work.
func (r *run) tilesAtWork(lo uint32, tiles uint64) uint64 {
	if r.from > lo {
		tiles &= ^uint64(0) << ((r.from - lo) / tileDocs)
	}
	if last := (r.to - 1 - lo) / tileDocs; last < 63 {
		tiles &= 1<<(last+1) - 1
	}
	return tiles
}

// strongest returns which of the sums is the highest, of those present; -1 when
// none is.
func strongest(bounds *sums, present uint64) int {
	best, highest := -1, uint32(0)
	for ; present != 0; present &= present - 1 {
		i := bits.TrailingZeros64(present)
		if bounds[i&63] > highest || best < 0 {
			best, highest = i, bounds[i&63]
		}
	}
	return best
}

// bmmTile offers what can get in of tile t of the sheet, which begins at lo and whose
// documents score at most bound.
func (r *run) bmmTile(lanes []*lane, t int, lo, bound uint32) error {
	if bound < r.need(lo) {
		return nil
	}
	if err := r.ctx.Err(); err != nil {
		return err
	}
	r.enterTile(lanes, t, lo)
	r.win.place(lo, r.from, r.to)
	rank := r.rankBound(lo, lo)
	words := ^uint64(0)
	if r.seg.Accept != nil {
		words = r.acceptedWords()
	}
	if need := r.need(lo); need <= rank {
		// Everything must be seen. A few words suffice for the first hits.
		for need <= rank && words != 0 {
			few := lowestBits(words&r.presentWords(), 4)
			words &^= few
			if few == 0 {
				return nil
			}
			if err := r.scoreWords(few); err != nil {
				return err
			}
			need = r.need(lo)
		}
	}
	return r.bmmWords(words, r.need(lo), rank)
}

// enterTile makes a tile the one at work: the window, and as r.active the lanes
// that have postings there, weakest first.
func (r *run) enterTile(lanes []*lane, t int, lo uint32) {
	active := r.active[:0]
	for _, c := range lanes {
		if c.tiles[t] == 0 {
			continue
		}
		c.enterTile(lo)
		c.bound = c.unit * uint32(c.tiles[t])
		at := len(active)
		active = append(active, c)
		for ; at > 0 && active[at-1].bound > c.bound; at-- {
			active[at] = active[at-1]
		}
		active[at] = c
	}
	r.active = active
	r.makePrefix(len(active))
}

// makePrefix makes room for the sums of so many lanes. The first is of none, and zero.
func (r *run) makePrefix(lanes int) {
	if n := lanes + 1; n > len(r.prefix) {
		r.prefix = append(r.prefix, make([]sums, n-len(r.prefix))...)
		r.masks = append(r.masks, make([]laneWords, n-len(r.masks))...)
	}
	r.prefix[0] = sums{}
}

// bmmWords offers what can get in of some words of the tile.
func (r *run) bmmWords(words uint64, need, rank uint32) error {
	if need <= rank {
		return nil // there is nothing left
	}
	need -= rank
	live := uint64(0)
	for i, c := range r.active {
		m := &r.masks[i]
		m.essential, m.present = addBounds(&r.prefix[i+1], &r.prefix[i], c.words, c.unit, need)
		m.essential &= words
		m.present &= words
		live |= m.essential
	}
	if live == 0 {
		return nil
	}
	for i, c := range slices.Backward(r.active) {
		essential := r.masks[i].essential
		if essential == 0 {
			continue
		}
		for w := essential; w != 0; w &= w - 1 {
			word := bits.TrailingZeros64(w) & 63
			r.rest[word] = r.prefix[i][word]
		}
		if err := r.addLane(c, essential); err != nil {
			return err
		}
	}
	scored := sift(&r.cands, &r.win.scores, r.win.base, live, &r.rest, need)
	r.work.DocsScored += int64(scored)
	r.cutCandidates()
	r.acceptCandidates()
	r.total += r.cands.n
	for i, c := range slices.Backward(r.active) {
		m := r.masks[i]
		if ask := live & m.present &^ m.essential; ask != 0 && r.cands.n > 0 {
			if err := r.lookUp(c, ask, need, &r.prefix[i]); err != nil {
				return err
			}
		}
	}
	r.offerCandidates()
	return nil
}

// lowestBits returns the n lowest bits of a mask.
func lowestBits(mask uint64, n int) uint64 {
	rest := mask
	for range n {
		rest &= rest - 1
	}
	return mask &^ rest
}

// presentWords are the words of the tile in which a lane has postings.
func (r *run) presentWords() (present uint64) {
	for _, c := range r.active {
		present |= c.words.present()
	}
	return present
}

// scoreWords offers all documents of some words of the tile, also those that score
// nothing.
func (r *run) scoreWords(words uint64) error {
	w := &r.win
	for _, c := range r.active {
		if err := c.mark(&w.matches, words); err != nil {
			return err
		}
		if err := r.addLane(c, words); err != nil {
			return err
		}
	}
	r.marks.flush(&w.matches)
	w.fill()
	for i := range w.matches {
		w.matches[i] &= w.all[i] & -(words >> i & 1)
	}
	r.collect(words, saturatingSub(r.needed(r.seg.Base+w.lo), r.rankBound(w.lo, w.lo)))
	r.offerCandidates()
	return nil
}

// addLane adds the lane's postings in the words to the scores.
func (r *run) addLane(c *lane, words uint64) error {
	to := &r.win.scores
	if c.exact {
		for i, doc := range c.few.docs[c.from:c.to] {
			in := uint32(words >> (doc / wordDocs % 64) & 1)
			to[doc%tileDocs] += blockmax.Contribution(c.weight, c.few.impacts[c.from+i]) * in
		}
		return nil
	}
	for b := c.from; b < c.to; b++ {
		in := words & c.wordsOf(b, r.win.base)
		if in == 0 {
			continue
		}
		if err := c.load(b); err != nil {
			return err
		}
		if err := c.loadFreqs(b); err != nil {
			return err
		}
		// Word by word, or rather run by run of neighbours: most blocks have few.
		for in != 0 {
			first := bits.TrailingZeros64(in)
			behind := first + bits.TrailingZeros64(^(in >> first))
			i, j := c.postingsIn(first, behind)
			addPostings(to, c.docs[i:j], r.freqs[i:j], c.norms, c.table, c.weight)
			in &= in + 1<<first // carries through the run
		}
	}
	return nil
}

// postingsIn returns which postings of the loaded block lie in words first to behind-1 of
// the tile: i to j-1.
func (c *lane) postingsIn(first, behind int) (i, j int) {
	base := c.run.win.base
	if lo := base + uint32(first)*wordDocs; lo > c.docs[0] {
		i = postings.SeekIn(&c.docs, c.n, lo)
	}
	j = c.n
	if hi := base + uint32(behind)*wordDocs; hi <= c.docs[c.n-1] {
		j = postings.SeekIn(&c.docs, c.n, hi)
	}
	return i, j
}

// eachBlock calls visit with the postings of the tile in every block that can have
// documents of the words. There may be documents of other words, too.
func (c *lane) eachBlock(words uint64, visit func(docs []uint32, impacts []uint16)) error {
	if c.exact {
		visit(c.few.docs[c.from:c.to], c.few.impacts[c.from:c.to])
		return nil
	}
	for b := c.from; b < c.to; b++ {
		if words&c.wordsOf(b, c.run.win.base) == 0 {
			continue
		}
		if err := c.load(b); err != nil {
			return err
		}
		if err := c.score(); err != nil {
			return err
		}
		i, j := c.inTile(b)
		visit(c.docs[i:j], c.impacts[i:j])
	}
	return nil
}

// inTile returns which postings of the loaded block, b, are in the tile at hand: i to j-1.
func (c *lane) inTile(b int) (i, j int) {
	base := c.run.win.base
	i, j = 0, c.n
	if c.first(b) < base {
		i = postings.SeekIn(&c.docs, c.n, base)
	}
	if c.list.Last[b]-base >= tileDocs {
		j = postings.SeekIn(&c.docs, c.n, base+tileDocs)
	}
	return i, j
}

// wordsOf returns the words of the tile at base that can have documents of block b,
// which must reach as far as base.
func (c *lane) wordsOf(b int, base uint32) uint64 {
	first, last := max(c.first(b), base)-base, min(c.list.Last[b]-base, tileDocs-1)
	if first >= tileDocs {
		return 0
	}
	return ^uint64(0) << (first / wordDocs) & (^uint64(0) >> (63 - last/wordDocs))
}
