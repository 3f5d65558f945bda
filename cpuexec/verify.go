package cpuexec

import (
	"math"
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/proximity"
)

// Verification: which candidates match a proximity, and how they score. A candidate is first looked up
// in the lists, the shortest first, then dropped if its frequencies cannot make it reach need, and its
// positions are read last.

// floorOf returns the least impact that each word of an even proximity must have in a document that
// scores need for it.
func (t *together) floorOf(need uint32) uint16 {
	if need == t.need {
		return t.floor
	}
	t.need, t.floor = need, t.leastImpact(need)
	return t.floor
}

func (t *together) leastImpact(need uint32) uint16 {
	if need == 0 {
		return 0
	}
	if t.Weight == 0 {
		return math.MaxUint16
	}
	least := (uint64(need)<<16 + uint64(t.Weight) - 1) / uint64(t.Weight) // Contribution(Weight, least) >= need
	if least > math.MaxUint16 {
		return math.MaxUint16 // no impact is enough: Contribution is below the weight
	}
	if t.times == 1 {
		return uint16(least)
	}
	// The inverse of blockmax.Times, with room for its rounding.
	n, y := float64(t.times), float64(max(least, 3)-3)/65536
	return uint16(max(1, y/(n-float64((n-1)*y))*65536-2))
}

// reach returns the words of the current tile, or the tiles of the sheet, in which all lists of an even
// proximity have postings with which documents can score need.
func (t *together) reach(words bool, need uint32) uint64 {
	var scratch sums
	in, least := ^uint64(0), uint32(blockmax.Coarse(t.floorOf(need)))
	if need == 0 {
		least = 1
	}
	for _, l := range t.all {
		bounds := l.tiles
		if words {
			bounds = l.words
		}
		reach, present := addBounds(&scratch, &noSums, bounds, 1, least)
		if !l.plain {
			present = reach
		}
		in &= present
	}
	return in
}

// verify keeps the candidates that match and whose score, with what is in rest for their word, can reach
// need. It adds their scores for the proximity, if these are wanted.
func (t *together) verify(need uint32, rest *sums) error {
	cs, b := &t.run.cands, &t.run.batch
	n := 0
	for from := 0; from < cs.n; from += batchDocs {
		docs := cs.docs[from:min(from+batchDocs, cs.n)]
		scores := cs.score[from:][:len(docs)]
		least := need
		for p, doc := range docs {
			least = min(least, saturatingSub(need, scores[p]+rest[doc/wordDocs%64]))
		}
		b.begin(docs)
		if err := t.judge(b, least); err != nil {
			return err
		}
		for _, p := range b.live[:b.n] {
			doc, score := docs[p], scores[p]
			own := t.scoreIn(b, p)
			cs.docs[n], cs.score[n] = doc, score+own // n never passes what is still to be read
			if own >= saturatingSub(need, score+rest[doc/wordDocs%64]) {
				n++
			}
		}
	}
	cs.n = n
	return nil
}

// scoreIn is the score of a candidate of a batch that matches.
func (t *together) scoreIn(b *batch, p uint8) uint32 {
	if !t.scores {
		return 0
	}
	return t.score(b.freqs[p&127], b.codes[p&127])
}

// freqOf returns the frequency of the proximity in a document, given its length code. It may be said to
// be 0 if a word has no impact of floor.
func (t *together) freqOf(doc uint32, code uint8, floor uint16) (freq uint64, err error) {
	for _, l := range t.pairs {
		if ok, err := l.has(doc, t.table, code, floor); !ok || err != nil {
			return 0, err
		}
	}
	if len(t.plain) > 1 {
		return t.countPlain(doc, code, floor)
	}
	for i := len(t.all) - 1; i >= 0; i-- {
		if ok, err := t.all[i].has(doc, t.table, code, floor); !ok || err != nil {
			return 0, err
		}
		if i > 0 && i == len(t.all)-2 && t.near { // before the longer lists are looked up
			if ok, err := t.within(); !ok || err != nil {
				return 0, err
			}
		}
	}
	if t.pair {
		return t.freqNear(doc)
	}
	return t.freq(doc)
}

// has reports whether the list holds a document, with an impact of at least floor. The posting is then
// found.
func (c *tileCursor) has(doc uint32, table *blockmax.Table, code uint8, floor uint16) (bool, error) {
	at, err := c.place(doc)
	if at < 0 || err != nil || floor == 0 {
		return at >= 0, err
	}
	tf, err := c.frequency(at)
	return err == nil && table.Impact(tf, code) >= floor, err
}

