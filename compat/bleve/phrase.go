package bleve

import (
	"slices"

	"github.com/riffle-search/riffle"
)

// phrase matches documents in which terms stand one after another in a value of a field. Like bleve, it
// does not look at values without include_term_vectors.
type phrase struct {
	field string
	terms [][]string // the alternatives at each place; none where any term may stand
	edits []int      // of the terms, if they are fuzzy; autoFuzziness for each by its length
	boost float64
}

// autoFuzziness stands for autoEdits of each term.
const autoFuzziness = -1

// phraseNode makes a phrase. Empty terms are places where any term may stand.
func phraseNode(field string, terms [][]string, fuzziness int, boost float64) (node, error) {
	n := phrase{field: field, boost: boost}
	for _, alternatives := range terms {
		place := []string{}
		for _, t := range alternatives {
			if t != "" {
				place = append(place, t)
			}
			if _, err := n.alternative(t, fuzziness); err != nil {
				return nil, err
			}
		}
		n.terms = append(n.terms, place)
	}
	for len(n.terms) > 0 && len(n.terms[0]) == 0 {
		n.terms = n.terms[1:]
	}
	for len(n.terms) > 0 && len(n.terms[len(n.terms)-1]) == 0 {
		n.terms = n.terms[:len(n.terms)-1]
	}
	if fuzziness != 0 {
		n.edits = []int{fuzziness}
	}
	return n, nil
}

// alternative returns a node that finds a term of the phrase.
func (n phrase) alternative(t string, fuzziness int) (node, error) {
	if fuzziness == autoFuzziness {
		fuzziness = autoEdits(t)
	}
	return fuzzyNode(n.field, t, fuzziness, 0, n.boost)
}

// expanded returns a term, or the terms of the index that a fuzzy one stands for.
func (n phrase) expanded(c *compiler, t string) ([]string, error) {
	if n.edits == nil {
		return []string{t}, nil
	}
	alternative, err := n.alternative(t, n.edits[0])
	if err != nil {
		return nil, err
	}
	if f, ok := alternative.(fuzzy); ok {
		return f.similar(c, n.field)
	}
	return []string{t}, nil
}

func (n phrase) query(c *compiler) (riffle.Query, error) {
	if len(n.terms) == 0 || n.field == "" || n.field == idField { // ids have no places
		return nil, nil
	}
	q := riffle.Phrase{Field: n.field}
	for _, place := range n.terms {
		var found []string
		for _, t := range place {
			terms, err := n.expanded(c, t)
			if err != nil {
				return nil, err
			}
			found = append(found, terms...)
		}
		if len(found) == 0 && len(place) > 0 {
			return nil, nil
		}
		slices.Sort(found)
		q.Terms = append(q.Terms, slices.Compact(found))
	}
	if len(q.Terms) > 1 {
		return boosted(q, n.boost), nil
	}
	var b riffle.Bool
	for _, t := range q.Terms[0] {
		b.Should = append(b.Should, riffle.Term{Field: n.field, Value: t})
	}
	return boosted(one(b.Should, b), n.boost), nil
}

// locate follows every way through the places of the terms in each field that the query searches.
func (n phrase) locate(d *located, to []location) (bool, []location) {
	from := len(to)
	if len(n.terms) == 0 {
		return false, to
	}
	at := map[string]map[string][]location{} // field, then term of the phrase
	for _, place := range n.terms {
		for _, t := range place {
			accepts := func(found string) bool { return found == t }
			if n.edits != nil {
				if alternative, err := n.alternative(t, n.edits[0]); err == nil {
					if f, ok := alternative.(fuzzy); ok {
						accepts = f.accepts
					}
				}
			}
			_, found := d.find(n.field, accepts, nil)
			for _, l := range found {
				if at[l.field] == nil {
					at[l.field] = map[string][]location{}
				}
				if l.term = t; !slices.ContainsFunc(at[l.field][t], l.same) {
					at[l.field][t] = append(at[l.field][t], l)
				}
			}
		}
	}
	for _, terms := range at {
		to = follow(n.terms, terms, nil, to)
	}
	return len(to) > from, to
}

// hasPhrase reports whether a query has a phrase that a document may have to match.
func hasPhrase(n node) bool {
	switch n := n.(type) {
	case phrase:
		return true
	case all:
		return slices.ContainsFunc(n, hasPhrase)
	case some:
		return slices.ContainsFunc(n.clauses, hasPhrase)
	case boolean:
		return hasPhrase(n.must) || hasPhrase(n.should)
	}
	return false
}

// follow appends the locations of all paths that continue one.
func follow(places [][]string, at map[string][]location, path, to []location) []location {
	if len(places) == 0 {
		return append(to, path...)
	}
	skipped := 1
	for len(places[0]) == 0 { // never the last
		places, skipped = places[1:], skipped+1
	}
	for _, t := range places[0] {
		for _, l := range at[t] {
			if len(path) > 0 {
				last := path[len(path)-1]
				if !slices.Equal(last.places, l.places) || l.pos != last.pos+skipped {
					continue
				}
			}
			to = follow(places[1:], at, append(path[:len(path):len(path)], l), to)
		}
	}
	return to
}
