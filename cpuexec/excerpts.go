package cpuexec

import (
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/postings"
)

// A filter that comes again has excerpts of the lists that are searched under it (blockmax.Subset):
// which of its documents they hold, with what impacts. Where all lists have theirs, a query reads
// nothing else. OR adds up the scores of all documents of the filter, 4,096 at a time, and AND those
// of the documents that all excerpts hold. There are no bounds: the time is that of the filter's
// documents, some 0.1 ns for each and each list.
//
// A query without excerpts makes a part of the missing ones, as far as what it has decoded instead
// pays for them.

// excerptSet are the excerpts of a query in the current segment. Positions are the places of documents
// in the subset.
type excerptSet struct {
	found []*blockmax.Excerpt
	all   []weighedExcerpt
	own   []*blockmax.ExcerptMaker // of lists that are too short to be known by a key
	used  int                      // own[:used] belong to the current segment

	from, to uint32 // the positions in the current range
}

type weighedExcerpt struct {
	*blockmax.Excerpt
	weight uint32
}

// forget drops references to the caller's data.
func (x *excerptSet) forget() {
	clear(x.found[:cap(x.found)])
	clear(x.all[:cap(x.all)])
}

// shortBlocks is the most blocks of a list without a key of which each query makes an excerpt for
// itself.
const shortBlocks = 4

// byExcerpts answers OR, or AND with all, by excerpts. It returns false if a list has none.
func (r *run) byExcerpts(all bool) (done bool, err error) {
	s := r.at.seg.Subset
	if s == nil || r.share.claim != nil {
		return false, nil
	}
	if done, err = r.findExcerpts(s, all); !done || err != nil {
		return done, err
	}
	x := &r.excerpts
	x.from, x.to = uint32(search(s.Docs, r.at.from)), uint32(search(s.Docs, r.at.to))
	for base := x.from &^ (tileDocs - 1); base < x.to && len(x.all) > 0; base += tileDocs {
		if r.tailDone(s.Docs[max(base, x.from)]) {
			break
		}
		if err := r.query.ctx.Err(); err != nil {
			return true, err
		}
		r.excerptTile(base, all)
	}
	return true, nil
}

// findExcerpts finds the excerpts of all lists, or reports that one is missing. With all, a missing
// list leaves none.
func (r *run) findExcerpts(s *blockmax.Subset, all bool) (found bool, err error) {
	x, terms := &r.excerpts, r.at.seg.Terms
	x.find(s, terms)
	x.all, x.used = x.all[:0], 0
	if keyless(terms) {
		return false, nil
	}
	for i := range terms {
		if t := &terms[i]; x.found[i] == nil && !lacking(t) && t.Key != 0 {
			return false, nil
		}
	}
	for i := range terms {
		e := x.found[i]
		switch {
		case lacking(&terms[i]) && all:
			x.all = x.all[:0]
			return true, nil
		case lacking(&terms[i]):
			continue
		case e == nil:
			if e, err = r.ownExcerpt(i); err != nil {
				return true, err
			}
		}
		x.all = append(x.all, weighedExcerpt{e, r.query.plan.Weights[i]})
	}
	return true, nil
}

// keyless reports whether a list can have no excerpt: it has no key and is not short.
func keyless(terms []blockmax.Term) bool {
	for i := range terms {
		if t := &terms[i]; t.Key == 0 && !lacking(t) && t.List.Blocks() > shortBlocks {
			return true
		}
	}
	return false
}

// find sets found to the excerpts of terms.
func (x *excerptSet) find(s *blockmax.Subset, terms []blockmax.Term) {
	x.found = slices.Grow(x.found[:0], len(terms))[:len(terms)]
	s.Excerpts(terms, x.found)
}

// lacking reports whether the segment lacks a term.
func lacking(t *blockmax.Term) bool { return t.Bounds == nil || t.List.Blocks() == 0 }

// ownExcerpt makes the excerpt of a short list.
func (r *run) ownExcerpt(term int) (*blockmax.Excerpt, error) {
	x := &r.excerpts
	if x.used == len(x.own) {
		x.own = append(x.own, new(blockmax.ExcerptMaker))
	}
	m := x.own[x.used]
	x.used++
	c, err := r.tiled.openOne(r, term)
	if err != nil {
		return nil, err
	}
	defer r.tiled.closeLast()
	docs := r.at.seg.Subset.Docs
	m.Reset(len(docs))
	if _, err := c.excerpt(docs, r.at.seg.Accept, m, shortBlocks); err != nil {
		return nil, err
	}
	m.Finish()
	return &m.Excerpt, nil
}

// excerpt looks further documents of a subset up in the list. It may leave out those that are not in
// accept, unless that is nil. It decodes n blocks at most, and reports whether it has come to the end.
func (c *tileCursor) excerpt(docs []uint32, accept []uint64, m *blockmax.ExcerptMaker, n int64) (done bool, err error) {
	b := 0
	for ; m.Next < len(docs); n-- {
		if b = c.list.Seek(b, docs[m.Next]); b == c.list.Blocks() {
			return true, nil
		}
		if n == 0 {
			return false, nil
		}
		if err := c.read(b, false); err != nil {
			return false, err
		}
		if err := c.score(); err != nil {
			return false, err
		}
		until := m.Next + search(docs[m.Next:], c.list.Last[b]+1)
		if until-m.Next <= c.n {
			for ; m.Next < until; m.Next++ {
				if i := postings.SeekIn(&c.docs, c.n, docs[m.Next]); i < c.n && c.docs[i] == docs[m.Next] {
					m.Add(m.Next, c.impacts[i])
				}
			}
			continue
		}
		for i, doc := range c.docs[:c.n] {
			if accept != nil && accept[doc/64]>>(doc%64)&1 == 0 {
				continue
			}
			if m.Next += search(docs[m.Next:until], doc); m.Next < until && docs[m.Next] == doc {
				m.Add(m.Next, c.impacts[i])
			}
		}
		m.Next = until
	}
	return true, nil
}

