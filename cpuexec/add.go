package cpuexec

import (
	"math/bits"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// scoreWords offers all documents of some words of the tile, including those that score nothing.
func (r *run) scoreWords(words uint64) error {
	if r.tiled.guard != nil {
		return r.scoreTree(words)
	}
	w := &r.win
	for _, c := range r.tiled.active {
		if c.branch != nil {
			r.win.marks.flush(&w.matches)
			set := &r.eval.branches.set
			if err := c.matchBranch(set, words, &w.scores); err != nil {
				return err
			}
			or.apply(w.matches[:], set[:])
			continue
		}
		if err := c.mark(&w.matches, words); err != nil {
			return err
		}
		if err := c.add(words); err != nil {
			return err
		}
	}
	r.win.marks.flush(&w.matches)
	w.fill()
	for i := range w.matches {
		w.matches[i] &= w.all[i] & -(words >> i & 1)
	}
	r.collect(words, r.at.under(r.out.threshold(w.lo), w.lo, w.lo))
	r.offerCandidates()
	return nil
}

// add adds the list's postings in the words to the scores.
func (c *tileCursor) add(words uint64) error {
	if c.branch != nil {
		return c.addBranch(words)
	}
	return c.addTo(&c.run.win.scores, words)
}

// addTo adds the contributions of a list in the words to scores.
func (c *tileCursor) addTo(to *scores, words uint64) error {
	r := c.run
	if c.exact {
		for i, doc := range c.few.docs[c.from:c.to] {
			in := uint32(words >> (doc / wordDocs % 64) & 1)
			to[doc%tileDocs] += blockmax.Contribution(c.weight, c.few.impacts[c.from+i]) * in
		}
		return nil
	}
	from, until := c.blocksInTile()
	for b := from; b < until; b++ {
		in := words & c.wordsOf(b, r.win.base)
		if in == 0 {
			continue
		}
		if err := c.load(b); err != nil {
			return err
		}
		if err := c.loadFreqs(); err != nil {
			return err
		}
		// Go word by word, or rather by runs of adjacent words: most blocks have few.
		for in != 0 {
			first := bits.TrailingZeros64(in)
			behind := first + bits.TrailingZeros64(^(in >> first))
			i, j := c.postingsIn(first, behind)
			addPostings(to, c.docs[i:j], r.tiled.freqs[i:j], c.norms, c.table, c.weight)
			in &= in + 1<<first // carries through the run
		}
	}
	return nil
}

// postingsIn returns the range [i, j) of postings of the loaded block in words [first, behind) of
// the tile.
func (c *tileCursor) postingsIn(first, behind int) (i, j int) {
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

// eachBlock calls visit for every block that can have documents of the words, with its postings in
// the tile. These may include documents of other words.
func (c *tileCursor) eachBlock(words uint64, visit func(docs []uint32, impacts []uint16)) error {
	if c.exact {
		visit(c.few.docs[c.from:c.to], c.few.impacts[c.from:c.to])
		return nil
	}
	from, to := c.blocksInTile()
	for b := from; b < to; b++ {
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

// inTile returns the range [i, j) of postings of the loaded block b in the current tile.
func (c *tileCursor) inTile(b int) (i, j int) {
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

// wordsOf returns the words of the tile at base that can have documents of block b. The block must
// not end before base.
func (c *tileCursor) wordsOf(b int, base uint32) uint64 {
	first, last := max(c.first(b), base)-base, min(c.list.Last[b]-base, tileDocs-1)
	if first >= tileDocs {
		return 0
	}
	return ^uint64(0) << (first / wordDocs) & (^uint64(0) >> (63 - last/wordDocs))
}
