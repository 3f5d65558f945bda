package plan

import (
	"context"
	"slices"

	"github.com/riffle-search/riffle/internal/dictionary"
	"github.com/riffle-search/riffle/segment"
)

// A Suggestion is riffle.Suggestion.
type Suggestion struct {
	Term      string
	Documents uint64
	Edits     int
}

// Suggest returns the terms of a field that begin with a word, those in most documents first, and
// then those that Fuzzy finds.
func (rw *Rewriter) Suggest(ctx context.Context, q Fuzzy, limit int) ([]Suggestion, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	prefix, err := rw.normalized("Suggest", q.Field, q.Term, false)
	if err != nil {
		return nil, err
	}
	r := termRange{from: []byte(prefix), to: dictionary.Successor([]byte(prefix))}.texts()
	completions, err := rw.mostFrequent(ctx, q.Field, r, limit)
	if err != nil {
		return nil, err
	}
	var out []Suggestion
	known := map[string]bool{}
	for _, t := range completions {
		out = append(out, Suggestion{t.Term, uint64(t.Documents), 0})
		known[t.Term] = true
	}
	if len(out) == limit || q.Edits == NoEdits {
		return out, nil
	}
	found, err := rw.fuzzyTerms(q)
	if err != nil {
		return nil, err
	}
	for _, e := range found {
		if len(out) < limit && !known[e.term] {
			out = append(out, Suggestion{e.term, uint64(e.docFreq), e.edits})
		}
	}
	return out, nil
}

// mostFrequent returns those n terms of a pattern that most documents of the index have, in the order of
// segment.MoreFrequent.
//
// It reads the first terms of each segment by its own frequencies, and asks the others how many
// documents have them. A term that none of the segments has named can have no more documents than the
// last ones named have together. Where that is not few enough, it reads more.
func (rw *Rewriter) mostFrequent(ctx context.Context, field string, p termMatcher, n int) ([]segment.TermCount, error) {
	for each := n; ; each *= 4 {
		named := make([][]segment.TermCount, rw.index.Segments())
		others := 0 // documents that any other term has at most
		for i := range named {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			var err error
			if named[i], err = rw.index.Frequent(i, field, p, each); err != nil {
				return nil, err
			}
			if len(named[i]) == each {
				others += named[i][each-1].Documents
			}
		}
		if len(named) == 1 {
			return named[0], nil
		}
		found, err := rw.totals(field, named, each)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(found, segment.MoreFrequent)
		if others == 0 || len(found) >= n && found[n-1].Documents > others {
			return found[:min(n, len(found))], nil
		}
	}
}

// totals returns the terms that segments have named, each with its documents in all of them. A segment
// that has named fewer than each has no more.
func (rw *Rewriter) totals(field string, named [][]segment.TermCount, each int) (found []segment.TermCount, err error) {
	documents := map[string]int{}
	for _, terms := range named {
		for _, t := range terms {
			documents[t.Term] += t.Documents
		}
	}
	for i, terms := range named {
		if len(terms) < each {
			continue
		}
		own := make(map[string]bool, len(terms))
		for _, t := range terms {
			own[t.Term] = true
		}
		var ask termList
		for term := range documents {
			if !own[term] {
				ask = append(ask, term)
			}
		}
		slices.Sort(ask)
		err := rw.index.Matching(i, field, ask, func(m *segment.Match) error {
			count, err := m.Postings()
			documents[string(m.Term)] += count
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for term, count := range documents {
		found = append(found, segment.TermCount{Term: term, Documents: count})
	}
	return found, nil
}
