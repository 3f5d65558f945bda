package main

import (
	"sync"
	"sync/atomic"
)

// inParallel calls do(worker, i) for every i below n, in ascending order, on a number of
// goroutines. It returns at once; wait returns when all calls have.
func inParallel(workers, n int, do func(worker, i int)) (wait func()) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for worker := range min(workers, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(worker, i)
			}
		})
	}
	return wg.Wait
}
