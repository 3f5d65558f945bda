package scatter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/riffle-search/riffle"
)

// apart is what aggregations are of when they are not of the hits' query: see search.decideApart.
type apart struct {
	query riffle.Query
	some  bool
}

// selected returns the query of the hits that pass the selections of a search.
func selected(q riffle.Query, o *riffle.SearchOptions) riffle.Query {
	if len(o.Selections) == 0 {
		return q
	}
	b := riffle.Bool{Must: []riffle.Query{q}}
	for _, name := range slices.Sorted(maps.Keys(o.Selections)) {
		b.Filter = append(b.Filter, o.Selections[name])
	}
	return b
}

// decideApart decides a Match with ModeAndOr for the aggregations of a search with selections. They do not
// see their own selection, so enough documents may have all words of the query, and too few of those
// pass all selections: then hits need some words only, and aggregations count the documents with all.
func (s *search) decideApart(ctx context.Context, and, or riffle.Query) error {
	if len(s.given.Aggregations) == 0 || len(s.given.Selections) == 0 {
		return nil
	}
	n, err := s.count(ctx, and)
	if err != nil {
		return err
	}
	if needsSome := n < s.enough(); needsSome != s.after.Or {
		s.apart.some = true
		if s.apart.query = and; needsSome {
			s.apart.query = or
		}
	}
	return nil
}

// aggregations merges those of the shards, whose results for the hits are given.
func (s *search) aggregations(ctx context.Context, results []*riffle.Result) (map[string]riffle.AggregationResult, error) {
	if len(s.given.Aggregations) == 0 {
		return nil, nil
	}
	if s.apart.some {
		var err error
		if results, err = s.searchApart(ctx); err != nil {
			return nil, err
		}
	}
	parts := make([]*riffle.PartialAggregations, 0, len(results))
	for i, r := range results {
		if s.missing[i] != nil {
			continue
		}
		part := r.PartialAggregations
		if part == nil {
			return nil, fmt.Errorf("shard %d: a result without its aggregations", i)
		}
		part.SetEngine(strconv.Itoa(i))
		part.MaxBytes = s.given.AggregationBytes
		parts = append(parts, part)
	}
	if err := mergeAll(parts); err != nil {
		return nil, err
	}
	found, err := parts[0].Finish()
	if err != nil {
		return nil, err
	}
	return found, s.loadTopHits(ctx, found)
}

// mergeAll merges the aggregations of shards into those of the first: halves at the same time, which takes
// fewer steps than one after the other.
func mergeAll(parts []*riffle.PartialAggregations) error {
	if len(parts) == 1 {
		return nil
	}
	first, second := parts[:len(parts)/2], parts[len(parts)/2:]
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { err = mergeAll(first) })
	if err := mergeAll(second); err != nil {
		wg.Wait()
		return err
	}
	if wg.Wait(); err != nil {
		return err
	}
	return first[0].Merge(second[0])
}

// searchApart asks the shards for the aggregations alone.
func (s *search) searchApart(ctx context.Context) ([]*riffle.Result, error) {
	results := make([]*riffle.Result, len(s.sessions))
	return results, s.each(ctx, func(ctx context.Context, i int) (err error) {
		given := &s.given.SearchOptions
		results[i], err = s.sessions[i].Search(ctx, s.apart.query, &riffle.SearchOptions{
			NoHits: true, Aggregations: given.Aggregations, PartialAggregations: true, Selections: given.Selections, Statistics: s.after.Statistics,
			Now: given.Now, Partial: given.Partial, Similarity: given.Similarity, Alpha: given.Alpha, Exec: given.Exec,
		})
		return err
	})
}

// subs returns the aggregations of the buckets of one.
func subs(a riffle.Aggregation) map[string]riffle.Aggregation {
	switch a := a.(type) {
	case riffle.TermsAggregation:
		return a.Sub
	case riffle.RangeAggregation:
		return a.Sub
	case riffle.HistogramAggregation:
		return a.Sub
	case riffle.DateHistogramAggregation:
		return a.Sub
	case riffle.GeohashAggregation:
		return a.Sub
	case riffle.DistanceAggregation:
		return a.Sub
	case riffle.FiltersAggregation:
		return a.Sub
	case riffle.MissingAggregation:
		return a.Sub
	}
	return nil
}

// loading are hits of a shard whose stored fields are to be loaded, by id.
type loading map[string][]*riffle.Hit

// loadTopHits loads the fields that aggregations of the best hits ask for, and takes the numbers of shards
// from the hits.
func (s *search) loadTopHits(ctx context.Context, found map[string]riffle.AggregationResult) error {
	wanted := make([]map[string]loading, len(s.sessions)) // of each shard, by what is loaded
	for i := range wanted {
		wanted[i] = map[string]loading{}
	}
	load := map[string][]string{}
	eachTopHit(s.given.Aggregations, found, func(a riffle.TopHitsAggregation, h *riffle.Hit) {
		shard, err := strconv.Atoi(h.Engine)
		if h.Engine = ""; err != nil || len(a.Load) == 0 {
			return
		}
		fields := fmt.Sprintf("%q", a.Load)
		load[fields] = a.Load
		if wanted[shard][fields] == nil {
			wanted[shard][fields] = loading{}
		}
		wanted[shard][fields][h.ID] = append(wanted[shard][fields][h.ID], h)
	})
	return s.each(ctx, func(ctx context.Context, i int) error {
		for _, fields := range slices.Sorted(maps.Keys(wanted[i])) {
			if err := s.loadHits(ctx, i, wanted[i][fields], load[fields]); err != nil {
				return err
			}
		}
		return nil
	})
}

// loadAtOnce is how many documents are loaded by one request.
const loadAtOnce = 1000

func (s *search) loadHits(ctx context.Context, shard int, hits loading, fields []string) error {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(hits)), loadAtOnce) {
		r, err := s.sessions[shard].Search(ctx, riffle.IDs{Values: ids}, &riffle.SearchOptions{K: len(ids), Load: fields})
		if err != nil {
			return err
		}
		if len(r.Hits) != len(ids) {
			return fmt.Errorf("%d of %d hits of aggregations cannot be loaded", len(ids)-len(r.Hits), len(ids))
		}
		for _, found := range r.Hits {
			for _, h := range hits[found.ID] {
				h.Fields = found.Fields
			}
		}
	}
	return nil
}

// eachTopHit calls visit for the hits of all aggregations of the best hits.
func eachTopHit(given map[string]riffle.Aggregation, found map[string]riffle.AggregationResult, visit func(riffle.TopHitsAggregation, *riffle.Hit)) {
	for name, a := range given {
		r := found[name]
		if top, ok := a.(riffle.TopHitsAggregation); ok {
			for i := range r.Hits {
				visit(top, &r.Hits[i])
			}
		}
		for i := range r.Buckets {
			eachTopHit(subs(a), r.Buckets[i].Sub, visit)
		}
	}
}
