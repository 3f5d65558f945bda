package gpuexec

import (
	"sync"
	"sync/atomic"
)

// share divides 0 to n-1 into ranges of atOnce and calls do for each. The caller and further
// goroutines share the work, at most one per range and workers in all. Concurrent calls have
// different worker numbers, from 0 on.
func share(workers, n, atOnce int, do func(worker, from, to int)) {
	workers = min(workers, (n+atOnce-1)/atOnce)
	var next atomic.Int64
	work := func(worker int) {
		for from := int(next.Add(int64(atOnce))) - atOnce; from < n; from = int(next.Add(int64(atOnce))) - atOnce {
			do(worker, from, min(from+atOnce, n))
		}
	}
	var group sync.WaitGroup
	for worker := 1; worker < workers; worker++ {
		group.Go(func() { work(worker) })
	}
	work(0)
	group.Wait()
}
