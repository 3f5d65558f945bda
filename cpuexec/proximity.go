package cpuexec

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/corrupt"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/proximity"
)

// Phrases and other proximities. The words of a proximity are required as those of an AND; positions are
// read last, of the documents that are left.
//
// A document's frequency of a phrase is at most that of its rarest word. As impacts rise with the
// frequency, no document of a word, tile, block or list scores more for the phrase than the least of the
// impacts of its words there, under the weight of the phrase. (For other proximities see
// proximity.Expr.Limit.) So bounds are compared 64 at a time, as those of lists are, and a document can
// be dropped by frequencies alone before its positions are read.

// A together is a proximity on the current segment.
type together struct {
	*blockmax.Proximity
	run    *run
	lists  []*tileCursor // of the terms, by their number in Expr; nil if the segment lacks it
	unit   uint32
	max    uint32 // no document scores more
	table  *blockmax.Table
	norms  *tileCursor // a list of the field, whose norms all have
	scores bool

	all   []*tileCursor // lists that each match needs, the longest first
	pairs []*tileCursor // those of them that are pairs of words, which have no positions
	// If the least of their impacts bounds that of the proximity:
	even  bool
	times int    // bounds its frequency, in units of that of the rarest word; 1 if it is no more
	need  uint32 // for which floor was computed
	floor uint16 // the least impact of each word with which a document reaches need

	matcher proximity.Matcher
	plain   []phrasePart // of a phrase of single terms, without moves, the rarest first; or nil
	nearest []distance   // by list of all, its distance from the shortest list in a match
	near    bool         // if there is such a bound for the second shortest
	pair    bool         // the two are the whole of it; see Expr.IsPair
	whole   bool         // no other lists than those of all can be part of a match
	words   bool         // it is of a few different words; see Expr.AreWords
	parts   [][]uint16   // of these, in a document
	starts  []int32      // of a plain phrase in a document
	stand   [2]occurrences
	places  [][]uint32 // positions of the terms in a document
	levels  [][64]uint8
	asked   [1]uint32
}

// newTogether prepares the proximity of a clause, whose children are open.
func (e *evaluator) newTogether(r *run, p *blockmax.Proximity, c *clause, scores bool) (*together, error) {
	if e.nears == len(e.together) {
		e.together = append(e.together, new(together))
	}
	t := e.together[e.nears]
	e.nears++
	t.Proximity, t.run, t.unit, t.max, t.scores = p, r, blockmax.CoarseUnit(p.Weight), p.Highest(r.at.seg), scores
	t.lists, t.all, t.plain, t.need, t.floor = t.lists[:0], t.all[:0], t.plain[:0], 0, 0
	for len(t.places) < len(p.Terms) {
		t.places = append(t.places, nil)
	}
	leaves := c.appendLeaves(nil)
	for _, l := range leaves {
		l.plain, l.weight, l.unit, l.max = !scores, 0, 0, 0 // its bounds are read under the weight of the proximity
	}
	for _, term := range p.Terms {
		at := slices.IndexFunc(leaves, func(l *tileCursor) bool { return l.term == term })
		if at >= 0 {
			t.lists = append(t.lists, leaves[at])
			t.table, t.norms = leaves[at].table, leaves[at]
			continue
		}
		// No match needs it: an interval must not contain it, or a pair that a match needs implies it.
		l, err := r.tiled.openOne(r, term)
		if err != nil {
			return nil, err
		}
		if t.lists = append(t.lists, l); l != nil && len(p.Pairs) > 0 {
			t.table, t.norms = l.table, l
		}
	}
	t.pairs = t.pairs[:0]
	for _, l := range leaves {
		if slices.Contains(p.Pairs, l.term) {
			t.pairs = append(t.pairs, l)
		}
	}
	t.matcher.Reset(p.Expr)
	t.prepare(c)
	return t, nil
}

