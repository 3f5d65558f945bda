package listcache

import (
	"math"
	"slices"
	"time"
)

// A Model finds the best division of memory between resident lists and the buffer of a batch. With
// more resident lists, less must be copied, but fewer queries make a batch. The model is that of
// Wang 2017, section 4.2.1: with lists in Sc bytes and a buffer of Sb,
//
//	queries a second = 1 / (c(n) + t(Sb) * dq(Sc))      n = Sb / dq(Sc)
//
// dq, the bytes that a query lacks, comes from a simulation over a log (BenchmarkListCache; gpubench
// keeping for Stream). The other two functions come from measuring a device.
//
// Wang's copies and kernels take turns. Where they run side by side, a query takes less than their
// sum, and more than the longer of the two: they share the memory of the device, and the first
// copies of a batch have nothing beside them. With an overlap of p, a query takes
// (c^p + (t dq)^p)^(1/p): the sum with 1, the longer one with infinity.
type Model struct {
	Compute  Curve   // c: nanoseconds a query, by queries in a batch
	Transfer Curve   // t: nanoseconds a byte, by bytes of a transfer
	Volume   Curve   // dq: bytes that must be copied for a query, by bytes of resident lists
	Overlap  float64 // of copies and kernels; 0 stands for 1

	// ByBuffer says that Compute is by bytes of the buffer instead: gpuexec's windows have fewer steps
	// when they are larger.
	ByBuffer bool
}

// StreamOverlap is the overlap of gpuexec's windows, fitted to 20 measurements (TestStreamed). With
// 1.8 to 2.4, too, errors are below 10 %.
const StreamOverlap = 2.0

// A Curve is a function through points in ascending order of X. It is linear between them, and
// constant before the first and after the last.
type Curve []Point

// A Point is a point of a Curve.
type Point struct{ X, Y float64 }

// At returns the value at x; 0 for a curve without points.
func (c Curve) At(x float64) float64 {
	if len(c) == 0 {
		return 0
	}
	i, _ := slices.BinarySearchFunc(c, x, func(p Point, x float64) int {
		if p.X <= x {
			return -1
		}
		return 1
	})
	if i == 0 {
		return c[0].Y
	}
	if i == len(c) {
		return c[i-1].Y
	}
	a, b := c[i-1], c[i]
	return a.Y + (b.Y-a.Y)*(x-a.X)/(b.X-a.X)
}

// A Partition is a Model's prediction for one division of the memory.
type Partition struct {
	Cache, Buffer    int64
	Queries          float64 // in a batch
	QueriesPerSecond float64
	BatchTime        time.Duration
}

// partitions is the number of divisions that Best tries.
const partitions = 200

// Best returns the division of memory bytes with the most queries a second among those whose
// batches take no longer than most; 0 stands for any time. The result is empty if there is none.
func (m *Model) Best(memory int64, most time.Duration) (best Partition) {
	for i := range partitions {
		cache := memory * int64(i) / partitions
		if p := m.with(cache, memory-cache, most); p.QueriesPerSecond > best.QueriesPerSecond {
			best = p
		}
	}
	return best
}

// with returns the partition of a cache and the largest buffer, up to the given one, with which a
// batch takes no longer than most.
func (m *Model) with(cache, buffer int64, most time.Duration) Partition {
	p := m.evaluate(cache, buffer)
	if most <= 0 || p.BatchTime <= most {
		return p
	}
	low, high := int64(1), buffer // low may also be too much
	for high-low > max(1, buffer/1000) {
		if mid := (low + high) / 2; m.evaluate(cache, mid).BatchTime <= most {
			low = mid
		} else {
			high = mid
		}
	}
	if p = m.evaluate(cache, low); p.BatchTime > most {
		return Partition{}
	}
	return p
}

func (m *Model) evaluate(cache, buffer int64) Partition {
	volume := max(1, m.Volume.At(float64(cache))) // a query has at least terms and weights
	n := max(1, float64(buffer)/volume)
	nanoseconds := m.QueryTime(n, float64(buffer), volume)
	if nanoseconds <= 0 {
		return Partition{}
	}
	return Partition{
		Cache: cache, Buffer: buffer, Queries: n, QueriesPerSecond: 1e9 / nanoseconds,
		BatchTime: time.Duration(min(n*nanoseconds, math.MaxInt64/2)),
	}
}

// QueryTime is the time in nanoseconds of a query that lacks volume bytes, of n in a batch with that
// buffer.
func (m *Model) QueryTime(n, buffer, volume float64) (nanoseconds float64) {
	by := n
	if m.ByBuffer {
		by = buffer
	}
	compute, transfer, p := m.Compute.At(by), m.Transfer.At(buffer)*volume, m.Overlap
	if p == 0 || p == 1 {
		return compute + transfer
	}
	longer := max(compute, transfer)
	if longer <= 0 {
		return 0
	}
	return longer * math.Pow(math.Pow(compute/longer, p)+math.Pow(transfer/longer, p), 1/p)
}
