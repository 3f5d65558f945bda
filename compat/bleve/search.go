package bleve

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
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
	tallies := r.tallies()
	for i, x := range a {
		s, err := x.engine.Snapshot()
		if err != nil {
			return nil, err
		}
		defer s.Close()
		q, err := r.query.query(&compiler{ctx, s})
		if err != nil {
			return nil, err
		}
		if q == nil {
			continue
		}
		if r.unscored {
			q = riffle.ConstantScore{Query: q, Score: 0}
		}
		f := &finder{index: x, number: i, snapshot: s, request: r, query: q, tallies: tallies}
		if err := f.find(ctx); err != nil {
			return nil, err
		}
		res.Total += f.total
		res.MaxScore = max(res.MaxScore, f.best)
		res.Hits = append(res.Hits, f.hits...)
	}
	res.Hits = r.page(res.Hits)
	if err := r.addScores(ctx, res.Hits); err != nil {
		return nil, err
	}
	for _, h := range res.Hits {
		if err := h.finish(ctx, r); err != nil {
			return nil, err
		}
	}
	if r.facets != nil {
		res.Facets = make(map[string]*Facet, len(tallies))
		for name, t := range tallies {
			res.Facets[name] = t.result()
		}
	}
	res.Took = time.Since(begin).Nanoseconds()
	return res, nil
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

// put puts hits in order.
func (r *request) put(hits []*Hit) {
	slices.SortFunc(hits, func(a, b *Hit) int { return cmp.Or(r.compare(a, b), slices.Compare(a.order[:], b.order[:])) })
}

// first returns the first hits in the direction in which they are wanted: from the one that they precede
// backwards. Equal ones are in the order of the index in both.
func (r *request) first(n int, hits []*Hit) []*Hit {
	slices.SortFunc(hits, func(a, b *Hit) int { return cmp.Or(r.forward(a, b), slices.Compare(a.order[:], b.order[:])) })
	n = min(n, len(hits))
	clear(hits[n:])
	return hits[:n]
}

// page returns the hits of the page, in order, of those that each index has for it.
func (r *request) page(hits []*Hit) []*Hit {
	hits = r.first(r.wanted(), hits)
	r.put(hits)
	return hits[min(r.from, len(hits)):]
}

// addScores gives hits of a page their scores, unless they were found by scores.
func (r *request) addScores(ctx context.Context, hits []*Hit) error {
	if r.unscored || r.byScore() {
		return nil
	}
	of := map[*finder]map[string]*Hit{}
	for _, h := range hits {
		if of[h.finder] == nil {
			of[h.finder] = map[string]*Hit{}
		}
		of[h.finder][h.ID] = h
	}
	for f, byID := range of {
		for ids := range slices.Chunk(slices.Sorted(maps.Keys(byID)), riffle.MaxK) {
			q := riffle.Bool{Must: []riffle.Query{f.query}, Filter: []riffle.Query{riffle.IDs{Values: ids}}}
			res, err := f.snapshot.Search(ctx, q, &riffle.SearchOptions{K: len(ids)})
			if err != nil {
				return err
			}
			for _, h := range res.Hits {
				byID[h.ID].Score = h.Score
			}
		}
	}
	return nil
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
	fields, err := h.finder.snapshot.Get(ctx, h.ID)
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
	d := &located{m: h.finder.index.m, id: h.ID, values: values, tokens: map[*value][]token{}, phrases: r.highlight == nil && !r.locations}
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
