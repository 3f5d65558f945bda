package dispatch

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestCoresAtWork: at any moment, it is known how many goroutines run.
func TestCoresAtWork(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	var began atomic.Int64
	var stop atomic.Bool
	defer stop.Store(true)
	for range 3 {
		go func() {
			began.Add(1)
			for !stop.Load() {
			}
		}()
	}
	for began.Load() < 3 {
		time.Sleep(time.Millisecond)
	}
	seen := make([]int, 51)
	for i := range seen {
		time.Sleep(time.Millisecond)
		seen[i] = coresAtWork()
	}
	slices.Sort(seen)
	if median := seen[len(seen)/2]; median < 4 || median > 5 {
		t.Errorf("three goroutines and the test run: %d, of %v", median, seen)
	}
}
