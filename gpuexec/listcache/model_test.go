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

// streamed are measurements of GPUOptions.Stream on an H200 (bench/results/2026-11-23-gpu-cells.md):
// thousand queries a second with 70, 40, 20, 10 and 5 % of the lists resident, and the kilobytes
// that a query lacked in a simulation of the same log (2026-11-24-vfb.md).
var streamed = []struct {
	name   string
	rates  [5]float64
	volume [5]float64
}{
	{"OR, batches of 2,048", [5]float64{77.3, 75.2, 66.2, 58.3, 53.3}, [5]float64{369, 467, 590, 684, 756}},
	{"OR, batches of 256", [5]float64{57.0, 53.9, 48.5, 40.6, 35.0}, [5]float64{454, 594, 795, 984, 1160}},
	{"AND, batches of 2,048", [5]float64{112.9, 107.8, 93.5, 80.2, 73.9}, [5]float64{278, 354, 440, 513, 571}},
	{"AND, batches of 256", [5]float64{80.9, 78.4, 70.4, 59.7, 51.2}, [5]float64{339, 440, 577, 711, 840}},
}

// link is what a kernel reads of the host's memory, in bytes a nanosecond.
const link = 52

// computeOf is the time of kernels alone with which a query that lacks so much takes that long.
func computeOf(nanoseconds, volume float64) float64 {
	transfer := volume / link
	return math.Pow(math.Pow(nanoseconds, StreamOverlap)-math.Pow(transfer, StreamOverlap), 1/StreamOverlap)
}

// TestStreamed predicts what was measured: the times of kernels come from the measurement at 70 %,
// all else from a simulation.
func TestStreamed(t *testing.T) {
	for _, s := range streamed {
		m := Model{
			Compute:  Curve{{1, computeOf(1e6/s.rates[0], 1000*s.volume[0])}},
			Transfer: Curve{{1, 1.0 / link}},
			Overlap:  StreamOverlap,
		}
		for i, share := range []int{70, 40, 20, 10, 5} {
			rate := 1e6 / m.QueryTime(2048, 1, 1000*s.volume[i])
			if off := 100 * (rate/s.rates[i] - 1); math.Abs(off) > 8 {
				t.Errorf("%s, %d %%: %.1f thousand queries a second, measured %.1f", s.name, share, rate, s.rates[i])
			} else {
				t.Logf("%s, %d %%: %.1f, measured %.1f, %+.1f %%", s.name, share, rate, s.rates[i], off)
			}
		}
	}
}

// TestOverlap: the time of a query is between the longer of copies and kernels and their sum.
func TestOverlap(t *testing.T) {
	for _, c := range []struct{ compute, transfer, overlap, want float64 }{
		{3, 4, 0, 7}, {3, 4, 1, 7}, {3, 4, 2, 5}, {4, 3, 2, 5}, {0, 4, 2, 4}, {3, 0, 2, 3}, {0, 0, 2, 0}, {3, 4, 1000, 4},
	} {
		m := Model{Compute: Curve{{1, c.compute}}, Transfer: Curve{{1, c.transfer}}, Overlap: c.overlap}
		if got := m.QueryTime(1, 1, 1); math.Abs(got-c.want) > 0.01 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