// countPlain returns the frequency of a plain phrase in a document, in units of 1/proximity.One. It is 0
// if a word has no impact of floor. The rarest words come first; the others are looked up only where
// these stand as they must.
func (t *together) countPlain(doc uint32, code uint8, floor uint16) (freq uint64, err error) {
	for _, part := range t.plain[:2] {
		if ok, err := part.list.has(doc, t.table, code, floor); !ok || err != nil {
			return 0, err
		}
	}
	a, b := t.plain[0], t.plain[1]
	first, err := a.list.placesOf()
	if err != nil {
		return 0, err
	}
	second, err := b.list.placesOf()
	switch {
	case err != nil:
		return 0, err
	case first == nil || second == nil:
		return t.freq(doc)
	case len(t.plain) == 2:
		return proximity.One * uint64(proximity.CountPair(first, second, int(b.offset)-int(a.offset))), nil
	}
	t.starts = proximity.AppendStarts(t.starts[:0], first, second, a.offset, b.offset)
	for _, part := range t.plain[2:] {
		if len(t.starts) == 0 {
			return 0, nil
		}
		if ok, err := part.list.has(doc, t.table, code, floor); !ok || err != nil {
			return 0, err
		}
		own, err := part.list.placesOf()
		if err != nil {
			return 0, err
		}
		if own == nil {
			return t.freq(doc)
		}
		t.starts = proximity.KeepStarts(t.starts, own, part.offset)
	}
	return proximity.One * uint64(len(t.starts)), nil
}

// proximityAlone answers a tree that is a proximity, which needs all of its lists and is even.
func (r *run) proximityAlone(c *tileCursor) error {
	t := c.branch.clause.together
	lead := t.all[len(t.all)-1]
	if r.share.claim == nil && isSparse(lead.list, r.at.seg.Docs) {
		if err := r.proximityBlocks(t, lead); err != nil {
			return err
		}
		return r.refine()
	}
	own := append(r.eval.branches.all[:0], c)
	r.eval.branches.all = own
	for lo := r.at.from &^ (sheetDocs - 1); lo < r.at.to; lo += sheetDocs {
		if err := r.tiled.enterSheet(own, lo, &r.at); err != nil {
			return err
		}
		err := r.bestFirst(r.at.tilesAtWork(lo, r.tiled.present), func(i int, bound uint32) error {
			return r.proximityTile(t, lo+uint32(i)*tileDocs, bound)
		})
		if err != nil {
			return err
		}
	}
	return r.refine()
}

// firstWords is how many words of a tile are searched at a time until there is a threshold. A test lowers
// it.
var firstWords = 8

// denseWords is how many are then, where all lists have bitmaps, before the threshold is looked at again.
const denseWords = 16

// proximityTile offers the documents of the tile at lo that can enter. They score at most bound.
func (r *run) proximityTile(t *together, lo, bound uint32) error {
	if bound < r.out.need(lo) {
		return nil
	}
	if err := r.query.ctx.Err(); err != nil {
		return err
	}
	r.win.place(lo, r.at.from, r.at.to)
	words := ^uint64(0)
	if r.at.seg.Accept != nil {
		words = r.at.acceptedWords(r.win.base)
	}
	for _, l := range t.all {
		l.enterTile(lo)
		l.inWords = l.words.present()
		words &= l.inWords
	}
	for words != 0 {
		need, some := r.at.under(r.out.need(lo), lo, lo), words
		switch {
		case need > 0 && !allBitmaps(t.all):
			return r.proximityWords(t, words&t.reach(true, need))
		case need > 0: // what has all words is found at once; verification tests frequencies
			words &= t.reach(true, need)
			some = lowestBits(words, denseWords)
		case !r.out.counting:
			some = lowestBits(words, firstWords)
		}
		words &^= some
		if some == 0 {
			return nil
		}
		if err := r.intersectTogether(t, some); err != nil {
			return err
		}
		r.cands.cut(&r.win, r.at.seg.Docs)
		r.cands.accept(r.at.seg.Accept)
		if err := r.offerTogether(t); err != nil {
			return err
		}
	}
	return nil
}

// proximityWords offers the documents in some words of the tile that can enter, by the blocks of the
// shortest list.
func (r *run) proximityWords(t *together, words uint64) error {
	lead, cs, lo := t.all[len(t.all)-1], &r.cands, r.win.lo
	if words == 0 {
		return nil
	}
	if lead.exact {
		floor, n := t.floorOf(r.at.under(r.out.need(lo), lo, lo)), 0
		for i, doc := range lead.few.docs[lead.from:lead.to] {
			cs.docs[n], cs.score[n] = doc, 0
			if words>>(doc/wordDocs%64)&1 == 1 && lead.few.impacts[lead.from+i] >= floor {
				n++
			}
		}
		cs.n = n
		cs.cut(&r.win, r.at.seg.Docs)
		cs.accept(r.at.seg.Accept)
		return r.filterTogether(t, floor)
	}
	from, to := lead.blocksInTile()
	for b := from; b < to; b++ {
		if words&lead.wordsOf(b, r.win.base) == 0 {
			continue
		}
		floor := t.floorOf(r.at.under(r.out.need(lo), lo, lo))
		if lead.blockMax(b) < floor {
			continue
		}
		if err := r.leadTogether(lead, b, floor, r.win.lo, r.win.hi); err != nil {
			return err
		}
		r.cands.keepWords(words)
		if err := r.filterTogether(t, floor); err != nil {
			return err
		}
	}
	return nil
}

