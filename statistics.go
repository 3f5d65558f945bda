package riffle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/riffle-search/riffle/internal/plan"
	"github.com/riffle-search/riffle/internal/search"
)

// Statistics are what a search needs to know of a collection for a query: how many documents and tokens
// each field has, how many documents each term has, and what decides which terms the query has.
//
// Several indexes (shards) with one schema answer as one index of all their documents, to the last bit:
// request the Statistics of the query from each, add them up by SumStatistics, and pass the sum to each
// search as SearchOptions.Statistics. That is for indexes of several processes; a Multi does more for
// those of one. If some of the indexes must be asked again, SumStatistics says so:
//
//	var sum *riffle.Statistics
//	for again := true; again; {
//		var parts []*riffle.Statistics
//		for _, e := range engines {
//			own, err := e.Statistics(ctx, q, &riffle.SearchOptions{Statistics: sum})
//			…
//			parts = append(parts, own)
//		}
//		sum, again = riffle.SumStatistics(sum, parts...)
//	}
//
// The type has these fields, and others whose contents are not specified:
//
//	type Statistics struct {
//		Fields map[string]FieldStatistics
//	}
//
// Add adds the statistics of another collection. It does for queries that choose no terms and whose
// fields the schema declares. The form of json.Marshal is stable:
//
//	{"fields": {"title": {"documents": 3, "tokens": 20, "terms": {"whale": 2}}}}
//
// Terms that are not text, such as numbers, are under "binary", in base64. Deleted documents count
// until a merge drops them. A Match with ModeAndOr decides by the documents of each index alone. The
// aggregations of several indexes are put together by PartialAggregations.
type Statistics = plan.Statistics

// SumStatistics adds up the statistics of a query in several indexes. known is the sum of the round
// before, with which the indexes were asked, and nil in the first round. If again is true they must be
// asked once more, with the sum in SearchOptions.Statistics: some indexes have fields of the query that
// others lack, or it is a MoreLikeThis for documents. That ends after a few rounds, and most queries need
// one.
func SumStatistics(known *Statistics, parts ...*Statistics) (sum *Statistics, again bool) {
	return plan.SumStatistics(known, parts...)
}

// FieldStatistics are the part of Statistics about one field.
//
//	type FieldStatistics struct {
//		Documents uint64            // that have the field
//		Tokens    uint64            // in all of them; 0 where no lengths are kept
//		Terms     map[string]uint64 // documents that have each term, as it is indexed
//	}
type FieldStatistics = plan.FieldStatistics

// Statistics returns the statistics of a query in the current index. Fields that the index does not have,
// and their terms, have zeros. Filters, which do not score, may be left out.
//
// The options are those of the search, of which Now, Sort, Collapse, Partial, Aggregations, Selections and
// Statistics count: the last are the sum of another round, if there is one. Nil stands for the defaults.
func (e *Engine) Statistics(ctx context.Context, q Query, o *SearchOptions) (*Statistics, error) {
	v, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.statistics(ctx, q, o)
}

// Statistics returns the statistics of a query; see Engine.Statistics.
func (s *Snapshot) Statistics(ctx context.Context, q Query, o *SearchOptions) (*Statistics, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.statistics(ctx, q, o)
}

func (v scope) statistics(ctx context.Context, q Query, o *SearchOptions) (*Statistics, error) {
	if o == nil {
		o = &defaultSearch
	}
	q = o.selected(q)
	set, err := v.settings(&SearchOptions{Now: o.Now, Partial: o.Partial, Statistics: o.Statistics, Sort: o.Sort, Collapse: o.Collapse})
	if err != nil {
		return nil, err
	}
	set.Alpha, set.AllowUnknown, set.Gather = 0, true, &plan.Traits{}
	x, err := v.plan(ctx, q, &set)
	if err == nil {
		defer x.End()
		if err = x.CheckSort(); err == nil {
			err = v.checkAggregations(ctx, x, o)
		}
	}
	var qe *QueryError
	switch {
	case err == nil:
		return x.Statistics(), nil
	case errors.As(err, &qe) && !set.Gather.IsZero():
		// It may be an error in this index alone. With the traits of all it is one in each, or none.
		set.Gather.Failed = true
		return &Statistics{Fields: map[string]FieldStatistics{}, Traits: set.Gather}, nil
	}
	return nil, err
}

// Traits are the part of Statistics that decides what a query means, where that depends on the documents:
// which types fields have that no schema declares, and which terms are chosen. Their contents are not
// specified.
type Traits = plan.Traits

// FieldTraits are bits about a field, which are joined by "or" for several indexes.
type FieldTraits = plan.FieldTraits

// checkAggregations reports what is wrong with the aggregations and selections of a search.
func (v scope) checkAggregations(ctx context.Context, x *search.Run, o *SearchOptions) error {
	b := &aggregationBuilder{rw: x.Rewriter(), run: x, ctx: ctx, scope: v}
	for _, name := range slices.Sorted(maps.Keys(o.Selections)) {
		if _, err := b.clause(fmt.Sprintf("SearchOptions.Selections[%q]", name), o.Selections[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Aggregations)) {
		if _, err := b.root(name, o.Aggregations); err != nil {
			return err
		}
	}
	return nil
}
