package bleve

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// A Facet has the values of a field of the documents found, and how many documents have each.
type Facet struct {
	Field   string `json:"field"`
	Total   int    `json:"total"`   // values: of a document, each term counts once; of ranges, those that lie in one, for each
	Missing int    `json:"missing"` // documents without a term that counts; of ranges, without any
	Other   int    `json:"other"`   // of Total, what is not listed

	// One of these. Most documents first, then in the order of terms or names.
	Terms         []TermFacet         `json:"terms"`
	NumericRanges []NumericRangeFacet `json:"numeric_ranges,omitempty"`
	DateRanges    []DateRangeFacet    `json:"date_ranges,omitempty"`

	ofTerms bool
}

// A TermFacet is a term and the number of its documents.
type TermFacet struct {
	Term  string `json:"term"`
	Count int    `json:"count"`
}

// A NumericRangeFacet is a range of numbers, and how many lie there.
type NumericRangeFacet struct {
	Name  string   `json:"name"`
	Min   *float64 `json:"min,omitempty"`
	Max   *float64 `json:"max,omitempty"`
	Count int      `json:"count"`
}

// A DateRangeFacet is a range of dates, and how many lie there.
type DateRangeFacet struct {
	Name  string  `json:"name"`
	Start *string `json:"start,omitempty"`
	End   *string `json:"end,omitempty"`
	Count int     `json:"count"`
}

// MarshalJSON writes the facet as bleve does, which has null for a facet without terms.
func (f *Facet) MarshalJSON() ([]byte, error) {
	type facet Facet
	if f.ofTerms {
		return json.Marshal((*facet)(f))
	}
	return json.Marshal(&struct {
		*facet
		Terms any `json:"terms,omitempty"`
	}{facet: (*facet)(f)})
}

// A tally counts the terms of a facet, of any number of indexes.
type tally struct {
	*facetRequest
	total, missing int
	terms          map[string]int
	inRange        []int // parallel to the ranges
}

// add counts the documents that have a term.
func (t *tally) add(term string, documents int) {
	if t.ranges == nil {
		if t.total += documents; t.accepts(term) {
			t.terms[term] += documents
		}
		return
	}
	n, ok := wholeNumber(term)
	if !ok {
		return
	}
	for i := range t.ranges {
		if t.ranges[i].in(n, t.dates) {
			t.inRange[i] += documents
			t.total += documents
		}
	}
}

// addDocument counts a document, of whose terms each comes once.
func (t *tally) addDocument(terms []string) {
	for _, term := range terms {
		t.add(term, 1)
	}
	if t.ranges == nil && !slices.ContainsFunc(terms, t.accepts) || len(terms) == 0 {
		t.missing++
	}
}

// result returns the facet with those that most documents have.
func (t *tally) result() *Facet {
	f := &Facet{Field: t.field, Total: t.total, Missing: t.missing, Other: t.total}
	if t.ranges == nil {
		f.ofTerms = true
		for term, n := range t.terms {
			f.Terms = append(f.Terms, TermFacet{term, n})
		}
		slices.SortFunc(f.Terms, func(a, b TermFacet) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Term, b.Term)) })
		f.Terms = f.Terms[:min(t.size, len(f.Terms))]
		for _, c := range f.Terms {
			f.Other -= c.Count
		}
		return f
	}
	var found []int
	for i, n := range t.inRange {
		if n > 0 {
			found = append(found, i)
		}
	}
	slices.SortFunc(found, func(a, b int) int {
		return cmp.Or(t.inRange[b]-t.inRange[a], cmp.Compare(t.ranges[a].name, t.ranges[b].name))
	})
	for _, i := range found[:min(t.size, len(found))] {
		g, n := &t.ranges[i], t.inRange[i]
		f.Other -= n
		if t.dates {
			f.DateRanges = append(f.DateRanges, DateRangeFacet{g.name, dateText(g.start), dateText(g.end), n})
		} else {
			f.NumericRanges = append(f.NumericRanges, NumericRangeFacet{g.name, g.min, g.max, n})
		}
	}
	return f
}

func dateText(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.Format(time.RFC3339Nano)
	return &text
}

// tallies returns a tally for each facet of a request.
func (r *request) tallies() map[string]*tally {
	all := map[string]*tally{}
	for name, f := range r.facets {
		all[name] = &tally{facetRequest: f, terms: map[string]int{}, inRange: make([]int, len(f.ranges))}
	}
	return all
}

// termsOf returns the terms that a document has in a field, ascending, each once.
func (m *Mapping) termsOf(field, id string, values []*value) (terms []string) {
	if field == idField {
		return []string{id}
	}
	for _, v := range values {
		if v.field == field || field == allField && v.inAll {
			for _, t := range m.tokens(v) {
				terms = append(terms, t.term)
			}
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}
