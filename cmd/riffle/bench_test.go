package main

import (
	"sync/atomic"
	"testing"
)

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	for _, c := range []struct {
		values []float64
		p      int
		want   float64
	}{
		{hundred, 50, 50}, {hundred, 95, 95}, {hundred, 99, 99}, {hundred, 100, 100},
		{hundred[:1], 50, 1}, {hundred[:1], 99, 1}, {hundred[:2], 50, 1}, {hundred[:2], 51, 2}, {hundred[:3], 95, 3},
	} {
		if got := percentile(c.values, c.p); got != c.want {
			t.Errorf("p%d of 1..%d is %v, want %v", c.p, len(c.values), got, c.want)
		}
	}
}

// TestInParallel: every index once, also with more workers than work, or none.
func TestInParallel(t *testing.T) {
	for _, n := range []int{0, 1, 3, 1000} {
		counts := make([]atomic.Int32, n)
		inParallel(8, n, func(worker, i int) {
			if worker < 0 || worker >= 8 {
				t.Errorf("worker %d of 8", worker)
			}
			counts[i].Add(1)
		})()
		for i := range counts {
			if c := counts[i].Load(); c != 1 {
				t.Errorf("n = %d: index %d came %d times", n, i, c)
			}
		}
	}
}
