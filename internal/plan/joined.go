package plan

import (
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
// Its lists have only the documents that the rest of the phrase admits, and of an exact phrase only the
// places where it ends: to sort all of them would take most of the time.

// joinedMark begins the name of a joined term. No value is indexed as a term that begins so (see
// document.AppendTerm), nor as one that analyzers make.
const joinedMark = "\x00*"

// A joinedTerm says which terms are joined.
type joinedTerm struct {
	pattern *termPattern
	lead    *Clause // only documents that match it are needed

	// Of an exact phrase only the places so many positions after one of these terms are needed.
	after []string // nil for all places
	gap   uint32
}

// joinLists makes the lists of term t, which is a joined one, and counts its documents.
func (b *planner) joinLists(t int) error {
	term := &b.terms[t]
	pattern := term.joined.pattern.Pattern
	sets, limited, err := b.documentsOf(term.joined.pattern)
	if err != nil {
		return err
	}
	if len(limited) > 0 {
		pattern = limited[0].Pattern
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
			if l.Postings, err = b.joinedList(i, term, pattern, lead); err != nil {
				return err
			}
		}
		b.lists[i*len(b.terms)+t] = l
	}
	return nil
}

// joinedList joins the lists of the terms of a segment that a pattern picks, in some of its documents.
// It returns nil if these have none of the terms.
func (b *planner) joinedList(number int, t *planTerm, p segment.Pattern, within []uint64) (*postings.List, error) {
	if nextDocument(within, 0) < 0 {
		return nil, nil
	}
	var needed []uint64 // places: document and position
	if t.joined.after != nil {
		var err error
		if needed, err = b.placesOf(number, t.field, t.joined.after, within, nil); len(needed) == 0 || err != nil {
			return nil, err
		}
		for i := range needed {
			needed[i] += uint64(t.joined.gap)
		}
	}
	var scan postings.Scan
	var terms []string
	err := b.index.Matching(number, t.field, p, func(m *segment.Match) error {
		meets, err := m.Meets(within, &scan)
		if meets && err == nil {
			terms = append(terms, string(m.Term))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	places, err := b.placesOf(number, t.field, terms, within, needed)
	if err != nil {
		return nil, err
	}
	return b.listOf(number, t.field, places)
}

// placesOf returns the places of some terms in some documents of a segment, ascending: all of them, or
// those that are needed.
func (b *planner) placesOf(number int, field string, terms []string, within, needed []uint64) (places []uint64, err error) {
	lists := make([]*cache.List, 0, len(terms))
	defer func() { b.index.Settle(number, number+1, lists) }()
	for _, term := range terms {
		if err := b.ctx.Err(); err != nil {
			return nil, err
		}
		l, err := b.index.List(number, field, term)
		if err != nil {
			return nil, err
		}
		if lists = append(lists, l); l.Postings == nil {
			continue
		}
		if places, err = appendPlaces(places, l.Postings, within, needed); err != nil {
			return nil, b.index.Segment(number).At(err)
		}
	}
	if len(terms) > 1 {
		slices.Sort(places)
	}
	return slices.Compact(places), nil
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

// appendPlaces appends the places of a list in some documents: all of them, or those that are needed.
func appendPlaces(places []uint64, l *postings.List, within, needed []uint64) ([]uint64, error) {
	var docs [postings.BlockSize]uint32
	var positions postings.Positions
	var own []uint32
	positions.Reset(l)
	next, at := nextDocument(within, 0), 0
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
			for _, position := range own {
				place := uint64(docs[i])<<32 | uint64(position)
				if needed != nil {
					if at += seekPlace(needed[at:], place); at == len(needed) {
						return places, nil
					}
					if needed[at] != place {
						continue
					}
				}
				places = append(places, place)
			}
		}
		next = nextDocument(within, l.Last[b]+1)
	}
	return places, nil
}

// seekPlace returns how many of some places, which ascend, are before one. It gallops, because that is
// often near.
func seekPlace(places []uint64, place uint64) int {
	reach := 1
	for reach < len(places) && places[reach-1] < place {
		reach *= 2
	}
	n, _ := slices.BinarySearch(places[reach/2:min(reach, len(places))], place)
	return reach/2 + n
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
