package bleve

import (
	"context"
	"slices"
	"strings"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/geo"
)

// A columnKey is a sort key whose values columns have.
type columnKey struct {
	sortKey
	by riffle.SortKey
	at int // its place in riffle.Hit.Sort; distances have their point behind them
}

// columnKeys returns the sort keys if columns have the values of all of them, in the direction in which hits
// are wanted: from the one that they precede backwards. nil stands for no.
func (f *finder) columnKeys(ctx context.Context) (keys []columnKey, err error) {
	r, c := f.request, columnsOf{f.index, f.snapshot}
	if f.index.byValues || !r.byField() { // search_after an id or a score: without values, visiting all documents is as good
		return nil, nil
	}
	if ok, err := c.complete(ctx); !ok || err != nil {
		return nil, err
	}
	at := 0
	for _, k := range r.sort {
		if r.before != nil {
			k.descending, k.first = !k.descending, !k.first
		}
		key := columnKey{k, riffle.SortKey{Desc: k.descending}, at}
		at++
		switch {
		case k.id || k.field == idField && k.from == nil && (k.kind == anyTerms || k.kind == stringTerms):
			key.by.ID = true
		case k.field == "":
			key.by.Score = true
		case k.from != nil:
			if slices.ContainsFunc(keys, func(k columnKey) bool { return k.from != nil }) {
				return nil, nil // riffle's order is that of one distance
			}
			if ok, err := f.sortsPlaces(ctx, &k); !ok || err != nil {
				return nil, err
			}
			// A document without a place has the greatest distance.
			key.by.Field, key.by.From, key.by.Mode = placeColumn(k.field), &riffle.Point{Lat: k.from.lat, Lon: k.from.lon}, riffle.ModeMin
			if at++; k.descending {
				key.by.Missing = riffle.MissingFirst
			}
		default:
			column, err := c.columnOf(ctx, &k)
			if column == "" || err != nil {
				return nil, err
			}
			if key.by.Field, key.by.Mode = column, riffle.ModeMin; k.max {
				key.by.Mode = riffle.ModeMax
			}
			if k.first {
				key.by.Missing = riffle.MissingFirst
			}
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// sortsPlaces reports whether a column has the distances of a key: bleve's is that of the first of several places,
// in an order of its own, and its points may be anywhere.
func (f *finder) sortsPlaces(ctx context.Context, k *sortKey) (bool, error) {
	if !slices.Contains(f.index.m.columns.places, k.field) || checkPoint(k.from.lon, k.from.lat) != nil {
		return false, nil
	}
	odd, err := columnsOf{f.index, f.snapshot}.some(ctx, oddColumn(k.field))
	return !odd, err
}

// value returns what a hit has for the key, as riffle has it.
func (k *columnKey) value(h *riffle.Hit) any { return h.Sort[k.at] }

// termOf returns the term by which bleve sorts a hit.
func (k *columnKey) termOf(h *riffle.Hit) string {
	switch v := k.value(h).(type) {
	case int64:
		return prefixCoded(v, 0)
	case string:
		return v
	case float64: // a distance
		p, _ := h.Sort[k.at+1].(riffle.Point)
		return k.from.term(placeAt(p))
	}
	return k.term(nil)
}

// How many hits more than wanted are found first, where riffle's distances are not bleve's: near ones differ
// little.
const nearbyMore = 32

// byColumns finds the hits that may be on the page, in the order of columns, and how many documents there
// are in all. Distances of riffle differ a little from those of bleve, so that hits are put in order anew,
// and some more are found until no further one can precede them.
func (f *finder) byColumns(ctx context.Context, keys []columnKey) error {
	r := f.request
	want := r.wanted()
	o := &riffle.SearchOptions{ExactTotal: true}
	distances := -1 // the first key of distances
	for i, k := range keys {
		if o.Sort = append(o.Sort, k.by); k.from != nil {
			if distances < 0 {
				distances = i
			}
			by := k.by
			by.From, by.Desc = nil, false
			o.Sort = append(o.Sort, by) // the point itself
		}
	}
	q := f.query
	if beyond := r.beyond(&keys[0]); beyond != nil {
		n, err := f.snapshot.Count(ctx, q)
		if f.total = n; err != nil || n == 0 {
			return err
		}
		q, o.ExactTotal = riffle.Bool{Must: []riffle.Query{q}, Filter: []riffle.Query{beyond}}, false
	}
	o.K = max(1, min(want, riffle.MaxK))
	if distances >= 0 {
		o.K = min(o.K+nearbyMore, riffle.MaxK)
	}
	for place := 0; ; {
		res, err := f.snapshot.Search(ctx, q, o)
		if err != nil {
			return err
		}
		if o.ExactTotal {
			f.total, o.ExactTotal = res.Total, false
		}
		for i := range res.Hits {
			h := &res.Hits[i]
			terms := make([]string, len(keys))
			for j := range keys {
				if k := &keys[j]; k.field != "" {
					terms[j] = k.termOf(h)
				}
			}
			f.add(h, place, terms)
			last := f.hits[len(f.hits)-1]
			last.ID = strings.Clone(last.ID)
			place++
			if r.after != nil && r.compare(last, r.mark) <= 0 || r.before != nil && r.compare(last, r.mark) >= 0 {
				f.hits = f.hits[:len(f.hits)-1]
			}
		}
		end := len(res.Hits) < o.K
		if distances >= 0 {
			slices.SortStableFunc(f.hits, r.forward)
		}
		if end || len(f.hits) >= want && (distances < 0 || want == 0 || settled(keys[:distances+1], f.hits[want-1], &res.Hits[len(res.Hits)-1])) {
			break
		}
		if o.After = res.Hits[len(res.Hits)-1].Cursor; distances >= 0 {
			o.K = min(2*o.K, riffle.MaxK)
		}
	}
	if distances >= 0 {
		if err := f.orderEqual(ctx, want); err != nil {
			return err
		}
	}
	f.hits = f.hits[:min(want, len(f.hits))]
	return nil
}

// forward compares hits in the direction in which they are found.
func (r *request) forward(a, b *Hit) int {
	if r.before != nil {
		return r.compare(b, a)
	}
	return r.compare(a, b)
}

// settled reports whether all hits behind one of riffle's come behind a hit in bleve's order, too. Of the
// keys the last is the first by distances.
func settled(keys []columnKey, hit *Hit, last *riffle.Hit) bool {
	for i := range keys[:len(keys)-1] {
		k := &keys[i]
		same := false
		switch {
		case k.field == "" && !k.id:
			same = last.Sort[k.at] == any(hit.Score)
		case k.id:
			same = last.ID == hit.ID
		default:
			same = k.termOf(last) == hit.terms[i]
		}
		if !same {
			return true // it comes behind, as all that follow
		}
	}
	i := len(keys) - 1
	k := &keys[i]
	metres, ok := k.value(last).(float64)
	if hit.terms[i] == noDistance || !ok {
		return true // documents without a distance are together, and riffle's order of them is bleve's
	}
	of := floatOf(prefixDecoded(hit.terms[i])) * k.from.unit
	if k.descending {
		return metres*mostDiameter+distanceError < of
	}
	return metres*leastDiameter-distanceError > of
}

// Ratios of the diameters of bleve's Earth to that of riffle's, at the poles and at the equator.
var (
	leastDiameter = earthDiameters[diameters-1] * 1000 / (2 * geo.Radius)
	mostDiameter  = earthDiameters[0] * 1000 / (2 * geo.Radius)
)

// orderEqual puts hits that are equal in all keys in the order of the index, as far as they may be on the page.
// riffle had them in the order of its distances.
func (f *finder) orderEqual(ctx context.Context, want int) error {
	r := f.request
	equal := func(i int) bool { return r.compare(f.hits[i], f.hits[i+1]) == 0 }
	byID := map[string]*Hit{}
	for i := 0; i+1 < len(f.hits) && i < want; i++ {
		if equal(i) {
			byID[f.hits[i].ID], byID[f.hits[i+1].ID] = f.hits[i], f.hits[i+1]
			for ; i+1 < len(f.hits) && equal(i); i++ {
				byID[f.hits[i+1].ID] = f.hits[i+1]
			}
		}
	}
	if len(byID) == 0 {
		return nil
	}
	ids := make([]string, 0, len(byID))
	for id := range byID {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	o := &riffle.SearchOptions{K: min(len(ids), riffle.MaxK)}
	for place := 0; ; {
		res, err := f.snapshot.Search(ctx, riffle.ConstantScore{Query: riffle.IDs{Values: ids}}, o)
		if err != nil {
			return err
		}
		for i := range res.Hits {
			byID[res.Hits[i].ID].order[1] = place
			place++
		}
		if len(res.Hits) < o.K {
			break
		}
		o.After = res.Hits[len(res.Hits)-1].Cursor
	}
	slices.SortStableFunc(f.hits, func(a, b *Hit) int {
		if c := r.forward(a, b); c != 0 {
			return c
		}
		return a.order[1] - b.order[1]
	})
	return nil
}

// beyond returns a filter that has all documents which follow those of search_after by the first key, or nil.
func (r *request) beyond(k *columnKey) riffle.Query {
	if r.mark == nil || k.by.Field == "" || k.from != nil {
		return nil
	}
	column, term := k.by.Field, r.mark.terms[0]
	with := riffle.Exists{Field: column}
	without := riffle.Bool{Must: []riffle.Query{riffle.All{}}, MustNot: []riffle.Query{with}}
	if term == k.term(nil) {
		if k.first {
			return nil
		}
		return without
	}
	var bound any = term
	if column == numberColumn(k.field) {
		if shift, ok := prefixCoding(term); !ok || shift != 0 {
			return nil
		}
		n := prefixDecoded(term)
		if prefixCoded(n, 0) != term {
			return nil
		}
		bound = n
	}
	q := riffle.Range{Field: column, From: bound}
	if k.descending {
		q = riffle.Range{Field: column, To: bound, IncludeTo: true}
	}
	if k.first {
		return q
	}
	return riffle.Bool{Should: []riffle.Query{q, without}}
}
