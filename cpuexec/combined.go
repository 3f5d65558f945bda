package cpuexec

import (
	"math/bits"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// Words of several fields that score as if these were one (blockmax.Combined). A document's score
// follows from the sum of its frequencies, so lists cannot add their contributions one by one. In the
// words of a tile, frequencies are summed in an array, and become scores at the end. Candidates are
// looked up one by one.
//
// The tables of the lists are weighted: bounds of the lists, summed as those of an OR, bound the score.
// (See blockmax.Table.Weighted.) So unions and conjunctions prune as with any other branch.

// A combination is such a word on the current segment.
type combination struct {
	*blockmax.Combined
	run   *run
	lists []*tileCursor // parallel to Terms; nil if the segment lacks one
	max   uint32        // no document scores more
	slack uint32        // a document may score so much more than the bounds of its lists say together

	freqs *[tileDocs]uint64 // summed frequencies of the tile, zero between calls; nil until needed
	asked [1]uint32
}

// newCombination prepares the combination of a clause, whose leaves are open.
func (e *evaluator) newCombination(r *run, n *blockmax.Combined, c *clause) *combination {
	if e.words == len(e.combined) {
		e.combined = append(e.combined, new(combination))
	}
	t := e.combined[e.words]
	e.words++
	t.Combined, t.run, t.lists, t.max = n, r, t.lists[:0], n.Highest(r.at.seg)
	open := 0
	for i := range c.should {
		l := c.should[i].cursor
		t.lists = append(t.lists, l)
		if l == nil {
			continue
		}
		open++
		l.raw, l.unit = true, blockmax.CoarseUnit(n.Weight)
		l.weight, l.max = n.Weight, blockmax.Contribution(n.Weight, l.bounds.List)
	}
	t.slack = n.Slack(open)
	return t
}

// forget drops references to the caller's data.
func (t *combination) forget() {
	t.Combined, t.run = nil, nil
	clear(t.lists)
}

// bound turns the summed bounds of the lists into those of the combination.
func (t *combination) bound(sums *sums) {
	for i, s := range sums {
		sums[i] = min(s+t.slack, t.max)
	}
}

// add adds the scores of all documents of the words to to.
func (t *combination) add(words uint64, to *scores) error {
	if t.freqs == nil {
		t.freqs = new([tileDocs]uint64)
	}
	present := uint64(0)
	for i, l := range t.lists {
		if l == nil {
			continue
		}
		in := words & l.inWords
		if in == 0 {
			continue
		}
		present |= in
		if err := l.addFreqs(t.freqs, t.Fields[t.Terms[i].Field].Weight, in); err != nil {
			*t.freqs = [tileDocs]uint64{}
			return err
		}
	}
	base := t.run.win.base
	if err := t.need(base); err != nil {
		*t.freqs = [tileDocs]uint64{}
		return err
	}
	for ; present != 0; present &= present - 1 {
		w := uint32(bits.TrailingZeros64(present)) & 63
		freqs, to := (*[wordDocs]uint64)(t.freqs[wordDocs*w:]), (*[wordDocs]uint32)(to[wordDocs*w:])
		for i, freq := range freqs {
			if freq != 0 {
				to[i] += t.Score(freq, t.Code(t.run.at.seg, base+wordDocs*w+uint32(i)))
				freqs[i] = 0
			}
		}
	}
	return nil
}

// need asks for the norms of the tile of a document.
func (t *combination) need(doc uint32) error {
	t.asked[0] = doc
	if err := t.Need(t.run.at.seg, t.asked[:]); err != nil {
		t.run.win.torn = true
		return &ListError{t.run.at.index, t.Terms[0].Term, err}
	}
	return nil
}

// addSet adds the scores of the documents of a set, which have postings, to to. It may add those of
// others in the same words.
func (t *combination) addSet(set *bitset, to *scores) error {
	words := set.words()
	if set.count(words) > fewPlaces {
		return t.add(words, to)
	}
	base := t.run.win.base
	for ; words != 0; words &= words - 1 {
		w := bits.TrailingZeros64(words) & 63
		for word := set[w]; word != 0; word &= word - 1 {
			d := uint32(64*w + bits.TrailingZeros64(word))
			score, _, err := t.scoreOf(base + d)
			if err != nil {
				return err
			}
			to[d%tileDocs] += score
		}
	}
	return nil
}

// matchCandidates is tileCursor.matchCandidates for a combination.
func (t *combination) matchCandidates() error {
	cs, n := &t.run.cands, 0
	for _, doc := range cs.docs[:cs.n] {
		score, ok, err := t.scoreOf(doc)
		if err != nil {
			return err
		}
		if ok {
			cs.docs[n], cs.score[n] = doc, score
			n++
		}
	}
	cs.n = n
	return nil
}

// scoreOf looks a document of the tile up in all lists.
func (t *combination) scoreOf(doc uint32) (score uint32, ok bool, err error) {
	freq := uint64(0)
	for i, l := range t.lists {
		if l == nil || l.inWords>>(doc/wordDocs%64)&1 == 0 || l.lacks(doc) {
			continue
		}
		tf, err := l.frequencyIn(doc)
		if err != nil {
			return 0, false, err
		}
		freq += t.Fields[t.Terms[i].Field].Weight * uint64(tf)
	}
	if freq == 0 {
		return 0, false, nil
	}
	if err := t.need(doc); err != nil {
		return 0, false, err
	}
	return t.Score(freq, t.Code(t.run.at.seg, doc)), true, nil
}

// frequencyIn returns the frequency of a raw list in a document of the tile, or 0.
func (c *tileCursor) frequencyIn(doc uint32) (uint32, error) {
	if c.exact {
		docs := c.few.docs[c.from:c.to]
		if i := search(docs, doc); i < len(docs) && docs[i] == doc {
			return c.few.freqs[c.from+i], nil
		}
		return 0, nil
	}
	i, err := c.place(doc)
	if i < 0 || err != nil {
		return 0, err
	}
	return c.frequency(i)
}

// addFreqs adds the frequencies of a raw list in the words, times weight, to to.
func (c *tileCursor) addFreqs(to *[tileDocs]uint64, weight, words uint64) error {
	r := c.run
	if c.exact {
		freqs := c.few.freqs[c.from:c.to]
		for i, doc := range c.few.docs[c.from:c.to] {
			in := words >> (doc / wordDocs % 64) & 1
			to[doc%tileDocs] += weight * uint64(freqs[i]) * in
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
		for in != 0 { // by runs of adjacent words, as addTo does
			first := bits.TrailingZeros64(in)
			behind := first + bits.TrailingZeros64(^(in >> first))
			i, j := c.postingsIn(first, behind)
			freqs := r.tiled.freqs[i:j]
			for p, doc := range c.docs[i:j] {
				to[doc%tileDocs] += weight * uint64(freqs[p%postings.BlockSize])
			}
			in &= in + 1<<first // carries through the run
		}
	}
	return nil
}
