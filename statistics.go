package riffle

import (
	"context"

	"github.com/riffle-search/riffle/internal/plan"
)

// Statistics are what BM25 needs to know of a collection for a query: how many documents and tokens
// each field has, and how many documents each term has.
//
// Several indexes (shards) with one schema score as one index of all their documents, to the last
// bit: request the Statistics of the query from each, Add them up, and pass the sum to each search
// as SearchOptions.Statistics. That is for indexes of several processes; a Multi does more for those
// of one.
//
//	type Statistics struct {
//		Fields map[string]FieldStatistics
//	}
//
// Add adds the statistics of another collection. The form of json.Marshal is stable:
//
//	{"fields": {"title": {"documents": 3, "tokens": 20, "terms": {"whale": 2}}}}
//
// Terms that are not text, such as numbers, are under "binary", in base64. Deleted documents count
// until a merge drops them. A Match with ModeAndOr decides by the documents of each index alone, and
// Fuzzy and MoreLikeThis choose their terms by these.
type Statistics = plan.Statistics

// FieldStatistics are the part of Statistics about one field.
//
//	type FieldStatistics struct {
//		Documents uint64            // that have the field
//		Tokens    uint64            // in all of them; 0 where no lengths are kept
//		Terms     map[string]uint64 // documents that have each term, as it is indexed
//	}
type FieldStatistics = plan.FieldStatistics

// Statistics returns the BM25 statistics of the fields and terms of a query in the current index.
// Fields that the index does not have, and their terms, have zeros. Filters, which do not score,
// may be left out.
func (e *Engine) Statistics(ctx context.Context, q Query) (*Statistics, error) {
	v, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.statistics(ctx, q)
}

// Statistics returns the BM25 statistics of the fields and terms of a query; see Engine.Statistics.
func (s *Snapshot) Statistics(ctx context.Context, q Query) (*Statistics, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.statistics(ctx, q)
}

func (v scope) statistics(ctx context.Context, q Query) (*Statistics, error) {
	set, err := v.settings(nil)
	if err != nil {
		return nil, err
	}
	set.Alpha, set.AllowUnknown = 0, true
	x, err := v.plan(ctx, q, &set)
	if err != nil {
		return nil, err
	}
	defer x.End()
	return x.Statistics(), nil
}
