package cpuexec

import (
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/columns"
)

// Where few documents match, a sort follows the matches: their keys are read one by one, and no tile is
// compared as a whole. Where a list is so sparse that its postings in a sheet are decoded at once, no
// set of documents is made either.

// sparseShare: matches are sparse if there is at most one for so many documents. Comparing a tile takes
// about as long as reading the keys of 64 documents. A test sets it to 1.
var sparseShare = 64

// fewKeys are some documents with their codes. A sorter uses them again and again.
type fewKeys struct {
	docs  []uint32   // of the segment, ascending
	codes [][]uint64 // by component
	have  []bool     // scratch
}

// enterSparse notes whether the matches of the tree are sparse in the segment, and its only list.
func (s *sorter) enterSparse(r *run, root *clause) {
	s.sparse = root.cost*uint64(sparseShare) <= uint64(r.at.seg.Docs)
	s.list = nil
	if only := root.only(); only.Leaf && !s.scored && s.gathers() {
		if s.list = only.cursor; s.list != nil {
			s.list.bare = true
		}
	}
}

// gathers reports whether columns have the keys of single documents for all components.
func (s *sorter) gathers() bool {
	return !slices.ContainsFunc(s.comps, func(c component) bool {
		return c.column != nil && (c.pick() == columns.All || c.kind == distanceCode && !c.column.Single())
	})
}

// listed returns the postings of the only list in tile t of the sheet, if these are at hand.
func (s *sorter) listed(t int) (docs []uint32, ok bool) {
	if s.list == nil || !s.list.exact {
		return nil, false
	}
	few := &s.list.few
	return few.docs[few.starts[t]:few.starts[t+1]], true
}

// offerList offers the accepted ones of some matches, in the window.
func (s *sorter) offerList(r *run, docs []uint32) error {
	f := &s.few
	f.docs = f.docs[:0]
	s.take(r, docs)
	r.out.total += len(f.docs)
	r.out.work.DocsScored += int64(len(f.docs))
	return s.offerFew(r)
}

// fewInSheet is the most postings of a sheet that are offered in the order of documents, without a look
// at the bounds of tiles. That takes about as long as to read eight keys.
const fewInSheet = 8 * sheetDocs / tileDocs

// fewAtOnce is the fewest of them whose keys are read together. So the memory that the keys lie in is
// waited for once, and not once a tile.
const fewAtOnce = 64

// offerSheet offers the matches in some tiles of a sheet, of which the only list has few postings.
func (s *sorter) offerSheet(r *run, b *bounded, tiles uint64) error {
	few := &s.list.few
	s.few.docs = s.few.docs[:0]
	for tiles != 0 {
		t := bits.TrailingZeros64(tiles) & 63
		docs := few.docs[few.starts[t]:few.starts[t+1]]
		if r.share.claim == nil {
			last := 63 - bits.LeadingZeros64(tiles)&63
			docs = few.docs[few.starts[t]:few.starts[last+1]] // tiles between without postings have none
			tiles = 0
		} else if tiles &= tiles - 1; !r.share.mine(t) {
			continue
		}
		for len(docs) > 0 {
			n := min(len(docs), fewAtOnce)
			s.take(r, docs[:n])
			if docs = docs[n:]; len(s.few.docs) < fewAtOnce {
				continue
			}
			if more, err := s.offerSome(r, b); !more || err != nil {
				return err
			}
		}
	}
	_, err := s.offerSome(r, b)
	return err
}

// take adds the accepted ones of some documents to few.
func (s *sorter) take(r *run, docs []uint32) {
	f := &s.few
	if r.at.seg.Accept == nil {
		f.docs = append(f.docs, docs...)
		return
	}
	for _, doc := range docs {
		if r.at.accepts(doc) {
			f.docs = append(f.docs, doc)
		}
	}
}

