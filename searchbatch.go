package riffle

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// SearchBatch answers many queries, each as Search does, on all cores, and on all GPUs if there are
// any. Results are parallel to queries. All are answered from the index as it is now. The first error
// ends them all; it says which query it is of, counted from 0.
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

func (v view) searchBatch(ctx context.Context, queries []Query, o *SearchOptions) ([]*Result, error) {
	b := &batchSearch{view: v, queries: queries, options: o, results: make([]*Result, len(queries))}
	ctx, open := v.e.index.UntilClose(ctx)
	defer open()
	workers := min(len(queries), v.e.opts.SearchWorkers)
	work := b.work
	if a := v.e.accelerator; a != nil {
		work = (&acceleratedBatch{batchSearch: b, window: 1 + a.Appetite()/max(1, workers)}).work
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			if err := work(ctx); err != nil {
				cancel(err) // the first one counts
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, v.e.index.OrClosed(err)
	}
	return b.results, nil
}

// A batchSearch is many searches, of which several goroutines take one after another.
type batchSearch struct {
	view    view
	queries []Query
	options *SearchOptions
	results []*Result
	next    atomic.Int64
}

// work takes searches until none is left.
func (b *batchSearch) work(ctx context.Context) error {
	for {
		i := int(b.next.Add(1)) - 1
		if i >= len(b.queries) {
			return nil
		}
		began := time.Now()
		res, err := b.view.search(ctx, b.queries[i], b.options)
		if err := b.done(i, res, err, began); err != nil {
			return err
		}
	}
}

// done keeps the result of a search, or says which one has failed, and tells the listener.
func (b *batchSearch) done(number int, res *Result, err error, began time.Time) error {
	if err == nil {
		res.Duration = time.Since(began)
		b.results[number] = res
	}
	b.view.tell(b.queries[number], b.options, res, err, began)
	if err != nil {
		return fmt.Errorf("query %d: %w", number, err)
	}
	return nil
}
