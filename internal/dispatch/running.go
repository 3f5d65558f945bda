package dispatch

import (
	"runtime/metrics"
	"sync"
)

// running is how many goroutines run at the moment, that is, how many cores work for this process or
// would if no other one had them. It takes 0.1 µs.
func running() int {
	s := runningSamples.Get().(*[1]metrics.Sample)
	defer runningSamples.Put(s)
	metrics.Read(s[:])
	return int(s[0].Value.Uint64())
}

var runningSamples = sync.Pool{New: func() any {
	return &[1]metrics.Sample{{Name: "/sched/goroutines/running:goroutines"}}
}}
