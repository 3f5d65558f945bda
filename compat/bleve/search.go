package bleve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/riffle-search/riffle"
)

// Search answers a request in bleve's JSON. An error names the place in the request.
func (a Alias) Search(ctx context.Context, request []byte) (*Result, error) {
	if len(a) == 0 {
		return nil, ErrNoIndex
	}
	begin := time.Now()
	r, err := a[0].m.parseRequest(request)
	if err != nil {
		return nil, fmt.Errorf("bleve: %w", err)
	}
	res := &Result{Status: Status{Total: len(a), Successful: len(a)}, Hits: []*Hit{}}
	if r.facets {
		res.Facets = map[string]any{}
	}
	for i, x := range a {
		s, err := x.engine.Snapshot()
		if err != nil {
			return nil, err
		}
		defer s.Close()
		q, hits, total, err := x.best(ctx, s, r)
		if err != nil {
			return nil, err
		}
		res.Total += total
		begin := len(res.Hits)
		for place, h := range hits {
			res.MaxScore = max(res.MaxScore, h.Score)
			res.Hits = append(res.Hits, &Hit{Index: x.name, ID: h.ID, Score: h.Score, order: [2]int{i, place}, m: x.m, snapshot: s})
		}
		if err := x.addTerms(ctx, s, r, q, res.Hits[begin:]); err != nil {
			return nil, err
		}
	}
	res.Hits = r.page(res.Hits)
	for _, h := range res.Hits {
		if err := h.finish(ctx, r); err != nil {
			return nil, err
		}
	}
	res.Took = time.Since(begin).Nanoseconds()
	return res, nil
}

// best returns the query, and the hits of an index that may be on the page, and how many there are in all. If there
// are any, the best one is among them.
func (x *Index) best(ctx context.Context, s *riffle.Snapshot, r *request) (q riffle.Query, _ []riffle.Hit, total int, err error) {
	q, err = r.query.query(&compiler{ctx, s})
	if err != nil || q == nil {
		return nil, nil, 0, err
	}
	if r.unscored {
		q = riffle.ConstantScore{Query: q, Score: 0}
	}
	want := r.from + r.size
	if !r.byScore() {
		if want, err = s.Count(ctx, q); err != nil || want == 0 {
			return nil, nil, 0, err
		}
	}
	k := max(want, 1)
	if r.tieBroken() {
		k++ // to see whether the next one ties
	}
	for {
		if k > riffle.MaxK {
			return nil, nil, 0, fmt.Errorf("bleve: sort: at most %d hits are put in order", riffle.MaxK)
		}
		res, err := s.Search(ctx, q, &riffle.SearchOptions{K: k, ExactTotal: true})
		if err != nil {
			return nil, nil, 0, err
		}
		n := len(res.Hits)
		if !r.tieBroken() || want == 0 || n < k || res.Hits[n-1].Score < res.Hits[want-1].Score {
			return q, res.Hits, res.Total, nil
		}
		k *= 2
	}
}

// compare orders hits by the sort keys, then by their place in the indexes.
func (r *request) compare(a, b *Hit) int {
	for i, key := range r.sort {
		c := cmp.Compare(a.Score, b.Score)
		switch {
		case key.id:
			c = cmp.Compare(a.ID, b.ID)
		case key.field != "":
			c = cmp.Compare(a.terms[i], b.terms[i])
		}
		if key.descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// page returns the hits of the page, in order.
func (r *request) page(hits []*Hit) []*Hit {
	slices.SortFunc(hits, func(a, b *Hit) int { return cmp.Or(r.compare(a, b), slices.Compare(a.order[:], b.order[:])) })
	switch {
	case r.after != nil:
		mark := r.mark(r.after)
		hits = slices.DeleteFunc(hits, func(h *Hit) bool { return r.compare(h, mark) <= 0 })
	case r.before != nil:
		mark := r.mark(r.before)
		hits = slices.DeleteFunc(hits, func(h *Hit) bool { return r.compare(h, mark) >= 0 })
		hits = hits[max(0, len(hits)-r.size):]
	}
	hits = hits[min(r.from, len(hits)):]
	return hits[:min(r.size, len(hits))]
}

// mark returns a hit with sort keys.
func (r *request) mark(keys []string) *Hit {
	h := Hit{terms: make([]string, len(keys))}
	for i, key := range r.sort { // request.order has checked the keys
		switch {
		case key.id:
			h.ID = cmp.Or(h.ID, keys[i]) // a second one orders nothing
		case key.field != "":
			h.terms[i], _ = key.encode(keys[i])
		default:
			h.Score, _ = strconv.ParseFloat(keys[i], 64)
		}
	}
	return &h
}

// finish adds to a hit what the request asks for.
func (h *Hit) finish(ctx context.Context, r *request) error {
	for i, key := range r.sort {
		k := "_score"
		decoded := k
		switch {
		case key.id:
			k, decoded = h.ID, h.ID
		case key.field != "":
			k, decoded = h.terms[i], key.decode(h.terms[i])
		}
		if h.Sort = append(h.Sort, k); len(r.sort) > 1 || key.id || key.field != "" { // as bleve, which makes no values of the score alone
			h.DecodedSort = append(h.DecodedSort, decoded)
		}
	}
	// bleve's phrases have locations, whether or not the request asks for them.
	locate := r.highlight != nil || r.locations || hasPhrase(r.query)
	if len(r.fields) == 0 && !locate {
		return nil
	}
	fields, err := h.snapshot.Get(ctx, h.ID)
	if err != nil {
		return err
	}
	values, err := decodeFields(fields)
	if err != nil {
		return fmt.Errorf("bleve: document %q: %w", h.ID, err)
	}
	h.load(r.fields, values)
	if !locate {
		return nil
	}
	d := &located{m: h.m, id: h.ID, values: values, tokens: map[*value][]token{}, phrases: r.highlight == nil && !r.locations}
	h.Locations = d.locations(r.query)
	if r.highlight == nil {
		return nil
	}
	names := r.highlight.Fields
	if names == nil {
		for name := range h.Locations {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if f, ok := d.fragmentOf(name, h.Locations[name], r.highlight.how); ok {
			if h.Fragments == nil {
				h.Fragments = map[string][]string{}
			}
			h.Fragments[name] = []string{f}
		}
	}
	return nil
}

// load adds the stored values of the fields that are named; "*" names all.
func (h *Hit) load(names []string, values []*value) {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		for _, v := range values {
			if v.stored && (name == "*" || v.field == name) {
				h.add(v.field, v.answer())
			}
		}
	}
}