// excerptTile offers the documents at positions base to base+4,095 of the subset.
func (r *run) excerptTile(base uint32, all bool) {
	x, set := &r.excerpts, &r.win.matches
	words := min((int(x.to-base)+63)/64, 64)
	matches := x.match(set, base, words, all)
	if alive := r.at.seg.Alive; alive != nil {
		matches = 0
		for i := range set[:words] {
			set[i] &= alive[int(base/64)+i]
			matches += bits.OnesCount64(set[i])
		}
	}
	r.out.total += matches
	r.out.work.DocsScored += int64(matches)
	if matches > 0 && !r.out.counting {
		r.scoreExcerpts(base, words, matches, all)
	}
	clear(set[:words])
}

// match sets the words of the set to the documents in the current range that at least one excerpt holds,
// or all with all. It returns how many there are.
func (x *excerptSet) match(set *bitset, base uint32, words int, all bool) (matches int) {
	first := int(base / 64)
	copy(set[:words], x.all[0].Held[first:])
	for _, e := range x.all[1:] {
		held := e.Held[first:][:words]
		if all {
			for i, word := range held {
				set[i] &= word
			}
		} else {
			for i, word := range held {
				set[i] |= word
			}
		}
	}
	if x.from > base {
		skip := int(x.from - base)
		clear(set[:skip/64])
		set[skip/64] &= ^uint64(0) << (skip % 64)
	}
	if rest := x.to - base; rest < uint32(64*words) {
		set[rest/64] &= 1<<(rest%64) - 1
	}
	for _, word := range set[:words] {
		matches += bits.OnesCount64(word)
	}
	return matches
}

// scatterShare: where more than one in scatterShare documents match AND, it is faster to add up the
// scores of all documents.
const scatterShare = 16

// scoreExcerpts offers the matches.
func (r *run) scoreExcerpts(base uint32, words, matches int, all bool) {
	x, set, cs, docs := &r.excerpts, &r.win.matches, &r.cands, r.at.seg.Subset.Docs
	if all && matches*scatterShare < 64*words {
		cs.list(set, base, ^uint64(0)>>(64-words))
		for _, at := range cs.docs[:cs.n] {
			score := uint32(0)
			for _, e := range x.all {
				score += blockmax.Contribution(e.weight, e.Impact(at))
			}
			r.offer(docs[at], score)
		}
		return
	}
	for _, e := range x.all {
		addExcerpt(&r.win.scores, e.Excerpt, int(base/64), words, e.weight)
	}
	left := ^uint64(0) >> (64 - words)
	for left != 0 {
		need := r.at.underAny(r.out.need(docs[base+64*uint32(bits.TrailingZeros64(left))]))
		if need > 0 {
			sift(cs, &r.win.scores, base, left, &noSums, need)
			cs.keepOnly(set)
			left = 0
		} else { // a few words are enough for the first hits
			few := lowestBits(left, 4)
			left &^= few
			cs.list(set, base, few)
			for p, at := range cs.docs[:cs.n] {
				cs.score[p] = r.win.scores[at%tileDocs]
			}
			for ; few != 0; few &= few - 1 {
				clear(r.win.scores[wordDocs*bits.TrailingZeros64(few):][:wordDocs])
			}
		}
		for p, at := range cs.docs[:cs.n] {
			r.offer(docs[at], cs.score[p])
		}
	}
}

// makeExcerpts makes a part of the excerpts that a query has missed, whose lists are open.
func (r *run) makeExcerpts() error {
	s := r.at.seg.Subset
	if s == nil || r.query.plan.Tree != nil || r.out.counting {
		return nil
	}
	spent, missing := int64(0), int64(0)
	lists := r.tiled.lists[:r.tiled.count]
	r.excerpts.find(s, r.at.seg.Terms)
	for _, c := range lists {
		spent += c.spent
		if r.missing(c) {
			missing++
		}
	}
	if missing == 0 {
		return nil
	}
	most := min(makingPace*spent, makingMost)
	for _, c := range lists {
		if !r.missing(c) {
			continue
		}
		t := &r.at.seg.Terms[c.term]
		cost := int64(min(len(s.Docs), c.list.Blocks()))
		if !s.Spend(t, 1+spent/missing, cost) || most <= 0 {
			continue
		}
		extend := func(m *blockmax.ExcerptMaker) (bool, error) {
			before := c.spent
			done, err := c.excerpt(s.Docs, nil, m, most)
			most -= c.spent - before
			c.spent = before // that was for all queries
			return done, err
		}
		if err := s.Make(t, extend); err != nil {
			return err
		}
	}
	return nil
}

// missing reports whether a list has no excerpt and may get one.
func (r *run) missing(c *tileCursor) bool {
	return r.excerpts.found[c.term] == nil && r.at.seg.Terms[c.term].Key != 0
}
