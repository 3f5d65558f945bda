package search

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Batch runs n searches on all cores. begin plans the i-th and submits it. end gets each that has
// begun, with the time: it answers and ends the run, or handles the error of begin. The first error
// of end cancels the others, with itself as the cause, and is returned. Otherwise Batch returns the
// error of ctx.
func (s *Searcher) Batch(ctx context.Context, n int, begin func(ctx context.Context, i int) (*Run, error), end func(ctx context.Context, i int, x *Run, err error, began time.Time) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := min(n, s.cores)
	b := batch{n: n, window: 1, begin: begin, end: end}
	if s.accelerator != nil {
		b.window = min(b.window+s.accelerator.Appetite()/max(1, workers), max(1, n))
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			if err := b.work(ctx); err != nil {
				cancel(err) // the first one counts
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// A batch is many searches, which several goroutines take one after another. With an accelerator
// each goroutine has several in flight, so that there are enough for its batches.
type batch struct {
	n, window int // searches; those that a goroutine has in flight
	next      atomic.Int64
	begin     func(ctx context.Context, i int) (*Run, error)
	end       func(ctx context.Context, i int, x *Run, err error, began time.Time) error
}

// An item is a search in flight.
type item struct {
	number int
	run    *Run
	began  time.Time
}

// work takes searches until none is left.
func (b *batch) work(ctx context.Context) error {
	open, oldest, count := make([]item, b.window), 0, 0 // a ring
	finish := func() error {
		it := open[oldest]
		oldest, count = (oldest+1)%b.window, count-1
		return b.end(ctx, it.number, it.run, nil, it.began)
	}
	defer func() {
		for count > 0 { // searches in flight must be ended
			_ = finish()
		}
	}()
	for {
		i := int(b.next.Add(1)) - 1
		if i < b.n {
			began := time.Now()
			x, err := b.begin(ctx, i)
			if err != nil {
				return b.end(ctx, i, nil, err, began)
			}
			open[(oldest+count)%b.window] = item{i, x, began}
			count++
		}
		if count == 0 {
			return nil
		}
		if count < b.window && i < b.n {
			continue
		}
		if err := finish(); err != nil {
			return err
		}
	}
}
