package bleve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/riffle-search/riffle"
)

// A finder finds the documents of one index for a request.
type finder struct {
	index    *Index
	number   int // of the index, in the alias
	snapshot *riffle.Snapshot
	request  *request
	query    riffle.Query

	hits    []*Hit // that may be on the page
	total   int
	best    float64 // score
	tallies map[string]*tally
	counted map[string]bool // tallies that are complete
}

// find sets the hits and counts the terms of facets.
func (f *finder) find(ctx context.Context) error {
	r := f.request
	native := r.native()
	if native {
		if err := f.inOrder(ctx); err != nil {
			return err
		}
	} else if keys, err := f.columnKeys(ctx); err != nil {
		return err
	} else if keys != nil {
		native = true
		if err := f.byColumns(ctx, keys); err != nil {
			return err
		}
	}
	var visits []visit
	if !native {
		visits = append(visits, f.keep)
	} else if err := f.countTerms(ctx); err != nil {
		return err
	}
	if len(f.left()) > 0 {
		visits = append(visits, f.count)
	}
	if len(visits) > 0 {
		n, err := f.each(ctx, visits)
		if err != nil {
			return err
		}
		f.total = n
		if !native {
			f.trim()
		}
	}
	if r.byScore() && native || f.total == 0 {
		return nil
	}
	if r.unscored {
		return nil
	}
	res, err := f.snapshot.Search(ctx, f.query, &riffle.SearchOptions{K: 1})
	if err == nil && len(res.Hits) > 0 {
		f.best = res.Hits[0].Score
	}
	return err
}

// add adds a hit.
func (f *finder) add(h *riffle.Hit, place int, terms []string) {
	f.hits = append(f.hits, &Hit{Index: f.index.name, ID: h.ID, Score: h.Score, terms: terms, order: [2]int{f.number, place}, finder: f})
}

// native reports whether riffle orders the hits of a request: by scores and ids, or not at all.
func (r *request) native() bool {
	return r.after == nil && r.before == nil && !r.byField()
}

// inOrder finds the first hits of a native order, and how many there are in all.
func (f *finder) inOrder(ctx context.Context) error {
	r, q := f.request, f.query
	o := &riffle.SearchOptions{ExactTotal: true}
	for _, k := range r.sort {
		o.Sort = append(o.Sort, riffle.SortKey{ID: k.id, Score: !k.id, Desc: k.descending})
	}
	if len(r.sort) == 0 {
		q = riffle.ConstantScore{Query: q, Score: 0} // in the order of the index
	}
	want := r.wanted()
	for {
		o.K = max(1, min(want-len(f.hits), riffle.MaxK))
		res, err := f.snapshot.Search(ctx, q, o)
		if err != nil {
			return err
		}
		f.total = res.Total
		if f.hits == nil && r.byScore() && len(res.Hits) > 0 {
			f.best = res.Hits[0].Score
		}
		for i := range res.Hits {
			if len(f.hits) < want {
				f.add(&res.Hits[i], len(f.hits), nil)
			}
		}
		if len(res.Hits) < o.K || len(f.hits) >= want {
			return nil
		}
		o.After = res.Hits[len(res.Hits)-1].Cursor
	}
}

// wanted is how many hits of an index may be on the page.
func (r *request) wanted() int {
	if r.after != nil || r.before != nil {
		return r.size
	}
	return max(r.from+r.size, r.size) // the sum may overflow
}

// A visit is a document that matches, with its place among all and the values of fields.
type visit func(h *riffle.Hit, place int, values []*value) error

// How many documents a page of each has: few, if values are read, which may be long.
const (
	pageDocuments = riffle.MaxK
	pageValues    = 1_000
)

// each visits all documents that match, and returns how many there are. They come in the order of the
// index, or if the hits are sorted by scores, too, in theirs: then equal ones are in the order of the index.
func (f *finder) each(ctx context.Context, visits []visit) (n int, err error) {
	q, load := f.query, f.request.loaded()
	if !f.request.scored() {
		q = riffle.ConstantScore{Query: q, Score: 0}
	}
	o := &riffle.SearchOptions{K: pageDocuments, Load: load}
	if len(load) > 0 {
		o.K = pageValues
	}
	for {
		res, err := f.snapshot.Search(ctx, q, o)
		if err != nil {
			return 0, err
		}
		for i := range res.Hits {
			h := &res.Hits[i]
			values, err := decodeFields(h.Fields)
			if err != nil {
				return 0, fmt.Errorf("bleve: document %q: %w", h.ID, err)
			}
			for _, v := range visits {
				if err := v(h, n, values); err != nil {
					return 0, err
				}
			}
			n++
		}
		if len(res.Hits) < o.K {
			return n, nil
		}
		o.After = res.Hits[len(res.Hits)-1].Cursor
	}
}

