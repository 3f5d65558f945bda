package riffle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/riffle-search/riffle/blockmax"
	"github.com/riffle-search/riffle/internal/aggregate"
	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/internal/search"
)

// selected returns the query whose hits pass the selections, in the order of their names.
func (o *SearchOptions) selected(q Query) Query {
	if len(o.Selections) == 0 || q == nil {
		return q
	}
	b := Bool{Must: []Query{q}}
	for _, name := range slices.Sorted(maps.Keys(o.Selections)) {
		b.Filter = append(b.Filter, o.Selections[name])
	}
	return b
}

// aggregate adds the aggregations of a search to its result. x is the run for its hits.
func (v scope) aggregate(ctx context.Context, x *search.Run, q Query, o *SearchOptions, res *Result) error {
	if len(o.Aggregations) == 0 {
		return nil
	}
	set, err := v.settings(o)
	if err != nil {
		return err
	}
	set.Now = x.Now()
	if len(o.Selections) > 0 {
		// Aggregations do not see their own selection, so matches are those of the query alone.
		alone := set
		alone.Cursor = search.Cursor{}
		if x, err = v.plan(ctx, q, &alone); err != nil {
			return err
		}
		defer x.End()
	}
	fx := v.e.searcher.Begin(v.View, &set)
	defer fx.End()
	b := &aggregationBuilder{rw: fx.Rewriter(), run: x, ctx: ctx, scope: v}
	a := search.Aggregating{Bytes: v.e.opts.AggregationBytes}
	names := slices.Sorted(maps.Keys(o.Aggregations))
	selections := make(map[string]plan.Clause, len(o.Selections))
	for _, name := range slices.Sorted(maps.Keys(o.Selections)) {
		if selections[name], err = b.clause(fmt.Sprintf("SearchOptions.Selections[%q]", name), o.Selections[name]); err != nil {
			return err
		}
	}
	shared := b.addSet(matching(selections, ""))
	for _, name := range names {
		root := aggregate.Root{Set: shared}
		if _, own := selections[name]; own {
			root.Set = b.addSet(matching(selections, name))
		}
		if root.Spec, err = b.root(name, o.Aggregations); err != nil {
			return err
		}
		a.Roots = append(a.Roots, root)
	}
	a.Sets, a.Scores = b.sets, b.scores
	if o.PartialAggregations {
		res.PartialAggregations, err = b.partial(&a, o.Aggregations)
		return err
	}
	found, err := x.Aggregate(ctx, &a)
	if err != nil {
		return err
	}
	res.Aggregations, err = b.results(names, o.Aggregations, found)
	return err
}

// matching is the set of the documents that pass all selections but one.
func matching(selections map[string]plan.Clause, but string) search.DocSet {
	var s search.DocSet
	for _, name := range slices.Sorted(maps.Keys(selections)) {
		if name != but || but == "" {
			s.Filters = append(s.Filters, selections[name])
		}
	}
	return s
}

// results writes results by name, which are sorted.
func (b *aggregationBuilder) results(names []string, as map[string]Aggregation, found []*aggregate.Result) (map[string]AggregationResult, error) {
	if len(names) == 0 {
		return nil, nil
	}
	to := make(map[string]AggregationResult, len(names))
	for i, name := range names {
		r, err := as[name].resultOf(b, found[i])
		if err != nil {
			return nil, err
		}
		to[name] = r
	}
	return to, nil
}

// buckets writes the buckets of a result, with keys as a function has them.
func (b *aggregationBuilder) buckets(r *aggregate.Result, subs map[string]Aggregation, key func(any) any) (AggregationResult, error) {
	to := AggregationResult{Other: r.Other, Missing: r.Missing, Distinct: r.Distinct, Buckets: make([]AggregationBucket, len(r.Buckets))}
	names := slices.Sorted(maps.Keys(subs))
	for i := range r.Buckets {
		from := &r.Buckets[i]
		sub, err := b.results(names, subs, from.Sub)
		if err != nil {
			return to, err
		}
		to.Buckets[i] = AggregationBucket{Key: key(from.Key), Count: from.Count, Sub: sub}
	}
	return to, nil
}

func asItIs(key any) any { return key }

func (a TermsAggregation) resultOf(b *aggregationBuilder, r *aggregate.Result) (AggregationResult, error) {
	return b.buckets(r, a.Sub, asItIs)
}