// offerSome offers the documents of few, of a sheet, and forgets them. It reports whether later ones of the
// sheet can enter.
func (s *sorter) offerSome(r *run, b *bounded) (more bool, err error) {
	f := &s.few
	if len(f.docs) == 0 {
		return true, nil
	}
	lo := uint32(b.number) * sheetDocs
	if s.hopeless(b, f.docs[0], min(s.docs-lo, sheetDocs)+lo) {
		r.out.pruned = true
		return false, nil
	}
	if err := r.query.ctx.Err(); err != nil {
		return false, err
	}
	r.out.total += len(f.docs)
	r.out.work.DocsScored += int64(len(f.docs))
	err = s.offerFew(r)
	f.docs = f.docs[:0]
	return true, err
}

// offerSet offers the documents of a set, in the window.
func (s *sorter) offerSet(r *run, set *bitset) error {
	f := &s.few
	f.docs = f.docs[:0]
	for i, word := range set {
		for ; word != 0; word &= word - 1 {
			f.docs = append(f.docs, r.win.base+uint32(64*i+bits.TrailingZeros64(word)))
		}
	}
	return s.offerFew(r)
}

// offerFew offers the documents of few, in the window.
func (s *sorter) offerFew(r *run) error {
	f, h := &s.few, &s.heap
	for len(f.codes) < len(s.comps) {
		f.codes = append(f.codes, nil)
	}
	lo, hi := s.window()
	for i := range s.comps {
		if len(f.docs) == 0 {
			return nil
		}
		if err := s.loadFew(r, i); err != nil {
			return err
		}
		if i == 0 && len(s.comps) > 1 {
			f.keep(lo, hi)
		}
	}
	for d, doc := range f.docs {
		if code := f.codes[0][d]; code < lo || code > hi {
			continue
		}
		for i := range h.n {
			h.codes[i] = f.codes[i][d]
		}
		h.docs[0], h.score[0], h.known[0] = s.base+doc, 0, false
		if s.scored {
			h.score[0] = r.win.scores[doc%tileDocs]
		}
		if h.offer() {
			_, hi = s.window()
		}
	}
	return s.err
}

// keep drops the documents whose codes of the first component are not in lo..hi.
func (f *fewKeys) keep(lo, hi uint64) {
	n := 0
	for d, code := range f.codes[0] {
		f.docs[n], f.codes[0][n] = f.docs[d], code
		if code >= lo && code <= hi {
			n++
		}
	}
	f.docs, f.codes[0] = f.docs[:n], f.codes[0][:n]
}

// loadFew reads the codes of component i of the documents of few.
func (s *sorter) loadFew(r *run, i int) error {
	c, f := &s.comps[i], &s.few
	n := len(f.docs)
	codes := slices.Grow(f.codes[i][:0], n)[:n]
	f.codes[i] = codes
	switch {
	case c.kind == idCode:
		clear(codes)
		return nil
	case c.kind == scoreCode:
		for d, doc := range f.docs {
			codes[d] = c.scoreCode(uint64(r.win.scores[doc%tileDocs]))
		}
		return nil
	case c.kind == idPlaceCode:
		for d, doc := range f.docs {
			place, err := c.ids.IDPlace(doc)
			if err != nil {
				return s.fail(r, err)
			}
			codes[d] = c.code(uint64(place))
		}
		return nil
	case c.column == nil:
		for d := range codes {
			codes[d] = c.missing
		}
		return nil
	}
	f.have = slices.Grow(f.have[:0], n)[:n]
	if err := c.column.Gather(f.docs, c.pick(), codes, f.have); err != nil {
		return s.fail(r, err)
	}
	if c.kind == valueCode && !c.hasMissing {
		for d, key := range codes {
			codes[d] = c.code(key)
		}
		return nil
	}
	for d, have := range f.have {
		switch {
		case c.kind == missingCode:
			codes[d] = c.flag(!have)
		case have && c.kind == distanceCode:
			codes[d] = c.distanceOf(c.from.ToKey(codes[d]))
		case have:
			codes[d] = c.code(codes[d])
		default:
			codes[d] = c.missing
		}
	}
	return nil
}
