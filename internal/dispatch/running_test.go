package dispatch

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestRunning: within a millisecond, it is known how many goroutines run.
func TestRunning(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(5))
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
		seen[i] = running()
	}
	slices.Sort(seen)
	if median := seen[len(seen)/2]; median < 4 || median > 5 {
		t.Errorf("three goroutines and the test run: %d, of %v", median, seen)
	}
}
