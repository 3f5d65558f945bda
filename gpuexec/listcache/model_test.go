package listcache

import (
	"math"
	"testing"
	"time"
)

// TestCurve: linear between points, constant outside.
func TestCurve(t *testing.T) {
	c := Curve{{1, 10}, {3, 20}, {4, 0}}
	for _, test := range []Point{{0, 10}, {1, 10}, {2, 15}, {3, 20}, {3.5, 10}, {4, 0}, {9, 0}} {
		if y := c.At(test.X); y != test.Y {
			t.Errorf("at %v: %v, want %v", test.X, y, test.Y)
		}
	}
	if y := (Curve)(nil).At(1); y != 0 {
		t.Errorf("a curve without points is %v", y)
	}
}

// TestPartition: the model's optimum lies where the paper has it, between no cache and a cache of
// everything, and its prediction for a partition follows the formula.
func TestPartition(t *testing.T) {
	const memory = 1 << 30
	m := Model{
		Compute:  Curve{{1, 200_000}, {100, 40_000}, {1000, 4000}},
		Transfer: Curve{{1, 1}, {1 << 20, 0.05}, {1 << 28, 0.02}},
		Volume:   Curve{{0, 4 << 20}, {memory / 4, 2 << 20}, {memory / 2, 1 << 20}, {memory, 1 << 17}},
	}
	free := m.Best(memory, 0)
	if free.Cache < memory/2 || free.Cache > memory*39/40 || free.Cache+free.Buffer != memory {
		t.Errorf("the best partition is %+v", free)
	}
	for _, cache := range []int64{0, memory / 4, memory / 2, memory * 199 / 200} {
		p := m.evaluate(cache, memory-cache)
		dq := m.Volume.At(float64(cache))
		want := 1e9 / (m.Compute.At(float64(memory-cache)/dq) + m.Transfer.At(float64(memory-cache))*dq)
		if math.Abs(p.QueriesPerSecond-want) > 1e-6*want {
			t.Errorf("cache %d: %v queries a second, want %v", cache, p.QueriesPerSecond, want)
		}
		if p.QueriesPerSecond > free.QueriesPerSecond {
			t.Errorf("%+v is better than the best, %+v", p, free)
		}
	}
	for _, most := range []time.Duration{time.Second, 10 * time.Millisecond, time.Millisecond} {
		p := m.Best(memory, most)
		if p.BatchTime > most || p.QueriesPerSecond == 0 || p.QueriesPerSecond > free.QueriesPerSecond || p.Cache+p.Buffer > memory {
			t.Errorf("batches of at most %v: %+v", most, p)
		}
	}
	if p := m.Best(memory, time.Microsecond); p != (Partition{}) {
		t.Errorf("batches of a microsecond: %+v", p)
	}
}