func (a RangeAggregation) resultOf(b *aggregationBuilder, r *aggregate.Result) (AggregationResult, error) {
	return b.buckets(r, a.Sub, func(i any) any { return a.Ranges[i.(int)].key() })
}

// key returns the name of the range.
func (r AggregationRange) key() string {
	if r.Name != "" {
		return r.Name
	}
	bound := func(x any) string {
		switch x := x.(type) {
		case nil:
			return ""
		case time.Time:
			return x.Format(time.RFC3339Nano)
		}
		return fmt.Sprint(x)
	}
	return bound(r.From) + ".." + bound(r.To)
}

func (a HistogramAggregation) resultOf(b *aggregationBuilder, r *aggregate.Result) (AggregationResult, error) {
	return b.buckets(r, a.Sub, asItIs)
}

func (a DateHistogramAggregation) resultOf(b *aggregationBuilder, r *aggregate.Result) (AggregationResult, error) {
	return b.buckets(r, a.Sub, asItIs)
}

func (a FiltersAggregation) resultOf(b *aggregationBuilder, r *aggregate.Result) (AggregationResult, error) {
	names := slices.Sorted(maps.Keys(a.Filters))
	return b.buckets(r, a.Sub, func(i any) any { return names[i.(int)] })
}

func (a MissingAggregation) resultOf(b *aggregationBuilder, r *aggregate.Result) (AggregationResult, error) {
	return b.buckets(r, a.Sub, func(any) any { return nil })
}

func (StatsAggregation) resultOf(_ *aggregationBuilder, r *aggregate.Result) (AggregationResult, error) {
	return AggregationResult{Stats: r.Stats}, nil
}

func (CardinalityAggregation) resultOf(_ *aggregationBuilder, r *aggregate.Result) (AggregationResult, error) {
	return AggregationResult{Distinct: r.Distinct, Missing: r.Missing}, nil
}

func (a PercentilesAggregation) resultOf(_ *aggregationBuilder, r *aggregate.Result) (AggregationResult, error) {
	sorted := slices.Compact(slices.Sorted(slices.Values(a.percents())))
	to := AggregationResult{}
	for _, p := range a.percents() {
		i, _ := slices.BinarySearch(sorted, p)
		to.Percentiles = append(to.Percentiles, Percentile{p, r.Percentiles[i]})
	}
	return to, nil
}

func (a TopHitsAggregation) resultOf(b *aggregationBuilder, r *aggregate.Result) (AggregationResult, error) {
	if b.run == nil {
		return AggregationResult{Hits: a.named(r.Named)}, nil
	}
	if len(r.Hits) == 0 {
		return AggregationResult{}, nil
	}
	keys, err := sortKeys("Sort", a.Sort)
	if err != nil {
		return AggregationResult{}, err
	}
	var page search.Page
	cursors, err := b.locate(r.Hits, &page)
	if err != nil {
		return AggregationResult{}, err
	}
	hits := make([]Hit, len(cursors))
	for i := range hits {
		hits[i].ID, hits[i].Score, hits[i].Engine = cursors[i].ID(), b.run.Score(cursors[i]), b.engine(cursors[i])
		if !a.byScore() {
			hits[i].Sort = b.run.KeysOf(keys, r.Hits[i].Keys)
		} else if len(a.Sort) > 0 {
			hits[i].Sort = []any{hits[i].Score}
		}
		if len(a.Load) == 0 {
			continue
		}
		err := b.ctx.Err()
		if err == nil {
			hits[i].Fields, err = b.run.Fields(cursors[i], a.Load)
		}
		if err != nil {
			return AggregationResult{}, err
		}
	}
	return AggregationResult{Hits: hits}, nil
}

// locate finds the ids of hits. The cursors share page.
func (b *aggregationBuilder) locate(hits []aggregate.Hit, page *search.Page) ([]search.Cursor, error) {
	found, cursors := make([]blockmax.Hit, len(hits)), make([]search.Cursor, len(hits))
	for i, h := range hits {
		found[i] = blockmax.Hit{Doc: h.Doc, Score: h.Score}
	}
	return cursors, b.run.Locate(found, page, func(i int) *search.Cursor { return &cursors[i] })
}

// engine returns the name of the engine of a hit, in a Multi.
func (b *aggregationBuilder) engine(c search.Cursor) string {
	if b.scope.m == nil {
		return ""
	}
	return b.scope.m.names[c.Index()]
}
