package segment

import (
	"context"
	"sync"
)

// inOrder calls produce for 0 to n-1 by several goroutines, and use by this one, in order,
// with what produce returned. Each goroutine has a number below workers, which it hands to
// produce. No more than about 2 workers results wait for use at a time. The first error, by order,
// ends everything; so does the end of ctx.
func inOrder[T any](ctx context.Context, n, workers int, produce func(worker, i int) (T, error), use func(i int, made T) error) error {
	workers = max(1, min(workers, n))
	if workers == 1 {
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			made, err := produce(0, i)
			if err == nil {
				err = use(i, made)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	type result struct {
		made T
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	results := make([]chan result, 2*workers) // that of i is i modulo their number
	for i := range results {
		results[i] = make(chan result, 1)
	}
	tickets := make(chan int, len(results))
	for i := range min(n, len(results)) {
		tickets <- i
	}
	for w := range workers {
		wg.Go(func() {
			for {
				select {
				case i := <-tickets:
					made, err := produce(w, i)
					results[i%len(results)] <- result{made, err}
				case <-ctx.Done():
					return
				}
			}
		})
	}
	for i := range n {
		var r result
		select {
		case r = <-results[i%len(results)]:
		case <-ctx.Done():
			return ctx.Err()
		}
		if r.err == nil {
			r.err = use(i, r.made)
		}
		if r.err != nil {
			return r.err
		}
		if next := i + len(results); next < n {
			tickets <- next
		}
	}
	return nil
}