// scored reports whether scores are among several sort keys, or decide on what follows a hit.
func (r *request) scored() bool {
	return !r.native() && slices.ContainsFunc(r.sort, func(k sortKey) bool { return !k.id && k.field == "" })
}

// loaded returns the stored fields that have the values for sort keys and facets.
func (r *request) loaded() (names []string) {
	fields := map[string]bool{}
	for _, f := range r.facets {
		fields[f.field] = true
	}
	for _, k := range r.sort {
		fields[k.field] = true
	}
	for name := range fields {
		switch name {
		case allField:
			return []string{"*"}
		case idField, "":
		default:
			names = append(names, name, plainField(name))
		}
	}
	slices.Sort(names)
	return names
}

// keep keeps a document that may be on the page.
func (f *finder) keep(h *riffle.Hit, place int, values []*value) error {
	r := f.request
	var terms []string
	if r.byField() {
		terms = make([]string, len(r.sort))
		for i := range r.sort {
			if k := &r.sort[i]; k.field != "" {
				terms[i] = k.term(f.index.m.termsOf(k.field, h.ID, values))
			}
		}
	}
	f.add(h, place, terms)
	last := f.hits[len(f.hits)-1]
	if r.after != nil && r.compare(last, r.mark) <= 0 || r.before != nil && r.compare(last, r.mark) >= 0 {
		f.hits = f.hits[:len(f.hits)-1]
		return nil
	}
	last.ID = strings.Clone(last.ID) // it shares its memory with those of a page
	if len(f.hits) >= 2*r.wanted()+keptMore {
		f.trim()
	}
	return nil
}

// keptMore is how many more hits than needed twice are kept before they are put in order.
const keptMore = 1_000

// trim keeps the hits that may be on the page.
func (f *finder) trim() { f.hits = f.request.first(f.request.wanted(), f.hits) }

// count counts the terms of a document for the facets.
func (f *finder) count(h *riffle.Hit, _ int, values []*value) error {
	terms := map[string][]string{}
	for _, t := range f.left() {
		of, ok := terms[t.field]
		if !ok {
			of = f.index.m.termsOf(t.field, h.ID, values)
			terms[t.field] = of
		}
		t.addDocument(of)
	}
	return nil
}

// countTerms counts the terms of facets by the lists of the index, where that takes less time than reading
// the values of the documents found: f.left tells what is left.
func (f *finder) countTerms(ctx context.Context) error {
	f.counted = map[string]bool{}
	for name, t := range f.tallies {
		if t.pattern != nil || f.total == 0 {
			continue
		}
		ok, err := f.countList(ctx, t)
		if err != nil {
			return err
		}
		f.counted[name] = ok
	}
	return nil
}

// left returns the facets whose terms are not counted yet.
func (f *finder) left() (all []*tally) {
	for name, t := range f.tallies {
		if !f.counted[name] {
			all = append(all, t)
		}
	}
	return all
}

// The cost of a facet: in nanoseconds, for a document whose values are read, a term, and a document of a
// term in its list.
const (
	readCost     = 15_000
	termCost     = 400
	documentCost = 2
)

// errElsewhere says that values are read instead of lists.
var errElsewhere = errors.New("values take less time")

// countList counts the terms of a facet by lists, unless these turn out to be dearer than the values of
// documents, or more than a query may have (Options.MaxTerms), or a field has a term in both of its forms,
// so that documents may have it twice.
func (f *finder) countList(ctx context.Context, t *tally) (ok bool, err error) {
	counts, cost := map[string]int{}, 0
	for _, field := range []string{t.field, plainField(t.field)} {
		own, terms := map[string]int{}, 0
		err := f.snapshot.CountTerms(ctx, f.query, field, "", func(term []byte, n, all int) error {
			terms++
			cost += termCost + documentCost*all
			if terms > f.index.mostTerms || cost > readCost*f.total || counts[string(term)] > 0 && n > 0 {
				return errElsewhere
			}
			if n > 0 {
				own[string(term)] += n
			}
			return nil
		})
		if errors.Is(err, errElsewhere) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		maps.Copy(counts, own)
	}
	with, err := f.snapshot.Count(ctx, riffle.Bool{Must: []riffle.Query{f.query}, Filter: []riffle.Query{in(t.field, func(field string) riffle.Query {
		return riffle.Prefix{Field: field, Prefix: t.prefixOfTerms(), Raw: true}
	})}})
	if err != nil {
		return false, err
	}
	for term, n := range counts {
		t.add(term, n)
	}
	t.missing += f.total - with
	return true, nil
}

// prefixOfTerms is the prefix of the terms without which a document is missing.
func (t *tally) prefixOfTerms() string {
	if t.ranges != nil {
		return ""
	}
	return t.prefix
}
