package riffle

import (
	"context"
	"fmt"
	"time"

	"github.com/riffle-search/riffle/internal/search"
)

// SearchBatch answers many queries, each as Search does, on all cores and all GPUs of the engine.
// Results are parallel to queries. All are answered from one state of the index, that at the call.
// The first error ends them all; it names its query, counted from 0.
func (e *Engine) SearchBatch(ctx context.Context, queries []Query, o *SearchOptions) ([]*Result, error) {
	v, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.searchBatch(ctx, queries, o)
}

// SearchBatch answers many queries, as Engine.SearchBatch does, from the snapshot.
func (s *Snapshot) SearchBatch(ctx context.Context, queries []Query, o *SearchOptions) ([]*Result, error) {
	v, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return v.searchBatch(ctx, queries, o)
}

func (v scope) searchBatch(ctx context.Context, queries []Query, o *SearchOptions) ([]*Result, error) {
	results, start := make([]*Result, len(queries)), time.Now()
	ctx, open := v.untilClose(ctx)
	defer open()
	begin := func(ctx context.Context, i int) (*search.Run, error) {
		return v.begin(ctx, queries[i], o, start, false)
	}
	err := v.e.searcher.Batch(ctx, len(queries), begin, func(ctx context.Context, i int, x *search.Run, err error, began time.Time) error {
		if err == nil {
			results[i], err = v.end(ctx, x, queries[i], o)
		}
		if err == nil {
			results[i].Duration = time.Since(began)
		}
		v.tell(queries[i], o, results[i], err, began)
		if err != nil {
			return fmt.Errorf("query %d: %w", i, err)
		}
		return nil
	})
	if err != nil {
		return nil, v.orClosed(err)
	}
	return results, nil
}
