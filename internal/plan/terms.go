package plan

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/internal/cache"
	"github.com/riffle-search/riffle/internal/dictionary"
	"github.com/riffle-search/riffle/postings"
	"github.com/riffle-search/riffle/segment"
)

// termsAtOnce is how many terms of each segment are gathered before they are merged.
const termsAtOnce = 1024

// errEnough ends a visit of terms.
var errEnough = errors.New("enough terms")

// EachTerm calls yield with the terms of a field that begin with a prefix, which are texts, in the
// order of their bytes, and with the number of documents that have them, deleted ones included. It
// stops when yield returns false.
func (rw *Rewriter) EachTerm(ctx context.Context, field, prefix string, yield func(term string, docs uint64) bool) error {
	prefix, err := rw.normalized("Terms", field, prefix, false)
	if err != nil {
		return err
	}
	r := termRange{from: []byte(prefix), to: dictionary.Successor([]byte(prefix))}.texts()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		docs := map[string]uint64{}
		last, more := "", false // all segments have been read up to last, where there are more
		for i := range rw.index.Segments() {
			read, end, err := rw.someTerms(i, field, r)
			if err != nil {
				return err
			}
			if end && (!more || read[len(read)-1].term < last) {
				last, more = read[len(read)-1].term, true
			}
			for _, t := range read {
				docs[t.term] += uint64(t.docFreq)
			}
		}
		terms := make([]string, 0, len(docs))
		for term := range docs {
			if !more || term <= last {
				terms = append(terms, term)
			}
		}
		slices.Sort(terms)
		for _, term := range terms {
			if !yield(term, docs[term]) {
				return nil
			}
		}
		if !more {
			return nil
		}
		r.from = append([]byte(last), 0)
	}
}

// CheckTexts checks that a field can have terms that are texts. part names the call in an error.
func (rw *Rewriter) CheckTexts(part, field string) error {
	_, err := rw.normalized(part, field, "", true)
	return err
}

// someTerms returns the first terms of a segment in a range, ascending, and whether there are more.
func (rw *Rewriter) someTerms(number int, field string, r termRange) (terms []expansion, more bool, err error) {
	err = rw.index.Matching(number, field, r, func(m *segment.Match) error {
		n, err := m.Postings()
		if err != nil {
			return err
		}
		if n > 0 {
			terms = append(terms, expansion{term: string(m.Term), docFreq: n})
		}
		if m.Ascending() && len(terms) > termsAtOnce {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, false, err
	}
	slices.SortFunc(terms, func(a, b expansion) int { return strings.Compare(a.term, b.term) })
	if len(terms) > termsAtOnce {
		return terms[:termsAtOnce], true, nil
	}
	return terms, false, nil
}

// CountTerms calls visit with each term of a field that begins with a prefix, which are texts, and with
// the numbers of documents that have it: of those in a set, and of all, deleted ones included. The sets are
// of segments, by document; one without documents is passed over. A term comes once for each segment, and
// in no particular order.
func (rw *Rewriter) CountTerms(ctx context.Context, field, prefix string, sets [][]uint64, visit func(term []byte, matching, all int) error) error {
	prefix, err := rw.normalized("Terms", field, prefix, false)
	if err != nil {
		return err
	}
	r := termRange{from: []byte(prefix), to: dictionary.Successor([]byte(prefix))}.texts()
	for i, set := range sets {
		if !slices.ContainsFunc(set, func(word uint64) bool { return word != 0 }) {
			continue
		}
		c := segment.Counter{Set: set}
		var cached []*cache.List
		c.Opened = func(term []byte) *postings.List {
			l := rw.index.Cached(i, field, term)
			if l == nil {
				return nil
			}
			cached = append(cached, l)
			return l.Postings
		}
		seen := 0
		err := rw.index.Matching(i, field, r, func(m *segment.Match) error {
			if seen++; seen%256 == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			matching, err := c.Count(m)
			if err != nil {
				return err
			}
			all, err := m.Postings()
			if err != nil {
				return err
			}
			return visit(m.Term, matching, all)
		})
		rw.index.Settle(i, i+1, cached)
		if err != nil {
			return err
		}
	}
	return nil
}
