package bleve

import (
	"cmp"
	"slices"
)

// A located is a document whose matches are looked for: its values, analyzed when they are first
// needed.
type located struct {
	m      *Mapping
	id     string
	values []*value
	tokens map[*value][]token

	phrases bool // only locations of phrases are wanted
}

// match is find for a query that is no phrase.
func (d *located) match(field string, accepts func(string) bool, to []location) (found bool, _ []location) {
	found, all := d.find(field, accepts, to)
	if d.phrases {
		return found, to
	}
	return found, all
}

// A location is a place of a term.
type location struct {
	field, term string
	pos         int
	start, end  int
	places      []uint64
}

// same reports whether two locations of one term are equal.
func (l location) same(k location) bool {
	return l.pos == k.pos && l.start == k.start && l.end == k.end && slices.Equal(l.places, k.places)
}

// valuesOf returns the values of a field.
func (d *located) valuesOf(field string) (out []*value) {
	for _, v := range d.values {
		if v.field == field || field == allField && v.inAll {
			out = append(out, v)
		}
	}
	return out
}

// find reports whether a field has a term that is accepted, and appends its places.
func (d *located) find(field string, accepts func(string) bool, to []location) (found bool, _ []location) {
	if field == idField {
		return accepts(d.id), to
	}
	for _, v := range d.valuesOf(field) {
		tokens, ok := d.tokens[v]
		if !ok {
			tokens = d.m.tokens(v)
			d.tokens[v] = tokens
		}
		for _, t := range tokens {
			if !accepts(t.term) {
				continue
			}
			found = true
			if v.vectors {
				to = append(to, location{v.field, t.term, t.pos, t.start, t.end, v.places})
			}
		}
	}
	return found, to
}

// A Location is a place of a term in a document.
type Location struct {
	Pos            int      `json:"pos"`   // position in the value, from 1
	Start          int      `json:"start"` // of the term's bytes
	End            int      `json:"end"`
	ArrayPositions []uint64 `json:"array_positions"` // number of the value in its list, and of the list in lists around it
}

// Locations are places of terms by field and term.
type Locations map[string]map[string][]Location

// locations returns where a query matches a document, each place once, in order.
func (d *located) locations(n node) Locations {
	_, found := n.locate(d, nil)
	slices.SortStableFunc(found, func(a, b location) int {
		return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.term, b.term), slices.Compare(a.places, b.places),
			cmp.Compare(a.pos, b.pos), cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	var out Locations
	for i, l := range found {
		if i > 0 && l.field == found[i-1].field && l.term == found[i-1].term && l.same(found[i-1]) {
			continue
		}
		if out == nil {
			out = Locations{}
		}
		if out[l.field] == nil {
			out[l.field] = map[string][]Location{}
		}
		out[l.field][l.term] = append(out[l.field][l.term], Location{l.pos, l.start, l.end, l.places})
	}
	return out
}