// prepare finds what makes the proximity fast. A document that lacks one of the alternatives, or of all
// lists, has no match: filters that are not lists need not be tested before positions are.
func (t *together) prepare(c *clause) {
	t.times, t.even, t.near, t.pair, t.words, t.whole = 1, false, false, false, false, false
	t.nearest = t.nearest[:0]
	for i := range c.filter {
		f := &c.filter[i]
		if f.Leaf && f.cursor == nil {
			t.all = t.all[:0] // the segment lacks it, and has no match
			return
		}
		if f.Leaf {
			t.all = append(t.all, f.cursor)
		}
	}
	slices.SortStableFunc(t.all, func(a, b *tileCursor) int { return cmp.Compare(b.list.Count, a.list.Count) })
	e := t.Expr
	if len(t.all) == 0 || e.Op == proximity.Word {
		return
	}
	n := len(t.all)
	shortest := slices.Index(t.lists, t.all[n-1])
	for _, l := range t.all {
		var d distance
		d.lo, d.hi, d.is = e.Distance(shortest, slices.Index(t.lists, l))
		t.nearest = append(t.nearest, d)
	}
	t.near = n > 1 && t.nearest[n-2].is
	t.pair = t.near && n == 2 && e.IsPair()
	t.words = e.AreWords()
	t.whole = !slices.ContainsFunc(t.lists, func(l *tileCursor) bool { return !slices.Contains(t.all, l) })
	single := true
	for i := range e.Parts {
		p := &e.Parts[i]
		if p.Op != proximity.Word {
			return
		}
		single = single && len(p.Terms) == 1
	}
	limit := e.Limit()
	t.even = limit == proximity.LimitLeast || limit == proximity.LimitTimes
	if limit == proximity.LimitTimes {
		t.times = len(e.Parts)
	}
	if single && e.Op == proximity.Phrase && e.Max == 0 && !slices.Contains(t.lists, nil) {
		for i := range e.Parts {
			t.plain = append(t.plain, phrasePart{t.lists[e.Parts[i].Terms[0]], e.Offsets[i]})
		}
		slices.SortStableFunc(t.plain, func(a, b phrasePart) int { return cmp.Compare(a.list.list.Count, b.list.list.Count) })
	}
}

// A distance bounds how far a word is from another one; see Expr.Distance.
type distance struct {
	lo, hi int
	is     bool
}

// A phrasePart is a word of a phrase.
type phrasePart struct {
	list   *tileCursor
	offset uint32
}

// forget drops references to the caller's data.
func (t *together) forget() {
	t.Proximity, t.run, t.table, t.norms = nil, nil, nil, nil
	t.matcher.Forget()
	clear(t.lists)
	clear(t.all)
	clear(t.pairs)
	clear(t.plain)
}

// bound sets to to the bounds of the proximity in each word of the current tile, or in each tile of the
// sheet.
func (t *together) bound(words bool, to *sums) {
	if len(t.Pairs) > 0 {
		t.boundByAll(words, to)
		return
	}
	at := t.boundOf(t.Expr, 0, words)
	for i, b := range t.levels[at] {
		to[i] = min(t.unit*uint32(b), t.max)
	}
}

// boundByAll is bound for a phrase with pairs of words: it scores at most the least of what its lists allow.
func (t *together) boundByAll(words bool, to *sums) {
	for i := range to {
		to[i] = t.max
	}
	for _, l := range t.all {
		bounds := l.tiles
		if words {
			bounds = l.words
		}
		for i, b := range bounds {
			to[i] = min(to[i], t.unit*uint32(b))
		}
	}
	if len(t.all) == 0 {
		*to = sums{}
	}
}

