package plan

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// A joined term is a term of a plan that stands for all terms of a field which a pattern picks, such as
// the words that begin as the last word of a phrase does. Its lists are made for one query, with the
// positions of all those terms together, so that executors see a term like any other. It has documents
// and a frequency in the index as if it had been indexed: those of any of its terms.
//
// Most of the work is reading positions, so its lists have only the documents that the rest of the
// phrase admits.

// joinedMark begins the name of a joined term. No value is indexed as a term that begins so (see
// document.AppendTerm), nor as one that analyzers make.
const joinedMark = "\x00*"

// A joinedTerm says which terms are joined.
type joinedTerm struct {
	pattern *termPattern
	lead    *Clause // only documents that match it are needed
}

// joinLists makes the lists of term t, which is a joined one, and counts its documents.
func (b *planner) joinLists(t int) error {
	term := &b.terms[t]
	sets, pattern, err := b.documentsOf(term.joined.pattern)
	if err != nil {
		return err
	}
	m := &filterMaker{ctx: b.ctx, index: b.index, sim: b.sim}
	for i, set := range sets {
		term.docFreq += uint64(set.Count)
		l := new(cache.List)
		if set.Count > 0 {
			lead, err := m.match(i, filterOf([]Clause{*term.joined.lead}, nil))
			if err != nil {
				return err
			}
			for w := range lead {
				lead[w] &= set.Bits[w]
			}
			if l.Postings, err = b.joinedList(i, term.field, pattern, lead); err != nil {
				return err
			}
		}
		b.lists[i*len(b.terms)+t] = l
	}
	return nil
}

// joinedList joins the lists of the terms of a segment that a pattern picks, in some of its documents.
// It returns nil if these have none of the terms.
func (b *planner) joinedList(number int, field string, p segment.Pattern, within []uint64) (*postings.List, error) {
	if nextDocument(within, 0) < 0 {
		return nil, nil
	}
	var places []uint64 // document and position
	var scan postings.Scan
	var terms [][]byte
	err := b.index.Matching(number, field, p, func(m *segment.Match) error {
		meets, err := m.Meets(within, &scan)
		if meets && err == nil {
			terms = append(terms, bytes.Clone(m.Term))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	lists := make([]*cache.List, 0, len(terms))
	defer func() { b.index.Settle(lists) }()
	for _, term := range terms {
		if err := b.ctx.Err(); err != nil {
			return nil, err
		}
		l, err := b.index.List(number, field, string(term))
		if err != nil {
			return nil, err
		}
		if lists = append(lists, l); l.Postings == nil {
			continue
		}
		if places, err = appendPlacesWithin(places, l.Postings, within); err != nil {
			return nil, b.index.Segment(number).At(err)
		}
	}
	slices.Sort(places)
	return b.listOf(number, field, slices.Compact(places))
}

// nextDocument returns the first document of a set from one on, or -1.
func nextDocument(set []uint64, doc uint32) int64 {
	i := int(doc / 64)
	if i >= len(set) {
		return -1
	}
	word := set[i] >> (doc % 64) << (doc % 64)
	for word == 0 {
		if i++; i == len(set) {
			return -1
		}
		word = set[i]
	}
	return int64(64*i + bits.TrailingZeros64(word))
}

// appendPlacesWithin appends the documents and positions of a list in some documents.
func appendPlacesWithin(places []uint64, l *postings.List, within []uint64) ([]uint64, error) {
	var docs [postings.BlockSize]uint32
	var positions postings.Positions
	var own []uint32
	positions.Reset(l)
	next := nextDocument(within, 0)
	for b := 0; next >= 0; b++ {
		if b = l.Seek(b, uint32(next)); b == l.Blocks() {
			break
		}
		n, err := l.Docs(b, &docs)
		if err != nil {
			return nil, err
		}
		for i := postings.SeekIn(&docs, n, uint32(next)); i < n; i++ {
			if docs[i]/64 >= uint32(len(within)) || within[docs[i]/64]>>(docs[i]%64)&1 == 0 {
				continue
			}
			if err := positions.Load(b); err != nil {
				return nil, err
			}
			own = positions.Append(own[:0], i)
			for _, at := range own {
				places = append(places, uint64(docs[i])<<32|uint64(at))
			}
		}
		next = nextDocument(within, l.Last[b]+1)
	}
	return places, nil
}

// listOf makes a list of documents and positions, which ascend.
func (b *planner) listOf(number int, field string, places []uint64) (*postings.List, error) {
	if len(places) == 0 {
		return nil, nil
	}
	norms, lazy, err := b.index.Norms(number, field)
	if err != nil {
		return nil, err
	}
	list := postings.Builder{Positions: true}
	var own []uint32
	for i := 0; i < len(places); {
		doc := [1]uint32{uint32(places[i] >> 32)}
		own = own[:0]
		for ; i < len(places) && uint32(places[i]>>32) == doc[0]; i++ {
			own = append(own, uint32(places[i]))
		}
		code := uint8(1)
		if norms != nil {
			if err := lazy.Need(doc[:]); err != nil {
				return nil, b.index.Segment(number).At(err)
			}
			code = norms[doc[0]]
		}
		list.AddPositions(doc[0], own, code)
	}
	return list.View(b.index.Segment(number).Reader().Docs()), nil
}
