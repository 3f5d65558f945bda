package gpuexec

import (
	"sync"
	"sync/atomic"
)

// share has 0 to n-1 done in ranges of atOnce, by the caller and as many more goroutines as there are ranges for, workers in
// all at the most. Two that are at work at the same time have different numbers, from 0 on.
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
