package main

import (
	"context"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/internal/trec"
)

// repeat runs all queries once: one by one, or in batches of a given size with SearchBatch.
func (b *benchCommand) repeat(ctx context.Context, e *riffle.Engine, topics []trec.Topic, o *riffle.SearchOptions, rep int, all []measurement) {
	if b.batch == 0 {
		inParallel(b.threads, len(topics), func(_, i int) {
			if ctx.Err() == nil {
				all[i].take(b.once(ctx, e, topics[i], o), rep)
			}
		})()
		return
	}
	batches := (len(topics) + b.batch - 1) / b.batch
	inParallel(b.threads, batches, func(_, i int) {
		from, to := i*b.batch, min((i+1)*b.batch, len(topics))
		if ctx.Err() == nil {
			b.together(ctx, e, topics[from:to], o, rep, all[from:to])
		}
	})()
}

// together runs queries as one batch. The time of a query is from its start to its end; the queries
// of a batch overlap.
func (b *benchCommand) together(ctx context.Context, e *riffle.Engine, topics []trec.Topic, o *riffle.SearchOptions, rep int, all []measurement) {
	queries := make([]riffle.Query, len(topics))
	for i, t := range topics {
		queries[i] = b.match(t.Text)
	}
	results, err := e.SearchBatch(ctx, queries, o)
	for i, t := range topics {
		if err != nil {
			all[i].take(measurement{err: err}, rep)
			continue
		}
		res := results[i]
		all[i].take(measurement{best: res.Duration, hash: hashAnswer(t.ID, res.Hits), work: res.Work}, rep)
	}
}

// gpuFiguresOf returns what GPUs did for the queries, or nil without a GPU.
func gpuFiguresOf(e *riffle.Engine) (*gpuFigures, error) {
	st, err := e.Stats()
	if err != nil {
		return nil, err
	}
	return newGPUFigures(st.GPU), nil
}