// boundOf makes bounds of an expression, coarse as those of lists, and returns their place in levels.
func (t *together) boundOf(e *proximity.Expr, level int, words bool) int {
	for level >= len(t.levels) {
		t.levels = append(t.levels, [64]uint8{})
	}
	t.levels[level] = [64]uint8{}
	if e.Op == proximity.Word {
		for i, term := range e.Terms {
			b := &noPostings
			if l := t.lists[term]; l != nil {
				if b = l.tiles; words {
					b = l.words
				}
			}
			if to := &t.levels[level]; i == 0 {
				*to = *b
			} else {
				addCoarse(to, (*[64]uint8)(b))
			}
		}
		return level
	}
	limit := e.Limit()
	for i := range e.Parts {
		if limit == proximity.LimitFirst && i > 0 {
			break // whether the second part is possible is known without bounds
		}
		t.boundOf(&e.Parts[i], level+1, words)
		to, part := &t.levels[level], &t.levels[level+1]
		switch {
		case i == 0:
			*to = *part
		case limit == proximity.LimitLeast || limit == proximity.LimitTimes:
			for w, b := range part {
				to[w] = min(to[w], b)
			}
		default: // where a part is impossible, all is
			addCoarse(to, part)
		}
	}
	if limit == proximity.LimitTimes {
		times := coarseTimes(len(e.Parts))
		for w, b := range t.levels[level] {
			t.levels[level][w] = times[b]
		}
	}
	return level
}

// addCoarse adds bounds of frequencies that add up. Impacts are rounded, so that of the sum can be one
// more than theirs.
func addCoarse(to, with *[64]uint8) {
	for w, b := range with {
		sum := uint32(to[w]) + uint32(b)
		if to[w] > 0 && b > 0 {
			sum++
		}
		to[w] = uint8(min(sum, 255))
	}
}

// mostTimes is how many parts have a table of coarseTimes. More have that of no bound.
const mostTimes = 8

var timesTables = func() (tables [mostTimes + 1][256]uint8) {
	for n := range tables {
		for b := 1; b < 256; b++ {
			tables[n][b] = blockmax.Coarse(blockmax.Times(uint16(b*257), n))
			if n == mostTimes {
				tables[n][b] = 255
			}
		}
	}
	return tables
}()

// coarseTimes maps coarse bounds to those of n times the frequency.
func coarseTimes(n int) *[256]uint8 { return &timesTables[min(n, mostTimes)] }

// fewPlaces is the most documents that are looked up in the lists of a proximity one by one, instead of
// intersecting the lists.
const fewPlaces = 64

// keep drops the documents of the tile from set that do not match, and adds the scores of the others to
// to, if it is not nil. All have the words of the proximity.
func (t *together) keep(set *bitset, to *scores) error {
	base := t.run.win.base
	for i, word := range set {
		for ; word != 0; word &= word - 1 {
			d := uint32(64*i + bits.TrailingZeros64(word))
			freq, err := t.freqNear(base + d)
			switch {
			case err != nil:
				return err
			case freq == 0:
				set[i] &^= 1 << (d % 64)
			case to != nil && t.scores:
				code, err := t.codeOf(base + d)
				if err != nil {
					return err
				}
				to[d%tileDocs] += t.score(freq, code)
			}
		}
	}
	return nil
}

// codeOf returns the length code of a document.
func (t *together) codeOf(doc uint32) (uint8, error) {
	c := t.norms
	if c == nil || c.norms == nil {
		return 1, nil
	}
	if !c.lazy.Complete() {
		t.asked[0] = doc
		if err := c.lazy.Need(t.asked[:]); err != nil {
			return 0, c.fail(err)
		}
	}
	return c.norms[doc], nil
}

// score is the score of a frequency in a document with a length code.
func (t *together) score(freq uint64, code uint8) uint32 {
	return blockmax.Contribution(t.Weight, t.table.ImpactOf(freq, code))
}

// freqNear is freq by way of the two shortest lists: whether these allow a match, and of a pair all.
func (t *together) freqNear(doc uint32) (uint64, error) {
	if !t.near {
		return t.freq(doc)
	}
	for _, l := range t.all[len(t.all)-2:] {
		if at, err := l.place(doc); at < 0 || err != nil {
			return 0, err
		}
	}
	if t.pair {
		a, b := t.lists[t.Expr.Parts[0].Terms[0]], t.lists[t.Expr.Parts[1].Terms[0]]
		first, err := a.placesOf()
		if err != nil {
			return 0, err
		}
		second, err := b.placesOf()
		if err != nil {
			return 0, err
		}
		if first == nil || second == nil {
			return t.freq(doc)
		}
		return t.Expr.PairFreq(first, second), nil
	}
	if ok, err := t.within(); !ok || err != nil {
		return 0, err
	}
	return t.freq(doc)
}