// keepWords drops the candidates of a tile that are not in the words.
func (cs *candidates) keepWords(words uint64) {
	n := 0
	for _, doc := range cs.docs[:cs.n] {
		cs.docs[n], cs.score[n] = doc, 0
		n += int(words >> (doc / wordDocs % 64) & 1)
	}
	cs.n = n
}

// intersectTogether makes candidates of documents of the words, with all that have all words of the
// proximity. Lists for which that costs much are left to verification.
func (r *run) intersectTogether(t *together, words uint64) error {
	r.cands.n = 0
	set := &r.eval.branches.set
	for w := words; w != 0; w &= w - 1 {
		i := bits.TrailingZeros64(w) & 63
		set[i] = r.at.accepted(r.win.base, i)
	}
	left, err := r.intersectAll(t.all, set, words)
	if err != nil {
		return err
	}
	r.cands.list(set, r.win.base, left)
	return nil
}

// offerTogether verifies the candidates and offers those that match. The threshold rises meanwhile.
func (r *run) offerTogether(t *together) error {
	cs := &r.cands
	b := &r.batch
	for from := 0; from < cs.n; from += batchDocs {
		docs := cs.docs[from:min(from+batchDocs, cs.n)]
		b.begin(docs)
		need := r.out.need(docs[0])
		if err := t.judge(b, r.at.under(need, docs[0], docs[len(docs)-1])); err != nil {
			return err
		}
		r.out.total += b.n
		if r.out.counting {
			continue
		}
		for _, p := range b.live[:b.n] {
			r.offer(docs[p], t.scoreIn(b, p))
		}
	}
	r.out.work.DocsScored += int64(cs.n)
	cs.n = 0
	return nil
}

// proximityBlocks answers by the blocks of the shortest list, as andBlocks does.
func (r *run) proximityBlocks(t *together, lead *tileCursor) error {
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
		floor := t.floorOf(r.at.underAny(r.out.need(doc)))
		if floor > 0 && lead.blockMax(b) < floor {
			continue
		}
		if err := r.leadTogether(lead, b, floor, r.at.from, r.at.to); err != nil {
			return err
		}
		if err := r.filterTogether(t, floor); err != nil {
			return err
		}
	}
	return nil
}

// leadTogether makes candidates of the documents of a block of the lead, in [from, to), in which that has
// an impact of at least floor. Without a floor the range is that of the part.
func (r *run) leadTogether(lead *tileCursor, b int, floor uint16, from, to uint32) error {
	cs := &r.cands
	if floor == 0 {
		return r.leadDocs(lead, b)
	}
	if err := lead.load(b); err != nil {
		return err
	}
	if err := lead.score(); err != nil {
		return err
	}
	leadBlock(cs, &lead.docs, &lead.impacts, lead.n, 1<<16, uint32(floor), from, to)
	cs.accept(r.at.seg.Accept)
	clear(cs.score[:cs.n])
	return nil
}

// filterTogether drops the candidates that a list does not hold, or in whose words it has no impact of
// floor, as far as bitmaps and bounds tell. Then it offers those that match.
func (r *run) filterTogether(t *together, floor uint16) error {
	cs := &r.cands
	for _, l := range slices.Backward(t.all[:len(t.all)-1]) {
		if cs.n == 0 {
			return nil
		}
		f, least := wordFilter{bitmap: l.bitmap, unit: 1}, uint32(0)
		if l.ranges != nil && floor > 0 {
			f.words, least = l.ranges.Word, uint32(blockmax.Coarse(floor))
		}
		if f.bitmap != nil || f.words != nil {
			r.glance.filters = append(r.glance.filters[:0], f)
			filter(cs, r.glance.filters, 0, least)
		}
	}
	return r.offerTogether(t)
}

// isNear reports whether a clause is a proximity that needs all of its lists.
func (c *clause) isNear() bool {
	return c.together != nil && len(c.together.all) > 0 && !c.Constant && len(c.not) == 0
}

// isEven reports whether a cursor stands for a proximity that proximityAlone can answer.
func (c *tileCursor) isEven() bool {
	return c.branch != nil && c.branch.near != nil && c.branch.near.even
}