// within reports whether the positions that the two shortest lists have where they are placed allow a
// match.
func (t *together) within() (bool, error) {
	n := len(t.all)
	a, err := t.all[n-1].placesOf()
	if err != nil {
		return false, err
	}
	b, err := t.all[n-2].placesOf()
	if err != nil || a == nil || b == nil {
		return true, err
	}
	return proximity.Within(a, b, t.nearest[n-2].lo, t.nearest[n-2].hi), nil
}

// freq returns the frequency of the proximity in a document.
func (t *together) freq(doc uint32) (uint64, error) {
	for i, l := range t.lists {
		t.places[i] = t.places[i][:0]
		if l == nil {
			continue
		}
		at, err := l.place(doc)
		if err != nil {
			return 0, err
		}
		if at < 0 {
			continue
		}
		if t.places[i], err = l.appendPlaces(t.places[i]); err != nil {
			return 0, err
		}
	}
	return t.matcher.Freq(t.places), nil
}

// place finds the posting of a document: it returns the posting's index in its block, or -1 if the list
// does not hold the document. The block is then placed.
func (c *tileCursor) place(doc uint32) (i int, err error) {
	if doc == c.sought {
		return c.posting, nil
	}
	b := c.placed
	if b < 0 || doc > c.list.Last[b] || doc < c.first(b) {
		from := max(b, 0)
		if b >= 0 && doc < c.first(b) {
			from = 0
		}
		if b = c.list.Seek(from, doc); b == len(c.list.Last) {
			return c.foundAt(doc, -1), nil
		}
		if c.placed = b; doc < c.first(b) {
			return c.foundAt(doc, -1), nil
		}
	}
	if c.loaded != b {
		if searchable(c.list.Enc[b]) {
			if err := c.peekAt(b); err != nil {
				return 0, err
			}
			i := c.peek.Find(doc)
			if i >= c.peek.Len {
				return 0, c.fail(&corrupt.Error{Block: b, Offset: -1, Reason: "a posting that the block does not have"})
			}
			return c.foundAt(doc, i), nil
		}
		if err := c.load(b); err != nil {
			return 0, err
		}
	}
	i = postings.SeekIn(&c.docs, c.n, doc)
	if i == c.n || c.docs[i&127] != doc {
		i = -1
	}
	return c.foundAt(doc, i), nil
}

// foundAt notes where a document is in the placed block.
func (c *tileCursor) foundAt(doc uint32, i int) int {
	c.sought, c.posting = doc, i
	return i
}

// frequency returns the frequency of posting i of the placed block.
func (c *tileCursor) frequency(i int) (uint32, error) {
	if err := c.peekAt(c.placed); err != nil {
		return 0, err
	}
	tf := c.peek.TF(i)
	if tf == 0 {
		return 0, c.fail(&corrupt.Error{Block: c.placed, Offset: -1, Reason: "a posting that the block does not have"})
	}
	return tf, nil
}

// readPlaces makes positions those of the list.
func (c *tileCursor) readPlaces() {
	if c.positions == nil {
		c.positions = new(postings.Positions)
	}
	c.positions.Reset(c.list)
	c.reading = true
	if c.places != nil {
		c.places.batch = 0
	}
}

// placesOf returns the positions of the posting that place has found, or nil if these may have more than
// 16 bits.
func (c *tileCursor) placesOf() ([]uint16, error) {
	if !c.reading {
		c.readPlaces()
	}
	narrow, err := c.positions.Of(c.placed, c.posting)
	if err != nil {
		return nil, c.fail(err)
	}
	return narrow, nil
}

// appendPlaces appends the positions of the posting that place has found.
func (c *tileCursor) appendPlaces(dst []uint32) ([]uint32, error) {
	narrow, err := c.placesOf()
	if err != nil {
		return nil, err
	}
	if narrow == nil {
		if err := c.positions.Load(c.placed); err != nil {
			return nil, c.fail(err)
		}
		return c.positions.Append(dst, c.posting), nil
	}
	for _, at := range narrow {
		dst = append(dst, uint32(at))
	}
	return dst, nil
}
